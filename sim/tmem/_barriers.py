"""The mbarriers of a block: arrivals, bytes under way, phases, and what their ends tell those who wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from ._clock import EventClock
from .errors import TmemError
from .happens import Clock, Track, joined
from .program import Barrier, Program

__all__ = ["Bar", "Barriers"]

_PHASES = 1024
_NOTHING: Clock = {}


@dataclass(slots=True, eq=False)
class Bar:
    """State of an mbarrier: completed phases, what the current one still needs, who waits, and what they learn.

    `bytes_due` are expected, `bytes_under_way` are those of copies that have been issued; the last lands at `landing`.
    `past` holds what the waiters of the latest phases learn; `told` is the clock that was told last, part of `clock`.
    """

    spec: Barrier
    completed: int
    pending: int
    bytes_due: float = 0
    bytes_under_way: float = 0
    landing: float = 0
    clock: Clock = field(default_factory=dict[Track, int])
    told: Clock | None = None
    past: deque[Clock] = field(default_factory=lambda: deque[Clock](maxlen=_PHASES))
    waiting: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])

    def learned(self, turn: int) -> Clock:
        """What the end of a phase tells, phases counted from the initial ones."""
        return self.past[max(turn - self.completed, -len(self.past))]

    def tell(self, clock: Clock) -> None:
        """Adds what an arrival knows to what the phase will tell."""
        if self.told is not clock:
            self.clock = joined(self.clock, clock) if self.clock else clock
            self.told = clock


class Barriers:
    """All mbarriers of a program on one clock."""

    def __init__(self, clock: EventClock, program: Program) -> None:
        self.clock = clock
        self.program = program.name
        self.bars = {b.name: Bar(b, b.initial, b.arrivals) for b in program.barriers}

    def __getitem__(self, name: str) -> Bar:
        if name not in self.bars:
            raise TmemError(f"program {self.program}: no barrier {name!r}; {', '.join(self.bars)}")
        return self.bars[name]

    def arrive(self, bar: Bar, clock: Clock) -> None:
        """One arrival, now."""
        bar.tell(clock)
        bar.pending -= 1
        if bar.pending < 0:
            raise TmemError(f"barrier {bar.spec.name}: more arrivals than the {bar.spec.arrivals} of a phase")
        if not bar.pending:
            self.settle(bar)

    def settle(self, bar: Bar) -> None:
        """Ends the phase when all arrivals are there and all bytes are under way: when the last of them lands."""
        if bar.pending or bar.bytes_due != bar.bytes_under_way:
            return
        now = self.clock.now
        if bar.landing > now:
            self.clock.at(now + (bar.landing - now), partial(self.settle, bar))
            return
        bar.past.append(bar.clock)
        bar.clock, bar.told = _NOTHING, None
        bar.completed += 1
        bar.pending = bar.spec.arrivals
        bar.bytes_due = bar.bytes_under_way = bar.landing = 0
        if bar.waiting:
            for resume in bar.waiting:
                self.clock.at(now, resume)
            bar.waiting.clear()

    def later(self, at: float, bar: Bar, clock: Clock) -> None:
        """An arrival at a time that may still come."""
        now = self.clock.now
        if at <= now:
            self.arrive(bar, clock)
        else:
            self.clock.at(now + (at - now), partial(self.arrive, bar, clock))
