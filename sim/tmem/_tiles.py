"""Small helpers over layouts: whole tiles evaluated at once, with replicas, as lanes, columns and bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...layouts import IntArray, Iter, TileLayout, tile_offsets

__all__ = ["iters", "lanes_and_units", "replica_lanes"]


def iters(
    shard: Sequence[tuple[int, int, str]],
    replica: Sequence[tuple[int, int, str]] = (),
    offset: dict[str, int] | None = None,
) -> TileLayout:
    """A TIRx layout from (extent, stride, axis) triples; extents of 1 are left out."""
    kept = [Iter(*item) for item in shard if item[0] != 1] or [Iter(*shard[-1])]
    return TileLayout.from_iters(kept, [Iter(*item) for item in replica], offset)


def lanes_and_units(layout: TileLayout, shape: Sequence[int]) -> tuple[IntArray, IntArray]:
    """TLane and TCol (in the layout's own elements) of every element of the tile, arrays of `shape`."""
    found = tile_offsets(layout, shape)
    zero = np.zeros(tuple(shape), np.int64)
    return found.get("TLane", zero), found.get("TCol", zero)


def replica_lanes(layout: TileLayout) -> IntArray:
    """Lane offsets of the copies, ascending; [0] when there is one copy."""
    copies = layout.replicas().get("TLane")
    return np.sort(copies) if copies is not None else np.zeros(1, np.int64)
