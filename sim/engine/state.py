"""What moves through the machine: warps, and memory instructions in flight."""

from __future__ import annotations

from collections.abc import Iterator

from .clock import NEVER
from .code import Op, Run

__all__ = [
    "AGENT",
    "BARRIER",
    "NOT_BLOCKED",
    "QUEUE",
    "SCOREBOARD",
    "STALL_REASONS",
    "UNIT",
    "Access",
    "Warp",
]

NOT_BLOCKED, SCOREBOARD, BARRIER, UNIT, QUEUE, AGENT = range(6)
"""Why a warp cannot issue; NOT_BLOCKED with a wait means that the scheduler took another warp."""

STALL_REASONS = {
    SCOREBOARD: "scoreboard",
    BARRIER: "barrier",
    QUEUE: "queue full",
    UNIT: "unit busy",
    AGENT: "agent",
    NOT_BLOCKED: "another warp issued",
}


class Warp:
    """One warp: where it is in its code, and the earliest cycle at which it may issue.

    `ready` is the cycle that stall count and branch allow, `armed` that of the scoreboards and the barrier as well,
    `when` a lower bound of the next issue (NEVER while something has no known end). A scoreboard has `pending`
    releases whose cycle is not known yet, and the latest known `release`.
    """

    __slots__ = (
        "armed",
        "barrier",
        "end",
        "gate",
        "group",
        "id",
        "lane_until",
        "left",
        "op",
        "partition",
        "pending",
        "ready",
        "release",
        "run",
        "runs",
        "start",
        "trip",
        "when",
        "why",
    )

    def __init__(
        self, number: int, partition: int, group: int, runs: tuple[Run, ...], scoreboards: int
    ) -> None:
        self.id = number
        self.partition = partition
        self.group = group
        self.runs = runs
        self.run = 0
        self.trip = 0
        self.op: Op | None = runs[0].first if runs else None
        self.ready = self.armed = 0
        self.when = NEVER
        self.why = NOT_BLOCKED
        self.gate = NOT_BLOCKED
        self.pending = [0] * scoreboards
        self.release = [0] * scoreboards
        self.barrier = 0
        """Release cycle of the last barrier, NEVER while the warp waits at one."""
        self.lane_until = 0
        """Two cycles after its last wavefront in service: one warp is never in both lanes."""
        self.start = -1
        """Cycle at which it may issue first, -1 for a warp without instructions."""
        self.end = -1

    @property
    def running(self) -> bool:
        """Whether it has instructions left to issue."""
        return self.op is not None

    def ops(self) -> Iterator[Op]:
        """Every instruction of its code, once."""
        for run in self.runs:
            yield from run.ops()

    def arm(self) -> None:
        """Set `when` from the stall count, the scoreboards that the next instruction waits for and the barrier."""
        op = self.op
        if op is None:
            return
        when = self.ready
        gate = NOT_BLOCKED
        for scoreboard in op.waits:
            if self.pending[scoreboard]:
                self.when = NEVER
                self.gate = SCOREBOARD
                return
            release = self.release[scoreboard]
            if release > when:
                when = release
                gate = SCOREBOARD
        if op.gated and self.barrier > when:
            when = self.barrier
            gate = BARRIER
        if op.hook is not None:
            until = op.hook.condition(self, op)
            if until > when:
                when = until
                gate = AGENT
        self.when = self.armed = when
        self.gate = gate


class Access:
    """A memory instruction in flight, from its issue to the end of its service; all times in cycles."""

    __slots__ = (
        "eligible",
        "granted",
        "issued",
        "key",
        "op",
        "returned",
        "sent",
        "served",
        "started",
        "trip",
        "warp",
    )

    granted: int
    """A slot was granted and the transfer of the registers began."""
    sent: int
    """The transfer ended."""
    eligible: int
    """Earliest service."""
    key: int
    """Order of arrival."""
    started: int
    """First wavefront."""
    served: int
    """Last wavefront."""
    returned: int
    """The result is usable (loads)."""

    def __init__(self, warp: Warp, op: Op, issued: int) -> None:
        self.warp = warp
        self.op = op
        self.issued = issued
