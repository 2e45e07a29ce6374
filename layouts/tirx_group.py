"""Regrouping of shard iters by a logical shape: which iters make up which dimension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import prod

from .protocol import LayoutError
from .tirx import Iter, TileLayout


def try_group(shard: Sequence[Iter], shape: Sequence[int]) -> tuple[tuple[Iter, ...], tuple[int, ...]] | None:
    """Shard iters split at the boundaries of `shape`, with separators; None where it cannot be done.

    Greedy, left to right: iters are collected until the running product can be cut at the next shape entry,
    and the iter under the cut is split if the cut divides it. Unit iters vanish unless a shape entry of 1
    makes one. LayoutError for an extent of 0 under a cut.

    >>> try_group([Iter(24, 1, "m")], (4, 6))
    ((T.Iter(4, 6, "m"), T.Iter(6, 1, "m")), (0, 1, 2))
    """
    out: list[Iter] = []
    separators = [0]
    product, at = 1, 0
    for item in shard:
        product *= item.extent
        rest = item.extent
        while at < len(shape) and shape[at] != 0 and product % shape[at] == 0:
            inner = product // shape[at]
            if inner == 0:
                raise LayoutError(f"an iter of extent 0 cannot be regrouped as {tuple(shape)}")
            if rest % inner != 0:
                return None
            out.append(Iter(rest // inner, item.stride * inner, item.axis))
            rest = product = inner
            at += 1
            separators.append(len(out))
        if rest != 1:
            if at >= len(shape):
                return None
            out.append(Iter(rest, item.stride, item.axis))
    return (tuple(out), tuple(separators)) if at == len(shape) else None


def group(layout: TileLayout, shape: Sequence[int]) -> tuple[TileLayout, tuple[int, ...]]:
    """The layout with its shard cut at the boundaries of `shape`; dimension d is shard[seps[d]:seps[d+1]].

    Replica and offset are kept, nothing is canonicalized. LayoutError where it is impossible, (6, 4) by (4,
    6) for example: the cut after 4 would go through the 6.
    """
    sizes = tuple(int(n) for n in shape)
    found = try_group(layout.shard, sizes)
    if found is None:
        raise LayoutError(
            f"extents {layout.extents} cannot be regrouped as {sizes}: a boundary cuts an iter unevenly"
        )
    return TileLayout.from_iters(found[0], layout.replica, layout.offset), found[1]


def group_many(
    layout: TileLayout, shapes: Sequence[Sequence[int]]
) -> tuple[TileLayout, tuple[tuple[int, ...], ...]]:
    """The smallest refinement of the shard that every one of `shapes` can be read from, one separator list a shape.

    Boundaries are the cumulative products (from the inner end) of the shard and of all shapes, repeated
    values as often as the shape that repeats them most; each must divide the next. LayoutError otherwise, or
    when sizes differ.
    """
    sizes = [tuple(int(n) for n in shape) for shape in shapes]
    if not sizes or not all(sizes):
        raise LayoutError("group_many needs at least one shape, and no empty one")
    if not layout.shard or any(n < 1 for shape in [layout.extents, *sizes] for n in shape):
        raise LayoutError("group_many needs at least one iter, and extents of 1 or more everywhere")
    total = layout.size()
    for shape in sizes:
        if prod(shape) != total:
            raise LayoutError(f"shape {shape} has {prod(shape)} elements, the layout {total}")
    own = _boundaries(layout.extents)
    counts = Counter(own)
    for shape in sizes:
        for value, times in Counter(_boundaries(shape)).items():
            counts[value] = max(counts[value], times)
    merged = sorted(counts.elements())
    for low, high in pairwise(merged):
        if low == 0 or high % low:
            raise LayoutError(f"shapes {sizes} have no common refinement: {low} does not divide {high}")
    refined = _refine(layout.shard, own, merged)
    separators = tuple(_places(shape, merged[::-1]) for shape in sizes)
    return TileLayout.from_iters(refined, layout.replica, layout.offset), separators


def _refine(shard: Sequence[Iter], own: Sequence[int], merged: Sequence[int]) -> list[Iter]:
    """Every iter cut at the boundaries inside it and at its outer end, where a repeated one makes a unit
    iter.
    """
    extra = Counter(merged) - Counter(own)
    found: list[Iter] = []
    for at, (item, high, low) in enumerate(zip(shard, own[::-1], own[-2::-1], strict=False)):
        last = at == len(shard) - 1
        cuts = sorted((v for v in extra if low < v <= high or (last and v == low)), reverse=True)
        bounds = [high, *(v for v in cuts for _ in range(extra.pop(v))), low]
        found += [Iter(a // b, item.stride * (b // low), item.axis) for a, b in pairwise(bounds)]
    return found


def _boundaries(extents: Sequence[int]) -> list[int]:
    values = [1]
    for extent in reversed(extents):
        values.append(values[-1] * extent)
    return values


def _places(shape: Sequence[int], ends: Sequence[int]) -> tuple[int, ...]:
    """Index into the refined extents after each dimension of a shape; the last dimension takes all that is
    left.
    """
    found = [0]
    for value in _boundaries(shape)[-2:0:-1]:
        found.append(ends.index(value, found[-1] + 1))
    return (*found, len(ends) - 1)
