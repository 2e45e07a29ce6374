"""Linear layouts over bits: hardware indices to logical coordinates by xor of basis vectors (Triton's notation).

`linear(register=[[0,1]], lane=[[0,2],[1,0]], warp=[], block=[])` says which logical coordinate each bit of
the register, lane, warp and block number stands for; `linear(offset=[...])` does so for the bits of a
shared-memory offset. All sizes are powers of two. Units: elements. Source: Triton, `LinearLayout.h`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from . import f2
from ._arrays import as_coordinates, flatten_row_major, split_row_major
from ._notebook import NotebookRepr
from .protocol import ArrayLike, IntArray, LayoutError

AXIS_OF_INPUT = {"register": "m", "lane": "laneid", "warp": "warpid", "block": "cbx", "offset": "m"}
"""Physical axis that an input dimension numbers."""

Bases = tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]


@dataclass(frozen=True, slots=True, repr=False)
class LinearLayout(NotebookRepr):
    """Bases by input dimension (in order, lowest bit first) and the logical shape that they span.

    As a layout it is evaluated the other way round, logical coordinate -> hardware index; where several
    hardware places hold one element (zero or dependent bases) they are replicas.

    >>> layout = LinearLayout.from_bases({"register": [[0, 1]], "lane": [[0, 2], [1, 0]]})
    >>> {axis: int(value) for axis, value in layout.evaluate(1, 3).items()}
    {'m': 1, 'laneid': 3}
    """

    bases: Bases
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        for extent in self.shape:
            if extent < 1 or extent & (extent - 1):
                raise LayoutError(f"a linear layout has extents that are powers of two, not {self.shape}")
        for name, vectors in self.bases:
            for vector in vectors:
                if len(vector) != len(self.shape):
                    raise LayoutError(f"basis {list(vector)} of {name} needs {len(self.shape)} entries")
                if any(not 0 <= v < extent for v, extent in zip(vector, self.shape, strict=True)):
                    raise LayoutError(f"basis {list(vector)} of {name} lies outside the shape {self.shape}")

    @classmethod
    def from_bases(
        cls, bases: Mapping[str, Sequence[Sequence[int]]], shape: Sequence[int] | None = None
    ) -> LinearLayout:
        """A layout of named bases; without `shape` the smallest powers of two that hold all bases."""
        frozen = tuple(
            (name, tuple(tuple(int(v) for v in b) for b in vectors)) for name, vectors in bases.items()
        )
        ranks = {len(vector) for _, vectors in frozen for vector in vectors}
        if len(ranks) > 1:
            raise LayoutError(f"bases have {sorted(ranks)} entries; all need one per logical dimension")
        if shape is None:
            if not ranks:
                raise LayoutError("a linear layout without any basis needs a shape")
            shape = spanned_shape(frozen, ranks.pop())
        return cls(frozen, tuple(int(n) for n in shape))

    @property
    def notation(self) -> str:
        return "linear"

    @property
    def logical_shape(self) -> tuple[int, ...]:
        return self.shape

    @property
    def axes(self) -> tuple[str, ...]:
        """Axes of the inputs that have bits; `m` for registers and offsets also when they have none."""
        return tuple(dict.fromkeys(axis for axis, _, _ in self._fields()))

    def size(self) -> int:
        return prod(self.shape)

    def columns(self) -> list[int]:
        """The bit matrix: one column an input bit (inputs in order), rows = bits of dim 0, then dim 1, ..."""
        return [pack(vector, self.shape) for _, vectors in self.bases for vector in vectors]

    def input_fields(self) -> dict[str, tuple[int, int]]:
        """Input dimension -> (first bit, number of bits) in the columns."""
        found: dict[str, tuple[int, int]] = {}
        at = 0
        for name, vectors in self.bases:
            found[name] = (at, len(vectors))
            at += len(vectors)
        return found

    def logical(self, **inputs: ArrayLike) -> tuple[IntArray, ...]:
        """Logical coordinates of hardware indices, one array a dimension; inputs left out are 0.

        >>> layout = LinearLayout.from_bases({"offset": [[0, 1], [1, 1]]})
        >>> [int(c) for c in layout.logical(offset=3)]
        [1, 0]
        """
        unknown = set(inputs) - {name for name, _ in self.bases}
        if unknown:
            raise LayoutError(
                f"the layout has no input {sorted(unknown)}; it has {[n for n, _ in self.bases]}"
            )
        result: IntArray = np.zeros((), np.int64)
        for name, vectors in self.bases:
            if name in inputs:
                table = xor_table([pack(vector, self.shape) for vector in vectors])
                index = as_coordinates([inputs[name]])[0]
                _check_range(index, len(table), name)
                result = result ^ table[index]
        return unpack(result, self.shape)

    def evaluate(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """Hardware index by axis of logical elements (the replica with the free bits 0).

        One coordinate array a logical dimension; a single one, or coordinates in another shape of the same
        size, are flattened row-major, as Triton reshapes. LayoutError outside the shape, or when some element
        has no place.
        """
        arrays = as_coordinates(coords)
        extents = tuple(int(n) for n in shape) if shape is not None else None
        if extents is not None and len(arrays) != len(extents):
            raise LayoutError(
                f"{len(arrays)} coordinates given in a shape of {len(extents)} dimensions {extents}"
            )
        own_form = len(arrays) == len(self.shape) and (
            extents is None or all(a <= b for a, b in zip(extents, self.shape, strict=True))
        )
        if not own_form:
            if extents is None and len(arrays) != 1:
                raise LayoutError(f"{len(arrays)} coordinates given to a layout of shape {self.shape}")
            flat = arrays[0] if extents is None else flatten_row_major(arrays, extents)
            _check_range(flat, prod(self.shape), "flat index")
            arrays = split_row_major(flat, self.shape)
        codes: list[IntArray] = []
        for number, (array, table) in enumerate(zip(arrays, _inverse_tables(self), strict=True)):
            _check_range(array, len(table), f"coordinate {number}")
            codes.append(table[array])
        common = np.broadcast_shapes(*(code.shape for code in codes))
        if all(code.shape == common for code in codes):  # one pass a coordinate, then one an axis
            codes = [np.bitwise_xor.reduce(codes)] if len(codes) > 1 else codes
        found: dict[str, IntArray] = {}
        for name, at, bits in self._fields():
            parts = [(code >> at) & ((1 << bits) - 1) for code in codes]
            value: IntArray = parts[0] if parts else np.zeros((), np.int64)
            for part in parts[1:]:
                value = value ^ part
            found[name] = np.broadcast_to(value, common)
        return found

    def _fields(self) -> list[tuple[str, int, int]]:
        """(axis, first bit, bits) of the inputs that number something; registers and offsets always."""
        items = [(AXIS_OF_INPUT.get(name, name), *field) for name, field in self.input_fields().items()]
        return [(axis, at, bits) for axis, at, bits in items if bits or axis == "m"]

    def replicas(self) -> dict[str, IntArray]:
        """Offsets of the copies by axis; LayoutError when they differ from element to element (dependent
        bases).
        """
        kernel = f2.eliminate(self.columns()).kernel
        if not kernel:
            return {}
        used = 0
        for table in _inverse_tables(self):
            used |= int(np.bitwise_or.reduce(table))
        codes = np.array(f2.span(kernel), np.int64)
        if int(np.bitwise_or.reduce(codes)) & used:
            raise LayoutError(
                "the copies of this layout are not at one offset for all elements; use kernel()"
            )
        found: dict[str, IntArray] = {}
        for axis, at, bits in self._fields():
            values = (codes >> at) & ((1 << bits) - 1)
            if values.any():
                found[axis] = values
        return found

    def kernel(self) -> tuple[int, ...]:
        """Input codes (bits as in `columns`) that map to coordinate 0: xor-ing one names another copy of an
        element.
        """
        return f2.eliminate(self.columns()).kernel

    def is_injective(self) -> bool:
        """Whether no two hardware places hold the same element."""
        return not self.kernel()

    def is_surjective(self) -> bool:
        """Whether every element has a place."""
        return f2.rank(self.columns()) == sum(n.bit_length() - 1 for n in self.shape)

    def swizzled(self, keep: int, length: int, distance: int) -> LinearLayout:
        """The layout with the xor swizzle (M, B, S) on its offset bits: offset o holds what swizzle(o) held."""
        if [name for name, vectors in self.bases if vectors] != ["offset"]:
            raise LayoutError("only a layout of offsets can be swizzled")
        vectors = dict(self.bases)["offset"]
        source = ((1 << length) - 1) << (keep + distance)
        columns = self.columns()
        moved = [f2.apply(columns, (1 << k) ^ (((1 << k) & source) >> distance)) for k in range(len(vectors))]
        swizzled = tuple(tuple(int(v) for v in unpack(np.asarray(c, np.int64), self.shape)) for c in moved)
        return LinearLayout(
            tuple((name, swizzled if name == "offset" else old) for name, old in self.bases), self.shape
        )

    def __str__(self) -> str:
        parts = [f"{name}={_nested(vectors)}" for name, vectors in self.bases]
        if (
            any(vectors for _, vectors in self.bases)
            and spanned_shape(self.bases, len(self.shape)) == self.shape
        ):
            return f"linear({', '.join(parts)})"
        return f"linear({', '.join([*parts, f'shape={list(self.shape)}'])})".replace("], [", "],[")

    def __repr__(self) -> str:
        return str(self)


def _nested(vectors: Sequence[Sequence[int]]) -> str:
    return "[" + ",".join("[" + ",".join(map(str, vector)) + "]" for vector in vectors) + "]"


def spanned_shape(bases: Bases, rank: int) -> tuple[int, ...]:
    """The smallest powers of two that hold all bases."""
    found = [1] * rank
    for _, vectors in bases:
        for vector in vectors:
            for d, value in enumerate(vector):
                found[d] = max(found[d], 1 << value.bit_length())
    return tuple(found)


def pack(coord: Sequence[int], shape: Sequence[int]) -> int:
    """A coordinate as one bit string, dim 0 in the low bits."""
    code, at = 0, 0
    for value, extent in zip(coord, shape, strict=True):
        code |= int(value) << at
        at += extent.bit_length() - 1
    return code


def unpack(code: IntArray, shape: Sequence[int]) -> tuple[IntArray, ...]:
    """Coordinates of bit strings, one array a dimension."""
    found: list[IntArray] = []
    at = 0
    for extent in shape:
        found.append((code >> at) & (extent - 1))
        at += extent.bit_length() - 1
    return tuple(found)


def xor_table(columns: Sequence[int]) -> IntArray:
    """Images of all 2^n inputs, built by doubling."""
    table: IntArray = np.zeros(1, np.int64)
    for column in columns:
        table = np.concatenate([table, table ^ np.int64(column)])
    return table


@lru_cache(maxsize=256)
def _inverse_tables(layout: LinearLayout) -> tuple[IntArray, ...]:
    """For every logical dimension the hardware code of each of its values."""
    bits = [extent.bit_length() - 1 for extent in layout.shape]
    inverse = f2.right_inverse(layout.columns(), sum(bits))
    tables: list[IntArray] = []
    at = 0
    for n in bits:
        table = xor_table(inverse[at : at + n])
        table.flags.writeable = False
        tables.append(table)
        at += n
    return tuple(tables)


def _check_range(index: IntArray, size: int, what: str) -> None:
    if index.size and (int(index.min()) < 0 or int(index.max()) >= size):
        raise LayoutError(f"{what} lies outside 0..{size - 1}: a linear layout exists only inside its shape")
