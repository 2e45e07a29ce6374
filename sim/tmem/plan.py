"""A column map for a list of buffers: the least columns that the rules allow, or what is too much and what would fit.

Pieces over all lanes need columns of their own. Pieces over half of every window (accumulators in layout F or C) can
lie in the same columns, one at lane 0 and one at lane 16; which of them stack is chosen so that the longer of the two
rows is as short as possible. Scale factors and metadata begin at multiples of 4 columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..chip import Chip
from .allocator import legal_sizes, round_up
from .errors import TmemError
from .geometry import DEFAULT_CHIP, geometry
from .operands import Operand
from .wants import Piece, Want, all_pieces

__all__ = ["Placement", "Plan", "plan", "plan_pieces", "stack_until_fits"]


@dataclass(frozen=True, slots=True)
class Placement:
    """A piece in its place: first column, and lane 0 or 16 for pieces over half the lanes."""

    piece: Piece
    column: int
    lane: int = 0

    @property
    def name(self) -> str:
        """The name of the piece."""
        return self.piece.name

    @property
    def end(self) -> int:
        """First column behind it."""
        return self.column + self.piece.columns

    @property
    def operand(self) -> Operand | None:
        """Where the elements of the piece lie, in absolute lanes and columns."""
        return None if self.piece.operand is None else self.piece.operand.at(self.column, self.lane)

    def meets(self, other: Placement) -> bool:
        """Whether the two share a cell."""
        rows = not (self.piece.half and other.piece.half) or self.lane == other.lane
        return rows and self.column < other.end and other.column < self.end


@dataclass(frozen=True, slots=True)
class Plan:
    """Where every piece lies, and what the whole needs.

    `columns` are needed, `allocation` is what tcgen05.alloc is asked for (None when they exceed the chip),
    `unstacked` is what the pieces need without lane stacking, `separate` what an allocation for each want would take.
    `advice` says in sentences what is too much and what would fit; () for a plan that fits.
    """

    placements: tuple[Placement, ...]
    columns: int
    capacity: int
    allocation: int | None
    unstacked: int
    separate: int
    unit: int = 32
    advice: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the columns exist."""
        return self.columns <= self.capacity

    @property
    def steps(self) -> tuple[int, ...]:
        """Sizes of several allocations, the largest first, that together hold the columns with the least waste.

        Consecutive allocations get neighbouring columns (as measured, not documented).

        >>> from bankbench.sim.tmem.wants import AccumulatorWant
        >>> plan([AccumulatorWant("acc", N=160)]).steps
        (128, 32)
        """
        rest, sizes = -(-self.columns // self.unit), list[int]()
        while rest > 0:
            part = 1 << rest.bit_length() - 1
            sizes.append(part * self.unit)
            rest -= part
        return tuple(sizes)

    @property
    def wasted(self) -> int:
        """Columns of the allocation that no piece uses."""
        return (self.allocation or self.columns) - self.columns

    def place(self, name: str) -> Placement:
        """The placement of a piece. Raises TmemError with the names that exist."""
        for placement in self.placements:
            if placement.name == name:
                return placement
        raise TmemError(f"no buffer {name!r}; buffers: {', '.join(p.name for p in self.placements)}")


def plan(wants: Sequence[Want], chip: str | Chip = DEFAULT_CHIP, *, stack: bool = True) -> Plan:
    """Places the wants in the least columns, and says what would fit when these are too many.

    `stack` False keeps every piece in columns of its own.

    >>> from bankbench.sim.tmem.wants import AccumulatorWant, ScaleWant
    >>> def gemm(n):
    ...     return plan([AccumulatorWant("acc", 2, M=128, N=n), ScaleWant("sfa"), ScaleWant("sfb", rows=n)])
    >>> gemm(128).columns, gemm(128).allocation, gemm(128).place("sfb").column
    (264, 512, 260)
    >>> print(gemm(256).advice[0])
    524 columns requested, 512 exist: 12 too many
    >>> gemm(256).advice[1]
    'N = 248 instead of 256 needs 508'
    """
    pieces = all_pieces(wants)
    shape = geometry(chip)
    capacity = shape.columns
    unstacked = plan_pieces(pieces, stack=False)
    placed = plan_pieces(pieces, stack=True) if stack else unstacked
    columns = _end(placed)
    fits = columns <= capacity
    return Plan(
        placements=placed,
        columns=columns,
        capacity=capacity,
        allocation=round_up(columns, chip) if fits else None,
        unstacked=_end(unstacked),
        separate=_separate(wants, chip),
        unit=shape.alloc_unit,
        advice=() if fits else tuple(_advice(wants, columns, capacity, stack)),
    )


def _separate(wants: Sequence[Want], chip: str | Chip) -> int:
    """Columns when every piece is allocated alone, by powers of two; above the largest size in several steps."""
    largest = legal_sizes(chip)[-1]
    total = 0
    for piece in all_pieces(wants):
        if piece.inside is not None:
            continue
        whole, rest = divmod(piece.columns, largest)
        total += whole * largest + (round_up(rest, chip) if rest else 0)
    return total


def _end(placements: Sequence[Placement]) -> int:
    return max((p.end for p in placements), default=0)


def plan_pieces(pieces: Sequence[Piece], *, stack: bool = True) -> tuple[Placement, ...]:
    """Places of the pieces, in their order. Raises TmemError when fixed places overlap or a name is unknown."""
    free = [p for p in pieces if p.at is None and p.inside is None]
    fixed = [Placement(p, p.at or 0, p.lane or 0) for p in pieces if p.at is not None and p.inside is None]
    _check_fixed(fixed)
    if fixed:
        placed = [*fixed]
        for piece in free:
            placed.append(_first_fit(piece, placed, stack))
    else:
        placed = _least(free, stack)
    by_name = {p.name: p for p in placed}
    for piece in pieces:
        if piece.inside is not None:
            by_name[piece.name] = _inside(piece, by_name)
    return tuple(by_name[p.name] for p in pieces)


def _check_fixed(fixed: Sequence[Placement]) -> None:
    for number, one in enumerate(fixed):
        if one.column % one.piece.align:
            raise TmemError(
                f"{one.name} begins at column {one.column}; it needs a multiple of {one.piece.align}"
            )
        for other in fixed[:number]:
            if one.meets(other):
                raise TmemError(
                    f"{one.name} (columns {one.column} to {one.end - 1}) overlaps {other.name} (columns {other.column} "
                    f"to {other.end - 1}); say `inside: {other.name}` when they do not live at the same time"
                )


def _first_fit(piece: Piece, placed: Sequence[Placement], stack: bool) -> Placement:
    """The lowest place that meets nothing; without stacking a half piece keeps the columns for itself."""
    lanes = (
        ((piece.lane,) if piece.lane is not None else (0, 16)) if piece.half and stack else (piece.lane or 0,)
    )
    starts = sorted({0, *(p.end for p in placed)})
    best: Placement | None = None
    for lane in lanes:
        for start in starts:
            column = -(-start // piece.align) * piece.align
            here = Placement(piece, column, lane)
            meets = any(
                here.meets(p) or (not stack and here.column < p.end and p.column < here.end) for p in placed
            )
            if not meets:
                if best is None or here.column < best.column:
                    best = here
                break
    assert best is not None, "behind all others there is always a place"
    return best


def _least(pieces: Sequence[Piece], stack: bool) -> list[Placement]:
    """The order of the kernel, or aligned pieces first when that saves the gaps in front of them."""
    sides = _sides([p for p in pieces if p.half]) if stack else {}
    best = _row(pieces, sides)
    aligned = sorted(pieces, key=lambda p: (-p.align, p.columns % p.align > 0))
    other = _row(aligned, sides)
    return other if _end(other) < _end(best) else best


def _row(pieces: Sequence[Piece], sides: dict[str, int]) -> list[Placement]:
    """One after the other; half pieces with a side lie in two rows that begin at the first of them."""
    placed: list[Placement] = []
    column = 0
    halves = [p for p in pieces if p.name in sides]
    for piece in pieces:
        if piece.name in sides:
            if piece is not halves[0]:
                continue
            start, ends = column, [column, column]
            for half in halves:
                side = sides[half.name]
                at = -(-ends[side] // half.align) * half.align
                placed.append(Placement(half, at, 16 * side))
                ends[side] = at + half.columns
            column = max(start, *ends)
            continue
        column = -(-column // piece.align) * piece.align
        placed.append(Placement(piece, column, piece.lane or 0))
        column += piece.columns
    return placed


def _sides(halves: Sequence[Piece]) -> dict[str, int]:
    """Which half pieces lie at lane 0 (side 0) and which at 16, the longer side as short as possible.

    Pieces with the same `together` count as one. The choice is a subset sum over widths, exact.
    """
    groups: dict[str, list[Piece]] = {}
    for piece in halves:
        groups.setdefault(piece.together or piece.name, []).append(piece)
    free: list[tuple[str, int]] = []
    fixed = [0, 0]
    sides: dict[str, int] = {}
    for key, group in groups.items():
        width = sum(p.columns for p in group)
        lanes = {p.lane for p in group if p.lane is not None}
        if len(lanes) > 1:
            raise TmemError(f"{group[0].name} and {group[-1].name} must have the same lane offset")
        if lanes:
            side = 1 if lanes == {16} else 0
            fixed[side] += width
            sides |= {p.name: side for p in group}
        else:
            free.append((key, width))
    total = sum(width for _, width in free)
    # reachable width of side 0 -> the groups on it
    reach: dict[int, tuple[str, ...]] = {0: ()}
    for key, width in free:
        for have, names in list(reach.items()):
            reach.setdefault(have + width, (*names, key))
    best = min(reach, key=lambda w: (max(fixed[0] + w, fixed[1] + total - w), -w))
    for key, _ in free:
        sides |= {p.name: 0 if key in reach[best] else 1 for p in groups[key]}
    return sides


def _inside(piece: Piece, placed: dict[str, Placement]) -> Placement:
    host = placed.get(piece.inside or "")
    if host is None:
        raise TmemError(f"{piece.name} lies inside {piece.inside!r}, which is no buffer before it")
    if piece.offset < 0 or piece.offset + piece.columns > host.piece.columns:
        raise TmemError(
            f"{piece.name} takes columns {piece.offset} to {piece.offset + piece.columns - 1} of {host.name}, "
            f"which has {host.piece.columns}"
        )
    column = host.column + piece.offset
    if column % piece.align:
        raise TmemError(f"{piece.name} would begin at column {column}; it needs a multiple of {piece.align}")
    return Placement(piece, column, host.lane)


def stack_until_fits(pieces: Sequence[Piece], capacity: int) -> tuple[int, tuple[str, ...]] | None:
    """The fewest half-lane pairs to stack so that the pieces fit: (columns, names of the stacked pairs), or None.

    The pair that saves the most columns is stacked first; the rest stays as it was.

    >>> from bankbench.sim.tmem.wants import TileWant, all_pieces
    >>> buffers = all_pieces([TileWant("acc", 2, rows=64, cols=256), TileWant("s", 2, rows=64, cols=64)])
    >>> stack_until_fits(buffers, 512)
    (384, ('acc[0] with acc[1]',))
    """
    columns = _end(plan_pieces(pieces, stack=False))
    halves = sorted((p for p in pieces if p.half and p.inside is None), key=lambda p: -p.columns)
    pairs = list(zip(halves[0::2], halves[1::2], strict=False))
    done: list[str] = []
    for one, other in pairs:
        if columns <= capacity:
            break
        columns -= other.columns
        done.append(f"{one.name} with {other.name}")
    return (columns, tuple(done)) if done and columns <= capacity else None


def _advice(wants: Sequence[Want], columns: int, capacity: int, stack: bool) -> list[str]:
    found = [f"{columns} columns requested, {capacity} exist: {columns - capacity} too many"]
    pieces = all_pieces(wants)
    stacked = None if stack else stack_until_fits(pieces, capacity)
    if stacked is not None:
        found.append(f"stacking {' and '.join(stacked[1])} at lane 16 needs {stacked[0]}")
    if not stack:
        least = _end(plan_pieces(pieces, stack=True))
        if least <= capacity and (stacked is None or least < stacked[0]):
            found.append(f"stacking all half-lane buffers needs {least}")
    found += _smaller_n(wants, capacity, stack)
    for number, want in enumerate(wants):
        fewer = want.fewer_stages()
        if fewer is not None:
            needs = _end(plan_pieces(all_pieces([*wants[:number], fewer, *wants[number + 1 :]]), stack=stack))
            if needs <= capacity:
                stages = len(fewer.pieces())
                found.append(
                    f"{stages} stage{'s' if stages > 1 else ''} of {want.name} instead of {stages + 1} needs {needs}"
                )
    if len(found) == 1:
        found.append("no smaller N and no fewer stages of one buffer alone make it fit")
    return found


def _smaller_n(wants: Sequence[Want], capacity: int, stack: bool) -> list[str]:
    """The largest N below the one asked for that fits, for each N that an accumulator has."""
    found: list[str] = []
    sizes = {n for want in wants if (n := getattr(want, "N", None)) is not None}
    for size in sorted(sizes, reverse=True):
        step = 8 * max(getattr(want, "cta_group", 1) for want in wants)
        for n in range(size - step, 0, -step):
            try:
                pieces = all_pieces([want.smaller(n, size) for want in wants])
            except TmemError:
                continue  # an N that this layout does not have
            needs = _end(plan_pieces(pieces, stack=stack))
            if needs <= capacity:
                found.append(f"N = {n} instead of {size} needs {needs}")
                break
    return found
