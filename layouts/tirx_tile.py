"""Products of TIRx layouts: `tile`, `tile_to` and `direct_sum`, for tiles and for swizzled tiles."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .protocol import LayoutError
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_canon import canonicalize, is_bare, with_tile
from .tirx_group import group
from .tirx_spec import add_terms, compact_strides

AnyTirx = TileLayout | ComposeLayout


def full_tile(layout: ComposeLayout, shape: Sequence[int]) -> TileLayout:
    """The tile under a swizzle; a bare one stands for the elements of `shape` in a row."""
    tile = layout.tile_layout
    return TileLayout.from_iters([Iter(prod(shape), 1, "m")]) if is_bare(tile) else tile


def tile(
    inner: AnyTirx,
    outer: TileLayout,
    outer_shape: Sequence[int],
    inner_shape: Sequence[int],
    target: str | None = None,
) -> AnyTirx:
    """Copies of `inner`, placed by `outer`: dimension d holds outer's block d, then inner's block d.

    Strides of outer are multiplied by inner's span on the same axis, where inner has a shard iter on it.
    Replicas are inner's, then outer's (not scaled); offsets add (outer's not scaled); the result is
    canonical. A swizzled inner keeps its swizzle, and a bare one stands for product(inner_shape) elements in
    a row. LayoutError when ranks differ or a layout cannot be regrouped by its shape.

    >>> from bankbench.layouts import parse
    >>> print(tile(parse("S[(2,2):(2,1)]"), parse("S[(3,4):(4,1)]"), (3, 4), (2, 2)))
    S[(3,2,4,2):(16,2,4,1)]
    """
    return _product(outer, inner, outer_shape, inner_shape, True, target)


def direct_sum(
    right: AnyTirx,
    left: TileLayout,
    left_shape: Sequence[int],
    right_shape: Sequence[int],
    target: str | None = None,
) -> AnyTirx:
    """As `tile` with left as outer and right as inner, but without any scaling of strides; replicas left, right.

    >>> from bankbench.layouts import parse
    >>> print(direct_sum(parse("S[(2,2):(2,1)]"), parse("S[(3,4):(16,4)]"), (3, 4), (2, 2)))
    S[(3,2,4,2):(16,2,4,1)]
    """
    return _product(left, right, left_shape, right_shape, False, target)


def tile_to(
    inner: AnyTirx, to_shape: Sequence[int], current_shape: Sequence[int], target: str | None = None
) -> AnyTirx:
    """`tile` with a row-major outer on m of to_shape // current_shape copies; other than multiples are cut down.

    >>> from bankbench.layouts import parse
    >>> tile_to(parse("S[(4,6):(6,1)]"), (9, 13), (4, 6)).size()
    96
    """
    if len(to_shape) != len(current_shape):
        raise LayoutError(f"shapes {tuple(to_shape)} and {tuple(current_shape)} differ in rank")
    if 0 in [int(n) for n in current_shape]:
        raise LayoutError(f"current shape {tuple(current_shape)} has an extent of 0")
    counts = [int(big) // int(small) for big, small in zip(to_shape, current_shape, strict=True)]
    outer = [Iter(n, step, "m") for n, step in zip(counts, compact_strides(counts), strict=True)]
    return tile(inner, TileLayout.from_iters(outer), counts, current_shape, target)


def _product(
    outer: TileLayout,
    inner: AnyTirx,
    outer_shape: Sequence[int],
    inner_shape: Sequence[int],
    scaled: bool,
    target: str | None,
) -> AnyTirx:
    """`tile` (scaled) and `direct_sum`: blocks of outer and inner in turn; inner's replicas come first when scaled."""
    if not isinstance(outer, TileLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError("the outer or left layout must be a tile, without a swizzle")
    if isinstance(inner, ComposeLayout):
        whole = _product(outer, full_tile(inner, inner_shape), outer_shape, inner_shape, scaled, target)
        assert isinstance(whole, TileLayout)
        return with_tile(inner, whole)
    if len(outer_shape) != len(inner_shape):
        raise LayoutError(f"shapes {tuple(outer_shape)} and {tuple(inner_shape)} differ in rank")
    outer, inner = canonicalize(outer, target), canonicalize(inner, target)
    grouped_outer, outer_seps = group(outer, outer_shape)
    grouped_inner, inner_seps = group(inner, inner_shape)
    blocks = list(grouped_outer.shard)
    if scaled:
        spans = shard_spans(inner)
        blocks = [Iter(i.extent, i.stride * spans.get(i.axis, 1), i.axis) for i in blocks]
    shard: list[Iter] = []
    for d in range(len(outer_shape)):
        shard += blocks[outer_seps[d] : outer_seps[d + 1]]
        shard += grouped_inner.shard[inner_seps[d] : inner_seps[d + 1]]
    first, second = (inner.replica, outer.replica) if scaled else (outer.replica, inner.replica)
    result = TileLayout.from_iters(shard, [*first, *second], add_terms(inner.offset, outer.offset))
    return canonicalize(result, target)


def shard_spans(layout: TileLayout) -> dict[str, int]:
    """Span by axis, for the axes that have a shard iter."""
    return {item.axis: layout.span(item.axis) for item in layout.shard}
