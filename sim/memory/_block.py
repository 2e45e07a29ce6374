"""Scratch memory of a block of accesses, and the way from rows of offsets to lane-major keys.

A block is small enough to stay in the cache while a few hundred passes go over it; a whole trace never is.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rules import Rule

BLOCK = 16384
_STRIP = 512


@dataclass(frozen=True, slots=True)
class KeyPlan:
    """How byte offsets become bank-major keys: bank (column) in the upper bits, row of the banks in the lower.

    Offsets lose `shift` bits on their way into `dtype`. Then, for a power of two of columns, a rotation by `turn`
    bits puts the column on top; `clear` bits below the unit are dropped before. Otherwise `turn` is 0 and the
    key is put together by division. Two keys are of one bank when they differ below 1 << row_bits only.
    """

    dtype: np.dtype[Any]
    shift: int
    clear: int
    turn: int
    columns: int
    row_bits: int

    @classmethod
    def of(cls, rule: Rule, highest_offset: int) -> KeyPlan:
        """The plan with the smallest type: uint16 up to 64 KiB of words, which halves the time of a sort."""
        unit_bits, column_bits = rule.unit.bit_length() - 1, (rule.columns - 1).bit_length()
        rotates = rule.columns & (rule.columns - 1) == 0
        shift = 0 if rotates and highest_offset < 1 << 16 else unit_bits
        for dtype in (np.dtype(np.uint16), np.dtype(np.uint32)):
            bits = 8 * dtype.itemsize
            row_bits = bits - column_bits
            units = highest_offset >> shift
            if units < 1 << bits and (rotates or units // rule.columns < 1 << row_bits):
                break
        else:
            raise OverflowError(f"offset {highest_offset} with {rule.columns} columns of banks")
        # Rules with the unit of a bank also count narrower accesses, whose offsets have bits below the unit.
        clear = unit_bits if not shift and rule.unit == rule.bank_bytes else 0
        turn = unit_bits - shift + column_bits if rotates else 0
        return cls(dtype, shift, clear, turn, rule.columns, row_bits)


class Scratch(threading.local):
    """Vectors for blocks of up to BLOCK accesses, by key type; each thread has its own, and keeps them.

    Fresh memory of this size comes from the system page by page, which takes longer than counting in it.
    """

    def __init__(self) -> None:
        size = 4 * BLOCK
        self.rows = np.empty((_STRIP, 32), np.int32)
        self.small: dict[str, NDArray[Any]] = {name: np.empty(size, np.bool_) for name in ("new", "same")}
        self.small |= {name: np.empty(size, np.uint8) for name in ("run", "most", "total")}
        self._keys: dict[np.dtype[Any], tuple[NDArray[Any], ...]] = {}

    def keys(self, dtype: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
        """Flat vectors of one type: keys, activity and work of 32 lanes; a spare and a difference of 4 groups."""
        if dtype not in self._keys:
            self._keys[dtype] = tuple(np.empty(size * BLOCK, dtype) for size in (32, 32, 32, 4, 4))
        return self._keys[dtype]


def load_keys(
    offsets: NDArray[np.int32], rows: NDArray[np.intp], plan: KeyPlan, wires: NDArray[Any], scratch: Scratch
) -> None:
    """Keys of the picked rows into `wires` of shape (lane in group, slot of group, row)."""
    work = scratch.keys(plan.dtype)[2]
    size, groups, count = wires.shape
    halves = (2,) * (groups.bit_length() - 1)
    for start in range(0, count, _STRIP):
        stop = min(count, start + _STRIP)
        strip = scratch.rows[: stop - start]
        # Without "clip" NumPy would go through a copy of `out`, to leave it alone if an index were wrong.
        np.take(offsets, rows[start:stop], axis=0, out=strip, mode="clip")
        if plan.shift:
            np.right_shift(strip, plan.shift, out=strip)
        by_lane = strip[:, : size * groups].reshape(stop - start, *halves, size).T
        np.copyto(wires[:, :, start:stop].reshape(size, *halves, stop - start), by_lane, casting="unsafe")
    _to_keys(wires, plan, work[: wires.size].reshape(wires.shape))


def load_active(mask: NDArray[np.uint32], active: NDArray[Any]) -> None:
    """All bits set where a lane is active, 0 where not, in the shape (lane in group, slot of group, row)."""
    size, groups, _ = active.shape
    bits = 8 * active.dtype.itemsize
    pieces: NDArray[Any] = np.empty((32 // bits, len(mask)), dtype=active.dtype)
    for number in range(len(pieces)):
        np.copyto(pieces[number], mask >> np.uint32(number * bits), casting="unsafe")
    # The lane's bit is moved to the sign, then the sign is spread over all bits.
    places = np.arange(bits - 1, -1, -1, dtype=np.int64)
    powers: NDArray[Any] = (np.int64(1) << places).astype(active.dtype)
    for slot, group in enumerate(group_order(groups)):
        for lane in range(size):
            index = group * size + lane
            np.multiply(pieces[index // bits], powers[index % bits, None], out=active[lane, slot])
    signed = active.view(np.dtype(f"i{active.dtype.itemsize}"))
    np.right_shift(signed, bits - 1, out=signed)


def occupied_groups(mask: NDArray[np.uint32], size: int, groups: int) -> NDArray[np.bool_]:
    """(slot of group, row) whether a group of `size` lanes has an active lane."""
    lanes = (1 << size) - 1
    return np.stack([mask & np.uint32(lanes << group * size) != 0 for group in group_order(groups)])


def group_order(groups: int) -> tuple[int, ...]:
    """Which group lies in which slot, so that the two halves of the slots are always the groups to merge.

    >>> group_order(4)
    (0, 2, 1, 3)
    """
    order = (0,)
    while len(order) < groups:
        order = (*(2 * group for group in order), *(2 * group + 1 for group in order))
    return order


def fill_inactive(keys: NDArray[Any], active: NDArray[Any], occupied: NDArray[np.bool_]) -> None:
    """Give inactive lanes the key of an active lane of their group, which changes no count, in place.

    A group without active lanes gets a key of the group that it may be merged with, or else of the next larger
    one, so that merging adds nothing either.
    """
    np.bitwise_and(keys, active, out=keys)
    highest = np.maximum.reduce(keys, axis=0)
    if not occupied.all():
        _fill_empty_groups(highest, occupied)
    np.invert(active, out=active)
    np.bitwise_or(keys, active, out=keys)
    np.minimum(keys, highest, out=keys)
    np.invert(active, out=active)


def _fill_empty_groups(highest: NDArray[Any], occupied: NDArray[np.bool_]) -> None:
    if len(highest) == 1:
        return
    half = len(highest) // 2
    joined = np.maximum(highest[:half], highest[half:])
    _fill_empty_groups(joined, occupied[:half] | occupied[half:])
    np.copyto(highest[:half], joined, where=~occupied[:half])
    np.copyto(highest[half:], joined, where=~occupied[half:])


def _to_keys(wires: NDArray[Any], plan: KeyPlan, rows: NDArray[Any]) -> None:
    kind = plan.dtype.type
    if plan.clear:
        np.bitwise_and(wires, kind((1 << 8 * plan.dtype.itemsize) - (1 << plan.clear)), out=wires)
    if plan.turn:
        np.right_shift(wires, kind(plan.turn), out=rows)
        np.left_shift(wires, kind(8 * plan.dtype.itemsize - plan.turn), out=wires)
        np.bitwise_or(wires, rows, out=wires)
        return
    # Division leaves the column as the rest: key = column << row_bits | row.
    np.floor_divide(wires, kind(plan.columns), out=rows)
    np.remainder(wires, kind(plan.columns), out=wires)
    np.left_shift(wires, kind(plan.row_bits), out=wires)
    np.bitwise_or(wires, rows, out=wires)
