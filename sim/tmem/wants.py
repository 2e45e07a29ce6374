"""What a kernel wants to keep in tensor memory: accumulators, A, scale factors, metadata, tiles, plain columns.

Each want knows its pieces: rectangles of columns over all lanes or over half of every window. `plan` finds places for
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...layouts import TileLayout
from .errors import TmemError
from .operands import Operand, a_operand, accumulator, metadata, scale_columns, scale_factors

__all__ = [
    "AWant",
    "AccumulatorWant",
    "ColumnsWant",
    "MetadataWant",
    "Piece",
    "ScaleWant",
    "TileWant",
    "Want",
]


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing to place: a name, columns, alignment of its first column, and the lanes that it takes.

    `half` pieces take 16 lanes of every window, at lane 0 or 16. `together` names pieces that must have the same lane
    offset. `at` is a column that the kernel fixed; `inside` puts the piece into another one, `offset` columns from its
    start, because the two do not live at the same time. `operand` says where elements lie, None for plain columns.
    """

    name: str
    columns: int
    half: bool = False
    align: int = 1
    at: int | None = None
    inside: str | None = None
    offset: int = 0
    lane: int | None = None
    together: str = ""
    operand: Operand | None = None

    def __post_init__(self) -> None:
        if self.columns < 1:
            raise TmemError(f"{self.name}: {self.columns} columns; one at least")


class Want(Protocol):
    """What the planner needs of a want."""

    @property
    def name(self) -> str:
        """The name that its pieces begin with."""
        ...

    def pieces(self) -> tuple[Piece, ...]:
        """The rectangles, one a stage."""
        ...

    def smaller(self, n: int, instead_of: int) -> Want:
        """The same with N = `n` where it was `instead_of`; itself where N plays no part."""
        ...

    def fewer_stages(self) -> Want | None:
        """The same with one stage less; None when there is one."""
        ...


@dataclass(frozen=True, slots=True)
class _Placing:
    """Fields that every want has."""

    name: str
    stages: int = 1
    at: int | None = None
    inside: str | None = None
    offset: int = 0
    stride: int | None = None

    def _pieces(self, one: Piece) -> tuple[Piece, ...]:
        if self.stages < 1:
            raise TmemError(f"{self.name}: {self.stages} stages; one at least")
        step = one.columns if self.stride is None else self.stride
        if self.stages > 1 and step < one.columns and self.at is None:
            # stages that overlap are one piece: they lie at a fixed distance from each other
            whole = step * (self.stages - 1) + one.columns
            return (replace(one, name=self.name, columns=whole, inside=self.inside, offset=self.offset),)
        many = self.stages > 1
        return tuple(
            replace(
                one,
                name=f"{self.name}[{number}]" if many else self.name,
                at=None if self.at is None else self.at + number * step,
                inside=self.inside,
                offset=self.offset + number * step,
            )
            for number in range(self.stages)
        )


@dataclass(frozen=True, slots=True)
class AccumulatorWant(_Placing):
    """Stages of an accumulator M x N (of the whole instruction; each block of a pair holds its part).

    `stride` columns between stages below N make them overlap, as kernels do that read a stage in parts.

    >>> [(p.name, p.columns, p.half) for p in AccumulatorWant("acc", 2, M=64, N=128).pieces()]
    [('acc[0]', 128, True), ('acc[1]', 128, True)]
    """

    M: int = 128
    N: int = 128
    cta_group: int = 1
    ws: bool = False
    sparse: bool = False
    lane: int | None = None
    together: str = ""

    def pieces(self) -> tuple[Piece, ...]:
        """One piece a stage."""
        d = accumulator(
            self.M,
            self.N,
            self.cta_group,
            ws=self.ws,
            sparse=self.sparse,
            lane=self.lane or 0,
            name=self.name,
        )
        one = Piece(self.name, d.columns, d.half_lanes, lane=self.lane, together=self.together, operand=d)
        return self._pieces(one)

    def smaller(self, n: int, instead_of: int) -> AccumulatorWant:
        """With fewer columns."""
        return replace(self, N=n) if instead_of == self.N else self

    def fewer_stages(self) -> AccumulatorWant | None:
        """One stage less."""
        return replace(self, stages=self.stages - 1) if self.stages > 1 else None


@dataclass(frozen=True, slots=True)
class AWant(_Placing):
    """Stages of A in tensor memory: M rows by K elements of `bits` bits, packed."""

    M: int = 128
    K: int = 16
    bits: int = 16
    cta_group: int = 1
    lane: int | None = None
    together: str = ""

    def pieces(self) -> tuple[Piece, ...]:
        """One piece a stage."""
        a = a_operand(self.M, self.K, self.bits, self.cta_group, lane=self.lane or 0, name=self.name)
        one = Piece(self.name, a.columns, a.half_lanes, lane=self.lane, together=self.together, operand=a)
        return self._pieces(one)

    def smaller(self, n: int, instead_of: int) -> AWant:
        """A does not depend on N."""
        return self

    def fewer_stages(self) -> AWant | None:
        """One stage less."""
        return replace(self, stages=self.stages - 1) if self.stages > 1 else None


@dataclass(frozen=True, slots=True)
class ScaleWant(_Placing):
    """Stages of scale factors of `rows` rows of A or columns of B, for `k_steps` products, padded to 128 rows.

    `split` is SFB of a pair with M = 128: each lane half holds the scales of half the columns of B, in two windows.

    >>> ScaleWant("sfb", rows=192, k_steps=4, scale_vec="1X").pieces()[0].columns
    8
    >>> ScaleWant("sfb", rows=192, k_steps=4, scale_vec="1X", split=True).pieces()[0].columns
    4
    """

    rows: int = 128
    k_steps: int = 4
    scale_vec: str = "1X"
    split: bool = False

    def pieces(self) -> tuple[Piece, ...]:
        """One piece a stage."""
        padded = -(-self.rows // 128) * 128
        sf = scale_factors(padded, self.k_steps, self.scale_vec, split=self.split, name=self.name)
        columns = scale_columns(self.rows, self.k_steps, self.scale_vec)
        if self.split:  # half as many; the copy writes 4 at a time
            columns = -(-sf.columns // 4) * 4
        return self._pieces(Piece(self.name, columns, align=4, operand=sf))

    def smaller(self, n: int, instead_of: int) -> ScaleWant:
        """Scale factors of B follow N."""
        return replace(self, rows=n) if instead_of == self.rows else self

    def fewer_stages(self) -> ScaleWant | None:
        """One stage less."""
        return replace(self, stages=self.stages - 1) if self.stages > 1 else None


@dataclass(frozen=True, slots=True)
class MetadataWant(_Placing):
    """Sparsity metadata of one product; its first column is a multiple of 4 (CUTLASS assumes it)."""

    kind: str = "f16"

    def pieces(self) -> tuple[Piece, ...]:
        """One piece a stage."""
        e = metadata(self.kind, name=self.name)
        return self._pieces(Piece(self.name, e.columns, align=4, operand=e))

    def smaller(self, n: int, instead_of: int) -> MetadataWant:
        """Metadata does not depend on N."""
        return self

    def fewer_stages(self) -> MetadataWant | None:
        """One stage less."""
        return replace(self, stages=self.stages - 1) if self.stages > 1 else None


@dataclass(frozen=True, slots=True)
class TileWant(_Placing):
    """A tile of rows x columns elements, one to a column or `packed`; 64 rows take half the lanes."""

    rows: int = 128
    cols: int = 32
    bits: int = 32
    packed: bool = False
    lane: int | None = None
    together: str = ""

    def pieces(self) -> tuple[Piece, ...]:
        """One piece a stage."""
        if self.rows not in (64, 128):
            raise TmemError(f"{self.name}: {self.rows} rows; tiles of tensor memory have 64 or 128")
        bits = self.bits if self.packed else 32
        operand = a_operand(self.rows, self.cols, bits, lane=self.lane or 0, name=self.name)
        half = operand.half_lanes
        one = Piece(self.name, operand.columns, half, lane=self.lane, together=self.together, operand=operand)
        return self._pieces(one)

    def smaller(self, n: int, instead_of: int) -> TileWant:
        """With fewer columns."""
        return replace(self, cols=n) if instead_of == self.cols else self

    def fewer_stages(self) -> TileWant | None:
        """One stage less."""
        return replace(self, stages=self.stages - 1) if self.stages > 1 else None


@dataclass(frozen=True, slots=True)
class LayoutWant(_Placing):
    """A buffer whose layout the kernel states itself, over TLane and TCol (in elements of `bits` bits).

    >>> from bankbench.layouts import parse_tirx
    >>> two = LayoutWant("acc", layout=parse_tirx("S[(2,128,112):(112@TCol,1@TLane,1@TCol)]"))
    >>> two.pieces()[0].columns
    224
    """

    layout: TileLayout | None = None
    bits: int = 32

    def pieces(self) -> tuple[Piece, ...]:
        """One piece a stage."""
        layout = self.layout
        if layout is None or not set(layout.axes) <= {"TLane", "TCol"}:
            axes = "none" if layout is None else ", ".join(layout.axes)
            raise TmemError(f"{self.name}: a layout over TLane and TCol is needed, this one has {axes}")
        operand = Operand(self.name, layout, layout.logical_shape, self.bits)
        lanes = np.unique(operand.cells().lanes)
        half = bool((lanes % 32 < 16).all()) and len(lanes) > 0
        return self._pieces(Piece(self.name, operand.columns, half, operand=operand))

    def smaller(self, n: int, instead_of: int) -> LayoutWant:
        """The layout is the kernel's own."""
        return self

    def fewer_stages(self) -> LayoutWant | None:
        """One stage less."""
        return replace(self, stages=self.stages - 1) if self.stages > 1 else None


@dataclass(frozen=True, slots=True)
class ColumnsWant(_Placing):
    """Plain columns over all lanes."""

    columns: int = 32
    align: int = 1

    def pieces(self) -> tuple[Piece, ...]:
        """One piece a stage."""
        return self._pieces(Piece(self.name, self.columns, align=self.align))

    def smaller(self, n: int, instead_of: int) -> ColumnsWant:
        """Nobody knows what the columns hold."""
        return self

    def fewer_stages(self) -> ColumnsWant | None:
        """One stage less."""
        return replace(self, stages=self.stages - 1) if self.stages > 1 else None


def all_pieces(wants: Sequence[Want]) -> tuple[Piece, ...]:
    """The pieces of all wants in order. Raises TmemError when two have one name."""
    pieces = tuple(piece for want in wants for piece in want.pieces())
    names = [piece.name for piece in pieces]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TmemError(f"two buffers are called {twice[0]!r}")
    return pieces
