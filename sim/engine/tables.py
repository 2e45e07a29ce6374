"""The results of a simulation as tables with documented columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..results import Column, Table
from .blame import waits_of
from .record import Issued
from .simulate import Simulation
from .timing import Timing

__all__ = ["instruction_table", "latency_table", "stall_table", "usage_over_time", "usage_table"]

_INSTRUCTIONS = (
    Column("warp", "", "warp of the block"),
    Column("place", "", "segment and index in the code"),
    Column("trip", "", "trip of its loop, from 0"),
    Column("op", "", "instruction"),
    Column("ready", "cycle", "its stall count and branch allowed it to issue"),
    Column("issue", "cycle", "it issued"),
    Column("start", "cycle", "first wavefront of an access"),
    Column("finish", "cycle", "result usable (loads), last wavefront (stores), issue (others)"),
    Column("wavefronts", "", "wavefronts of an access"),
    Column("stall", "cycles", "waited before its issue"),
    Column("reason", "", "what for"),
    Column("by", "", "held up by"),
    Column("port wait", "cycles", "waited in the queue of its partition"),
    Column("port busy by", "", "what was sent before it"),
    Column("service wait", "cycles", "waited for a lane"),
    Column("lane busy by", "", "what was served before it"),
)
_USAGE = (
    Column("part", "", "part of the SM"),
    Column("busy", "cycles", "cycles in which it worked"),
    Column("share", "%", "of all cycles"),
    Column("passed", "", "what passed through it"),
    Column("unit", "", "unit of what passed"),
)
_STALLS = (
    Column("reason", "", "what warps waited for before an issue"),
    Column("cycles", "warp cycles", "summed over the warps"),
    Column("share", "%", "of all waiting"),
)
_LATENCY = (
    Column("op", "", "instruction"),
    Column("accesses", "", "how many"),
    Column("least", "cycles", "from issue to result (loads) or last wavefront (stores)"),
    Column("median", "cycles", "half of them take no longer"),
    Column("p95", "cycles", "95 % take no longer"),
    Column("most", "cycles", "the slowest"),
)


def instruction_table(run: Simulation, timing: Timing) -> Table:
    """Every issued instruction with its times and the reason of every wait. Needs a run with `timeline`."""
    entries = _timeline(run)
    waits = waits_of(entries, timing)
    data: dict[str, list[Any]] = {
        "warp": [entry.warp for entry in entries],
        "place": [f"{entry.op.place[0]}[{entry.op.place[1]}]" for entry in entries],
        "trip": [entry.trip for entry in entries],
        "op": [entry.op.text for entry in entries],
        "ready": [entry.ready for entry in entries],
        "issue": [entry.issue for entry in entries],
        "start": [entry.access.started if entry.access else entry.issue for entry in entries],
        "finish": [_finish(entry) for entry in entries],
        "wavefronts": [entry.op.wavefronts for entry in entries],
        "stall": [wait.stall for wait in waits],
        "reason": [wait.reason for wait in waits],
        "by": [wait.by for wait in waits],
        "port wait": [wait.port for wait in waits],
        "port busy by": [wait.port_by for wait in waits],
        "service wait": [wait.service for wait in waits],
        "lane busy by": [wait.service_by for wait in waits],
    }
    return Table("instructions", "Every instruction", _INSTRUCTIONS, data)


def usage_table(run: Simulation) -> Table:
    """How busy each part of the SM was, busiest first."""
    rows = sorted((part for part in run.usage if part.busy), key=lambda part: -part.busy)
    data: dict[str, list[Any]] = {
        "part": [part.name for part in rows],
        "busy": [part.busy for part in rows],
        "share": [round(100 * part.share, 1) for part in rows],
        "passed": [part.passed for part in rows],
        "unit": [part.unit for part in rows],
    }
    return Table("ports", "How busy each part was", _USAGE, data)


def stall_table(run: Simulation) -> Table:
    """What warps waited for, most first."""
    total = sum(run.stalls.values()) or 1
    ordered = sorted(
        ((name, cycles) for name, cycles in run.stalls.items() if cycles), key=lambda item: -item[1]
    )
    data: dict[str, list[Any]] = {
        "reason": [name for name, _ in ordered],
        "cycles": [cycles for _, cycles in ordered],
        "share": [round(100 * cycles / total, 1) for _, cycles in ordered],
    }
    return Table("stalls", "What warps waited for", _STALLS, data)


def latency_table(run: Simulation) -> Table:
    """Distribution of the latency of each memory instruction. Needs a run with `timeline`."""
    found: dict[str, list[int]] = {}
    for entry in _timeline(run):
        if entry.access is not None:
            found.setdefault(entry.op.text, []).append(_finish(entry) - entry.issue)
    ordered = {op: sorted(values) for op, values in sorted(found.items())}
    data: dict[str, list[Any]] = {
        "op": list(ordered),
        "accesses": [len(values) for values in ordered.values()],
        "least": [values[0] for values in ordered.values()],
        "median": [values[(len(values) - 1) // 2] for values in ordered.values()],
        "p95": [values[-(-95 * len(values) // 100) - 1] for values in ordered.values()],
        "most": [values[-1] for values in ordered.values()],
    }
    return Table("latency", "Latency of memory instructions", _LATENCY, data)


def usage_over_time(run: Simulation, timing: Timing, bins: int = 60) -> Table:
    """Busy share of every part in up to `bins` equal spans of the run. Needs a run with `timeline`."""
    entries = _timeline(run)
    width = max(1, -(-run.cycles // bins))
    number = -(-run.cycles // width)
    busy: dict[str, NDArray[np.float64]] = {}

    def add(name: str, cycles: NDArray[np.int64]) -> None:
        counted = np.bincount(np.minimum(cycles // width, number - 1), minlength=number)
        busy[name] = busy.get(name, np.zeros(number)) + counted

    for partition in range(timing.partitions):
        own = [entry for entry in entries if entry.warp % timing.partitions == partition]
        if not own:
            continue
        add(f"issue slot of partition {partition}", np.array([entry.issue for entry in own], dtype=np.int64))
        sent = [np.arange(entry.access.granted, entry.access.sent) for entry in own if entry.access]
        if sent:
            add(f"memory port of partition {partition}", np.concatenate(sent))
    served = [
        np.arange(entry.op.wavefronts) * timing.wavefront + entry.access.started
        for entry in entries
        if entry.access
    ]
    if served:
        add("shared-memory data path", np.concatenate(served))
    columns = (
        Column("from", "cycle", "begin of the span"),
        *(Column(name, "%", "busy share of the span") for name in busy),
    )
    spans = np.minimum(width, run.cycles - width * np.arange(number))
    data: dict[str, Any] = {"from": width * np.arange(number)}
    data |= {name: np.round(100 * cycles / spans, 1) for name, cycles in busy.items()}
    return Table("usage_over_time", "How busy each part was over time", columns, data)


def _timeline(run: Simulation) -> tuple[Issued, ...]:
    if run.timeline is None:
        raise ValueError("the run kept no timeline: simulate(..., timeline=True)")
    return run.timeline


def _finish(entry: Issued) -> int:
    access = entry.access
    if access is None:
        return entry.issue
    return access.served if access.op.store else access.returned
