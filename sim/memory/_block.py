"""Scratch memory of a block of accesses, and the way from rows of offsets to lane-major keys.

A block is small enough to stay in the cache while a few hundred passes go over it; a whole trace never is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rules import Rule

BLOCK = 8192
_STRIP = 1024


@dataclass(frozen=True, slots=True)
class Scratch:
    """Preallocated vectors for blocks of up to BLOCK accesses with keys of one integer type."""

    dtype: np.dtype[Any]
    keys: NDArray[Any]
    active: NDArray[Any]
    spare: NDArray[Any]
    rows: NDArray[np.int32]
    units: NDArray[Any]
    vectors: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, dtype: np.dtype[Any]) -> Scratch:
        size = 4 * BLOCK
        small = ("new", "same"), ("run", "most", "total")
        vectors: dict[str, NDArray[Any]] = {name: np.empty(size, np.bool_) for name in small[0]}
        vectors |= {name: np.empty(size, np.uint8) for name in small[1]}
        vectors["differs"] = np.empty(size, dtype)
        return cls(
            dtype,
            np.empty(32 * BLOCK, dtype),
            np.empty(32 * BLOCK, dtype),
            np.empty(size, dtype),
            np.empty((_STRIP, 32), np.int32),
            np.empty((_STRIP, 32), dtype),
            vectors,
        )


def key_type(highest_offset: int, rule: Rule) -> tuple[np.dtype[Any], int]:
    """The smallest unsigned type that holds bank-major keys up to an offset, and the bits of the row in it."""
    rows = highest_offset // rule.unit // rule.columns
    row_bits = max(1, rows.bit_length())
    bits = row_bits + (rule.columns - 1).bit_length()
    return np.dtype(np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64), row_bits


def load_units(
    offsets: NDArray[np.int32], rows: NDArray[np.intp], unit: int, wires: NDArray[Any], scratch: Scratch
) -> None:
    """Offsets of the picked rows, in units, into `wires` of shape (lane in group, group, row)."""
    size, groups, count = wires.shape
    shift = unit.bit_length() - 1
    lanes = size * groups
    for start in range(0, count, _STRIP):
        stop = min(count, start + _STRIP)
        strip, units = scratch.rows[: stop - start], scratch.units[: stop - start]
        # Without "clip" NumPy would go through a copy of `out`, to leave it alone if an index were wrong.
        np.take(offsets, rows[start:stop], axis=0, out=strip, mode="clip")
        np.right_shift(strip, shift, out=strip)
        np.copyto(units, strip, casting="unsafe")
        halves = (2,) * (groups.bit_length() - 1)
        by_lane = units[:, :lanes].reshape(stop - start, *halves, size)
        np.copyto(wires[:, :, start:stop].reshape(size, *halves, stop - start), by_lane.T)


def load_active(mask: NDArray[np.uint32], active: NDArray[Any]) -> None:
    """All bits set where a lane is active, 0 where not, in the shape (lane in group, group, row)."""
    size, groups, _ = active.shape
    dtype = active.dtype
    part = 8 * dtype.itemsize
    pieces = [(mask >> np.uint32(start)).astype(dtype) for start in range(0, 32, min(part, 32))]
    for slot, group in enumerate(group_order(groups)):
        for lane in range(size):
            index = group * size + lane
            np.bitwise_and(pieces[index // part], dtype.type(1 << index % part), out=active[lane, slot])
    np.minimum(active, 1, out=active)
    np.negative(active, out=active)


def group_order(groups: int) -> tuple[int, ...]:
    """Which group lies in which slot, so that the two halves of the slots are always the groups to merge.

    >>> group_order(4)
    (0, 2, 1, 3)
    """
    order = (0,)
    while len(order) < groups:
        order = (*(2 * group for group in order), *(2 * group + 1 for group in order))
    return order


def to_keys(units: NDArray[Any], columns: int, row_bits: int) -> None:
    """Unit numbers to bank-major keys, in place: the bank (column) above, the row of the banks below."""
    dtype = units.dtype
    if columns & (columns - 1) == 0:
        shift = columns.bit_length() - 1
        rows = units >> dtype.type(shift)
        np.bitwise_and(units, dtype.type(columns - 1), out=units)
    else:
        rows = units // dtype.type(columns)
        np.subtract(units, rows * dtype.type(columns), out=units)
    np.left_shift(units, dtype.type(row_bits), out=units)
    np.bitwise_or(units, rows, out=units)


def fill_inactive(keys: NDArray[Any], active: NDArray[Any]) -> NDArray[np.uint8]:
    """Give inactive lanes the key of an active lane of their group, which changes no count, in place.

    Returns (groups, rows) 1 where a group has an active lane. A group without one gets a key of the group that
    it may be merged with, or else of the next larger one, so that merging adds nothing either.
    """
    np.bitwise_and(keys, active, out=keys)
    highest = np.maximum.reduce(keys, axis=0)
    occupied = np.bitwise_or.reduce(active, axis=0) != 0
    if not occupied.all():
        _fill_empty_groups(highest, occupied)
    np.invert(active, out=active)
    np.bitwise_or(keys, active, out=keys)
    np.minimum(keys, highest, out=keys)
    np.invert(active, out=active)
    return occupied.view(np.uint8)


def _fill_empty_groups(highest: NDArray[Any], occupied: NDArray[np.bool_]) -> None:
    if len(highest) == 1:
        return
    half = len(highest) // 2
    joined = np.maximum(highest[:half], highest[half:])
    _fill_empty_groups(joined, occupied[:half] | occupied[half:])
    np.copyto(highest[:half], joined, where=~occupied[:half])
    np.copyto(highest[half:], joined, where=~occupied[half:])
