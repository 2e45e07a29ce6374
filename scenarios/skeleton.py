"""A buffer taken apart: where its elements lie before padding and swizzle, as rows and bytes within a row.

Padding moves whole rows apart and a swizzle permutes what comes out of that, so one lowering of an access gives its
addresses under every padding and swizzle: row * pitch + column, then the exclusive or.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..layouts import CuteLayout, Layout, TileLayout, TlaLayout
from ..layouts.int_tuple import IntTuple
from .buffers import PlacedBuffer

IntArray = NDArray[np.int64]
# The widest access; rows of the skeleton start at multiples of it, so that padding that keeps the alignment of an
# access can be found for rows that break it as they are.
WIDEST = 16


@dataclass(frozen=True, slots=True)
class Skeleton:
    """`buffer` lies at byte 0 without a swizzle, its rows `pitch` bytes apart; `row` bytes of them hold elements.

    `row` is 0 for a layout without rows that could be moved apart; everything is then one row.
    """

    buffer: PlacedBuffer
    row: int
    pitch: int

    def split(self, offsets: IntArray) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(row, byte within the row) of byte offsets in `buffer`."""
        if not self.row:
            return np.zeros(offsets.shape, np.int32), offsets.astype(np.int32)
        return (offsets // self.pitch).astype(np.int32), (offsets % self.pitch).astype(np.int32)

    def element_offsets(self) -> IntArray:
        """Byte offset in `buffer` of every element, ascending, without repetitions."""
        grid = np.ogrid[tuple(slice(0, extent) for extent in self.buffer.shape)]
        return np.unique(self.buffer.addresses(*grid))


def skeleton(buffer: PlacedBuffer, row_elements: int) -> Skeleton:
    """The skeleton of a buffer without padding and swizzle whose rows are `row_elements` apart (0: no rows)."""
    row = row_elements * buffer.bits // 8
    pitch = -(-row // WIDEST) * WIDEST
    layout, footprint = buffer.layout, buffer.footprint
    if row and pitch != row:
        moved = rescale(layout, row_elements, pitch * 8 // buffer.bits)
        assert moved is not None
        layout = moved
        footprint += (footprint - 1) // row * (pitch - row)
    return Skeleton(replace(buffer, layout=layout, base=0, footprint=footprint), row, pitch)


def row_levels(layout: Layout) -> tuple[int, ...]:
    """Row lengths in elements after which padding can stand: every stride that the ones below it stay within.

    >>> from bankbench.layouts import parse
    >>> row_levels(parse("S[(2,8,64):(512,64,1)]")), row_levels(parse("(8,64):(1,8)"))
    ((64, 512), (8,))
    """
    leaves = _leaves(layout)
    return tuple(
        stride
        for stride in sorted({stride for extent, stride in leaves if extent > 1 and stride > 1})
        if rescale(layout, stride, stride) is not None
    )


def rescale(layout: Layout, row: int, pitch: int) -> Layout | None:
    """The layout with its rows of `row` elements `pitch` elements apart; None where it has no such rows."""
    leaves = _leaves(layout)
    below = sum((extent - 1) * stride for extent, stride in leaves if 0 < stride < row)
    above = [stride for extent, stride in leaves if stride >= row and extent > 1]
    if not leaves or below >= row or not above or any(stride % row for stride in above):
        return None

    def moved(stride: int) -> int:
        return stride // row * pitch if stride >= row and stride % row == 0 else stride

    return _restride(layout, moved)


def compact(layout: Layout) -> Layout:
    """The layout with its rows put together: padding that its strides hold is taken out at every level.

    A layout whose strides do not nest (rows that overlap or interleave) stays as it is.

    >>> from bankbench.layouts import parse
    >>> str(compact(parse("S[(2,8,64):(600,72,1)]")))
    'S[(2,8,64):(512,64,1)]'
    """
    leaves = _leaves(layout)
    if not leaves:
        return layout
    tight: dict[int, int] = {}
    reach = closer = 1  # elements from the first to the last one below this level: as it is, and put together
    for extent, stride in sorted(leaves, key=lambda leaf: leaf[1]):
        if extent == 1 or stride == 0:
            continue
        if stride < reach or stride in tight:
            return layout
        tight[stride] = closer
        reach += (extent - 1) * stride
        closer += (extent - 1) * tight[stride]
    return _restride(layout, lambda stride: tight.get(stride, stride)) or layout


def _restride(layout: Layout, moved: Callable[[int], int]) -> Layout | None:
    """The layout with every stride changed; None for a notation without strides."""
    if isinstance(layout, TileLayout):
        return TileLayout.from_iters([replace(item, stride=moved(item.stride)) for item in layout.shard])
    if isinstance(layout, CuteLayout):
        return CuteLayout(layout.shape, _map(layout.stride, moved))
    if isinstance(layout, TlaLayout):
        return TlaLayout(layout.shape, _map(layout.stride, moved), layout.origin)
    return None


def _leaves(layout: Layout) -> list[tuple[int, int]]:
    """(extent, stride) of a layout of plain non-negative strides; empty for any other."""
    if isinstance(layout, TileLayout):
        if layout.replica or any(value for _, value in layout.offset_terms):
            return []
        found = [(item.extent, item.stride) for item in layout.shard]
    elif isinstance(layout, CuteLayout):
        found = list(layout.flat)
    elif isinstance(layout, TlaLayout):
        found = list(zip(_flat(layout.shape), _flat(layout.stride), strict=False))
    else:
        return []
    if any(not isinstance(x, int) or x < 0 for pair in found for x in pair):
        return []
    return [(int(extent), int(stride)) for extent, stride in found]  # pyright: ignore[reportArgumentType]


def _flat(value: IntTuple) -> list[int]:
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in _flat(item)]
    return [int(value)]


def _map(value: Any, change: Callable[[int], int]) -> Any:
    """A nested stride with every leaf changed; compile-time leaves stay such."""
    if isinstance(value, tuple):
        return tuple(_map(item, change) for item in value)
    return change(value) if isinstance(value, int) else type(value)(change(int(value)))


def offsets_at(
    rows: NDArray[np.int32],
    columns: NDArray[np.int32],
    pitch: NDArray[np.int32],
    swizzle: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Byte offsets (k, *rows.shape) of k variants: `pitch` (k,) bytes, `swizzle` (k, 3) B, M, S in byte bits.

    B = 0 is no swizzle; S < 0 changes the upper bits by the lower ones. B < 0 is a mask of any bits, -B: the address
    bits of the mask are moved down by S (up for S < 0) and put over by exclusive or.

    >>> r, c = np.array([0, 1], np.int32), np.array([0, 0], np.int32)
    >>> offsets_at(r, c, np.array([128, 144], np.int32), np.array([[3, 4, 3], [0, 0, 0]], np.int32)).tolist()
    [[0, 144], [0, 144]]
    """
    tail = (1,) * rows.ndim
    found = rows * pitch.reshape(-1, *tail)
    found += columns
    bits, base, shift = (column.reshape(-1, *tail) for column in swizzle.T)
    if not bits.any():
        return found
    run = ((np.int32(1) << np.maximum(bits, 0)) - np.int32(1)) << (base + np.maximum(shift, 0))
    moved = found & np.where(bits < 0, -bits, run)
    moved >>= np.maximum(shift, 0)
    if (shift < 0).any():
        moved <<= np.maximum(-shift, 0)
    found ^= moved
    return found


def named_swizzle(bits: int) -> tuple[int, int, int]:
    """B, M, S in byte bits of the hardware swizzle over `bits` bits (1: 32B, 2: 64B, 3: 128B)."""
    return bits, 4, 3
