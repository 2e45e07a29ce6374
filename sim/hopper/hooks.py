"""The instructions by which warps talk to wgmma, copies and barriers: what each waits for and what it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine.agent import Hook
from ..engine.clock import EVENT, NEVER, Stage
from ..engine.code import Op
from ..engine.state import Warp
from ..program import Instruction
from .bulk import Commit, CopyWait, CpAsync
from .copies import BulkCopy, Job
from .mbarrier import Arrive, Clock, Mbarrier, NamedBarrier, PhaseWait, merge
from .tensor import GroupWait, IssueHook, WaitHook, Wgmma

if TYPE_CHECKING:
    from .sm import HopperSm

__all__ = ["ClusterCopy", "NamedArrive", "NamedWait", "hook_of"]


@dataclass(frozen=True, slots=True)
class NamedArrive:
    """Detail of a BAR.ARV, or of the first half of a BAR.SYNC: one warp arrives at a named barrier of `warps` warps."""

    number: str
    warps: int


@dataclass(frozen=True, slots=True)
class NamedWait:
    """Detail of the second half of a BAR.SYNC: the warp goes on when the round that it arrived in is complete."""

    number: str
    warps: int


@dataclass(frozen=True, slots=True)
class ClusterCopy:
    """Detail of a bulk copy into the shared memory of another CTA of the cluster; the bytes count on its `barrier`."""

    bytes: int
    barrier: str
    region: str = ""


def hook_of(sm: HopperSm, item: Instruction) -> Hook | None:
    """What an instruction does, None when it is none of these."""
    detail = item.detail
    if isinstance(detail, Wgmma):
        return IssueHook(sm, detail)
    if isinstance(detail, GroupWait):
        return WaitHook(sm, detail)
    if isinstance(detail, Arrive):
        return ArriveHook(sm, detail)
    if isinstance(detail, PhaseWait):
        return PhaseHook(sm, detail)
    if isinstance(detail, BulkCopy):
        return CopyHook(sm, detail)
    if isinstance(detail, Commit):
        return CommitHook(sm, detail)
    if isinstance(detail, CopyWait):
        return CopyWaitHook(sm, detail)
    if isinstance(detail, CpAsync):
        return CpAsyncHook(sm, detail)
    if isinstance(detail, NamedArrive | NamedWait):
        return NamedHook(sm, detail)
    if isinstance(detail, ClusterCopy):
        return ClusterHook(sm, detail)
    if item.op.startswith("LDC"):
        return ConstantLoad(sm)
    return Hook() if item.op.startswith("WARPGROUP.ARRIVE") else None


class Later(Stage):
    """One call at a cycle that lies ahead."""

    __slots__ = ("call",)

    def __init__(self, sm: HopperSm, at: int, call: Callable[[int], None]) -> None:
        super().__init__(sm.machine.env, EVENT)
        self.call = call
        self.wake(at)

    def act(self, now: int) -> int:
        self.call(now)
        return NEVER


class ArriveHook(Hook):
    """mbarrier.arrive, with or without expect_tx."""

    name = "mbarrier"

    def __init__(self, sm: HopperSm, detail: Arrive) -> None:
        self.sm, self.detail = sm, detail

    def condition(self, warp: Warp, op: Op) -> int:
        return self.sm.drained(warp)

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        clock = dict(self.sm.clock(warp))
        barrier = self.sm.mbarrier(self.detail.barrier, str(op))
        if self.detail.remote:
            # half of the measured round trip: how it divides over the two ways was not measured
            way = round(self.sm.chip.number("async.cluster.round_trip") / 2) - self.sm.hand_off

            def arrived(at: int) -> None:
                self._arrive(barrier, clock, at)

            Later(self.sm, now + way, arrived)
            return
        self._arrive(barrier, clock, now)

    def _arrive(self, barrier: Mbarrier, clock: Clock, now: int) -> None:
        if barrier.arrive(self.detail.count, self.detail.expect, clock, now):
            self.sm.wake_waiting(barrier)


class PhaseHook(Hook):
    """mbarrier.try_wait until the phase of a parity has completed."""

    name = "mbarrier"

    def __init__(self, sm: HopperSm, detail: PhaseWait) -> None:
        self.sm, self.detail = sm, detail
        self.turns: dict[int, int] = {}
        self.test = round(sm.chip.number("async.mbarrier.test")) - 10

    def _parity(self, warp: Warp) -> int:
        return self.detail.parity ^ (self.sm.turn(warp, self.detail) & 1)

    def condition(self, warp: Warp, op: Op) -> int:
        barrier = self.sm.mbarrier(self.detail.barrier, str(op))
        if barrier.phase & 1 == self._parity(warp):
            barrier.waiting[warp.id] = warp
            return NEVER
        passed = warp.ready + self.test
        return max(passed, barrier.completed + self.sm.hand_off) if barrier.phase else passed

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        self.sm.waited(warp, f"mbarrier {self.detail.barrier.split('[')[0]}", now)
        merge(self.sm.clock(warp), self.sm.mbarrier(self.detail.barrier, str(op)).told)
        self.sm.turned(warp, self.detail)

    def reason(self, warp: Warp, op: Op) -> str:
        barrier = self.sm.barriers[self.detail.barrier]
        parity = self._parity(warp)
        text = f"parity {parity} of mbarrier {barrier.name}: {barrier.missing()}"
        if barrier.pending == barrier.count and not barrier.bytes:
            text += f"; nobody arrives in it any more, is parity {parity ^ 1} meant?"
        return text


class CopyHook(Hook):
    """A TMA load or store."""

    name = "TMA unit"

    def __init__(self, sm: HopperSm, detail: BulkCopy) -> None:
        self.sm, self.detail = sm, detail

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        sm, detail = self.sm, self.detail
        if detail.store:
            event = sm.hazards.stored(detail.region, warp.id, now) if detail.region else None
            copy = sm.groups.add(warp, True, event)

            def read(job: Job, at: int) -> None:
                copy.read = max(job.least, at)
                copy.done = copy.read + sm.groups.after
                if event is not None:
                    event.done = at
                sm.groups.known()

            sm.copies.issue(detail, now, warp.id, read)
            return
        barrier = sm.mbarrier(detail.barrier, str(op))
        fill = None
        if detail.region:
            fill = sm.hazards.refill(detail.region, f"warp {warp.id}", ("fill", warp.id), sm.clock(warp), now)

        def came(job: Job, at: int) -> None:
            told = {fill.key: fill.number} if fill is not None else {}
            if fill is not None:
                fill.done = at
            if barrier.came(detail.bytes, told, at):
                sm.wake_waiting(barrier)
            elif barrier.bytes < 0 and barrier.pending == barrier.count:
                sm.hazards.more_bytes(barrier.name, at, -barrier.bytes)

        sm.copies.issue(detail, now, warp.id, came)


class CommitHook(Hook):
    """cp.async.bulk.commit_group and cp.async.commit_group."""

    def __init__(self, sm: HopperSm, detail: Commit) -> None:
        self.sm, self.detail = sm, detail

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        self.sm.groups.commit(warp, self.detail.stores)


class CopyWaitHook(Hook):
    """cp.async.bulk.wait_group(.read) and cp.async.wait_group."""

    name = "copies"

    def __init__(self, sm: HopperSm, detail: CopyWait) -> None:
        self.sm, self.detail = sm, detail

    def condition(self, warp: Warp, op: Op) -> int:
        return self.sm.groups.until(warp, self.detail)

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        what = (
            "cp.async"
            if not self.detail.stores
            else "sources of TMA stores"
            if self.detail.read
            else "TMA stores"
        )
        self.sm.waited(warp, what, now)
        self.sm.groups.passed(warp, self.detail)

    def reason(self, warp: Warp, op: Op) -> str:
        return "its committed copies"


class CpAsyncHook(Hook):
    """cp.async of one warp."""

    name = "cp.async"

    def __init__(self, sm: HopperSm, detail: CpAsync) -> None:
        self.sm, self.detail = sm, detail

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        self.sm.groups.cp_async(warp, self.detail, now)


class NamedHook(Hook):
    """bar.sync and bar.arrive."""

    name = "named barrier"

    def __init__(self, sm: HopperSm, detail: NamedArrive | NamedWait) -> None:
        self.sm, self.detail = sm, detail
        each = sm.chip.integer("async.named_barrier.warp")
        pair = sm.chip.integer("async.named_barrier.pair") // 2 - 2 * each
        known = sm.named.setdefault(
            detail.number, NamedBarrier(detail.number, detail.warps, lambda warps: pair + each * warps)
        )
        self.barrier = known

    def condition(self, warp: Warp, op: Op) -> int:
        if isinstance(self.detail, NamedArrive):
            return self.sm.drained(warp)
        until = self.barrier.until(self.sm.rounds.get((warp.id, self.detail.number), -1))
        if until == NEVER:
            self.barrier.waiting[warp.id] = warp
        return until

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        barrier = self.barrier
        if isinstance(self.detail, NamedWait):
            self.sm.waited(warp, f"named barrier {self.detail.number}", now)
            merge(self.sm.clock(warp), barrier.told)
            return
        self.sm.rounds[warp.id, self.detail.number] = barrier.round
        if barrier.arrive(self.sm.clock(warp), now):
            self.sm.wake_waiting(barrier)

    def reason(self, warp: Warp, op: Op) -> str:
        missing = self.barrier.warps - self.barrier.arrived
        return f"named barrier {self.barrier.number}, at which {missing} of {self.barrier.warps} warps are missing"


class ClusterHook(Hook):
    """A bulk copy from shared memory to that of another CTA of the cluster."""

    name = "cluster"

    def __init__(self, sm: HopperSm, detail: ClusterCopy) -> None:
        self.sm, self.detail = sm, detail

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        sm, detail = self.sm, self.detail
        barrier = sm.mbarrier(detail.barrier, str(op))
        figure = sm.chip.number
        busy = max(detail.bytes / figure("async.cluster.rate"), figure("async.cluster.issue"))
        start = max(float(now), sm.cluster_free)
        sm.cluster_free = start + busy
        way = figure("async.cluster.round_trip") / 2 - sm.hand_off
        at = round(start + way + detail.bytes / figure("async.cluster.rate"))
        fill = None
        if detail.region:
            fill = sm.hazards.refill(detail.region, f"warp {warp.id}", ("fill", warp.id), sm.clock(warp), now)

        def came(cycle: int) -> None:
            if fill is not None:
                fill.done = cycle
            told = {fill.key: fill.number} if fill is not None else {}
            if barrier.came(detail.bytes, told, cycle):
                sm.wake_waiting(barrier)

        Later(sm, at, came)


class ConstantLoad(Hook):
    """LDC: a result after a fixed time; it does not go through the memory queue."""

    name = "constant cache"

    def __init__(self, sm: HopperSm) -> None:
        self.sm = sm

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        if op.sets is not None:
            warp.pending[op.sets] += 1
            partition = self.sm.machine.partitions[warp.partition]
            partition.released(warp, op.sets, now + self.sm.own.constant_load)
