"""The clock of a run: SimPy's environment, and actions at their times in SimPy's order.

A tile loop has an action every few steps and little else to do, so an action is one plain SimPy event with a call in
it: no process stands around a role, and no timeout is asked for twice.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush

import simpy
from simpy.events import NORMAL, Event

__all__ = ["EventClock"]


class EventClock(simpy.Environment):
    """SimPy's environment with time in cycles and calls at absolute times.

    >>> clock, seen = EventClock(), []
    >>> for time in (3.0, 1.0, 9.0):
    ...     clock.at(time, lambda time=time: seen.append(time))
    >>> clock.advance(5.0), seen, clock.now
    (True, [1.0, 3.0], 3.0)
    """

    def __init__(self) -> None:
        super().__init__(initial_time=0.0)

    def at(self, time: float, action: Callable[[], object]) -> None:
        """Asks for a call at a time that is not before now; calls of one time come in the order they were asked for."""
        event = Event(self)
        event._ok, event._value = True, None  # pyright: ignore[reportPrivateUsage]

        def call(_: Event) -> None:
            action()

        event.callbacks = [call]
        # SimPy's own `schedule` takes a delay, and now + (time - now) may round to another time than asked for.
        heappush(self._queue, (time, NORMAL, next(self._eid), event))

    def advance(self, limit: float) -> bool:
        """Processes events up to the limit; whether something is left behind it."""
        queue = self._queue
        while queue and queue[0][0] <= limit:
            self.step()
        return bool(queue)
