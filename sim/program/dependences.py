"""Stall counts and scoreboards for code that has none: they follow from the registers.

A fixed-latency result may be read a known number of cycles after its issue, so the instruction before the reader is
stalled. Loads have no fixed latency: each gets a scoreboard of its own that every reader and every later writer of its
registers waits for; so does the read of its sources, for whoever overwrites them. A chip has six scoreboards a warp;
here there are as many as needed, which is the exact register dependence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..chip import Chip, load_chip
from .types import Group, Instruction, ProgramError, Segment
from .vocabulary import Kind, kind_of

__all__ = ["scheduled"]

_ZERO = frozenset({"RZ", "URZ", "PT", "UPT"})
_MEMORY = (Kind.LOAD, Kind.STORE)


def scheduled(
    group: Group, where: str, inputs: frozenset[str] = frozenset(), chip: str | Chip = "h200"
) -> Group:
    """The group with stall counts, scoreboards and waits that its registers demand.

    `inputs` are registers that hold a value before the code begins. Raises ProgramError for a register that is read
    but never written.
    """
    written = inputs | _ZERO | {name for seg in group.segments for item in seg.code for name in item.dst}
    boards: list[tuple[frozenset[str], frozenset[str]]] = []
    numbered: list[Segment] = []
    for segment in group.segments:
        code: list[Instruction] = []
        for index, item in enumerate(segment.code):
            missing = next((name for name in _reads(item) if name not in written), None)
            if missing is not None:
                raise ProgramError(
                    f"{where}, {segment.name}[{index}] ({item.op}): register {missing} is never written "
                    f"(name it in `inputs` of the group if it holds a value before)"
                )
            if kind_of(item.op) in _MEMORY:
                item = _with_boards(item, boards)  # noqa: PLW2901
            code.append(item)
        numbered.append(Segment(segment.name, tuple(code), segment.trips))
    waiting = [
        Segment(seg.name, tuple(_waits(item, boards) for item in seg.code), seg.trips) for seg in numbered
    ]
    return replace(group, segments=_stalled(waiting, _latencies(load_chip(chip))))


def _reads(item: Instruction) -> tuple[str, ...]:
    guard = (item.pred.lstrip("!"),) if item.pred else ()
    return (*item.src, *guard)


def _with_boards(item: Instruction, boards: list[tuple[frozenset[str], frozenset[str]]]) -> Instruction:
    """Give a memory instruction a scoreboard for its result and one for its sources.

    A board is (registers that are not ready to be read, registers that must not be written).
    """
    result = read = None
    if item.dst:
        result = len(boards)
        boards.append((frozenset(item.dst), frozenset(item.dst)))
    sources = frozenset(item.src) - _ZERO
    if sources:
        read = len(boards)
        boards.append((frozenset(), sources))
    return replace(item, sets=result, sets_read=read)


def _waits(item: Instruction, boards: Sequence[tuple[frozenset[str], frozenset[str]]]) -> Instruction:
    reads, writes = frozenset(_reads(item)), frozenset(item.dst)
    # a load need not wait for itself of the trip before: results of one warp come back in order
    waits = tuple(
        number
        for number, (unreadable, unwritable) in enumerate(boards)
        if number != item.sets and (reads & unreadable or writes & unwritable)
    )
    return replace(item, waits=waits)


Latency = Callable[[Instruction, Instruction | None], int]


def _latencies(chip: Chip) -> Latency:
    fma, alu, tensor, memory = (
        chip.integer(f"timing.dependence.{name}") for name in ("fma", "alu", "tensor", "memory")
    )

    def latency(item: Instruction, reader: Instruction | None) -> int:
        """Cycles to a dependent instruction, or with no reader to whatever comes next."""
        kind = kind_of(item.op)
        if reader is None:
            return memory if kind in _MEMORY else 1
        if kind in _MEMORY:
            return 1
        if kind is Kind.TENSOR:
            return tensor
        return fma if kind in (Kind.FMA, Kind.OTHER, Kind.NOP) else alu

    return latency


def _stalled(segments: Sequence[Segment], latency: Latency) -> tuple[Segment, ...]:
    """Stall counts such that no instruction issues before the fixed-latency results that it reads are there.

    Two trips of a loop are laid out one after the other, so that values carried from trip to trip count as well.
    """
    line = [
        (number, index)
        for number, segment in enumerate(segments)
        for _ in range(min(2, segment.trips))
        for index in range(len(segment.code))
    ]
    stalls = [[latency(item, None) for item in segment.code] for segment in segments]
    ready: dict[str, int] = {}
    at = 0
    before: tuple[int, int] | None = None
    previous = 0
    for number, index in line:
        item = segments[number].code[index]
        if before is not None:
            at = previous + stalls[before[0]][before[1]]
            earliest = max((ready.get(name, 0) for name in (*_reads(item), *item.dst)), default=0)
            if earliest > at:
                stalls[before[0]][before[1]] += earliest - at
                at = earliest
        for name in item.dst:
            ready[name] = at + latency(item, item) if kind_of(item.op) not in _MEMORY else 0
        before, previous = (number, index), at
    return tuple(
        Segment(
            segment.name,
            tuple(
                replace(item, stall=stall) for item, stall in zip(segment.code, stalls[number], strict=True)
            ),
            segment.trips,
        )
        for number, segment in enumerate(segments)
    )
