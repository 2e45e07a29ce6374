"""Questions that any layout answers, whatever its notation: extent, injectivity, holes, footprint, runs, alignment.

Everything is computed from the places of all elements at once (`tile_offsets`), replicas counted. Units:
elements on the axes, bytes where a dtype is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ._arrays import add_replicas
from .dtype import dtype_bits
from .protocol import IntArray, Layout, LayoutError, linear_axis, tile_offsets
from .tirx import ComposeLayout
from .tla import TlaLayout


def extent_of_axis(layout: Layout, axis: str, shape: Sequence[int] | None = None) -> int:
    """Largest coordinate on an axis plus 1, replicas counted: the places that the layout needs there.

    >>> from bankbench.layouts import parse
    >>> extent_of_axis(parse("(8,64):(72,1)"), "m")
    568
    """
    values = all_places(layout, shape).get(axis)
    return 0 if values is None or not values.size else int(values.max()) + 1


def offsets(layout: Layout, shape: Sequence[int] | None = None) -> IntArray:
    """Linear element offsets of a whole tile; LayoutError when the layout is not linear memory.

    >>> from bankbench.layouts import parse
    >>> offsets(parse("S[(2,3):(1,2)]")).tolist()
    [[0, 2, 4], [1, 3, 5]]
    """
    return linear_axis(tile_offsets(layout, shape), "offsets()")


def all_places(layout: Layout, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
    """Physical coordinates of every element and copy: axis -> array of shape (copies, *tile)."""
    extents = tuple(layout.logical_shape if shape is None else (int(n) for n in shape))
    if isinstance(layout, ComposeLayout):
        grids = np.ogrid[tuple(slice(0, n) for n in extents)]
        return layout.places(*grids, shape=extents)
    return add_replicas(tile_offsets(layout, shape), layout.replicas())


def _codes(places: dict[str, IntArray]) -> tuple[IntArray, tuple[int, ...], tuple[int, ...]]:
    """(one number a place, box of the axes, their lowest coordinates), axes in the order of the dict."""
    if not places:
        raise LayoutError("a layout without axes has no places")
    low = tuple(int(values.min()) for values in places.values())
    box = tuple(int(values.max()) - at + 1 for values, at in zip(places.values(), low, strict=True))
    if prod(box) > 1 << 62:
        raise LayoutError(f"the box of the places, {box}, is too large to be numbered")
    code: IntArray = np.zeros((), np.int64)
    for values, at, size in zip(places.values(), low, box, strict=True):
        code = code * size + (values - at)
    return code, box, low


@dataclass(frozen=True, slots=True, eq=False)
class Inverse:
    """Which element lies where: `table[place]` is the row-major element number, -1 where none lies.

    `axes` names the dimensions of the table, `low` the coordinates of its first entry.
    """

    axes: tuple[str, ...]
    low: tuple[int, ...]
    table: IntArray
    shape: tuple[int, ...]

    def element(self, **place: int) -> tuple[int, ...] | None:
        """Logical coordinate at a place, None for a hole; axes left out are at their lowest coordinate."""
        index = tuple(int(place.get(axis, at)) - at for axis, at in zip(self.axes, self.low, strict=True))
        if any(not 0 <= i < n for i, n in zip(index, self.table.shape, strict=True)):
            return None
        flat = int(self.table[index])
        return None if flat < 0 else tuple(int(n) for n in np.unravel_index(flat, self.shape))


def inverse(layout: Layout, shape: Sequence[int] | None = None) -> Inverse:
    """The table from places to elements; LayoutError when two elements share a place.

    >>> from bankbench.layouts import parse
    >>> table = inverse(parse("S[(4,8):(8@laneid,1@laneid)]"))
    >>> table.element(laneid=19)
    (2, 3)
    """
    places = all_places(layout, shape)
    extents = tuple(layout.logical_shape if shape is None else (int(n) for n in shape))
    code, box, low = _codes(places)
    if prod(box) > 1 << 28:
        raise LayoutError(f"the places lie in a box of {box}, too large for a table")
    table = np.full(prod(box), -1, np.int64)
    number = np.arange(prod(extents), dtype=np.int64).reshape(extents)
    table[code.reshape(-1)] = np.broadcast_to(number, code.shape).reshape(-1)
    if bool((table[code] != number).any()):
        raise LayoutError("the layout has no inverse: two elements share a place")
    return Inverse(tuple(places), low, table.reshape(box), extents)


def is_injective(layout: Layout, shape: Sequence[int] | None = None) -> bool:
    """Whether no two elements share a place (copies of one element may)."""
    return shared_places(layout, shape) == 0


def shared_places(layout: Layout, shape: Sequence[int] | None = None) -> int:
    """Number of places that hold more than one element: the overlap of a layout with itself.

    >>> from bankbench.layouts import parse
    >>> shared_places(parse("(4,2):(1,2)"))
    2
    """
    code, _, _ = _codes(all_places(layout, shape))
    if not code.size:
        return 0
    numbers = np.arange(code[0].size, dtype=np.int64).reshape(code.shape[1:])
    elements = np.broadcast_to(numbers, code.shape)
    pairs = np.unique(np.stack([code.reshape(-1), elements.reshape(-1)]), axis=1)
    _, counts = np.unique(pairs[0], return_counts=True)
    return int((counts > 1).sum())


def holes(layout: Layout, shape: Sequence[int] | None = None) -> IntArray:
    """Offsets between the lowest and the highest one that no element uses (linear memory).

    >>> from bankbench.layouts import parse
    >>> holes(parse("(2,3):(4,1)")).tolist()
    [3]
    """
    used = linear_axis(all_places(layout, shape), "holes()")
    low, high = int(used.min()), int(used.max())
    seen = np.zeros(high - low + 1, bool)
    seen[(used - low).reshape(-1)] = True
    return np.flatnonzero(~seen).astype(np.int64) + low


def footprint_bytes(layout: Layout, dtype: str, shape: Sequence[int] | None = None) -> int:
    """Bytes from offset 0 to the last element, rounded up (linear memory): what has to be allocated.

    LayoutError when elements lie below offset 0.

    >>> from bankbench.layouts import parse
    >>> footprint_bytes(parse("(8,64):(72,1)"), "f16")
    1136
    """
    return -(-allocated(layout, shape) * dtype_bits(dtype) // 8)


def allocated(layout: Layout, shape: Sequence[int] | None = None) -> int:
    """Elements from offset 0 that have to be allocated; the padding of a TLA layout counts. LayoutError below 0.

    >>> from bankbench.layouts import from_tag
    >>> allocated(from_tag("zN", 100, 100, "f16"))
    12544
    """
    places = all_places(layout, shape).get("m")
    if places is not None and places.size and int(places.min()) < 0:
        raise LayoutError(
            f"elements lie down to {-int(places.min())} below offset 0: add that to the offset before asking for memory"
        )
    if isinstance(layout, TlaLayout) and shape is None:
        return layout.cosize()
    return extent_of_axis(layout, "m", shape)


def padding_waste(layout: Layout, shape: Sequence[int] | None = None) -> float:
    """Share of the footprint that holds no valid element, 0.0 to 1.0.

    >>> from bankbench.layouts import from_tag
    >>> round(padding_waste(from_tag("zN", 100, 100, "f16")), 3)
    0.203
    """
    used = linear_axis(all_places(layout, shape), "padding_waste()")
    return 1.0 - len(np.unique(used)) / allocated(layout, shape)


def contiguous_run(layout: Layout, shape: Sequence[int] | None = None, dim: int = -1) -> int:
    """Largest power of two r such that every aligned group of r elements along a dimension is consecutive in memory.

    >>> from bankbench.layouts import parse
    >>> contiguous_run(parse("ComposeLayout(3, 3, 3, S[(8,64):(64,1)])"))
    8
    """
    return _run(np.moveaxis(offsets(layout, shape), dim, -1), 1)


def alignment_bytes(layout: Layout, dtype: str, run: int = 1, shape: Sequence[int] | None = None) -> int:
    """Largest power of two that divides the byte address of every aligned group of `run` elements of the last
    dimension (the base aligned at least so); LayoutError for sub-byte elements whose groups are not whole
    bytes.
    """
    found = offsets(layout, shape)
    starts = found[..., ::run] * dtype_bits(dtype)
    if bool((starts % 8).any()):
        raise LayoutError(f"groups of {run} elements of {dtype} do not start at whole bytes")
    common = int(np.bitwise_or.reduce((starts // 8).reshape(-1))) if starts.size else 0
    return common & -common if common else 1 << 30


def lane_run(fragment: Layout, memory: Layout, shape: Sequence[int]) -> int:
    """Longest run that every lane can move at once: the largest power of two r such that r consecutive register
    elements (`m` aligned to r) of every lane lie at r consecutive, r-aligned offsets of the memory layout.

    >>> from bankbench.layouts import mma_fragment, parse
    >>> lane_run(mma_fragment("m16n8k16", "C", "f32"), parse("(16,8):(8,1)"), (16, 8))
    2
    """
    places = tile_offsets(fragment, shape)
    address = offsets(memory, shape).reshape(-1)
    registers = places["m"].reshape(-1)
    lane: IntArray = np.zeros_like(registers)
    for axis, values in places.items():
        if axis != "m":
            lane = lane * (int(values.max()) + 1) + values.reshape(-1)
    count = int(registers.max()) + 1
    order = np.lexsort((registers, lane))
    if len(order) % count or bool((registers[order].reshape(-1, count) != np.arange(count)).any()):
        return 1  # lanes hold different registers: nothing wider than one element is common to all
    return _run(address[order].reshape(-1, count), None)


def _run(rows: IntArray, alignment: int | None) -> int:
    """Largest power of two run of the last axis; with alignment None the run has to start at a multiple of
    itself.
    """
    width, run = rows.shape[-1], 1
    while width % (2 * run) == 0:
        groups = rows.reshape(*rows.shape[:-1], width // (2 * run), 2 * run)
        consecutive = groups == groups[..., :1] + np.arange(2 * run)
        if not bool(consecutive.all()):
            break
        if alignment is None and bool((groups[..., 0] % (2 * run)).any()):
            break
        run *= 2
    return run


@dataclass(frozen=True, slots=True)
class LayoutFacts:
    """What can be said of a layout of linear memory; sizes in bytes, places in elements."""

    elements: int
    places: int
    injective: bool
    shared_places: int
    holes: int
    footprint_bytes: int
    padding_waste: float
    contiguous_run: int
    alignment_bytes: int


def facts(layout: Layout, dtype: str, shape: Sequence[int] | None = None) -> LayoutFacts:
    """All of the above for one layout of linear memory.

    >>> from bankbench.layouts import parse
    >>> facts(parse("(8,64):(72,1)"), "f16").holes
    56
    """
    used = linear_axis(all_places(layout, shape), "facts()")
    run = contiguous_run(layout, shape)
    shared = shared_places(layout, shape)
    return LayoutFacts(
        elements=int(used[0].size),
        places=len(np.unique(used)),
        injective=shared == 0,
        shared_places=shared,
        holes=len(holes(layout, shape)),
        footprint_bytes=footprint_bytes(layout, dtype, shape),
        padding_waste=padding_waste(layout, shape),
        contiguous_run=run,
        alignment_bytes=alignment_bytes(layout, dtype, run, shape),
    )
