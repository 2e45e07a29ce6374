"""Service: two lanes, one on even and one on odd cycles, that take from the first four waiting instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simpy import Environment

from .clock import NEVER, SERVICE, Stage
from .state import Access, Warp
from .timing import Timing

if TYPE_CHECKING:
    from .port import Port
    from .returns import Returns
    from .slots import Slots

__all__ = ["Lanes"]


class Lanes(Stage):
    """The service stage of the SM: an instruction stays in its lane and moves one wavefront every 2 cycles.

    A lane that becomes free takes the oldest of the first `window` waiting instructions (order of arrival) that is
    eligible and whose warp is not in the other lane. If the window holds only instructions of the warp in service,
    the lane stays empty although others wait behind. How long an instruction stays is asked of `duration`, and a
    stay that has begun can be made longer with `postpone`: other users of the data path plug in there.
    """

    __slots__ = ("fifo", "number", "ports", "returns", "serving", "slots", "timing", "until")

    slots: Slots
    returns: Returns

    def __init__(self, env: Environment, timing: Timing, ports: list[Port]) -> None:
        super().__init__(env, SERVICE)
        self.timing = timing
        self.ports = ports
        self.number = timing.wavefront
        """Lanes: as many as cycles from one wavefront of a lane to its next, so that one moves every cycle."""
        self.fifo: list[Access] = []
        self.serving: list[Access | None] = [None] * self.number
        self.until = [NEVER] * self.number
        """Cycle at which each busy lane is free again, one period after its last wavefront."""

    def arrive(self, access: Access, sent: int) -> None:
        """An instruction whose transfer ended at `sent` comes to the end of the waiting line."""
        timing = self.timing
        op = access.op
        arrival = sent + timing.to_service_store if op.store else sent
        access.eligible = arrival + timing.to_service
        # of those that arrive in the same cycle stores come first (they have been under way longer), then by partition
        access.key = key = (arrival * 2 + (not op.store)) * 8 + access.warp.partition
        fifo = self.fifo
        place = len(fifo)
        while place and fifo[place - 1].key > key:
            place -= 1
        fifo.insert(place, access)
        if place < timing.window:
            for lane in range(self.number):
                if self.serving[lane] is None:
                    self.wake(self._turn(lane, max(access.eligible, access.warp.lane_until)))

    def duration(self, access: Access, lane: int, now: int) -> int:
        """Cycles from the first wavefront until the lane is free again."""
        return self.number * access.op.wavefronts

    def postpone(self, lane: int, cycles: int) -> None:
        """Something else takes the data path from the instruction in this lane for some cycles."""
        access = self.serving[lane]
        if access is not None:
            self.until[lane] += cycles
            access.warp.lane_until = self.until[lane]

    def act(self, now: int) -> int:
        """The lane whose turn it is finishes its instruction and takes the next."""
        lane = now % self.number
        if self.until[lane] <= now:
            access = self.serving[lane]
            assert access is not None
            self.serving[lane] = None
            self.until[lane] = NEVER
            access.served = now - self.number
            self.returns.served(access, access.served)
        if self.serving[lane] is None and self.fifo:
            self._take(lane, now)
        return self._next(now)

    def _take(self, lane: int, now: int) -> None:
        fifo = self.fifo
        window = self.timing.window
        passed: list[Warp] | None = None
        for place in range(min(len(fifo), window)):
            access = fifo[place]
            warp = access.warp
            if warp.lane_until > now:
                continue
            if access.eligible > now:
                passed = [warp] if passed is None else [*passed, warp]
                continue
            if passed is not None and warp in passed:
                continue
            del fifo[place]
            access.started = now
            self.serving[lane] = access
            self.until[lane] = warp.lane_until = now + self.duration(access, lane, now)
            self.slots.started(self.ports[warp.partition], access.op.data, now)
            if len(fifo) >= window:
                entering = fifo[window - 1]
                earliest = now + self.timing.window_enter
                if entering.eligible < earliest:
                    entering.eligible = earliest
            return

    def _next(self, now: int) -> int:
        upcoming = NEVER
        idle = False
        for until in self.until:
            if until == NEVER:
                idle = True
            elif until < upcoming:
                upcoming = until
        if idle and self.fifo:
            earliest = NEVER
            for access in self.fifo[: self.timing.window]:
                at = access.eligible
                until = access.warp.lane_until
                if until > at:
                    at = until
                if at < earliest:
                    earliest = at
            if earliest <= now:
                earliest = now + 1
            for lane in range(self.number):
                if self.serving[lane] is None:
                    at = self._turn(lane, earliest)
                    if at < upcoming:
                        upcoming = at
        return upcoming

    def _turn(self, lane: int, cycle: int) -> int:
        """The first cycle of this lane that is not before `cycle`."""
        return cycle + (lane - cycle) % self.number
