"""The clock of a run: actions at their times, those of one time in the order in which they were asked for.

That is SimPy's order for events of one priority; an action here is a plain call, without an event object and without a
process around a role, because a tile loop has an action every few steps and little else to do.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

__all__ = ["EventClock"]


class EventClock:
    """Time in cycles and the actions to come.

    >>> clock, seen = EventClock(), []
    >>> for time in (3.0, 1.0, 9.0):
    ...     clock.at(time, lambda time=time: seen.append(time))
    >>> clock.run(5.0), seen, clock.now
    (True, [1.0, 3.0], 3.0)
    """

    __slots__ = ("_asked", "_queue", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._asked = 0

    def at(self, time: float, action: Callable[[], object]) -> None:
        """Asks for a call at a time that is not before now."""
        self._asked = asked = self._asked + 1
        heappush(self._queue, (time, asked, action))

    def run(self, limit: float) -> bool:
        """Calls everything up to the limit; whether something is left behind it."""
        queue = self._queue
        while queue and queue[0][0] <= limit:
            self.now, _, action = heappop(queue)
            action()
        return bool(queue)
