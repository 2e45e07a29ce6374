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
    the lane stays empty although others wait behind.

    Other users of the data path take it with `postpone`, which makes a stay that has begun longer. They set `early`
    to False, so that no result is sent ahead of its time.
    """

    __slots__ = (
        "early",
        "fifo",
        "front",
        "front_store",
        "number",
        "ports",
        "returns",
        "serving",
        "slots",
        "timing",
        "until",
        "window",
    )

    slots: Slots
    returns: Returns

    def __init__(self, env: Environment, timing: Timing, ports: list[Port]) -> None:
        super().__init__(env, SERVICE)
        self.timing = timing
        self.ports = ports
        self.window = timing.window
        self.front = timing.to_service
        self.front_store = timing.to_service + timing.to_service_store
        self.number = timing.wavefront
        """Lanes: as many as cycles from one wavefront of a lane to its next, so that one moves every cycle."""
        self.fifo: list[Access] = []
        self.serving: list[Access | None] = [None] * self.number
        """Instructions in service whose end still has to be looked at."""
        self.until = [0] * self.number
        """Cycle from which each lane is free, one period after its last wavefront."""
        self.early = True

    def arrive(self, access: Access, sent: int) -> None:
        """An instruction whose transfer ends at `sent` comes to the end of the waiting line."""
        if access.op.store:
            access.eligible = eligible = sent + self.front_store
            key = eligible * 16
        else:
            access.eligible = eligible = sent + self.front
            key = eligible * 16 + 8
        # of those that arrive in the same cycle stores come first (they have been under way longer), then by partition
        access.key = key = key + access.warp.partition
        fifo = self.fifo
        place = len(fifo)
        while place and fifo[place - 1].key > key:
            place -= 1
        fifo.insert(place, access)
        if place < self.window:
            earliest = access.warp.lane_until
            if eligible > earliest:
                earliest = eligible
            if earliest < self.at:
                self._look(earliest)

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
            if self.serving[lane] is not None:
                self._finish(lane)
            passed: list[Warp] | None = None
            for place, access in enumerate(self.fifo):
                if place == self.window:
                    break
                warp = access.warp
                if warp.lane_until > now:
                    continue
                if access.eligible > now:
                    passed = [warp] if passed is None else [*passed, warp]
                elif passed is None or warp not in passed:
                    self._take(place, access, lane, now)
                    break
        return self._next(now)

    def _take(self, place: int, access: Access, lane: int, now: int) -> None:
        """The instruction at this place of the waiting line starts service, another one comes into the window."""
        fifo = self.fifo
        del fifo[place]
        if len(fifo) >= self.window:
            entering = fifo[self.window - 1]
            earliest = now + self.timing.window_enter
            if entering.eligible < earliest:
                entering.eligible = earliest
        op = access.op
        warp = access.warp
        access.started = now
        self.until[lane] = warp.lane_until = until = now + self.number * op.wavefronts
        self.slots.started(self.ports[warp.partition], op.data, now)
        if not self.early:
            self.serving[lane] = access
            return
        access.served = served = until - self.number
        if op.store:
            return
        if served > now:
            self.serving[lane] = access
            return
        # A single wavefront: nothing that starts later can end before, so its result may be sent at once, after
        # what ended before it in another lane.
        for other, earlier in enumerate(self.serving):
            if earlier is not None and self.until[other] - self.number < now:
                self._finish(other)
        self.returns.served(access, served)

    def _finish(self, lane: int) -> None:
        access = self.serving[lane]
        assert access is not None
        self.serving[lane] = None
        access.served = self.until[lane] - self.number
        self.returns.served(access, access.served)

    def _next(self, now: int) -> int:
        """The next cycle at which an instruction ends or may be taken."""
        fifo = self.fifo
        serving = self.serving
        upcoming = NEVER
        if not fifo:
            for lane, until in enumerate(self.until):
                if serving[lane] is not None and until < upcoming:
                    upcoming = until
            return upcoming
        first = fifo[0]
        earliest = now + 1
        if first.eligible <= earliest and self.until[(now + 1) % self.number] == earliest:
            return earliest
        earliest = NEVER
        for access in fifo if len(fifo) <= self.window else fifo[: self.window]:
            at = access.eligible
            free = access.warp.lane_until
            if free > at:
                at = free
            if at <= now:
                earliest = now + 1
                break
            if at < earliest:
                earliest = at
        for lane, at in enumerate(self.until):
            if at < earliest and serving[lane] is None:
                at = earliest + (lane - earliest) % self.number  # noqa: PLW2901
            if at < upcoming:
                upcoming = at
        return upcoming

    def _look(self, earliest: int) -> None:
        """Wake up when a lane is free for an instruction that can start at `earliest`."""
        for lane in range(self.number):
            at = self.until[lane]
            if at < earliest:
                at = earliest + (lane - earliest) % self.number
            self.wake(at)
