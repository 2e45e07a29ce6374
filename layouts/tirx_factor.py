"""Inverse questions on products: is this layout a tile or a direct sum with that one inside or outside?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from .protocol import LayoutError
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_axes import SCOPES
from .tirx_canon import canonicalize, check_target, same_places, same_swizzle, with_tile
from .tirx_group import group
from .tirx_tile import AnyTirx, full_tile, shard_spans, tile

# target scope -> thread axis -> (outer axis, inner axis, unit); the split of warpid is one by warpgroups although it
# answers to "warp", as in the reference.
_SPLIT: dict[str, dict[str, tuple[str, str, int]]] = {
    "warp": {
        "tx": ("warpid", "laneid", 32),
        "tid_in_wg": ("wid_in_wg", "laneid", 32),
        "warpid": ("wgid", "wid_in_wg", 4),
    },
    "warpgroup": {"tx": ("wgid", "tid_in_wg", 128)},
}

# Ends of a scope pair (narrowest subscope, outer scope).
_NARROW_END, _OUTER_END = 0, 1

# Thread axes that know how to be cut; others (bx, cbx, ...) and storage stay whole.
_CUTTABLE = {"tx", "warpid", "laneid", "wgid", "tid_in_wg", "wid_in_wg"}


def is_tile_inner(
    inner: AnyTirx,
    tiled: AnyTirx,
    tiled_shape: Sequence[int],
    inner_shape: Sequence[int],
    target: str | None = None,
) -> TileLayout | None:
    """The outer layout that tiles `inner` to `tiled`, or None when there is none. Not canonicalized.

    LayoutError when ranks differ, inner_shape does not divide tiled_shape, or a layout cannot be regrouped. For
    swizzled layouts both must have the same swizzle; bare tiles stand for elements in a row.

    >>> from bankbench.layouts import parse
    >>> tiled = parse("S[(3,2,4,2):(16,2,4,1)]")
    >>> print(is_tile_inner(parse("S[(2,2):(2,1)]"), tiled, (6, 8), (2, 2)))
    S[(3,4):(4,1)]
    """
    pair = _same_kind(inner, tiled, inner_shape, tiled_shape)
    if pair is None:
        return None
    small = canonicalize(pair[0], target)
    big = _cut_at_scope(canonicalize(pair[1], target), small, _OUTER_END, target)
    if big is None:
        return None
    counts = _quotients(tiled_shape, inner_shape)
    big, seps = group(big, list(chain(*zip(counts, inner_shape, strict=True))))
    small, small_seps = group(small, inner_shape)
    spans = shard_spans(small)
    shard: list[Iter] = []
    for d in range(len(counts)):
        block = big.shard[seps[2 * d] : seps[2 * d + 2]]
        own = small.shard[small_seps[d] : small_seps[d + 1]]
        rest = _without(block, own, _same_iter, last=True)
        if rest is None:
            return None
        shard += rest
    scaled = _unscaled(shard, spans)
    copies = _unscaled(_other_copies(big, small), spans)
    if scaled is None or copies is None:
        return None
    return TileLayout.from_iters(scaled, copies, _minus(big.offset, small.offset, big.offset))


def is_tile_outer(
    outer: AnyTirx,
    tiled: AnyTirx,
    tiled_shape: Sequence[int],
    outer_shape: Sequence[int],
    target: str | None = None,
) -> AnyTirx | None:
    """The inner layout that `outer` tiles to `tiled`, or None; swizzled when tiled is.

    A swizzled `outer` has no answer (None), as in the reference.
    """
    if isinstance(outer, ComposeLayout):
        return None
    if isinstance(tiled, ComposeLayout):
        found = is_tile_outer(outer, tiled.tile_layout, tiled_shape, outer_shape, target)
        return with_tile(tiled, found) if isinstance(found, TileLayout) else None
    around = canonicalize(outer, target)
    cut = _cut_at_scope(canonicalize(tiled, target), around, _NARROW_END, target)
    if cut is None:
        return None
    inner_shape = _quotients(tiled_shape, outer_shape)
    grouped, seps = group(cut, list(chain(*zip(outer_shape, inner_shape, strict=True))))
    around, outer_seps = group(around, outer_shape)
    shard: list[Iter] = []
    for d in range(len(inner_shape)):
        block = grouped.shard[seps[2 * d] : seps[2 * d + 2]]
        own = around.shard[outer_seps[d] : outer_seps[d + 1]]
        rest = _without(block, own, _same_axis, last=False)
        if rest is None:
            return None
        shard += rest
    offset = _minus(cut.offset, around.offset, cut.offset)
    inner = TileLayout.from_iters(shard, _other_copies(cut, around), offset)
    again = tile(inner, outer, outer_shape, inner_shape, target)
    assert isinstance(again, TileLayout)
    return inner if same_places(again, canonicalize(cut, target)) else None


def is_direct_sum_right(
    right: AnyTirx, whole: AnyTirx, interleaved_shape: Sequence[int], right_shape: Sequence[int]
) -> AnyTirx | None:
    """The left addend when `right` is the right one of the direct sum `whole`, else None.

    `interleaved_shape` is (left0, right0, left1, right1, ...), of twice the rank of right_shape.
    """
    return _addend(right, whole, interleaved_shape, right_shape, own_last=True)


def is_direct_sum_left(
    left: AnyTirx, whole: AnyTirx, interleaved_shape: Sequence[int], left_shape: Sequence[int]
) -> AnyTirx | None:
    """The right addend when `left` is the left one of the direct sum `whole`, else None."""
    return _addend(left, whole, interleaved_shape, left_shape, own_last=False)


def _addend(
    own: AnyTirx, whole: AnyTirx, interleaved: Sequence[int], own_shape: Sequence[int], own_last: bool
) -> AnyTirx | None:
    pair = _same_kind(own, whole, own_shape, interleaved)
    if pair is None:
        return None
    if len(interleaved) != 2 * len(own_shape):
        raise LayoutError(
            f"interleaved shape {tuple(interleaved)} must have twice the rank of {tuple(own_shape)}"
        )
    small, small_seps = group(canonicalize(pair[0]), own_shape)
    big, seps = group(canonicalize(pair[1]), interleaved)
    shard: list[Iter] = []
    for d in range(len(own_shape)):
        first = big.shard[seps[2 * d] : seps[2 * d + 1]]
        second = big.shard[seps[2 * d + 1] : seps[2 * d + 2]]
        mine, other = (second, first) if own_last else (first, second)
        expected = small.shard[small_seps[d] : small_seps[d + 1]]
        if _without(mine, expected, _same_iter, last=True) != ():
            return None
        shard += other
    axes = [*big.offset, *(axis for axis in small.offset if axis not in big.offset)]
    return TileLayout.from_iters(shard, _other_copies(big, small), _minus(big.offset, small.offset, axes))


def split_axes(layout: TileLayout, scope: str) -> TileLayout:
    """Thread axes cut at a scope: `tx` to `warpid` and `laneid` for "warp", to `wgid` and `tid_in_wg` for "warpgroup".

    LayoutError for a thread axis that has no such cut.
    """
    shard = [part for item in layout.shard for part in _split(item, scope)]
    replica = [part for item in layout.replica for part in _split(item, scope)]
    offset: dict[str, int] = {}
    for axis, value in layout.offset_terms:
        cut = _cut(axis, scope)
        if cut is None:
            offset[axis] = offset.get(axis, 0) + value
            continue
        outer, inner, unit = cut
        if value >= unit and value % unit:
            raise LayoutError(
                f"offset {value}@{axis} lies across a {scope}: it is neither below {unit} nor a multiple"
            )
        target, part = (inner, value) if value < unit else (outer, value // unit)
        offset[target] = offset.get(target, 0) + part
    return TileLayout.from_iters(shard, replica, offset)


def _cut(axis: str, scope: str) -> tuple[str, str, int] | None:
    """How an axis is cut at a scope; None for storage and for the axes of CTAs, which stay whole."""
    if axis not in _CUTTABLE:
        return None
    found = _SPLIT.get(scope, {}).get(axis)
    if found is None:
        raise LayoutError(f"axis {axis} cannot be split at the {scope}")
    return found


def _split(item: Iter, scope: str) -> list[Iter]:
    cut = _cut(item.axis, scope)
    if cut is None:
        return [item]
    outer, inner, unit = cut
    reach = item.extent * item.stride
    if reach < unit:
        return [Iter(item.extent, item.stride, inner)]
    if unit % item.stride == 0 and reach % unit == 0:
        return [Iter(reach // unit, 1, outer), Iter(unit // item.stride, item.stride, inner)]
    if item.stride % unit == 0:
        return [Iter(item.extent, item.stride // unit, outer)]
    return []


def _same_kind(
    small: AnyTirx, big: AnyTirx, small_shape: Sequence[int], big_shape: Sequence[int]
) -> tuple[TileLayout, TileLayout] | None:
    """Both tiles, or the tiles under one and the same swizzle; None for any other pairing."""
    if isinstance(small, TileLayout) and isinstance(big, TileLayout):
        return small, big
    if isinstance(small, ComposeLayout) and isinstance(big, ComposeLayout) and same_swizzle(small, big):
        return full_tile(small, small_shape), full_tile(big, big_shape)
    return None


def _cut_at_scope(big: TileLayout, small: TileLayout, end: int, target: str | None) -> TileLayout | None:
    """`big` with its thread axes cut where `small`'s scope ends, at one end; None where the scopes do not fit.

    The scopes must agree at the other end, and small's must not reach further than big's at this one. Cut only
    under a target.
    """
    scope_small, scope_big = small.get_scope(), big.get_scope()
    if scope_small is None or scope_big is None:
        return big
    reach = SCOPES.index(scope_small[end]) - SCOPES.index(scope_big[end])
    spare = reach if end == _OUTER_END else -reach
    if scope_small[1 - end] != scope_big[1 - end] or spare < 0:
        return None
    return split_axes(big, scope_small[end]) if spare and check_target(target) else big


def _without(
    block: tuple[Iter, ...], own: tuple[Iter, ...], same: Callable[[Iter, Iter], bool], last: bool
) -> tuple[Iter, ...] | None:
    """The iters of a block without its last (or first) ones, which must be `own`; None where they are not."""
    start = len(block) - len(own) if last else 0
    stop = start + len(own)
    if len(own) > len(block) or not all(map(same, block[start:stop], own)):
        return None
    return block[:start] + block[stop:]


def _same_iter(a: Iter, b: Iter) -> bool:
    return a.extent == b.extent and (a.extent == 1 or (a.stride == b.stride and a.axis == b.axis))


def _same_axis(a: Iter, b: Iter) -> bool:
    return a.extent == b.extent and (a.extent == 1 or a.axis == b.axis)


def _other_copies(big: TileLayout, small: TileLayout) -> list[Iter]:
    return [item for item in big.replica if item not in small.replica]


def _quotients(big: Sequence[int], small: Sequence[int]) -> list[int]:
    if len(big) != len(small):
        raise LayoutError(f"shapes {tuple(big)} and {tuple(small)} differ in rank")
    if any(int(b) == 0 or int(a) % int(b) for a, b in zip(big, small, strict=True)):
        raise LayoutError(f"shape {tuple(small)} does not divide {tuple(big)}")
    return [int(a) // int(b) for a, b in zip(big, small, strict=True)]


def _unscaled(items: Sequence[Iter], spans: dict[str, int]) -> list[Iter] | None:
    """Strides divided by inner's span on their axis; None where one does not divide."""
    found: list[Iter] = []
    for item in items:
        span = spans.get(item.axis, 1)
        if item.extent == 1 or span == 1:
            found.append(item)
        elif span == 0:
            raise LayoutError(f"the inner layout spans 0 on {item.axis}, which no stride can be divided by")
        elif item.stride % span:
            return None
        else:
            found.append(Iter(item.extent, item.stride // span, item.axis))
    return found


def _minus(left: dict[str, int], right: dict[str, int], axes: Iterable[str]) -> dict[str, int]:
    return {axis: left.get(axis, 0) - right.get(axis, 0) for axis in axes}
