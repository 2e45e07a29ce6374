"""TLA layouts beyond rows x columns: microscaling factors, convolution operands, batched layouts, tag types.

Source: the CATLASS headers (`MakeMxScaleLayout`, `MakeLayoutFmap`, `MakeLayoutFilter`, `TagToLayout`,
`PrependDimLayout_t`).
"""

from __future__ import annotations

from math import prod

from .dtype import dtype_bytes
from .int_tuple import IntTuple, Leaf, Static
from .protocol import LayoutError
from .tla import TlaLayout
from .tla_tags import ceil_div, from_tag, round_up

_PAIR = Static(2)


def mx_scale_layout(tag: str, rows: Leaf, cols: Leaf, is_b: bool = False, arch: int = 3510) -> TlaLayout:
    """Scale factors (fp8_e8m0) of a microscaled operand: pairs along K stay together, fractals are 16 x 2.

    Args:
        tag: RowMajor, ColumnMajor, zZ or nN; rows, cols: logical extents; is_b: the factors of operand B.
        arch: 3510 only; LayoutError on any other, and for any other tag.

    >>> print(mx_scale_layout("RowMajor", 1, 16))
    (1, (_2, 8)):(16, (_1, _2)) origin (1, 16)
    """
    if arch != 3510:
        raise LayoutError(f"scale-factor layouts exist on arch 3510, not on {arch}")
    one, two, frac = Static(1), _PAIR, Static(32)
    shape: IntTuple
    stride: IntTuple
    shape = ((two, ceil_div(rows, two)), cols) if is_b else (rows, (two, ceil_div(cols, two)))
    if tag == "RowMajor":
        stride = ((one, int(cols) * 2), two) if is_b else (round_up(cols, two), (one, two))
    elif tag == "ColumnMajor":
        stride = ((one, two), round_up(rows, two)) if is_b else (two, (one, int(rows) * 2))
    elif tag == "zZ":
        shape = ((Static(16), ceil_div(rows, Static(16))), (two, ceil_div(cols, two)))
        stride = ((two, int(round_up(int(cols), 2)) * 16), (one, frac))
    elif tag == "nN":
        shape = ((two, ceil_div(rows, two)), (Static(16), ceil_div(cols, Static(16))))
        stride = ((one, frac), (two, int(round_up(int(rows), 2)) * 16))
    else:
        raise LayoutError(f"scale factors have no {tag} layout; known are RowMajor, ColumnMajor, zZ, nN")
    return TlaLayout(shape, stride, (rows, cols))


def feature_map_layout(dtype: str, batch: Leaf, c1: Leaf, h: Leaf, w: Leaf) -> TlaLayout:
    """A feature map (batch, c1, h, w, C0), packed; C0 = 32 bytes of elements, so no 4-bit types.

    Sizes become run-time ones whatever is passed, as in the headers.

    >>> print(feature_map_layout("int8", 1, 1, 3, 5))
    (1, 1, 3, 5, _32):(480, 480, 160, _32, _1) origin (1, 1, 3, 5, 32)
    """
    return _packed((batch, c1, h, w), 32 // dtype_bytes(dtype))


def filter_layout(dtype: str, c1: Leaf, kh: Leaf, kw: Leaf, cout: Leaf, position: str = "GM") -> TlaLayout:
    """A filter (c1, kh, kw, cout, C0), packed; in L1 cout is rounded up to 16, and so is the origin, as in
    the headers.
    """
    channels = round_up(cout, 16) if position == "L1" else cout
    return _packed((c1, kh, kw, channels), 32 // dtype_bytes(dtype))


def _packed(outer: tuple[Leaf, ...], c0: int) -> TlaLayout:
    sizes = tuple(int(n) for n in outer)
    strides = [c0 * prod(sizes[at:]) for at in range(1, len(sizes))]
    return TlaLayout((*sizes, Static(c0)), (*strides, Static(c0), Static(1)), (*sizes, c0))


def prepend_dimension(layout: TlaLayout) -> TlaLayout:
    """The layout type with a leading run-time dimension (`MakeBatchedLayout_t`), run-time leaves 0."""
    shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    stride = layout.stride if isinstance(layout.stride, tuple) else (layout.stride,)
    origin = layout.origin if isinstance(layout.origin, tuple) else (layout.origin,)
    return default_values(TlaLayout((0, *shape), (0, *stride), (0, *origin)))


def default_values(layout: TlaLayout) -> TlaLayout:
    """The layout with every run-time leaf 0: what its C++ type is when default-constructed."""

    def zero(value: IntTuple) -> IntTuple:
        if isinstance(value, tuple):
            return tuple(zero(item) for item in value)
        return value if isinstance(value, Static) else 0

    return TlaLayout(zero(layout.shape), zero(layout.stride), zero(layout.origin))


def tag_type(tag: str, dtype: str, arch: int = 2201) -> TlaLayout:
    """The layout type that a tag stands for (`TagToLayout`), run-time leaves 0.

    LayoutError for tags that have no type of their own: L0C and nN among others, and Weight4BitnZ but for fp4_e2m1 on
    arch 3510. NC1HWC0 and CI1KHKWCOCI0 count C0 in bytes, so have none for 4-bit elements.

    >>> print(tag_type("zN", "f16").pair())
    ((_16, 0), (_16, 0)):((_16, _256), (_1, 0))
    """
    if tag in {"NC1HWC0", "CI1KHKWCOCI0"}:
        c0 = Static(32 // dtype_bytes(dtype))
        return TlaLayout((0, 0, 0, 0, c0), (0, 0, 0, c0, Static(1)), (0, 0, 0, 0, 0))
    fp4_weight = tag == "Weight4BitnZ" and arch == 3510 and "e2m1" in dtype
    if tag in {"zZ", "nN"} and arch == 3510 and "e8m0" in dtype:
        return default_values(mx_scale_layout(tag, 1, 1))
    if tag not in {"RowMajor", "ColumnMajor", "VectorLayout", "zN", "nZ", "zZ"} and not fp4_weight:
        raise LayoutError(f"tag {tag} stands for no layout type with elements of {dtype}")
    return default_values(from_tag(tag, 1, 1, dtype, arch))
