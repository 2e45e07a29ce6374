"""Where a register fragment meets a buffer: which address each (warp, lane, register) touches."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..layouts import Layout
from .errors import ScenarioError

IntArray = NDArray[np.int64]

# Threads that one step on an axis moves on, from the relations of the axes:
# tx = 32 warpid + laneid, tx = 128 wgid + tid_in_wg, tid_in_wg = 32 wid_in_wg + laneid.
THREADS = {"laneid": 1, "tx": 1, "tid_in_wg": 1, "warpid": 32, "wid_in_wg": 32, "wgid": 128}
_REGISTER = "m"


@dataclass(frozen=True, slots=True)
class Holders:
    """Who holds what: `element` (warps, 32, registers): flat row-major index in the tile, -1: none.

    `warps` are the warp numbers of the first dimension; `copies` is how often each element is held.
    """

    tile: tuple[int, ...]
    warps: IntArray
    element: IntArray
    copies: int
    names_warps: bool

    def coordinates(self) -> tuple[IntArray, ...]:
        """Tile coordinates of every held element, one array of the shape of `element` a dimension (0 where none)."""
        return tuple(x.astype(np.int64) for x in np.unravel_index(np.maximum(self.element, 0), self.tile))


def holders(fragment: Layout, tile: tuple[int, ...]) -> Holders:
    """Turns a fragment layout over thread axes and `m` into a table (warp, lane, register) -> element.

    Replicas are held like the elements themselves: every copy is loaded, or stored, by its own thread.
    Raises `ScenarioError` for axes that are no threads, a lane beyond 31, a negative register, or two
    elements in one register.
    """
    unknown = [axis for axis in fragment.axes if axis not in THREADS and axis != _REGISTER]
    if unknown:
        raise ScenarioError(
            f"axis {unknown[0]} is no thread axis; a register fragment has {', '.join(THREADS)} and {_REGISTER}"
        )
    if math.prod(tile) > math.prod(fragment.logical_shape):
        raise ScenarioError(
            f"tile {list(tile)} has {math.prod(tile)} elements, the fragment places {math.prod(fragment.logical_shape)}"
        )
    grid = np.ogrid[tuple(slice(0, extent) for extent in tile)]
    placed = {a: np.broadcast_to(v, tile).ravel() for a, v in fragment.evaluate(*grid, shape=tile).items()}
    copies = fragment.replicas()
    replicas = max((len(values) for values in copies.values()), default=1)

    def total(axis: str) -> IntArray:
        base = placed.get(axis, np.zeros(math.prod(tile), dtype=np.int64))
        return base[None, :] + copies.get(axis, np.zeros(replicas, dtype=np.int64))[:, None]

    laneid = total("laneid")
    if (
        "laneid" in fragment.axes
        and not {"tx", "tid_in_wg"} & set(fragment.axes)
        and (laneid.min() < 0 or laneid.max() > 31)
    ):
        raise ScenarioError(f"the fragment reaches laneid {int(laneid.max())}; a warp has lanes 0 to 31")
    thread = sum((total(axis) * step for axis, step in THREADS.items()), np.zeros_like(laneid))
    register = total(_REGISTER)
    if thread.min() < 0 or register.min() < 0:
        raise ScenarioError("the fragment reaches a negative thread or register")
    warp, lane = thread // 32, thread % 32
    warps, warp_index = np.unique(warp, return_inverse=True)
    element = np.full((len(warps), 32, int(register.max()) + 1), -1, dtype=np.int64)
    flat = np.broadcast_to(np.arange(math.prod(tile)), thread.shape)
    element[warp_index.reshape(warp.shape), lane, register] = flat
    if np.count_nonzero(element >= 0) < flat.size:
        held = element[warp_index.reshape(warp.shape), lane, register]
        r, e = (int(x[0]) for x in np.nonzero(held != flat))
        raise ScenarioError(
            f"elements {int(flat[r, e])} and {int(held[r, e])} of the tile are both in register "
            f"{int(register[r, e])} of warp {int(warp[r, e])} lane {int(lane[r, e])}"
        )
    names_warps = any(axis in fragment.axes for axis in ("warpid", "wid_in_wg", "wgid", "tx", "tid_in_wg"))
    return Holders(tile, warps, element, replicas, names_warps)


def matrix_rows(addresses: IntArray, itemsize: int, count: int, transposed: bool) -> IntArray:
    """Row addresses that ldmatrix or stmatrix needs to fill a fragment: (n, 32, r) -> (n * r32 / count, 32).

    A matrix is 8 rows of 16 bytes. Without .trans lane l holds bytes 4 (l mod 4) to +3 of row l div 4 in one
    32-bit register; with .trans (16-bit elements) it holds element l div 4 of rows 2 (l mod 4) and +1
    (PTX ISA, ldmatrix). Lane 8 k + q supplies row q of matrix k. Raises `ScenarioError` when the fragment's
    elements are not such rows.
    """
    per_register = 4 // itemsize if itemsize < 4 else 1
    n, lanes, registers = addresses.shape
    if itemsize > 4 or (transposed and itemsize != 2):
        raise ScenarioError(
            f"matrix instructions move 16-bit elements; this fragment has {itemsize * 8}-bit ones"
        )
    if registers % (per_register * count):
        raise ScenarioError(
            f"the fragment has {registers} elements a lane; x{count} takes multiples of {per_register * count}"
        )
    words = addresses.reshape(n, lanes, registers // per_register, per_register)
    lane, row, step = np.arange(32), np.arange(8), np.arange(per_register)
    if transposed:
        base = words[:, row // 2, :, row % 2]  # (8, n, words): advanced indices come first
        base = np.moveaxis(base, 0, -1)
        expected = base[..., 2 * (lane % 4)[:, None] + step] + itemsize * (lane // 4)[:, None]
    else:
        base = np.moveaxis(words[:, 4 * row, :, 0], 0, -1)
        expected = base[..., (lane // 4)[:, None] + 0 * step] + 4 * (lane % 4)[:, None] + itemsize * step
    found = np.moveaxis(words, 1, 2)
    if not np.array_equal(found, expected):
        i, word, at, k = (int(x[0]) for x in np.nonzero(found != expected))
        raise ScenarioError(
            f"register {word * per_register + k} of lane {at} lies at byte {int(found[i, word, at, k])}; the matrix "
            f"instruction would read byte {int(expected[i, word, at, k])} (its rows are 16 contiguous bytes)"
        )
    groups = base.reshape(n, registers // per_register // count, count, 8)
    rows = np.zeros((*groups.shape[:2], 32), dtype=np.int64)
    for matrix in range(4):  # lanes beyond the last matrix repeat it; the hardware ignores them
        rows[..., 8 * matrix : 8 * matrix + 8] = groups[:, :, matrix % count, :]
    return rows.reshape(-1, 32)


def loop_grid(loops: dict[str, list[int]]) -> tuple[int, dict[str, IntArray]]:
    """All combinations of the loop variables, the first one outermost: (how many, name -> (n,) values)."""
    combinations = list(itertools.product(*loops.values()))
    columns = np.asarray(combinations, dtype=np.int64).reshape(len(combinations), len(loops))
    return len(combinations), {name: columns[:, i] for i, name in enumerate(loops)}
