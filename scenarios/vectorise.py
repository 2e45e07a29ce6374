"""From elements to instructions: the widest access that the addresses of every lane allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .errors import ScenarioError

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
WIDEST = 16


def split_instructions(
    addresses: IntArray, active: BoolArray, itemsize: int, width: int | None = None
) -> tuple[IntArray, BoolArray, int]:
    """Groups the elements of every lane into instructions of one width.

    `addresses` and `active` have shape (n, 32, r): the byte address of each of the r elements that a lane
    holds, in register order, and whether it holds one. An instruction of v elements takes v neighbouring
    registers whose addresses run on and start at a multiple of v * itemsize bytes; v is the largest power
    of two that works for every active lane (16 bytes at most), or the one that `width` bytes asks for.
    Returns (offsets (n * r / v, 32), active (n * r / v, 32), width in bytes), register groups innermost.
    Raises `ScenarioError` when `width` cannot be had, naming the first lane that breaks it.

    >>> a = (np.arange(32) * 8)[None, :, None] + np.arange(4) * 2
    >>> split_instructions(a, np.ones((1, 32, 4), bool), 2)[2]
    8
    """
    lanes, registers = addresses.shape[1:]
    if width is None:
        vector = 1
        while 2 * vector * itemsize <= WIDEST and _misfit(addresses, active, itemsize, 2 * vector) is None:
            vector *= 2
        misfit = _misfit(addresses, active, itemsize, vector)
    else:
        if width % itemsize:
            raise ScenarioError(f"accesses of {width} bytes do not hold whole elements of {itemsize} bytes")
        vector = width // itemsize
        misfit = _misfit(addresses, active, itemsize, vector)
    if misfit is not None:
        raise ScenarioError(f"{vector * itemsize}-byte accesses do not fit: {misfit}")
    if vector * itemsize > WIDEST:
        raise ScenarioError(f"an element of {itemsize} bytes is wider than any access ({WIDEST} bytes)")
    split = (-1, lanes, registers // vector, vector)
    starts = np.moveaxis(addresses.reshape(split)[..., 0], 2, 1).reshape(-1, lanes)
    used = np.moveaxis(active.reshape(split)[..., 0], 2, 1).reshape(-1, lanes)
    return np.ascontiguousarray(starts), np.ascontiguousarray(used), vector * itemsize


def _misfit(addresses: IntArray, active: BoolArray, itemsize: int, vector: int) -> str | None:
    """None when groups of `vector` registers are whole aligned runs in every active lane, else the reason."""
    n, lanes, registers = addresses.shape
    if registers % vector:
        return f"{registers} elements a lane do not divide into groups of {vector}"
    groups = addresses.reshape(n, lanes, registers // vector, vector)
    used = active.reshape(groups.shape)
    some = used.any(axis=-1)
    partial = some & ~used.all(axis=-1)
    if partial.any():
        lane = int(np.nonzero(partial)[1][0])
        return f"lane {lane} holds only some of {vector} neighbouring registers"
    run = groups[..., :1] + np.arange(vector) * itemsize
    apart = (groups != run).any(axis=-1) & some
    if apart.any():
        i, lane, group = (int(x[0]) for x in np.nonzero(apart))
        return f"the {vector} elements of lane {lane} lie at bytes {groups[i, lane, group].tolist()}, not in one run"
    skew = (groups[..., 0] % (vector * itemsize) != 0) & some
    if skew.any():
        i, lane, group = (int(x[0]) for x in np.nonzero(skew))
        return (
            f"lane {lane} starts at byte {int(groups[i, lane, group, 0])}, "
            f"which is not a multiple of {vector * itemsize} (misaligned)"
        )
    return None


def pack_narrow(
    addresses: IntArray, active: BoolArray, bits: int, bit_offsets: IntArray
) -> tuple[IntArray, BoolArray]:
    """Folds elements of less than a byte into whole bytes: the registers of one byte become one.

    `bit_offsets` are the bit addresses of the same shape. Neighbouring registers must fill a byte in order.
    Raises `ScenarioError` where they do not (a lane cannot load half a byte).
    """
    per_byte = 8 // bits
    n, lanes, registers = addresses.shape
    if registers % per_byte:
        raise ScenarioError(f"{registers} elements of {bits} bits a lane do not fill whole bytes")
    groups = bit_offsets.reshape(n, lanes, registers // per_byte, per_byte)
    used = active.reshape(groups.shape)
    run = groups[..., :1] + np.arange(per_byte) * bits
    wrong = ((groups != run).any(axis=-1) | (groups[..., 0] % 8 != 0)) & used.any(axis=-1)
    if wrong.any():
        lane = int(np.nonzero(wrong)[1][0])
        raise ScenarioError(
            f"lane {lane} would touch a part of a byte: its {bits}-bit elements do not fill one"
        )
    return groups[..., 0] // 8, np.asarray(used.any(axis=-1))
