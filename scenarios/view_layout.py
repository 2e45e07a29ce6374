"""A layout as data for the interactive page: iters, strides, swizzle and copies instead of a notation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

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
from ..layouts.linear import AXIS_OF_INPUT, LinearLayout
from ..layouts.linear_encodings import Encoding

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
        "copies": None,
        "replicaXor": False,
        "pads": [],
        "swizzle": None,
    }
    if isinstance(layout, TileLayout):
        return found | _tile(layout)
    if isinstance(layout, ComposeLayout):
        return found | _tile(layout.tile_layout) | {"swizzle": _composed(layout)}
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


def _tile(layout: TileLayout) -> dict[str, Any]:
    leaves = [[item.extent, item.stride, item.axis] for item in layout.shard]
    # In range the regrouped form of TIRx and the flattened one agree, and the flattened one is what TIRx says.
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
    if isinstance(layout, Encoding) and layout.kind == "padded_shared":
        pads = [list(pair) for pair in cast("tuple[tuple[int, int], ...]", layout["paddings"])]
        return _by_values(layout.linear(), sizes) | {"pads": pads}
    values = tile_offsets(layout, sizes)
    linear = _linear(layout, sizes, {axis: np.asarray(v) for axis, v in values.items()})
    if linear is not None:
        return linear | copies
    table = {axis: np.asarray(v).ravel().tolist() for axis, v in values.items()}
    return {"kind": "table", "table": table, "why": "no strides or bases express it"} | copies


def _copies(layout: Layout) -> dict[str, Any]:
    """The copies as plain offsets; those of dependent bases differ by element and act by xor."""
    try:
        found, by_xor = layout.replicas(), False
    except LayoutError:
        base = layout.linear() if isinstance(layout, Encoding) else layout
        if not isinstance(base, LinearLayout):
            raise
        codes = np.array([0], dtype=np.int64)
        for vector in base.kernel():
            codes = np.concatenate([codes, codes ^ vector])
        found = {
            AXIS_OF_INPUT.get(name, name): (codes >> at) & ((1 << bits) - 1)
            for name, (at, bits) in base.input_fields().items()
        }
        by_xor = True
    if not found:
        return {}
    count = max(len(values) for values in found.values())
    copies = [{axis: int(values[i]) for axis, values in found.items() if values.any()} for i in range(count)]
    return {"copies": copies, "replicaXor": by_xor}


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
