"""A simulation as tracks: slices of time on one track a warp and one a port, and as a trace file for Perfetto."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .blame import name_of, waits_of
from .record import Issued
from .simulate import Simulation
from .timing import Timing

__all__ = ["Slice", "Track", "perfetto_trace", "tracks_of"]

_NO_DETAILS: dict[str, object] = {}


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of time on a track, cycles `start` to `end`; slices of one `flow` belong to one instruction."""

    start: int
    end: int
    label: str
    flow: int = -1
    details: dict[str, object] = field(default_factory=lambda: _NO_DETAILS)


@dataclass(frozen=True, slots=True)
class Track:
    """What happens in one place: a warp, a port, an agent. `group` is the heading under which it is shown."""

    group: str
    name: str
    slices: tuple[Slice, ...]


def tracks_of(run: Simulation, timing: Timing) -> list[Track]:
    """One track a warp, then memory ports, lanes and return ports. Needs a run with `timeline`."""
    if run.timeline is None:
        raise ValueError("the run kept no timeline: simulate(..., timeline=True)")
    return [*_warp_tracks(run.timeline, timing), *_port_tracks(run.timeline, timing)]


def perfetto_trace(tracks: Sequence[Track]) -> dict[str, Any]:
    """The tracks in the JSON trace format that Perfetto and Chrome open: 1 ns stands for one cycle.

    Flows (arrows) lead from the issue of an access over its service to its write-back.
    """
    events: list[dict[str, Any]] = []
    groups = {group: number for number, group in enumerate(dict.fromkeys(track.group for track in tracks), 1)}
    for group, process in groups.items():
        events.append({"ph": "M", "name": "process_name", "pid": process, "args": {"name": group}})
    flows: dict[int, list[tuple[int, int, int]]] = {}
    for thread, track in enumerate(tracks, 1):
        process = groups[track.group]
        names = {"name": track.name}
        events.append({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": names})
        order = {"sort_index": thread}
        events.append({"ph": "M", "name": "thread_sort_index", "pid": process, "tid": thread, "args": order})
        for piece in track.slices:
            events.append(
                {
                    "ph": "X",
                    "name": piece.label,
                    "pid": process,
                    "tid": thread,
                    "ts": _time(piece.start),
                    "dur": _time(piece.end - piece.start),
                    "args": {"cycle": piece.start, **piece.details},
                }
            )
            if piece.flow >= 0:
                flows.setdefault(piece.flow, []).append((piece.start, process, thread))
    for flow, stops in sorted(flows.items()):
        stops.sort()
        for index, (start, process, thread) in enumerate(stops):
            phase = "s" if index == 0 else "f" if index == len(stops) - 1 else "t"
            event: dict[str, Any] = {"ph": phase, "id": flow, "name": "access", "cat": "access"}
            event |= {"pid": process, "tid": thread, "ts": _time(start)}
            events.append(event | {"bp": "e"} if phase == "f" else event)
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"unit": "1 ns is one SM cycle"}}


def _time(cycles: int) -> float:
    return cycles / 1000


def _warp_tracks(timeline: Sequence[Issued], timing: Timing) -> list[Track]:
    pieces: dict[int, list[Slice]] = {}
    following: dict[int, int] = {}
    upcoming = [0] * len(timeline)
    for index in range(len(timeline) - 1, -1, -1):
        entry = timeline[index]
        upcoming[index] = following.get(entry.warp, entry.issue + entry.op.stall)
        following[entry.warp] = entry.ready
    for index, (entry, wait) in enumerate(zip(timeline, waits_of(timeline, timing), strict=True)):
        own = pieces.setdefault(entry.warp, [])
        if wait.stall:
            own.append(Slice(entry.ready, entry.issue, f"wait: {wait.reason}", details={"by": wait.by}))
        details: dict[str, object] = {"place": str(entry.op), "trip": entry.trip}
        if entry.access is not None:
            details["wavefronts"] = entry.op.wavefronts
        flow = index if entry.access is not None else -1
        own.append(Slice(entry.issue, max(upcoming[index], entry.issue + 1), entry.op.text, flow, details))
    return [Track("warps", f"warp {warp}", tuple(pieces[warp])) for warp in sorted(pieces)]


def _port_tracks(timeline: Sequence[Issued], timing: Timing) -> list[Track]:
    found: dict[str, list[Slice]] = {}
    for index, entry in enumerate(timeline):
        access = entry.access
        if access is None:
            continue
        label, partition = name_of(entry), access.warp.partition
        sending = Slice(access.granted, access.sent, label, details={"queued": access.issued})
        found.setdefault(f"memory port {partition}", []).append(sending)
        end = access.served + timing.wavefront
        lane = access.started % timing.wavefront
        wavefronts: dict[str, object] = {"wavefronts": entry.op.wavefronts}
        found.setdefault(f"service lane {lane}", []).append(
            Slice(access.started, end, label, index, wavefronts)
        )
        if not entry.op.store:
            start = access.returned - entry.op.returns
            found.setdefault(f"return port {partition}", []).append(
                Slice(start, access.returned, label, index)
            )
    return [
        Track("ports", name, tuple(sorted(found[name], key=lambda piece: piece.start)))
        for name in sorted(found)
    ]
