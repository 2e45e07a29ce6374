"""The mbarriers of a block: arrivals, bytes under way, phases, and what their ends tell those who wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import simpy

from .errors import TmemError
from .happens import Clock, Track, join
from .program import Barrier, Program

__all__ = ["Bar", "Barriers"]

_PHASES = 1024


@dataclass(slots=True)
class Bar:
    """State of an mbarrier: completed phases, what the current one still needs, who waits, and what they learn.

    `bytes_due` are expected, `bytes_under_way` are those of copies that have been issued; the last lands at `landing`.
    `past` holds what the waiters of the latest phases learn.
    """

    spec: Barrier
    completed: int
    pending: int
    bytes_due: float = 0
    bytes_under_way: float = 0
    landing: float = 0
    clock: Clock = field(default_factory=dict[Track, int])
    past: deque[Clock] = field(default_factory=lambda: deque[Clock](maxlen=_PHASES))
    event: simpy.Event | None = None

    def learned(self, turn: int) -> Clock:
        """What the end of a phase tells, phases counted from the initial ones."""
        return self.past[max(turn - self.completed, -len(self.past))]


class Barriers:
    """All mbarriers of a program on one clock."""

    def __init__(self, env: simpy.Environment, program: Program) -> None:
        self.env = env
        self.program = program.name
        self.bars = {b.name: Bar(b, b.initial, b.arrivals) for b in program.barriers}

    def __getitem__(self, name: str) -> Bar:
        if name not in self.bars:
            raise TmemError(f"program {self.program}: no barrier {name!r}; {', '.join(self.bars)}")
        return self.bars[name]

    def arrive(self, bar: Bar, clock: Clock) -> None:
        """One arrival, now."""
        self.tell(bar, clock)
        bar.pending -= 1
        if bar.pending < 0:
            raise TmemError(f"barrier {bar.spec.name}: more arrivals than the {bar.spec.arrivals} of a phase")
        self.settle(bar)

    def tell(self, bar: Bar, clock: Clock) -> None:
        """Adds what an arrival knows to what the phase will tell."""
        if bar.clock:
            join(bar.clock, clock)
        else:
            bar.clock = clock

    def settle(self, bar: Bar) -> None:
        """Ends the phase when all arrivals are there and all bytes are under way: when the last of them lands."""
        if bar.pending or bar.bytes_due != bar.bytes_under_way:
            return
        if bar.landing > self.env.now:
            self._at(bar.landing, lambda: self.settle(bar))
            return
        bar.past.append(bar.clock)
        bar.clock = {}
        bar.completed += 1
        bar.pending = bar.spec.arrivals
        bar.bytes_due = bar.bytes_under_way = bar.landing = 0
        event, bar.event = bar.event, None
        if event is not None:
            event.succeed()

    def later(self, at: float, bar: Bar, clock: Clock) -> None:
        """An arrival at a time that may still come."""
        if at <= self.env.now:
            self.arrive(bar, clock)
        else:
            self._at(at, lambda: self.arrive(bar, clock))

    def _at(self, time: float, action: Callable[[], None]) -> None:
        event = self.env.timeout(time - self.env.now)
        event.callbacks.append(lambda _: action())  # pyright: ignore
