"""SimPy's clock, and stages: callbacks on it that know when they have something to do next.

The order of work within one cycle is SimPy's integer event priority:

    EVENT    0   transfers into the SM end, agents that are no warps act
    SERVICE  1   a lane finishes an instruction and takes the next
    GRANT    2   a slot is granted to the head of a partition's queue
    ISSUE    4   every partition issues one instruction
    BOUNDARY 9   the state of the machine is looked at (steady state of loops)

3, the transfer of registers into the SM, needs no event of its own: its end is known by arithmetic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from heapq import heappop, heappush
from typing import Any

import simpy
from simpy.events import Event

__all__ = [
    "BOUNDARY",
    "EVENT",
    "GRANT",
    "ISSUE",
    "NEVER",
    "SERVICE",
    "Clock",
    "Limit",
    "LimitReached",
    "Stage",
]

EVENT, SERVICE, GRANT, ISSUE, BOUNDARY = 0, 1, 2, 4, 9
NEVER = 1 << 60
"""A cycle that no simulation reaches: "not known when"."""


class Clock(simpy.Environment):
    """SimPy's environment with cycles as whole numbers, and a loop that calls stages without detours.

    Stages are ordinary SimPy events, and `step` treats them as such; `run` without a limit only writes the call out,
    which halves what an event costs. Every other event (processes and timeouts of agents) goes through `step`.
    """

    @property
    def scheduled(self) -> int:
        """Number of events scheduled so far."""
        # SimPy numbers its events with an itertools.count, whose repr is the one way to look without taking
        return int(repr(self._eid).removeprefix("count(").removesuffix(")"))

    def run(self, until: float | Event | None = None) -> Any:
        """Process events until none is left, or as SimPy does with `until`."""
        if until is not None:
            return super().run(until)
        queue: list[tuple[int, int, int, Event]] = self._queue  # pyright: ignore[reportAssignmentType]
        number = self._eid
        while queue:
            event = queue[0][3]
            if type(event) is not _Tick:
                self.step()
                continue
            now = heappop(queue)[0]
            self._now = now
            stage = event.stage
            if now == stage.at:
                upcoming = stage.at = stage.act(now)
                if upcoming < NEVER:
                    heappush(queue, (upcoming, stage.priority, next(number), event))
        return None


class Stage(ABC):
    """One mechanism on the clock: `wake(cycle)` asks for a call of `act(cycle)`, which says when it acts next.

    A stage owns a single SimPy event that it schedules again and again. SimPy cannot take an event back: when a
    stage is asked to act earlier than it had planned, the later event still comes and finds nothing to do.
    """

    __slots__ = ("_again", "_event", "_schedule", "at", "env", "priority")

    def __init__(self, env: simpy.Environment, priority: int) -> None:
        self.env = env
        self.priority = priority
        self.at = NEVER
        """The cycle of the next action, NEVER when there is none."""
        self._event = _Tick(env, self)
        self._again = [self._fire]
        self._event.callbacks = self._again
        self._schedule = env.schedule

    def wake(self, cycle: int) -> None:
        """Act at this cycle, unless an earlier action is planned already."""
        if cycle < self.at:
            self.at = cycle
            # SimPy's stubs know only its own two priorities; any integer works
            self._schedule(self._event, self.priority, cycle - self.env.now)  # pyright: ignore[reportArgumentType]

    def _fire(self, event: Event) -> None:
        """What `Clock.run` does, for a SimPy that steps by itself."""
        event.callbacks = self._again
        now = self.at
        if now == self.env.now:
            upcoming = self.at = self.act(now)
            if upcoming < NEVER:
                self._schedule(event, self.priority, upcoming - now)  # pyright: ignore[reportArgumentType]

    @abstractmethod
    def act(self, now: int) -> int:
        """Do what is due at cycle `now`; returns the cycle of the next action, NEVER when it is not known.

        Only the returned cycle counts: a call of `wake` on the stage itself has no effect while it acts.
        """


class LimitReached(Exception):
    """The clock came to the cycle limit; `more` says whether something would still have happened."""

    def __init__(self, more: bool) -> None:
        super().__init__()
        self.more = more


class Limit(Stage):
    """Ends the run at a cycle by raising LimitReached."""

    __slots__ = ()

    def __init__(self, env: simpy.Environment, cycle: int) -> None:
        super().__init__(env, BOUNDARY)
        self.wake(cycle)

    def act(self, now: int) -> int:
        raise LimitReached(self.env.peek() < NEVER)


class _Tick(Event):
    """A SimPy event that has succeeded from the start and carries no value."""

    def __init__(self, env: simpy.Environment, stage: Stage) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        self.stage = stage
