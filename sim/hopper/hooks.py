"""The instructions by which warps talk to wgmma, copies and barriers: what each waits for and what it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..engine.agent import Hook
from ..engine.clock import EVENT, NEVER, Stage
from ..engine.code import Op
from ..engine.state import Warp
from ..program import Instruction
from .bulk import Commit, CopyWait, CpAsync
from .copies import BulkCopy, Job
from .mbarrier import Arrive, Clock, Mbarrier, PhaseWait, merge
from .tensor import GroupWait, IssueHook, WaitHook, Wgmma

if TYPE_CHECKING:
    from .sm import HopperSm

__all__ = ["ClusterCopy", "NamedArrive", "NamedWait", "hook_of"]


D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class NamedArrive:
    """Detail of a BAR.ARV, or of the first half of a BAR.SYNC: one warp arrives at a named barrier of `warps` warps.

    `block` says that it is the barrier of the whole block (__syncthreads), which is a little quicker.
    """

    number: str
    warps: int
    block: bool = False


@dataclass(frozen=True, slots=True)
class NamedWait:
    """Detail of the second half of a BAR.SYNC: the warp goes on when the round that it arrived in is complete."""

    number: str
    warps: int
    block: bool = False


@dataclass(frozen=True, slots=True)
class ClusterCopy:
    """Detail of a bulk copy into the shared memory of another CTA of the cluster; the bytes count on its `barrier`."""

    bytes: int
    barrier: str
    region: str = ""


def hook_of(sm: HopperSm, item: Instruction) -> Hook | None:
    """What an instruction does, None when it is none of these."""
    own = _HOOKS.get(type(item.detail))
    if own is not None:
        return own(sm, item.detail)
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


class EngineHook(Hook, Generic[D]):
    """An instruction of one of the engines, with what it has to know."""

    def __init__(self, sm: HopperSm, detail: D) -> None:
        self.sm, self.detail = sm, detail

    def fills(self, region: str, barrier: Mbarrier, size: int, warp: Warp, now: int) -> Callable[[int], None]:
        """A copy of `size` bytes into a region was issued: what has to be called when they have come.

        The bytes count on the mbarrier, and whoever waits for its phase knows of the fill.
        """
        sm = self.sm
        fill = sm.refill(region, warp, "fill", now)

        def came(at: int) -> None:
            told: Clock = {}
            if fill is not None:
                fill.done = at
                told = {fill.key: fill.number}
            if barrier.came(size, told, at):
                sm.wake_waiting(barrier)
            elif barrier.bytes < 0 and barrier.pending == barrier.count:
                sm.hazards.more_bytes(barrier.name, at, -barrier.bytes)

        return came


class ArriveHook(EngineHook[Arrive]):
    """mbarrier.arrive, with or without expect_tx."""

    name = "mbarrier"

    def condition(self, warp: Warp, op: Op) -> int:
        return self.sm.drained(warp)

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        clock = dict(self.sm.clock(warp))
        barrier = self.sm.mbarrier(self.detail.barrier, str(op))

        def arrived(at: int) -> None:
            if barrier.arrive(self.detail.count, self.detail.expect, clock, at):
                self.sm.wake_waiting(barrier)

        if self.detail.remote:
            # half of the measured round trip: how it divides over the two ways was not measured
            way = round(self.sm.chip.number("async.cluster.round_trip") / 2) - self.sm.hand_off
            Later(self.sm, now + way, arrived)
        else:
            arrived(now)


class PhaseHook(EngineHook[PhaseWait]):
    """mbarrier.try_wait until the phase of a parity has completed."""

    name = "mbarrier"

    def __init__(self, sm: HopperSm, detail: PhaseWait) -> None:
        super().__init__(sm, detail)
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


class CopyHook(EngineHook[BulkCopy]):
    """A TMA load or store. One warp issues them one after the other, tens of cycles apart."""

    name = "TMA unit"

    def __init__(self, sm: HopperSm, detail: BulkCopy) -> None:
        super().__init__(sm, detail)
        self.apart = sm.chip.integer("async.tma.issue_store" if detail.store else "async.tma.issue")

    def condition(self, warp: Warp, op: Op) -> int:
        return self.sm.copy_after.get(warp.id, 0)

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        sm, detail = self.sm, self.detail
        sm.copy_after[warp.id] = now + self.apart
        if not detail.store:
            came = self.fills(detail.region, sm.mbarrier(detail.barrier, str(op)), detail.bytes, warp, now)
            sm.copies.issue(detail, now, warp.id, lambda job, at: came(at))
            return
        event = sm.hazards.stored(detail.region, warp.id, now) if detail.region else None
        copy = sm.groups.add(warp, True, event)

        def read(job: Job, at: int) -> None:
            copy.read = max(job.least, at)
            copy.done = copy.read + sm.groups.after
            if event is not None:
                event.done = at
            sm.groups.known()

        sm.copies.issue(detail, now, warp.id, read)

    def reason(self, warp: Warp, op: Op) -> str:
        return "its copy before"


class CommitHook(EngineHook[Commit]):
    """cp.async.bulk.commit_group and cp.async.commit_group."""

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        self.sm.groups.commit(warp, self.detail.stores)


class CopyWaitHook(EngineHook[CopyWait]):
    """cp.async.bulk.wait_group(.read) and cp.async.wait_group."""

    name = "copies"

    def condition(self, warp: Warp, op: Op) -> int:
        return self.sm.groups.until(warp, self.detail)

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        what = "cp.async"
        if self.detail.stores:
            what = "sources of TMA stores" if self.detail.read else "TMA stores"
        self.sm.waited(warp, what, now)
        self.sm.groups.passed(warp, self.detail)

    def reason(self, warp: Warp, op: Op) -> str:
        return "its committed copies"


class CpAsyncHook(EngineHook[CpAsync]):
    """cp.async of one warp."""

    name = "cp.async"

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        self.sm.groups.cp_async(warp, self.detail, now)


class NamedHook(EngineHook[NamedArrive | NamedWait]):
    """bar.sync and bar.arrive."""

    name = "named barrier"

    def __init__(self, sm: HopperSm, detail: NamedArrive | NamedWait) -> None:
        super().__init__(sm, detail)
        self.barrier = sm.named_barrier(detail.number, detail.warps, detail.block)

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


class ClusterHook(EngineHook[ClusterCopy]):
    """A bulk copy from shared memory to that of another CTA of the cluster."""

    name = "cluster"

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        sm, detail = self.sm, self.detail
        came = self.fills(detail.region, sm.mbarrier(detail.barrier, str(op)), detail.bytes, warp, now)
        figure = sm.chip.number
        moved = detail.bytes / figure("async.cluster.rate")
        start = max(float(now), sm.cluster_free)
        sm.cluster_free = start + max(moved, figure("async.cluster.issue"))
        way = figure("async.cluster.round_trip") / 2 - sm.hand_off
        Later(sm, round(start + way + moved), came)


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


_HOOKS: dict[type, Callable[[HopperSm, Any], Hook]] = {
    Wgmma: IssueHook,
    GroupWait: WaitHook,
    Arrive: ArriveHook,
    PhaseWait: PhaseHook,
    BulkCopy: CopyHook,
    Commit: CommitHook,
    CopyWait: CopyWaitHook,
    CpAsync: CpAsyncHook,
    NamedArrive: NamedHook,
    NamedWait: NamedHook,
    ClusterCopy: ClusterHook,
}
"""What carries out an instruction, by the kind of its detail."""
