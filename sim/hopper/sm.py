"""A Hopper SM beside its warps: the agent that puts the shared path, the tensor core and the copy engines in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..chip import Chip
from ..engine.agent import Agent, Hook
from ..engine.clock import NEVER
from ..engine.errors import EngineError
from ..engine.issue import Issue
from ..engine.partition import Partition
from ..engine.port import Port
from ..engine.returns import Returns
from ..engine.slots import Slots
from ..engine.state import Access, Warp
from ..engine.timing import timing_of
from ..program import Instruction
from .bulk import BulkGroups
from .constants import async_of
from .copies import BulkCopy, CopyUnit
from .fetch import Fetch
from .hazards import Event, Hazards
from .hooks import hook_of
from .mbarrier import Clock, Mbarrier, NamedBarrier, PhaseWait
from .path import SharedPath
from .ports import TensorPort
from .tensor import IssueHook, Tensor, Wgmma
from .traffic import Places

if TYPE_CHECKING:
    from ..engine.machine import Machine

__all__ = ["HopperSm"]

_WARPS = 4


class HopperSm(Agent):
    """wgmma, copies and barriers of one SM, as an agent of `simulate`.

    `barriers` are the mbarriers of the block with their arrival counts, `regions` the pieces of dynamic shared memory
    (name -> first byte, bytes) that copies fill and store from. Give a fresh one to every simulation; afterwards
    `path`, `tensor`, `copies` and `hazards` hold what happened. Raises ChipError for a chip without the constants.
    """

    machine: Machine
    path: SharedPath
    fetch: Fetch
    tensor: Tensor
    copies: CopyUnit
    groups: BulkGroups

    def __init__(
        self,
        chip: Chip,
        barriers: Mapping[str, int] | None = None,
        regions: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        self.chip = chip
        self.own = async_of(chip)
        self.barriers = {name: Mbarrier(name, count) for name, count in (barriers or {}).items()}
        self.named: dict[str, NamedBarrier] = {}
        self.hazards = Hazards()
        self.clocks: dict[int, Clock] = {}
        self.hand_off = round(chip.number("async.mbarrier.hand_off"))
        self.watched: dict[int, tuple[str, ...]] = {}
        self.rounds: dict[tuple[int, str], int] = {}
        """Round of a named barrier in which a warp arrived last."""
        self.copy_after: dict[int, int] = {}
        """The cycle from which each warp may issue its next copy."""
        self.cluster_free = 0.0
        """When the way to the other CTA takes the next copy."""
        self._turns: dict[tuple[int, str], int] = {}
        self.waits: Counter[tuple[int, str]] = Counter()
        """Cycles that warps waited, by machine group and what for."""
        self._skipped: Counter[tuple[object, ...]] = Counter()
        self._seen: dict[int, Counter[tuple[object, ...]]] = {}
        self._last = 0
        self._reads: dict[int, list[tuple[list[Event], int]]] = {}
        for name, (begin, size) in (regions or {}).items():
            self.hazards.region(name, begin, begin + size, filled=False)

    def attach(self, machine: Machine) -> None:
        """Put the shared path in the place of the lanes, and ports that the tensor core can hold up."""
        self.machine = machine
        env, timing = machine.env, machine.timing
        warpgroups = self._warpgroups(machine)
        self.fetch = Fetch(self.own, len(warpgroups))
        places = Places(self.own)
        places.learn(machine.warps, machine.program.groups)
        ports: list[Port] = [
            TensorPort(env, timing, number, self._held) for number in range(timing.partitions)
        ]
        machine.ports = ports
        machine.partitions = [Partition(port.number, port) for port in ports]
        machine.slots = Slots(env, timing, machine.ports)
        machine.returns = Returns(timing, machine.partitions)
        machine.issue = Issue(env, timing, machine.partitions)
        self.path = SharedPath(env, timing, machine.ports, self.own, self.fetch, places)
        machine.lanes = self.path
        self.tensor = Tensor(self, self.own, self.fetch, warpgroups)
        self.copies = CopyUnit(self.path, self.own, self.chip)
        self.groups = BulkGroups(self)
        self.path.served = self._served
        self._declare(machine)
        if self.hazards.regions:
            self.watched = {
                key: touched
                for key, place in places.known.items()
                if (
                    touched := tuple(
                        region.name
                        for region in self.hazards.regions.values()
                        if place.begin < region.end and region.begin < place.end and place.half >= 0
                    )
                )
            }
            if self.watched:
                self.path.watch = self.touched

    def hook(self, item: Instruction) -> Hook | None:
        """What the instructions of wgmma, copies and barriers do."""
        return hook_of(self, item)

    def waits_for(self) -> str | None:
        """What is left to do when nothing can happen any more."""
        parts = [text for text in (self.tensor.unfinished(),) if text]
        parts += [
            barrier.missing() for barrier in self.barriers.values() if barrier.waiting or barrier.bytes > 0
        ]
        return "; ".join(parts) or None

    def state(self, now: int) -> tuple[object, ...] | None:
        """What the future of the agents depends on."""
        self._seen[now] = self._totals()
        self._last = now
        return (
            self.path.state(now),
            self.tensor.state(now),
            self.copies.state(now),
            self.groups.state(now),
            tuple(barrier.state(now) for barrier in self.barriers.values()),
            tuple(barrier.state(now) for barrier in self.named.values()),
            tuple(turn & 1 for _, turn in sorted(self._turns.items())),
            max(self.cluster_free - now, 0.0),
            tuple((warp, max(after - now, 0)) for warp, after in sorted(self.copy_after.items())),
        )

    def skipped(self, periods: int, cycles: int) -> None:
        """Loops were extrapolated: what a period adds to every sum, so many times."""
        now = self._totals()
        now.subtract(self._seen[self._last - cycles // periods])
        for key, amount in now.items():
            self._skipped[key] += periods * amount
        self._seen.clear()

    def totals(self) -> Counter[tuple[object, ...]]:
        """Sums of the run: ("frames", "A" | "B" | "lanes"), ("bytes", "TMA load" | ...), ("waits", group, what), ..."""
        found = self._totals()
        for key, amount in self._skipped.items():
            found[key] += amount
        return found

    def _totals(self) -> Counter[tuple[object, ...]]:
        path = self.path
        found: Counter[tuple[object, ...]] = Counter()
        found["frames", "B"] = path.b_frames
        found["frames", "A"] = path.a_frames
        found["lost", "B"], found["lost", "A"] = path.lost
        found["starved", "lanes"] = path.starved_frames
        found["wavefronts", "warps"] = path.moved
        found["products",] = self.tensor.products
        found["busy", "tensor core"] = self.tensor.busy
        found["copies", "TMA load"], found["copies", "TMA store"] = self.copies.number
        found["bytes", "TMA load"], found["bytes", "TMA store"] = self.copies.moved
        found["busy", "TMA load"], found["busy", "TMA store"] = self.copies.busy
        found["copies", "cp.async"] = self.groups.number
        found["denied", "TMA store"] = path.read_port.denied_cycles
        found["shared", "TMA load"] = path.write_port.yielded
        for (group, what), cycles in self.waits.items():
            found["waits", group, what] = cycles
        return found

    def waited(self, warp: Warp, what: str, now: int) -> None:
        """A warp issues an instruction that it could have issued at `ready` if nobody had let it wait."""
        if warp.ready >= 0 and now > warp.ready:
            self.waits[warp.group, what] += now - warp.ready

    def clock(self, warp: Warp) -> Clock:
        """What a warp knows to have happened."""
        return self.clocks.setdefault(warp.id, {})

    def refill(self, region: str, warp: Warp, kind: str, now: int) -> Event | None:
        """A copy of a warp begins to fill a region; None when the region is nobody's business."""
        if not region:
            return None
        return self.hazards.refill(region, f"warp {warp.id}", (kind, warp.id), self.clock(warp), now)

    # -- wgmma

    def issue_wgmma(self, warp: Warp, detail: Wgmma, now: int) -> None:
        """A warp has issued an HGMMA."""
        if detail.reads:
            events = [self.hazards.read(name, warp.id, self.clock(warp), now) for name in detail.reads]
            self._reads.setdefault(warp.id, []).append((events, self.tensor.open_group(warp)))
        self.tensor.issue(warp, detail, now)

    def waited_wgmma(self, warp: Warp, pending: int, now: int) -> None:
        """A warp has passed the wait for its groups: it knows that their operands were read."""
        own = self._reads.get(warp.id)
        if not own:
            return
        done = self.tensor.open_group(warp) - pending
        clock = self.clock(warp)
        left: list[tuple[list[Event], int]] = []
        for events, group in own:
            if group < done:
                for event in events:
                    event.done = min(event.done, now)
                    self.hazards.finished(clock, event)
            else:
                left.append((events, group))
        self._reads[warp.id] = left

    # -- ordinary accesses to regions

    def touched(self, access: Access, now: int) -> None:
        """The path serves an access to a region that copies use."""
        warp = access.warp
        clock = self.clock(warp)
        for name in self.watched.get(id(access.op), ()):
            if access.op.store:
                self.hazards.written(name, warp.id, clock, now)
            else:
                self.hazards.finished(clock, self.hazards.read(name, warp.id, clock, now, done=now))

    # -- barriers

    def drained(self, warp: Warp) -> int:
        """From when the warp's own loads and stores have been served; arriving on a barrier is ordered behind them."""
        port = self.machine.ports[warp.partition]
        path = self.path
        under_way = any(
            access is not None and access.warp is warp
            for access in (*port.entries, *path.fifo, *path.serving)
        )
        if under_way:
            path.draining[warp.id] = warp
            return NEVER
        return path.drained.get(warp.id, 0)

    def _served(self, warp: Warp) -> None:
        if self.drained(warp) < NEVER:
            del self.path.draining[warp.id]
            self.machine.recheck(warp)

    def turn(self, warp: Warp, wait: PhaseWait) -> int:
        """How often the warp has passed waits of this ring (of this barrier when it has none)."""
        return self._turns.get((warp.id, wait.ring or wait.barrier), 0)

    def turned(self, warp: Warp, wait: PhaseWait) -> None:
        """The warp has passed a wait."""
        key = (warp.id, wait.ring or wait.barrier)
        self._turns[key] = self._turns.get(key, 0) + 1

    def wake_waiting(self, barrier: Mbarrier | NamedBarrier) -> None:
        """Look again at the warps that wait at a barrier."""
        waiting = list(barrier.waiting.values())
        barrier.waiting.clear()
        for warp in waiting:
            self.machine.recheck(warp)

    def mbarrier(self, name: str, place: str) -> Mbarrier:
        """The mbarrier of a name. Raises EngineError that names the instruction."""
        known = self.barriers.get(name)
        if known is None:
            raise EngineError(f"{place}: no mbarrier {name!r} (known: {', '.join(self.barriers) or 'none'})")
        return known

    def named_barrier(self, number: str, warps: int, block: bool) -> NamedBarrier:
        """The named barrier of a number. Raises EngineError when it was used with another number of warps."""
        known = self.named.get(number)
        if known is None:
            timing = timing_of(self.chip)
            alone = timing.barrier_arrive + timing.barrier_release
            figure = self.chip.number
            if block:
                more = figure("async.named_barrier.block") - alone
            else:
                more = figure("async.named_barrier.pair") / 2 - alone - 2 * timing.barrier_step
            known = self.named[number] = NamedBarrier(
                number,
                warps,
                timing.barrier_arrive,
                timing.barrier_step,
                timing.barrier_release + round(more),
            )
        if known.warps != warps:
            raise EngineError(f"named barrier {number} of {known.warps} warps is used with {warps} as well")
        return known

    def _held(self, begin: int, end: int) -> int:
        return self.path.held(begin, end)

    def _declare(self, machine: Machine) -> None:
        """Which regions are filled by copies of the program at all."""
        for _, _, _, item in machine.program.places():
            detail = item.detail
            if isinstance(detail, BulkCopy) and detail.region:
                self.hazards.region(
                    detail.region, detail.at, detail.at + detail.bytes, filled=not detail.store
                )

    def _warpgroups(self, machine: Machine) -> dict[int, int]:
        found: dict[int, int] = {}
        for warp in machine.warps:
            if any(isinstance(op.hook, IssueHook) for op in warp.ops()):
                found.setdefault(warp.id // _WARPS, len(found))
        for number in found:
            members = [warp for warp in machine.warps if warp.id // _WARPS == number]
            issuing = [warp for warp in members if any(isinstance(op.hook, IssueHook) for op in warp.ops())]
            if len(issuing) != _WARPS:
                first = number * _WARPS
                raise EngineError(
                    f"wgmma is issued by a whole warpgroup: warps {first} to {first + _WARPS - 1} all need it"
                )
        return found
