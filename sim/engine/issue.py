"""The issue stage: each partition issues at most one instruction a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simpy import Environment

from ..program import Kind
from .clock import ISSUE, NEVER, Stage
from .state import NOT_BLOCKED, QUEUE, STALL_REASONS, UNIT, Warp
from .timing import Timing

if TYPE_CHECKING:
    from .barrier import Barrier
    from .code import Op
    from .partition import Partition
    from .record import Recorder
    from .steady import Steady

__all__ = ["Issue"]


class Issue(Stage):
    """Which warp of a partition issues, and what follows from it.

    The warp that issued last goes first if its next instruction is no memory instruction; otherwise the warp whose
    last issue is longest ago, among warps that never issued the one with the highest id. An instruction needs its
    scoreboards at zero, its unit free, and a memory instruction a free entry of the partition's queue; a warp that
    lacks one of them is passed over and costs nothing.
    """

    __slots__ = (
        "barrier",
        "branch",
        "dues",
        "live",
        "partitions",
        "recorder",
        "released",
        "stalls",
        "steady",
    )

    barrier: Barrier

    def __init__(self, env: Environment, timing: Timing, partitions: list[Partition]) -> None:
        super().__init__(env, ISSUE)
        self.branch = timing.branch
        self.partitions = partitions
        self.dues = [NEVER] * timing.partitions
        """Cycle of the next attempt of each partition."""
        self.released = False
        """Whether a barrier has released warps in this cycle."""
        self.live = 0
        """Warps that have instructions left."""
        self.stalls = [0] * len(STALL_REASONS)
        """Warp cycles waited, by reason."""
        self.recorder: Recorder | None = None
        self.steady: Steady | None = None

    def act(self, now: int) -> int:
        """Issue in every partition that is due; goes on to the next cycles while nothing else is due before."""
        peek = self.env.peek
        partitions = self.partitions
        dues = self.dues
        while True:
            for number, due in enumerate(dues):
                if due <= now:
                    dues[number] = self._issue(partitions[number], now)
            if self.released:
                self.released = False
                for number, partition in enumerate(partitions):
                    earliest = min((warp.when for warp in partition.warps), default=NEVER)
                    dues[number] = max(earliest, now + 1)
            upcoming = min(dues)
            # the order is known without the clock as long as no other event comes first
            if upcoming == NEVER or upcoming >= peek():
                return upcoming
            now = upcoming

    def _issue(self, partition: Partition, now: int) -> int:
        """Let one warp of the partition issue, if one can; returns the cycle of the next attempt."""
        free = partition.free
        warps = partition.warps
        chosen = chosen_op = None
        last = partition.last
        if last is not None and last.when <= now:
            op = last.op
            if op is not None and not op.memory:
                if free[op.unit] <= now:
                    chosen, chosen_op = last, op
                else:
                    last.when = free[op.unit]
                    last.why = UNIT
        greedy = chosen is not None
        due = NEVER
        for warp in warps:
            when = warp.when
            if when > now:
                if when < due:
                    due = when
                continue
            if chosen is not None:
                if warp is chosen:
                    continue
                due = now + 1
                break
            op = warp.op
            assert op is not None
            until = free[op.unit]
            if until <= now:
                chosen, chosen_op = warp, op
                continue
            warp.when = until
            if until < due:
                due = until
            if op.memory:
                warp.why = QUEUE
                if until == NEVER:
                    partition.port.hungry.append(warp)
            else:
                warp.why = UNIT
        if chosen is None or chosen_op is None:
            return due
        if not greedy:
            partition.last = chosen
            if warps[-1] is not chosen:
                warps.remove(chosen)
                warps.append(chosen)
        self._go(partition, chosen, chosen_op, now)
        when = chosen.when
        return when if when < due else due

    def _go(self, partition: Partition, warp: Warp, op: Op, now: int) -> None:
        """The warp issues its next instruction `op` at `now`."""
        recorder = self.recorder
        if recorder is not None:
            recorder.issued(warp, op, now)
        if now != warp.ready:
            self._waited(warp, now)
        if op.plain:
            partition.free[op.unit] = now + op.hold
        elif op.steal:
            partition.free[op.unit] = now + op.hold
            port = partition.port
            if port.sending is not None:
                port.steal(now, op.steal)
            elif port.blocked_until < now + 1 + op.steal:
                port.blocked_until = now + 1 + op.steal
        elif op.memory:
            access = partition.port.accept(warp, op, now)
            if recorder is not None:
                recorder.accessed(access)
        elif op.hook is not None:
            op.hook.issued(warp, op, now)
        else:
            self.barrier.arrive(warp, now)
        following = op.next
        if following is None:
            ready = self._turn(partition, warp, op, now)
            following = warp.op
            if following is None:
                return
        else:
            ready = now + op.stall
            warp.op = following
        warp.ready = ready
        if following.slow or (following.gated and warp.barrier > ready):
            warp.arm()
        else:
            warp.when = warp.armed = ready

    def _turn(self, partition: Partition, warp: Warp, op: Op, now: int) -> int:
        """The end of a segment: its next trip, the next segment, or the end of the warp. Returns when it goes on."""
        ready = now + op.stall
        run = warp.runs[warp.run]
        warp.trip += 1
        if warp.trip < run.trips:
            warp.op = run.first
            if op.kind is Kind.BRANCH:
                ready = now + self.branch
            if self.steady is not None:
                self.steady.turned(warp, now)
            return ready
        warp.trip = 0
        warp.run += 1
        if warp.run < len(warp.runs):
            warp.op = warp.runs[warp.run].first
            return ready
        warp.op = None
        warp.when = NEVER
        warp.end = ready
        partition.warps.remove(warp)
        if partition.last is warp:
            partition.last = None
        self.live -= 1
        return ready

    def _waited(self, warp: Warp, now: int) -> None:
        """Sum the cycles since the warp was ready by their reason."""
        stalls = self.stalls
        armed = warp.armed
        if armed > warp.ready:
            stalls[warp.gate] += armed - warp.ready
        if now > armed:
            stalls[warp.why] += now - armed
        warp.why = NOT_BLOCKED
