"""What copies do to the two halves of shared memory: a write port for loads, a read port for stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..engine.clock import NEVER
from ..engine.code import Op
from ..engine.state import Warp
from ..program import Group, Pattern, registers_of
from .constants import Async

__all__ = ["Place", "Places", "ReadPort", "WritePort"]

_LINE = 128
_HALF_LINE = 64
_WIDTH = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an access goes.

    The half of shared memory (-1: elsewhere), which halves of a line it touches, how many groups of lanes return one
    after the other, and the bytes that it touches (from `begin` to before `end`).
    """

    half: int
    low: bool
    high: bool
    groups: int
    begin: int = 0
    end: int = 0


class Places:
    """The place of every memory instruction of a program."""

    def __init__(self, own: Async) -> None:
        self.own = own
        self.known: dict[int, Place] = {}

    def learn(self, warps: list[Warp], groups: tuple[Group, ...]) -> None:
        """Go through the code of the warps; instructions and patterns are matched by their places."""
        seen: set[int] = set()
        for warp in warps:
            if warp.group in seen:
                continue
            seen.add(warp.group)
            group = groups[warp.group]
            segments = [segment for segment in group.segments if segment.code and segment.trips]
            for run, segment in zip(warp.runs, segments, strict=True):
                for op, item in zip(run.ops(), segment.code, strict=True):
                    if item.slot is not None:
                        self.known[id(op)] = self.place(group.patterns[item.slot])

    def of(self, op: Op) -> Place:
        """The place of an instruction."""
        return self.known[id(op)]

    def place(self, pattern: Pattern) -> Place:
        """The place of an address pattern."""
        name = pattern.op
        matrix = "matrix" in name
        width = 16 if matrix else _WIDTH[name.split(".")[1]]
        touched = [offset for lane, offset in enumerate(pattern.offsets) if pattern.mask >> lane & 1]
        half = -1 if pattern.name == "global" else self.own.half(min(touched))
        groups = registers_of(name)
        return Place(
            half,
            any(offset % _LINE < _HALF_LINE for offset in touched),
            any((offset + width - 1) % _LINE >= _HALF_LINE for offset in touched),
            groups,
            min(touched),
            max(touched) + width,
        )

    def stores(self, half: int) -> bool:
        """Whether any store of the program goes to this half."""
        return any(place.half == half for place in self.known.values())


class WritePort:
    """A TMA load that writes one line at a time; beside stores of the same half the two take turns."""

    def __init__(self) -> None:
        self.half = -1
        """The half that is written, -1 while nothing is loaded."""
        self.lines = 0
        """Lines still to write."""
        self.step = 0
        """Thousandths of a cycle a line, when nobody disturbs."""
        self.at = 0
        self.waiting = 0
        self.turn = False
        self.done: Callable[[int], None] | None = None
        self.written = 0
        self.yielded = 0
        """Cycles in which a store of a warp had to let a line pass."""
        self._sum = 0
        self._seen = -1

    def begin(self, half: int, lines: int, cycles_per_line: float, now: int) -> None:
        """A copy begins to write; whoever began it asks `remaining` when it will be through."""
        self.half, self.lines, self.step = half, lines, max(1, round(1000 * cycles_per_line))
        self.at = now
        self.waiting = self._sum = 0

    def _until(self, now: int) -> None:
        """Write the lines that came in cycles before `now` with nobody in the way."""
        cycles = now - self.at
        if cycles <= 0:
            return
        self.at = now
        self._sum += 1000 * cycles
        came, self._sum = divmod(self._sum, self.step)
        if self.waiting + came > cycles + 2:
            came = max(0, cycles + 2 - self.waiting)
        passed = min(self.waiting + came, cycles, self.lines)
        self.waiting = min(self.waiting + came - passed, 2)
        self.lines -= passed
        self.written += passed

    def yields(self, now: int) -> bool:
        """Whether a store of the same half may write in this cycle; if not, a waiting line of the load is written."""
        self._until(now)
        self.at = now + 1
        self._sum += 1000
        if self._sum >= self.step:
            if self.waiting < 2:
                self.waiting += 1
                self._sum -= self.step
            else:
                self._sum = self.step
        if not self.waiting or not self.lines:
            return True
        if self.turn:
            self.turn = False
            self.waiting -= 1
            self.lines -= 1
            self.written += 1
            self.yielded += 1
            return False
        self.turn = True
        return True

    def remaining(self, now: int) -> int:
        """The cycle at which the last line will be written if nobody disturbs from now on."""
        self._until(now)
        if self.lines <= 0:
            return now
        return now + max(1, -(-(self.lines * self.step - self._sum) // 1000))

    def end(self) -> None:
        """The copy is complete."""
        self.half = -1

    def state(self, now: int) -> tuple[object, ...]:
        """All that its future depends on."""
        if self.half < 0:
            return (-1, self.turn)  # whose turn it is outlives the copy
        self._until(now)
        return (self.half, self.lines, self.step, self.at - now, self.waiting, self.turn, self._sum)


class ReadPort:
    """A TMA store that reads 32 bytes a cycle while wgmma does not read the same half."""

    def __init__(self, own: Async) -> None:
        self.own = own
        self.half = -1
        self.left = 0
        """Bytes still to read."""
        self.read = 0
        """Bytes read so far by all stores."""
        self.rate = 32
        self.at = 0
        self.denied = 0
        self.denied_cycles = 0
        self.done: Callable[[int], None] | None = None

    @property
    def active(self) -> bool:
        """Whether a store is being read."""
        return self.half >= 0

    def begin(self, half: int, amount: int, now: int, rate: int) -> None:
        """A store begins to read its source."""
        self.half, self.left, self.rate = half, amount, rate
        self.at = max(self.at, now)
        self.denied = 0
        self.read += amount

    def starved(self) -> bool:
        """Whether wgmma has read the store's half for so many frames that the next frame is the store's."""
        return self.half >= 0 and self.denied >= self.own.store_frames

    def frame(self, now: int, half: int, forced: bool) -> None:
        """The frame at `now` goes to wgmma's reads of `half` (-1: to nobody's or the lanes'), or is the store's own."""
        if now > self.at:
            self.left -= self.rate * (now - self.at)
            self.denied = 0
        if now + 2 > self.at:
            if forced:
                self.left -= 4 * self.rate
                self.denied = 0
            elif half == self.half:
                self.denied += 1
                self.denied_cycles += 2
            else:
                self.left -= self.rate * (now + 2 - max(now, self.at))
                self.denied = 0
            self.at = now + 2
        self._through()

    def undisturbed_until(self, now: int) -> int:
        """When the source will have been read if wgmma stays away."""
        if now > self.at:
            self.left -= self.rate * (now - self.at)
            self.at = now
            self._through()
            if not self.active:
                return NEVER
        return max(now + 1, self.at + -(-self.left // self.rate))

    def _through(self) -> None:
        if self.left <= 0 and self.half >= 0:
            self.half = -1
            if self.done is not None:
                self.done(self.at)

    def takes_banks(self, place: Place, now: int) -> bool:
        """Whether the 64 bytes that the store reads in this cycle lie in banks of a load of the same half."""
        if place.half != self.half or not now >> 1 & 1:
            return False
        return place.low if not now & 1 else place.high

    def state(self, now: int) -> tuple[object, ...]:
        """All that its future depends on."""
        # every second frame is one of its banks, also of the stores that come later
        if self.half < 0:
            return (-1, now & 3, max(self.at - now, 0))
        return (self.half, now & 3, self.left, self.at - now, self.denied)
