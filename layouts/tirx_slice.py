"""Slices of TIRx layouts: the layout of a rectangular region, where it is affine again."""

from __future__ import annotations

from collections.abc import Sequence

from .protocol import LayoutError
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_canon import canonicalize, with_tile
from .tirx_group import group
from .tirx_spec import add_terms
from .tirx_tile import AnyTirx, full_tile


def slice_layout(
    layout: AnyTirx, shape: Sequence[int], region: Sequence[tuple[int, int]], target: str | None = None
) -> AnyTirx | None:
    """The layout of region [(begin, end), ...] of a tile read in `shape`; None where it is not affine.

    The base offset is kept and the region's added; replicas are kept; the result is not canonicalized. A
    group that is one iter is not range-checked, as in the reference. LayoutError when ranks differ or the
    layout cannot be regrouped by `shape`.

    >>> from bankbench.layouts import parse
    >>> print(slice_layout(parse("S[(4,6):(6,1)]"), (4, 6), [(1, 3), (2, 5)]))
    S[(2,3):(6,1)] + 8
    """
    if len(region) != len(shape):
        raise LayoutError(f"region of {len(region)} ranges in a shape of {len(shape)} dimensions")
    if any(len(span) != 2 for span in region):
        raise LayoutError(f"a range is (begin, end), one for each dimension, not {list(region)}")
    if isinstance(layout, ComposeLayout):
        found = slice_layout(full_tile(layout, shape), shape, region, target)
        return with_tile(layout, found) if isinstance(found, TileLayout) else None
    grouped, seps = group(canonicalize(layout, target), shape)
    shard: list[Iter] = []
    offset = grouped.offset
    for d, (begin, end) in enumerate(region):
        own = canonicalize(TileLayout.from_iters(grouped.shard[seps[d] : seps[d + 1]]), target)
        part = _slice_group(own.shard, int(begin), int(end) - int(begin))
        if part is None:
            return None
        shard += part[0]
        offset = add_terms(offset, part[1])
    return TileLayout.from_iters(shard, grouped.replica, offset)


def _slice_group(iters: Sequence[Iter], begin: int, count: int) -> tuple[list[Iter], dict[str, int]] | None:
    """Iters and offset of `count` elements from `begin` of one dimension (canonical iters)."""
    items = list(iters)
    if not items:
        return None
    digits = _digits(begin, items)
    offset: dict[str, int] = {}
    for item, digit in zip(items, digits, strict=True):
        offset[item.axis] = offset.get(item.axis, 0) + digit * item.stride
    if len(items) == 1:
        return [Iter(count, items[0].stride, items[0].axis)], offset
    at, rest = len(items) - 1, count
    while at >= 0 and digits[at] == 0 and items[at].extent and rest % items[at].extent == 0:
        rest //= items[at].extent
        at -= 1
    peeled = items[at + 1 :]
    if at < 0:
        return (peeled, offset) if rest == 1 else None
    pivot, digit = items[at], digits[at]
    if digit + rest <= pivot.extent:
        return [Iter(rest, pivot.stride, pivot.axis), *peeled], offset
    return _across(items, digits, at, rest, peeled, offset)


def _across(
    items: Sequence[Iter],
    digits: Sequence[int],
    at: int,
    rest: int,
    peeled: Sequence[Iter],
    offset: dict[str, int],
) -> tuple[list[Iter], dict[str, int]] | None:
    """Two equal halves left and right of a boundary of the pivot: still affine."""
    pivot, half = items[at], rest // 2
    if rest % 2 or digits[at] + half != pivot.extent:
        return None
    before = 0
    if at > 0:
        previous = items[at - 1]
        if previous.axis != pivot.axis or digits[at - 1] + 1 > previous.extent:
            return None
        before = previous.stride
    jump = before - (pivot.extent - half) * pivot.stride
    return [Iter(2, jump, pivot.axis), Iter(half, pivot.stride, pivot.axis), *peeled], offset


def _digits(begin: int, items: Sequence[Iter]) -> list[int]:
    """Digits of a position over the extents; the first one is bounded too, unless it is the only one."""
    digits: list[int] = []
    for item in reversed(items):
        if item.extent == 0:
            raise LayoutError("an extent of 0 cannot be sliced")
        digits.append(begin % item.extent if len(items) > 1 else begin)
        begin //= item.extent
    return digits[::-1]
