"""Hazards of asynchronous copies: who touches a piece of shared memory before whom, and whether it knows that it may.

Every warp and every barrier carries a clock: the last event of each kind that it knows to have happened. Arriving on a
barrier hands the clock over, passing a wait takes it. A read of a region that a copy fills needs to know the copy; a
refill needs to know the reads before it; whoever overwrites the source of a TMA store needs to know that it was read.
What happened in time by luck and is not known is a hazard too, and said to be one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..engine.clock import NEVER
from .mbarrier import Clock

__all__ = ["Event", "Hazard", "Hazards", "Region"]


@dataclass(frozen=True, slots=True)
class Hazard:
    """One hazard, reported once a kind and region: the cycle of its first occurrence, one sentence, how often."""

    kind: str
    region: str
    cycle: int
    text: str
    times: int = 1


@dataclass(slots=True)
class Event:
    """A read or a fill under way or done: key in clocks, number, cycle of its end (NEVER until known)."""

    key: tuple[str, int]
    number: int
    issued: int
    who: str
    done: int = NEVER


@dataclass(slots=True)
class Region:
    """A piece of shared memory that copies fill or store from."""

    name: str
    begin: int
    end: int
    filled: bool = False
    """Whether any copy of the program fills it."""
    fill: Event | None = None
    reads: dict[tuple[str, int], Event] = field(default_factory=dict)


class Hazards:
    """The regions of a program, and what was found."""

    def __init__(self) -> None:
        self.regions: dict[str, Region] = {}
        self.numbers: dict[tuple[str, int], int] = {}
        self._found: dict[tuple[str, str], Hazard] = {}

    @property
    def found(self) -> tuple[Hazard, ...]:
        """In order of their first occurrence."""
        return tuple(sorted(self._found.values(), key=lambda item: item.cycle))

    def region(self, name: str, begin: int, end: int, *, filled: bool) -> None:
        """Declare a region, or say that a copy fills it."""
        known = self.regions.setdefault(name, Region(name, begin, end))
        known.filled |= filled

    def _next(self, key: tuple[str, int]) -> int:
        number = self.numbers[key] = self.numbers.get(key, 0) + 1
        return number

    def _report(self, kind: str, region: str, cycle: int, text: str) -> None:
        known = self._found.get((kind, region))
        if known is None:
            self._found[kind, region] = Hazard(kind, region, cycle, text)
        else:
            self._found[kind, region] = Hazard(kind, region, known.cycle, known.text, known.times + 1)

    def more_bytes(self, barrier: str, cycle: int, extra: int) -> None:
        """More bytes came than were announced, so that a phase completed too early."""
        text = (
            f"a copy brought {extra} bytes more than phase announcements of mbarrier {barrier} account for: the phase "
            f"completed before all data were there"
        )
        self._report("wrong byte count", barrier, cycle, text)

    # -- reads

    def read(self, name: str, warp: int, clock: Clock, now: int, done: int = NEVER) -> Event:
        """A warp reads a region: by wgmma (which ends later) or by a load."""
        region = self.regions[name]
        key = ("read", warp)
        event = Event(key, self._next(key), now, f"warp {warp}", done)
        region.reads[key] = event
        fill = region.fill
        if fill is None:
            if region.filled:
                text = f"warp {warp} reads {name} at cycle {now}, before any copy into it was issued"
                self._report("read before full", name, now, text)
        elif fill.done > now:
            text = (
                f"warp {warp} reads {name} at cycle {now}, while the copy that {fill.who} issued at {fill.issued} "
                f"is still under way: it did not wait for the phase that the copy completes"
            )
            self._report("read before full", name, now, text)
        elif clock.get(fill.key, 0) < fill.number:
            text = (
                f"warp {warp} reads {name} at cycle {now} without having waited for the copy that {fill.who} issued at "
                f"cycle {fill.issued}; its data were there by luck"
            )
            self._report("read before full", name, now, text)
        return event

    # -- fills

    def refill(self, name: str, who: str, key: tuple[str, int], clock: Clock, now: int) -> Event:
        """A copy into a region is issued."""
        region = self.regions[name]
        self._overwrite(region, who, clock, now)
        region.fill = Event(key, self._next(key), now, who)
        region.reads.clear()
        return region.fill

    def _overwrite(self, region: Region, who: str, clock: Clock, now: int) -> None:
        for event in region.reads.values():
            store = event.key[0] == "store"
            kind = "source overwritten" if store else "refilled too early"
            if event.done > now:
                reader = f"the TMA store that {event.who} issued" if store else f"{event.who}, which read it"
                text = (
                    f"{who} overwrites {region.name} at cycle {now}, while {reader} at cycle {event.issued}"
                    f"{' still reads it' if store else ', has not finished'}"
                )
                self._report(kind, region.name, now, text)
            elif clock.get(event.key, 0) < event.number:
                waited = (
                    f"nobody waited for the read group of the TMA store that {event.who} issued at cycle {event.issued}"
                    if store
                    else f"{event.who} read it at cycle {event.issued} and has not arrived since, as far as {who} knows"
                )
                self._report(
                    kind, region.name, now, f"{who} overwrites {region.name} at cycle {now}, but {waited}"
                )

    # -- stores

    def stored(self, name: str, warp: int, now: int) -> Event:
        """A TMA store of a region is issued by a warp."""
        key = ("store", warp)
        event = Event(key, self._next(key), now, f"warp {warp}")
        self.regions[name].reads[key] = event
        return event

    def written(self, name: str, warp: int, clock: Clock, now: int) -> None:
        """A warp writes into a region with an ordinary store."""
        self._overwrite(self.regions[name], f"warp {warp}", clock, now)

    # -- clocks

    def finished(self, clock: Clock, event: Event) -> None:
        """Somebody learns that an event has happened."""
        if clock.get(event.key, 0) < event.number:
            clock[event.key] = event.number
