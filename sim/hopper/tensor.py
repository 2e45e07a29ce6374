"""wgmma as warps see it: issue by all four warps of a warpgroup, committed groups, and the wait for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engine.agent import Hook
from ..engine.clock import NEVER
from ..engine.code import Op
from ..engine.state import Warp
from .constants import Async
from .fetch import Fetch, Product

if TYPE_CHECKING:
    from .sm import HopperSm

__all__ = ["GroupWait", "Tensor", "Wgmma"]

_WARPS = 4
_KEPT = 16
_LOGGED = 5_000


@dataclass(frozen=True, slots=True)
class Wgmma:
    """Detail of an HGMMA instruction: m64 n`n` and 32 bytes of K.

    `registers` says that A comes from registers, `a_at` and `b_at` are byte offsets of the operands in dynamic shared
    memory, `commits` ends a group. `reads` names the regions that it reads, for the report of hazards.
    """

    n: int
    registers: bool = False
    a_at: int = 0
    b_at: int = 0
    commits: bool = False
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupWait:
    """Detail of a WARPGROUP.DEPBAR: wait until no more than `pending` committed groups are unfinished."""

    pending: int = 0


@dataclass(slots=True)
class _Group:
    """One committed group of a warpgroup while it is open or running."""

    left: int = 0
    closed: bool = False
    done: int = NEVER


@dataclass(slots=True)
class _Warpgroup:
    index: int
    issued: list[int] = field(default_factory=lambda: [0] * _WARPS)
    launched: int = 0
    committed: list[int] = field(default_factory=lambda: [0] * _WARPS)
    """Groups that each warp has committed."""
    open: list[bool] = field(default_factory=lambda: [False] * _WARPS)
    groups: dict[int, _Group] = field(default_factory=dict)
    """Unfinished groups by number, and the finished ones whose cycle a warp may still ask for."""
    waiting: dict[int, Warp] = field(default_factory=dict)
    place: int = 0
    freed: int = 0
    """The cycle in which the last product was read."""
    products: list[Wgmma] = field(default_factory=list)
    """What was issued by the first warp and not by all."""


class Tensor:
    """The tensor core's queue of each warpgroup, and when groups are complete."""

    def __init__(self, sm: HopperSm, own: Async, fetch: Fetch, warpgroups: dict[int, int]) -> None:
        self.sm = sm
        self.own = own
        self.fetch = fetch
        self.groups = {number: _Warpgroup(index) for number, index in warpgroups.items()}
        self.by_index = {index: self.groups[number] for number, index in warpgroups.items()}
        self.products = 0
        self.busy = 0
        """Cycles that the tensor core needs for the products so far, N / 2 each."""
        fetch.finished = self.read
        fetch.started = self.began
        self.log: list[tuple[int, int, int, int]] = []
        """Begin and end of the operand reads, columns and warpgroup of products, up to some thousands."""
        self.late = 0
        """1 after the first product of a fresh group, 2 once the second was delayed."""

    # -- issue

    def room(self, warp: Warp) -> int:
        """The cycle from which the warp may issue another HGMMA, NEVER while the queue of its warpgroup is full."""
        group = self.groups[warp.id // _WARPS]
        if group.issued[warp.id % _WARPS] - self.fetch.queues[group.index].done < self.own.depth:
            return group.freed
        group.waiting[warp.id] = warp
        return NEVER

    def issue(self, warp: Warp, detail: Wgmma, now: int) -> None:
        """One warp has issued an HGMMA; the product begins when all four have."""
        group = self.groups[warp.id // _WARPS]
        lane = warp.id % _WARPS
        if group.issued[lane] == max(group.issued):
            group.products.append(detail)
        group.issued[lane] += 1
        group.open[lane] = True
        number = group.committed[lane]
        entry = group.groups.setdefault(number, _Group())
        if detail.commits:
            group.committed[lane] += 1
            group.open[lane] = False
        ready = min(group.issued)
        if ready == group.launched:
            return
        group.launched = ready
        found = group.products.pop(0)
        entry.left += 1
        entry.closed = found.commits
        product = Product(
            found.n,
            found.registers,
            self.own.half(found.a_at),
            self.own.half(found.b_at),
            place=group.place,
            last=found.commits,
            group=group.index,
            launched=now,
            number=number,
        )
        group.place = 0 if found.commits else group.place + 1
        self.products += 1
        self.busy += found.n * self.own.b_period // self.own.columns
        self.fetch.push(product)
        self.sm.path.look(now + 1)

    # -- the other end

    def began(self, product: Product, now: int) -> None:
        """The operands B of a product begin to be read: the second of a fresh group comes late."""
        if product.fresh:
            self.late = 1
        elif self.late == 1:
            self.late = 2
            self.fetch.delay(now, self.own.further)

    def read(self, product: Product, now: int) -> None:
        """The operands of a product have been read: room in the queue; the last of a group completes it."""
        group = self.by_index[product.group]
        entry = group.groups[product.number]
        entry.left -= 1
        if len(self.log) < _LOGGED:
            self.log.append((product.began, now, product.n, product.group))
        group.freed = now
        tail = self.tail(product, now)
        if not entry.left and entry.closed:
            entry.done = tail
            if len(group.groups) > _KEPT:
                oldest = min(group.groups)
                if oldest < min(group.committed) - _KEPT // 2:
                    del group.groups[oldest]
        for warp in list(group.waiting.values()):
            del group.waiting[warp.id]
            self.sm.machine.recheck(warp)
        if self.late == 2 and product.place > 1:
            self.late = 0

    def tail(self, product: Product, now: int) -> int:
        """The cycle at which the wait for a product returns whose operands have been read at `now`."""
        own = self.own
        lead = 2 + (0 if product.registers else 2 * own.a_frames)
        after = (own.latency_rs if product.registers else own.latency_ss) - lead
        if product.n > 192:
            after += own.latency_widest
        if product.place == 1 and product.last:
            after += own.second - own.further
        return now + after

    def finished(self, warp: Warp, pending: int) -> int:
        """The cycle from which all but `pending` groups committed by the warp are complete, NEVER if not known."""
        group = self.groups.get(warp.id // _WARPS)
        if group is None:
            return 0
        # groups of a warpgroup complete in order; those that were dropped are long complete
        entry = group.groups.get(group.committed[warp.id % _WARPS] - 1 - pending)
        if entry is None:
            return 0
        if entry.done == NEVER:
            group.waiting[warp.id] = warp
        return entry.done

    def open_group(self, warp: Warp) -> int:
        """Number of the group that the warp's next wgmma belongs to."""
        group = self.groups.get(warp.id // _WARPS)
        return group.committed[warp.id % _WARPS] if group is not None else 0

    @property
    def running(self) -> int:
        """Products launched and not completely read."""
        return sum(group.launched - self.fetch.queues[group.index].done for group in self.groups.values())

    def unfinished(self) -> str | None:
        """One sentence about a product that cannot begin because not all four warps issued it."""
        for number, group in self.groups.items():
            if max(group.issued) != min(group.issued):
                missing = [
                    number * _WARPS + lane for lane, n in enumerate(group.issued) if n == min(group.issued)
                ]
                names = ", ".join(map(str, missing))
                return (
                    f"a wgmma of warpgroup {number} waits for warp {names} to issue it (all four warps must)"
                )
        return None

    def state(self, now: int) -> tuple[object, ...]:
        """All that its future depends on, relative to `now`."""
        return (
            self.late,
            tuple(
                (
                    tuple(issued - group.launched for issued in group.issued),
                    group.launched - self.fetch.queues[group.index].done,
                    tuple(committed - group.committed[0] for committed in group.committed),
                    tuple(group.open),
                    group.place,
                    tuple(
                        (
                            key - group.committed[0],
                            entry.left,
                            entry.closed,
                            -1 if entry.done == NEVER else entry.done - now,
                        )
                        for key, entry in sorted(group.groups.items())
                        if entry.done > now
                    ),
                )
                for group in self.groups.values()
            ),
        )


class IssueHook(Hook):
    """HGMMA."""

    name = "tensor core"

    def __init__(self, sm: HopperSm, detail: Wgmma) -> None:
        self.sm, self.detail = sm, detail

    def condition(self, warp: Warp, op: Op) -> int:
        return self.sm.tensor.room(warp)

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        self.sm.waited(warp, "room in the tensor core's queue", now)
        self.sm.issue_wgmma(warp, self.detail, now)

    def reason(self, warp: Warp, op: Op) -> str:
        return "room in the tensor core's queue"


class WaitHook(Hook):
    """WARPGROUP.DEPBAR: wgmma.wait_group."""

    name = "tensor core"

    def __init__(self, sm: HopperSm, detail: GroupWait) -> None:
        self.sm, self.detail = sm, detail

    def condition(self, warp: Warp, op: Op) -> int:
        return self.sm.tensor.finished(warp, self.detail.pending)

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        self.sm.waited(warp, "wgmma groups", now)
        self.sm.waited_wgmma(warp, self.detail.pending, now)

    def reason(self, warp: Warp, op: Op) -> str:
        return self.sm.tensor.unfinished() or "its wgmma groups"
