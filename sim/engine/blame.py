"""Who held an instruction up: for every wait of the timeline the instruction or the part that caused it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..program import Unit
from .record import Issued
from .state import AGENT, BARRIER, NOT_BLOCKED, QUEUE, SCOREBOARD, UNIT
from .timing import Timing

__all__ = ["Wait", "waits_of"]

_UNIT_NAMES = {Unit.ALU: "integer unit", Unit.IMAD: "multiply-add unit", Unit.TENSOR: "tensor unit"}


@dataclass(frozen=True, slots=True)
class Wait:
    """Cycles that one instruction waited: before its issue, for the memory port, and for service.

    `reason` and `by` belong to the wait before the issue; `port_by` and `service_by` name whoever was before it.
    """

    stall: int
    reason: str
    by: str
    port: int = 0
    port_by: str = ""
    service: int = 0
    service_by: str = ""


def waits_of(timeline: Sequence[Issued], timing: Timing) -> list[Wait]:
    """One `Wait` an entry of the timeline, in its order."""
    setter: dict[tuple[int, int], Issued] = {}
    before: dict[int, Issued] = {}
    issue = [_before_issue(entry, setter, before, timing) for entry in timeline]
    port = _port_waits(timeline, timing)
    service = _service_waits(timeline, timing)
    return [
        Wait(*issue[index], *port.get(index, (0, "")), *service.get(index, (0, "")))
        for index in range(len(timeline))
    ]


def name_of(entry: Issued) -> str:
    """An instruction as a wait names it: `warp 3 loop[2] LDS`."""
    return f"warp {entry.warp} {entry.op}"


def _before_issue(
    entry: Issued, setter: dict[tuple[int, int], Issued], before: dict[int, Issued], timing: Timing
) -> tuple[int, str, str]:
    op = entry.op
    stall = entry.issue - entry.ready
    partition = entry.warp % timing.partitions
    reason = by = ""
    held = entry.armed - entry.ready
    # of two waits one after the other the longer one is named
    if stall and held >= entry.issue - entry.armed:
        if entry.gate == SCOREBOARD:
            reason = "scoreboard"
            sources = [setter[entry.warp, board] for board in op.waits if (entry.warp, board) in setter]
            by = name_of(max(sources, key=_returned)) if sources else ""
        elif entry.gate == BARRIER:
            reason, by = "barrier", "the last warp to arrive"
        elif entry.gate == AGENT:
            reason, by = "agent", op.hook.name if op.hook is not None else ""
    elif stall:
        if entry.why == QUEUE:
            reason, by = "queue full", f"memory queue of partition {partition}"
        elif entry.why == UNIT:
            reason, by = "unit busy", f"{_UNIT_NAMES.get(Unit(op.unit), 'unit')} of partition {partition}"
        elif entry.why == NOT_BLOCKED:
            other = before.get(partition)
            reason, by = "another warp issued", name_of(other) if other else ""
    before[partition] = entry
    for board in (op.sets, op.reads):
        if board is not None:
            setter[entry.warp, board] = entry
    return stall, reason, by


def _returned(entry: Issued) -> int:
    access = entry.access
    return -1 if access is None else access.returned if not access.op.store else access.sent


def _port_waits(timeline: Sequence[Issued], timing: Timing) -> dict[int, tuple[int, str]]:
    found: dict[int, tuple[int, str]] = {}
    before: dict[int, Issued] = {}
    for index, entry in enumerate(timeline):
        access = entry.access
        if access is None:
            continue
        # the queue is first in, first out, so the order of issue is the order of the port
        previous = before.get(access.warp.partition)
        before[access.warp.partition] = entry
        wait = access.granted - (access.issued + timing.queue_head)
        if wait > 0:
            ahead = previous.access if previous else None
            in_port = ahead is not None and previous is not None and ahead.sent >= access.granted
            found[index] = (wait, name_of(previous) if in_port and previous else "slots of the SM")
    return found


def _service_waits(timeline: Sequence[Issued], timing: Timing) -> dict[int, tuple[int, str]]:
    served = sorted(
        ((entry.access.started, index) for index, entry in enumerate(timeline) if entry.access is not None)
    )
    found: dict[int, tuple[int, str]] = {}
    lanes: dict[int, Issued] = {}
    warps: dict[int, Issued] = {}
    for started, index in served:
        entry = timeline[index]
        access = entry.access
        assert access is not None
        lane = started % timing.wavefront
        wait = started - access.eligible
        if wait > 0:
            own, other = warps.get(entry.warp), lanes.get(lane)
            before = max((item for item in (own, other) if item), key=_last_wavefront, default=None)
            found[index] = (wait, name_of(before) if before else "its lane's turn")
        lanes[lane] = warps[entry.warp] = entry
    return found


def _last_wavefront(entry: Issued) -> int:
    return entry.access.served if entry.access else -1
