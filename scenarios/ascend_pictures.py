"""Pictures of a schedule: timeline of the pipes, busy share, occupancy of the buffers."""

from __future__ import annotations

from typing import Any

from ..sim.ascend import PIPES
from ..sim.engine.tracks import Slice, Track
from ..sim.results import Picture
from .ascend_run import AscendRun
from .ascend_tables import occupancy

_SHOWN = 80


def tracks(run: AscendRun) -> list[Track]:
    """One track a pipe that executed something. Needs a run with a timeline."""
    record = run.times.record
    assert record is not None
    pieces: dict[int, list[Slice]] = {}
    for index, start, end in zip(record.index, record.start, record.end, strict=True):
        op = run.program.ops[index]
        names, values = run.program.where[index]
        details: dict[str, object] = dict(zip(names, values, strict=True))
        if op.valid:
            details |= {"valid": op.valid, "moved": op.moved}
        pieces.setdefault(op.pipe, []).append(Slice(start, end, op.name, details=details))
    return [
        Track("pipes", PIPES[pipe], tuple(sorted(pieces[pipe], key=lambda piece: piece.start)))
        for pipe in sorted(pieces)
    ]


def schedule_pictures(run: AscendRun, sentence: str) -> tuple[Picture, ...]:
    """The pictures of a run; the timeline shows the first instructions."""
    pictures = [_busy(run, sentence)]
    record = run.times.record
    if record is not None and record.index:
        ends = sorted(record.end)
        shown = ends[min(len(ends), _SHOWN) - 1]
        data: dict[str, Any] = {
            "end": shown,
            "cycles": run.cycles,
            "tracks": [
                {
                    "name": track.name,
                    "slices": [
                        [piece.start, min(piece.end, shown), piece.label]
                        for piece in track.slices
                        if piece.start < shown
                    ],
                }
                for track in tracks(run)
            ],
        }
        part = f"first {shown:,} of {run.cycles:,} cycles" if shown < run.cycles else f"{run.cycles:,} cycles"
        pictures.append(Picture("pipe_timeline", f"Pipes, {part}", f"{sentence} {part}.", data))
        pictures.append(_occupancy(run, shown, part))
    return tuple(pictures)


def _busy(run: AscendRun, sentence: str) -> Picture:
    used = [index for index in range(len(PIPES)) if run.times.executed[index]]
    data = {
        "pipes": [PIPES[index] for index in used],
        "busy": [run.times.busy[index] for index in used],
        "waits": [dict(run.times.waits[index]) for index in used],
        "cycles": run.cycles,
    }
    return Picture("pipe_busy", "Busy share of the pipes", sentence, data)


def _occupancy(run: AscendRun, shown: int, part: str) -> Picture:
    steps: dict[str, list[tuple[int, int]]] = {}
    for memory, cycle, used in occupancy(run):
        if cycle <= shown:
            steps.setdefault(memory, []).append((cycle, used))
    data = {
        "end": shown,
        "memories": [
            {"name": memory, "bytes": run.places.memories[memory].usable, "steps": points}
            for memory, points in steps.items()
            if memory in run.places.memories
        ],
    }
    peaks = ", ".join(
        f"{memory} at most {max(used for _, used in points):,} bytes" for memory, points in steps.items()
    )
    return Picture("occupancy", f"Buffer occupancy, {part}", f"{peaks}.", data)
