"""The algebra of CuTe layouts: coalesce, compose, complement, divide, product and the two inverses.

Results are exact or refused with the divisibility that is missing. `compose(A, B)` works mode by mode, as
CuTe does; `compose(A, B)(i) == A(B(i))` holds wherever B(i) lies inside A, and a composition for which it does
not (sums of B's modes that carry over an edge of A) is refused. Source: CUTLASS, "CuTe Layout Algebra", and the
algorithms of `cute/layout.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from .cute import Basis, CuteLayout, Shape, Stride, Swizzle, SwizzledLayout
from .protocol import LayoutError

Pairs: TypeAlias = "list[tuple[int, int]]"
Tiler: TypeAlias = "CuteLayout | int | tuple[Tiler, ...]"


def _pairs(layout: CuteLayout) -> Pairs:
    found: Pairs = []
    for extent, step in layout.flat:
        if isinstance(step, Basis):
            raise LayoutError("this operation needs integer strides, the layout has coordinate strides")
        found.append((extent, step))
    return found


def _filled(layout: CuteLayout, what: str) -> CuteLayout:
    """The layout itself; LayoutError when it has no element, over which extents cannot be divided."""
    if layout.size() == 0:
        raise LayoutError(f"{what} needs elements, {layout} has none")
    return layout


def _layout(pairs: Sequence[tuple[int, int]]) -> CuteLayout:
    """A flat layout of pairs; `1:0` of none, an unnested one of a single pair."""
    if not pairs:
        return CuteLayout(1, 0)
    if len(pairs) == 1:
        return CuteLayout(*pairs[0])
    return CuteLayout(tuple(e for e, _ in pairs), tuple(s for _, s in pairs))


def make_layout(*layouts: CuteLayout) -> CuteLayout:
    """The layout whose modes are the given layouts; offsets add.

    >>> print(make_layout(CuteLayout(4, 1), CuteLayout((2, 3), (4, 8))))
    (4,(2,3)):(1,(4,8))
    """
    return CuteLayout(tuple(x.shape for x in layouts), tuple(x.stride for x in layouts))


def coalesce(layout: CuteLayout) -> CuteLayout:
    """The same function of a linear coordinate with as few modes as possible.

    >>> print(coalesce(CuteLayout((2, (1, 6)), (1, (6, 2)))))
    12:1
    """
    found: Pairs = []
    for extent, step in _pairs(layout):
        if extent == 1:
            continue
        if found and found[-1][0] * found[-1][1] == step:
            found[-1] = (found[-1][0] * extent, found[-1][1])
        else:
            found.append((extent, step))
    return _layout(found)


def compose(
    left: CuteLayout | Swizzle | SwizzledLayout, right: CuteLayout | int | tuple[Tiler, ...]
) -> CuteLayout | SwizzledLayout:
    """left o right: the layout i -> left(right(i)), with the shape of `right`.

    A tuple composes mode by mode, an integer n is n:1. A swizzle or a swizzled layout on the left stays on
    the left. LayoutError when the result is not a layout: right's strides and extents must divide left's, or
    be multiples, and no sum of right's modes may carry over an edge of left (checked on up to a million elements).

    >>> print(compose(CuteLayout((6, 2), (8, 2)), CuteLayout((4, 3), (3, 1))))
    ((2,2),3):((24,2),8)
    """
    if isinstance(left, Swizzle):
        return SwizzledLayout(left, _as_layout(right))
    if isinstance(left, SwizzledLayout):
        inner = compose(left.layout, right)
        assert isinstance(inner, CuteLayout)
        return SwizzledLayout(left.swizzle, inner, left.offset, left.pointer_bits)
    if isinstance(right, tuple):
        modes = left.modes
        if len(right) > len(modes):
            raise LayoutError(f"{len(right)} tilers for a layout of {len(modes)} modes")
        parts = [compose(mode, tiler) for mode, tiler in zip(modes, right, strict=False)]
        return make_layout(*(part for part in parts if isinstance(part, CuteLayout)), *modes[len(right) :])
    inside = _as_layout(right)
    found = _compose_layouts(left, inside)
    if not _composes(left, inside, found):
        raise LayoutError(f"cannot compose: sums of the modes of {right} carry over an edge of {left}")
    return found


def _composes(left: CuteLayout, right: CuteLayout, found: CuteLayout) -> bool:
    """Whether found(i) == left(right(i)) wherever right(i) lies inside left, by trying all (up to a million)."""
    if len(right.flat) < 2 or len(coalesce(left).flat) < 2 or not 0 < right.size() <= 1 << 20:
        return True  # nothing to add up, or no edge to carry over
    index = np.arange(right.size(), dtype=np.int64)
    inner = right.evaluate(index)["m"]
    inside = inner < left.size()
    return bool((found.evaluate(index)["m"] == left.evaluate(inner)["m"])[inside].all())


def _as_layout(tiler: Tiler) -> CuteLayout:
    if isinstance(tiler, CuteLayout):
        return tiler
    if isinstance(tiler, tuple):
        raise LayoutError("a tuple of tilers needs a layout of as many modes on the left")
    return CuteLayout(tiler, 1)


def _compose_layouts(left: CuteLayout, right: CuteLayout) -> CuteLayout:
    flat = _pairs(coalesce(_filled(left, "the left side of a composition")))
    shape, stride = _compose_tree(flat, right.shape, right.stride)
    return CuteLayout(shape, stride)


def _compose_tree(flat: Pairs, shape: Shape, stride: Stride) -> tuple[Shape, Stride]:
    if isinstance(shape, tuple):
        assert isinstance(stride, tuple)
        parts = [_compose_tree(flat, s, d) for s, d in zip(shape, stride, strict=True)]
        return tuple(p[0] for p in parts), tuple(p[1] for p in parts)
    if not isinstance(stride, int):
        raise LayoutError("a layout with coordinate strides cannot stand on the right of a composition")
    found = _compose_one(flat, shape, stride)
    if len(found) == 1:
        return found[0]
    return tuple(e for e, _ in found), tuple(s for _, s in found)


def _compose_one(flat: Pairs, extent: int, step: int) -> Pairs:
    """Modes of left o (extent:step); left flat and coalesced."""
    if step == 0:
        return [(extent, 0)]
    if step < 0:
        raise LayoutError("a negative stride cannot stand on the right of a composition")
    found: Pairs = []
    rest, jump = extent, step
    for n, d in flat[:-1]:
        if (rest - 1) * jump < n and jump < n:  # all that is left lies inside this mode
            return [*found, (rest, jump * d)] if rest > 1 or not found else found
        if jump >= n:
            if jump % n:
                raise LayoutError(f"cannot compose: extent {n} does not divide stride {jump}")
            jump //= n
            continue
        if n % jump:
            raise LayoutError(f"cannot compose: stride {jump} does not divide extent {n}")
        take = n // jump
        if rest % take:
            raise LayoutError(f"cannot compose: extent {extent} is cut unevenly at {n}")
        found.append((take, jump * d))
        rest //= take
        jump = 1
    if rest > 1 or not found:
        found.append((rest, jump * flat[-1][1]))
    return found


def complement(layout: CuteLayout, bound: int = 1) -> CuteLayout:
    """The layout that fills the offsets below `bound` that `layout` leaves out, so that both together are a bijection.

    LayoutError when the modes overlap (they are sure not to when, in order of stride, each lies beyond those
    before), when a stride is negative, and for a layout without elements.

    >>> print(complement(CuteLayout(4, 2), 24))
    (2,3):(1,8)
    """
    found: Pairs = []
    reached, nested = 1, True
    for step, extent in sorted(
        (d, n) for n, d in _pairs(_filled(layout, "a complement")) if n != 1 and d != 0
    ):
        if step < 0:
            raise LayoutError(f"no complement: a mode of stride {step} runs below offset 0")
        nested = nested and step >= reached
        found.append((max(step // reached, 1), reached))
        reached = step * extent
    found.append((-(-bound // reached), reached))
    rest = coalesce(_layout(found))
    if not nested and not _disjoint(layout, rest):
        raise LayoutError(f"no complement: the modes of {layout} overlap")
    return rest


def _disjoint(layout: CuteLayout, rest: CuteLayout) -> bool:
    """Whether all sums of an offset of each are different, by trying all (up to a million)."""
    if layout.size() * rest.size() > 1 << 20:
        return False
    own = np.unique(layout.evaluate(np.arange(layout.size()))["m"])
    sums = (own[:, None] + rest.evaluate(np.arange(rest.size()))["m"]).reshape(-1)
    return len(np.unique(sums)) == len(sums)


def logical_divide(layout: CuteLayout, tiler: Tiler) -> CuteLayout:
    """The layout split into (inside a tile, which tile): layout o (tiler, complement of tiler).

    A tuple divides mode by mode. LayoutError where the tiler does not divide the layout.

    >>> print(logical_divide(CuteLayout((4, 2, 3), (2, 1, 8)), CuteLayout(4, 2)))
    ((2,2),(2,3)):((4,1),(2,8))
    """
    if isinstance(tiler, tuple):
        modes = layout.modes
        if len(tiler) > len(modes):
            raise LayoutError(f"{len(tiler)} tilers for a layout of {len(modes)} modes")
        done = [logical_divide(mode, t) for mode, t in zip(modes, tiler, strict=False)]
        return make_layout(*done, *modes[len(tiler) :])
    inside = _as_layout(tiler)
    return _compose_layouts(layout, make_layout(inside, complement(inside, layout.size())))


def logical_product(block: CuteLayout, tiler: CuteLayout) -> CuteLayout:
    """Copies of `block` arranged by `tiler`: (block, complement of block o tiler).

    >>> print(logical_product(CuteLayout((2, 2), (4, 1)), CuteLayout(6, 1)))
    ((2,2),(2,3)):((4,1),(2,8))
    """
    space = complement(block, block.size() * tiler.cosize())
    return make_layout(block, _compose_layouts(space, tiler))


def right_inverse(layout: CuteLayout) -> CuteLayout:
    """R with layout(R(i)) == i, for as many leading offsets as the layout covers without a gap.

    >>> print(right_inverse(CuteLayout((4, 8), (8, 1))))
    (8,4):(4,1)
    """
    prefix = 1
    entries: list[tuple[int, int, int]] = []
    for extent, step in _pairs(layout):
        entries.append((step, extent, prefix))
        prefix *= extent
    found: Pairs = []
    reached = 1
    for step, extent, place in sorted(entries):
        if extent == 1 or step < reached:
            continue
        if step > reached:
            break
        found.append((extent, place))
        reached = step * extent
    return coalesce(_layout(found))


def left_inverse(layout: CuteLayout) -> CuteLayout:
    """L with L(layout(i)) == i for every i; offsets that the layout leaves out map to the element before them.

    LayoutError when the layout is not injective or no layout of its form inverts it.

    >>> print(left_inverse(CuteLayout((4, 2), (2, 16))))
    (2,8,2):(0,1,4)
    """
    entries: list[tuple[int, int, int]] = []
    prefix = 1
    for extent, step in _pairs(coalesce(layout)):
        if step <= 0 and extent > 1:
            raise LayoutError(f"no left inverse: a mode of stride {step}")
        entries.append((step, extent, prefix))
        prefix *= extent
    entries.sort()
    found: Pairs = [(entries[0][0], 0)] if layout.size() > 1 else []
    covered, exact = entries[0][0], True
    for number, (_, extent, place) in enumerate(entries if layout.size() > 1 else []):
        reach = extent
        if number + 1 < len(entries):
            after = entries[number + 1][0]
            reach = after // covered
            exact = exact and after % covered == 0 and reach >= extent
        found.append((reach, place))
        covered *= reach
    if 0 in [reach for reach, _ in found]:
        raise LayoutError(f"no left inverse: the modes of {layout} do not nest")
    inverse = coalesce(_layout(found))
    if not exact and not _inverts(inverse, layout):
        raise LayoutError(f"no left inverse: the modes of {layout} do not nest")
    return inverse


def _inverts(inverse: CuteLayout, layout: CuteLayout) -> bool:
    """Whether inverse(layout(i)) == i for every element, by trying all."""
    index = np.arange(layout.size(), dtype=np.int64)
    return bool((inverse.evaluate(layout.evaluate(index)["m"])["m"] == index).all())
