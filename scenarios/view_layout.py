"""A layout as data for the interactive page: iters, strides, swizzle and copies instead of a notation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..layouts import (
    Basis,
    ComposeLayout,
    CuteLayout,
    Layout,
    LayoutError,
    SwizzledLayout,
    TileLayout,
    TlaLayout,
    tile_offsets,
)
from ..layouts.int_tuple import integers, modes

_MOST_TABLE = 1 << 16


def describe(layout: Layout, shape: Sequence[int] | None = None) -> dict[str, Any]:
    """The description of a layout in a logical shape (its own when left out); see `reports/view/__init__.py`.

    Layouts that are neither splits with strides nor linear over bits are written out as a table, up to 65,536
    elements. Raises LayoutError when a larger one has no arithmetic that the page knows.

    >>> from bankbench.layouts import parse
    >>> describe(parse("(8,64):(64,1)"))["groups"][0]
    {'from': 0, 'fast': 'first', 'leaves': [[8, 64, 'm']]}
    """
    sizes = tuple(int(n) for n in (layout.logical_shape if shape is None else shape))
    found: dict[str, Any] = {
        "notation": layout.notation,
        "shape": list(sizes),
        "axes": list(layout.axes),
        "offset": {},
        "replicas": [],
        "replicaXor": False,
        "swizzle": None,
    }
    if isinstance(layout, TileLayout):
        return found | _tile(layout, sizes)
    if isinstance(layout, ComposeLayout):
        return found | _tile(layout.tile_layout, sizes) | {"swizzle": _composed(layout)}
    if isinstance(layout, CuteLayout):
        return found | _cute(layout, sizes)
    if isinstance(layout, SwizzledLayout):
        swizzle = layout.element_swizzle
        low, high = swizzle.base, swizzle.base + abs(swizzle.shift)
        bits = {"bits": swizzle.bits, "from": high, "to": low}
        if swizzle.shift < 0:
            bits |= {"from": low, "to": high}
        return (
            found
            | _cute(layout.layout, sizes)
            | {
                "offset": {"m": layout.offset} if layout.offset else {},
                "swizzle": bits if swizzle.bits else None,
            }
        )
    if isinstance(layout, TlaLayout):
        return found | _tla(layout, sizes)
    return found | _by_values(layout, sizes)


def bare(layout: Layout) -> Layout:
    """The layout without its swizzle."""
    if isinstance(layout, ComposeLayout):
        return layout.tile_layout
    return layout.layout if isinstance(layout, SwizzledLayout) else layout


def _tile(layout: TileLayout, sizes: tuple[int, ...]) -> dict[str, Any]:
    leaves = [[item.extent, item.stride, item.axis] for item in layout.shard]
    if sizes == layout.logical_shape:
        groups: list[dict[str, Any]] = [
            {"from": dim, "fast": "last", "leaves": [leaf]} for dim, leaf in enumerate(leaves)
        ]
    else:
        # In range the regrouped form of TIRx and the flattened one agree, and the flattened one reads easier.
        groups = [{"from": "flat", "fast": "last", "leaves": leaves}]
    return {
        "kind": "split",
        "order": "row",
        "groups": groups,
        "offset": layout.offset,
        "replicas": [[item.extent, item.stride, item.axis] for item in layout.replica],
    }


def _composed(layout: ComposeLayout) -> dict[str, int] | None:
    low, high = layout.per_element, layout.per_element + layout.atom_len
    if layout.swizzle_len == 0:
        return None
    if layout.swizzle_inner:
        return {"bits": layout.swizzle_len, "from": high, "to": low}
    return {"bits": layout.swizzle_len, "from": low, "to": high}


def _cute(layout: CuteLayout, sizes: tuple[int, ...]) -> dict[str, Any]:
    own = layout.logical_shape
    per_mode = len(sizes) == len(own) and all(a <= b for a, b in zip(sizes, own, strict=True))
    pieces = layout.modes if per_mode else (layout,)
    return {
        "kind": "split",
        "order": "column",
        "groups": [
            {
                "from": dim if per_mode else "flat",
                "fast": "first",
                "leaves": [[extent, *_step(step)] for extent, step in piece.flat],
            }
            for dim, piece in enumerate(pieces)
        ],
    }


def _step(step: int | Basis) -> tuple[int, str]:
    return (step.value, step.axis) if isinstance(step, Basis) else (step, "m")


def _tla(layout: TlaLayout, sizes: tuple[int, ...]) -> dict[str, Any]:
    shapes, strides = modes(layout.shape), modes(layout.stride)
    per_mode = len(sizes) == len(shapes)
    pairs = zip(shapes, strides, strict=True) if per_mode else [(layout.shape, layout.stride)]
    return {
        "kind": "split",
        "order": "column",
        "groups": [
            {
                "from": dim if per_mode else "flat",
                "fast": "first",
                "leaves": [[n, d, "m"] for n, d in zip(integers(shape), integers(stride), strict=True)],
            }
            for dim, (shape, stride) in enumerate(pairs)
        ],
    }


def _by_values(layout: Layout, sizes: tuple[int, ...]) -> dict[str, Any]:
    """From its values: linear over the bits of the coordinates if that holds for every element, else a table."""
    copies = _copies(layout)
    if math.prod(sizes) > _MOST_TABLE:
        raise LayoutError(
            f"{math.prod(sizes):,} elements of a {layout.notation} layout; the page draws up to {_MOST_TABLE:,} "
            "of them: name a smaller --shape"
        )
    values = tile_offsets(layout, sizes)
    linear = _linear(layout, sizes, {axis: np.asarray(v) for axis, v in values.items()})
    if linear is not None:
        return linear | copies
    table = {axis: np.asarray(v).ravel().tolist() for axis, v in values.items()}
    return {"kind": "table", "table": table, "why": "no strides or bases express it"} | copies


def _copies(layout: Layout) -> dict[str, Any]:
    """Copies whose offsets are sums of powers of two act by xor on linear layouts; each offset is one combination."""
    found = layout.replicas()
    if not found:
        return {}
    iters: list[list[Any]] = []
    for axis, offsets in found.items():
        distinct = sorted({int(v) for v in offsets})
        bits = [v for v in distinct if v > 0 and v & (v - 1) == 0]
        if distinct != sorted({sum(c) for c in _subsets(bits)}):
            raise LayoutError(f"copies at {distinct[:8]} on {axis} are no sums of powers of two")
        iters += [[2, bit, axis] for bit in sorted(bits, reverse=True)]
    if math.prod(n for n, _, _ in iters) != max(len(v) for v in found.values()):
        raise LayoutError("the copies on several axes are not independent; the page cannot draw them")
    return {"replicas": iters, "replicaXor": False}


def _subsets(values: list[int]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for value in values:
        found += [(*known, value) for known in found]
    return found


def _linear(layout: Layout, sizes: tuple[int, ...], values: dict[str, np.ndarray]) -> dict[str, Any] | None:
    if any(n & (n - 1) for n in sizes):
        return None
    zero = (0,) * len(sizes)
    origin = {axis: int(v[zero]) for axis, v in values.items()}
    bases = [
        [
            {
                axis: int(v[(*zero[:dim], 1 << bit, *zero[dim + 1 :])]) ^ origin[axis]
                for axis, v in values.items()
            }
            for bit in range(extent.bit_length() - 1)
        ]
        for dim, extent in enumerate(sizes)
    ]
    grid = np.ogrid[tuple(slice(0, n) for n in sizes)]
    for axis, expected in values.items():
        found = np.full(sizes, origin[axis], dtype=np.int64)
        for coord, by_bit in zip(grid, bases, strict=True):
            for bit, basis in enumerate(by_bit):
                found ^= np.where((coord >> bit) & 1, basis[axis], 0)
        if not np.array_equal(found, expected):
            return None
    return {"kind": "xor", "origin": origin, "bases": bases}


__all__ = ["bare", "describe"]
