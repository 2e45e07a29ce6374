"""Layouts as matrices over bits, where they are linear, and exact conflict counts from them.

A layout is bit-linear on a shape of powers of two when every physical bit is an xor of logical bits. Compact
strides, swizzles and their products are; an offset, a stride that is not a power of two or a padding is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from . import f2
from .dtype import dtype_bits
from .linear import AXIS_OF_INPUT, LinearLayout, xor_table
from .linear_encodings import Encoding
from .protocol import IntArray, Layout, LayoutError, tile_offsets

_INPUT_OF_AXIS = {"laneid": "lane", "warpid": "warp", "cbx": "block"}


@dataclass(frozen=True, slots=True)
class BitMatrix:
    """Physical axis -> columns: column k is what logical bit k contributes (xor) to that axis.

    Logical bits are those of the row-major element number: bit 0 is the lowest bit of the last dimension.
    """

    shape: tuple[int, ...]
    columns: Mapping[str, tuple[int, ...]]

    @property
    def bits(self) -> int:
        """Number of logical bits."""
        return sum(n.bit_length() - 1 for n in self.shape)


def bit_matrix(layout: Layout, shape: Sequence[int] | None = None) -> BitMatrix:
    """The matrix of a layout; LayoutError when it is not linear over bits (checked on every element).

    >>> from bankbench.layouts import parse
    >>> bit_matrix(parse("ComposeLayout(0, 2, 2, S[(4,4):(4,1)])")).columns["m"]
    (1, 2, 5, 10)
    """
    extents = tuple(int(n) for n in (layout.logical_shape if shape is None else shape))
    for extent in extents:
        if extent < 1 or extent & (extent - 1):
            raise LayoutError(
                f"shape {extents} is not made of powers of two, so the layout has no bit matrix"
            )
    found: dict[str, tuple[int, ...]] = {}
    for axis, values in tile_offsets(layout, shape).items():
        flat = np.ascontiguousarray(values).reshape(-1)
        bits = len(flat).bit_length() - 1
        if bool((flat < 0).any()):
            raise LayoutError(f"axis {axis} has negative coordinates, which have no bit matrix")
        columns = tuple(int(flat[1 << k]) for k in range(bits))
        if int(flat[0]) != 0:
            raise LayoutError(
                f"the first element lies at {int(flat[0])} on {axis}: an offset is not linear over bits"
            )
        if bool((xor_table(columns) != flat).any()):
            raise LayoutError(f"the layout is not linear over bits on axis {axis}")
        found[axis] = columns
    return BitMatrix(extents, found)


def to_linear(layout: Layout, shape: Sequence[int] | None = None) -> LinearLayout:
    """The linear layout (hardware bits -> logical coordinates) of a layout; replicas become bases that repeat.

    LayoutError when the layout is not linear over bits, or two elements share a place, or the places have
    holes.

    >>> from bankbench.layouts import parse
    >>> print(to_linear(parse("S[(2,8,4,2):(2,4@laneid,1@laneid,1)]"), (16, 8)))
    linear(register=[[0,1],[8,0]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]])
    """
    if isinstance(layout, LinearLayout) and (shape is None or tuple(shape) == layout.shape):
        return layout
    if isinstance(layout, Encoding) and layout.kind != "padded_shared":
        return layout.linear(shape)
    matrix = bit_matrix(layout, shape)
    copies = layout.replicas()
    widths: dict[str, int] = {}
    for axis in dict.fromkeys([*matrix.columns, *copies]):
        reach = 0
        for column in matrix.columns.get(axis, ()):
            reach |= column
        for value in copies.get(axis, np.zeros(1, np.int64)).tolist():
            if reach & value:
                raise LayoutError(f"the copies on {axis} are not made of bits of their own")
        for value in copies.get(axis, np.zeros(1, np.int64)).tolist():
            reach |= value
        widths[axis] = reach.bit_length()
    rows: list[int] = [0] * matrix.bits
    at = 0
    fields: list[tuple[str, int, int]] = []
    for axis, width in widths.items():
        for k, column in enumerate(matrix.columns.get(axis, ())):
            rows[k] |= column << at
        fields.append((axis, at, width))
        at += width
    reduced = f2.eliminate(rows)
    if reduced.rank < matrix.bits:
        raise LayoutError("two elements share a place, so hardware bits do not determine the element")
    memory_only = set(widths) == {"m"}
    bases: dict[str, list[list[int]]] = {}
    free = _replica_bits(copies, fields)
    for axis, first, width in fields:
        name = ("offset" if memory_only else "register") if axis == "m" else _INPUT_OF_AXIS.get(axis, axis)
        vectors: list[list[int]] = []
        for bit in range(first, first + width):
            element = 0 if bit in free else reduced.solve(1 << bit)
            if element is None:
                raise LayoutError(f"bit {bit - first} of axis {axis} has no element: the layout leaves holes")
            vectors.append([int(c) for c in np.unravel_index(element, matrix.shape)])
        bases[name] = vectors
    return LinearLayout.from_bases(bases, matrix.shape)


def _replica_bits(copies: Mapping[str, IntArray], fields: Sequence[tuple[str, int, int]]) -> set[int]:
    found: set[int] = set()
    for axis, first, width in fields:
        values = copies.get(axis)
        if values is None:
            continue
        used = int(np.bitwise_or.reduce(values))
        if len(np.unique(values)) != 1 << used.bit_count():
            raise LayoutError(f"the copies on {axis} are not all combinations of some bits")
        found |= {first + bit for bit in range(width) if used >> bit & 1}
    return found


def access_matrix(fragment: Layout, memory: Layout, shape: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """For each hardware axis of a fragment, what each of its bits contributes to the memory offset (elements).

    >>> from bankbench.layouts import mma_fragment, parse
    >>> access_matrix(mma_fragment("m16n8k16", "C", "f32"), parse("(16,8):(8,1)"), (16, 8))["laneid"]
    (2, 4, 8, 16, 32)
    """
    hardware = to_linear(fragment, shape)
    target = bit_matrix(memory, shape).columns
    if set(target) != {"m"}:
        raise LayoutError(f"the memory layout has axes {sorted(target)}, not m only")
    found: dict[str, tuple[int, ...]] = {}
    for name, vectors in hardware.bases:
        images = [int(np.ravel_multi_index(vector, hardware.shape)) for vector in vectors]
        found[AXIS_OF_INPUT.get(name, name)] = tuple(f2.compose(target["m"], images))
    return found


@dataclass(frozen=True, slots=True)
class LinearConflicts:
    """Counts of one access whose lane addresses are linear over bits; exact, the same for every group of
    lanes.
    """

    groups: int
    ways: int
    words_per_group: int
    wavefronts: int


def linear_conflicts(
    lane_columns: Sequence[int],
    width_bytes: int,
    banks: int = 32,
    bank_bytes: int = 4,
    lanes_per_group: int | None = None,
) -> LinearConflicts:
    """Bank conflicts from the byte addresses of the lane bits: ways = 2^(rank of words - rank of banks).

    Args:
        lane_columns: byte address that each lane bit contributes (xor), lowest bit first.
        width_bytes: bytes that a lane moves, a power of two.
        banks, bank_bytes: the memory; both powers of two.
        lanes_per_group: consecutive lanes served together; those whose data fill the banks once when left
        out.

    The count is the mathematics of one group after another; what a chip does beyond it (pairing groups, say)
    is not known here.

    >>> linear_conflicts([0, 0, 128, 256, 512], 4)  # 8 rows of 128 bytes: all on bank 0
    LinearConflicts(groups=1, ways=8, words_per_group=8, wavefronts=8)
    """
    for value in (width_bytes, banks, bank_bytes, lanes_per_group or 1):
        if value < 1 or value & (value - 1):
            raise LayoutError(f"widths, banks and groups are powers of two, not {value}")
    lanes = 1 << len(lane_columns)
    group = min(lanes, lanes_per_group or max(1, banks * bank_bytes // width_bytes))
    shift = bank_bytes.bit_length() - 1
    inside = (
        [1 << k for k in range((width_bytes // bank_bytes).bit_length() - 1)]
        if width_bytes > bank_bytes
        else []
    )
    words = [column >> shift for column in lane_columns[: group.bit_length() - 1]] + inside
    if any(column % width_bytes for column in lane_columns):
        raise LayoutError(f"lane addresses are not multiples of the access width of {width_bytes} bytes")
    word_rank = f2.rank(words)
    ways = 1 << (word_rank - f2.rank([word & (banks - 1) for word in words]))
    groups = lanes // group
    return LinearConflicts(groups, ways, 1 << word_rank, groups * ways)


def byte_columns(columns: Sequence[int], dtype: str) -> tuple[int, ...]:
    """Element offsets as byte offsets; LayoutError when an element is no power of two of bits or not whole
    bytes.
    """
    bits = dtype_bits(dtype)
    if any(column * bits % 8 for column in columns):
        raise LayoutError(f"offsets of {dtype} are not whole bytes")
    return tuple(column * bits // 8 for column in columns)
