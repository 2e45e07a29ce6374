"""The steady state of loops: when the whole machine comes back to a state, the trips until the end are skipped.

The state of the machine relative to the clock is compared at the boundary of a loop trip. When it is one that was
seen before, everything up to the end of the loop repeats with that period, so the trip counters are advanced by whole
periods and the cycles of those periods are remembered beside the clock, which itself is not moved. The rest (the last
trips, what follows the loop) is simulated as usual, so the result equals that of the full run to the cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .clock import BOUNDARY, NEVER, Stage
from .state import Access, Warp

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["Steady"]

_MOST_STATES = 1024


@dataclass(frozen=True, slots=True)
class _Seen:
    """When a state was seen, the trip of every warp then, and the sums that grow with time."""

    cycle: int
    trips: tuple[int, ...]
    sums: tuple[int, ...]


class Steady(Stage):
    """Looks at the machine at the end of each cycle in which the leading warp began another trip."""

    __slots__ = ("leader", "machine", "seen", "skipped_cycles", "skipped_instructions", "skipped_trips")

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.env, BOUNDARY)
        self.machine = machine
        self.leader: Warp | None = None
        self.seen: dict[tuple[object, ...], _Seen] = {}
        self.skipped_cycles = 0
        self.skipped_trips = 0
        """Loop trips that were not simulated, summed over the warps."""
        self.skipped_instructions = 0
        machine.issue.steady = self

    def turned(self, warp: Warp, now: int) -> None:
        """A warp begins another trip of a loop at `now`."""
        if self.leader is None or not _looping(self.leader):
            self.leader = warp
            self.seen.clear()
        if warp is self.leader:
            self.wake(now)

    def act(self, now: int) -> int:
        """Compare the state with those seen before; jump when it is one of them."""
        machine = self.machine
        state = _state(machine, now)
        if state is None:
            return NEVER
        here = _Seen(now, tuple(warp.trip for warp in machine.warps), _sums(machine))
        before = self.seen.get(state)
        if before is None:
            if len(self.seen) >= _MOST_STATES:
                self.seen.clear()
            self.seen[state] = here
        else:
            self._jump(before, here)
        return NEVER

    def _jump(self, before: _Seen, here: _Seen) -> None:
        machine = self.machine
        moved = [after - was for after, was in zip(here.trips, before.trips, strict=True)]
        # the last trip is always simulated, so that no warp leaves its loop within the skipped part
        periods = min(
            (
                (warp.runs[warp.run].trips - 1 - warp.trip) // step
                for warp, step in zip(machine.warps, moved, strict=True)
                if step
            ),
            default=0,
        )
        if periods < 1:
            return
        cycles = periods * (here.cycle - before.cycle)
        self.skipped_cycles += cycles
        for warp, step in zip(machine.warps, moved, strict=True):
            if step:
                warp.trip += periods * step
                self.skipped_trips += periods * step
                self.skipped_instructions += periods * step * sum(1 for _ in warp.runs[warp.run].ops())
            elif warp.running:
                warp.ready -= cycles  # it waits all the while, and its wait is summed when it ends
            else:
                warp.end -= cycles  # it ended before; the skipped cycles are added to every end afterwards
                warp.release = [release - cycles for release in warp.release]
        _add(machine, [periods * (after - was) for after, was in zip(here.sums, before.sums, strict=True)])
        for agent in machine.agents:
            agent.skipped(periods, cycles)
        self.seen.clear()


def _looping(warp: Warp) -> bool:
    return warp.running and warp.runs[warp.run].trips > 1


def _sums(machine: Machine) -> tuple[int, ...]:
    stolen = [port.stolen for port in machine.ports]
    return (*machine.issue.stalls, *machine.returns.busy, *stolen)


def _add(machine: Machine, more: list[int]) -> None:
    stalls, busy = machine.issue.stalls, machine.returns.busy
    for target in (stalls, busy):
        for index in range(len(target)):
            target[index] += more.pop(0)
    for port in machine.ports:
        port.stolen += more.pop(0)


def _state(machine: Machine, now: int) -> tuple[object, ...] | None:
    """All that the future depends on, cycles counted from `now`, the past as 0; trip counters left out."""

    def at(cycle: int) -> int:
        return cycle if cycle == NEVER else max(cycle - now, 0)

    def accesses(items: list[Access]) -> tuple[object, ...]:
        return tuple((item.warp.id, id(item.op)) for item in items)

    def warp_state(warp: Warp) -> object:
        if not warp.running:
            return (any(warp.pending), *map(at, warp.release), at(warp.lane_until))
        waits = (warp.ready - now, warp.armed - now) if _looping(warp) else (at(warp.ready), at(warp.armed))
        if warp.when == NEVER:
            waits = (waits[0], 0)
        return (
            warp.run,
            id(warp.op),
            *waits,
            at(warp.when),
            warp.why,
            warp.gate,
            *warp.pending,
            *map(at, warp.release),
            at(warp.barrier),
            at(warp.lane_until),
        )

    agents = [agent.state(now) for agent in machine.agents]
    if None in agents:
        return None
    parts: list[object] = [warp_state(warp) for warp in machine.warps]
    for partition in machine.partitions:
        port = partition.port
        parts += [
            tuple(warp.id for warp in partition.warps),
            partition.last.id if partition.last else -1,
            tuple(map(at, partition.free)),
            accesses(list(port.entries)),
            tuple(at(entry.issued + port.timing.queue_head) for entry in port.entries),
            tuple(map(at, port.reuse)),
            tuple(warp.id for warp in port.hungry),
            (at(port.ready), port.sending is not None, at(port.until), at(port.blocked_until)),
            (at(port.idle_from), port.registers, port.parked),
        ]
    slots, lanes = machine.slots, machine.lanes
    parts += [
        (slots.used, at(slots.bus), slots.turn),
        tuple((at(cycle), port.number, registers) for cycle, port, registers in slots.freeing),
        accesses(lanes.fifo),
        tuple((at(access.eligible), max(access.key - 16 * now, -1)) for access in lanes.fifo),
        accesses([access for access in lanes.serving if access is not None]),
        tuple((access is None, at(until)) for access, until in zip(lanes.serving, lanes.until, strict=True)),
        now % lanes.number,
        tuple(map(at, machine.returns.free)),
        (machine.barrier.arrived, at(machine.barrier.free)),
        tuple(agents),
    ]
    return tuple(parts)
