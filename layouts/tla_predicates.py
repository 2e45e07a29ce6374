"""Questions on the *type* of a TLA layout: run-time leaves read as 0, so only compile-time values can match.

Source: `tla::detail::is*` of the CATLASS headers. An L0C layout satisfies `is_zn` for 16-bit elements, as
there.
"""

from __future__ import annotations

from .int_tuple import IntTuple, Static, depth, get, rank
from .protocol import LayoutError
from .tla import TlaLayout
from .tla_tags import element_bits


def _constant(value: IntTuple, *path: int) -> int:
    """The compile-time value at a path; a run-time leaf reads as 0, a tuple where a number is asked is an
    error.
    """
    found = get(value, *path)
    if isinstance(found, tuple):
        raise LayoutError("expected a number in the layout, found a tuple")
    return found.value if isinstance(found, Static) else 0


def _block(dtype: str | int) -> tuple[int, int]:
    bits = element_bits(dtype)
    return 256 // bits, 4096 // bits


def _nested(layout: TlaLayout) -> bool:
    return depth(layout.stride) == 2 and rank(layout.stride) == 2


def _ranks(value: IntTuple) -> tuple[int, int]:
    return rank(value, 0), rank(value, 1)


def is_vector(layout: TlaLayout) -> bool:
    """Rank 1, flat, compile-time stride 1."""
    return depth(layout.stride) == 1 and rank(layout.stride) == 1 and _constant(layout.stride, 0) == 1


def is_row_major(layout: TlaLayout) -> bool:
    """Rank 2, flat, compile-time stride 1 on the columns."""
    return depth(layout.stride) == 1 and rank(layout.stride) == 2 and _constant(layout.stride, 1) == 1


def is_column_major(layout: TlaLayout) -> bool:
    """Rank 2, flat, compile-time stride 1 on the rows."""
    return depth(layout.stride) == 1 and rank(layout.stride) == 2 and _constant(layout.stride, 0) == 1


def is_zn(layout: TlaLayout, dtype: str | int) -> bool:
    """16 x C0 blocks, row-major inside, a fractal apart along the rows.

    >>> from bankbench.layouts import from_tag
    >>> is_zn(from_tag("zN", 100, 100, "f16"), "f16"), is_zn(from_tag("zN", 100, 100, "f16"), "f32")
    (True, False)
    """
    if not _nested(layout) or _ranks(layout.shape) != (2, 2) or _ranks(layout.stride) != (2, 2):
        return False
    c0, fractal = _block(dtype)
    return (
        _constant(layout.shape, 0, 0) == 16
        and _constant(layout.shape, 1, 0) == c0
        and _constant(layout.stride, 1, 0) == 1
        and _constant(layout.stride, 0, 1) == fractal
    )


def is_zn_unaligned(layout: TlaLayout, dtype: str | int) -> bool:
    """One block of any number of rows x C0: shape ((rows, _1), (C0, n))."""
    if not _nested(layout) or _ranks(layout.shape) != (2, 2):
        return False
    c0, _ = _block(dtype)
    return (
        _constant(layout.shape, 0, 1) == 1
        and _constant(layout.shape, 1, 0) == c0
        and _constant(layout.stride, 0, 0) == c0
        and _constant(layout.stride, 1, 0) == 1
    )


def is_zz(layout: TlaLayout, dtype: str | int) -> bool:
    """16 x C0 blocks, row-major inside, a fractal apart along the columns.

    LayoutError on half-nested layouts such as ((_2, n), cols), which is a hard compile error in the headers.
    """
    if not _nested(layout):
        return False
    c0, fractal = _block(dtype)
    shape, stride = layout.shape, layout.stride
    # All four are looked up before any is compared: on a half-nested layout the last does not exist.
    found = (
        _constant(shape, 0, 0),
        _constant(shape, 1, 0),
        _constant(stride, 1, 0),
        _constant(stride, 1, 1),
    )
    return found == (16, c0, 1, fractal)


def is_nz(layout: TlaLayout, dtype: str | int) -> bool:
    """C0 x 16 blocks, column-major inside, a fractal apart along the columns."""
    if not _nested(layout) or _ranks(layout.stride) != (2, 2):
        return False
    c0, fractal = _block(dtype)
    return (
        _constant(layout.shape, 0, 0) == c0
        and _constant(layout.shape, 1, 0) == 16
        and _constant(layout.stride, 0, 0) == 1
        and _constant(layout.stride, 1, 1) == fractal
    )


def is_mx_scale(layout: TlaLayout, dtype: str, form: str, operand: str = "") -> bool:
    """Whether a layout has the form of scale factors (arch 3510, e8m0 elements): by ranks, not by sizes.

    Args:
        form: "RowMajor", "ColumnMajor" (with operand "A" or "B"), "zZ" or "nN" (these two are not told
        apart).
    """
    if "e8m0" not in dtype or not _nested(layout):
        return False
    shape, stride = _ranks(layout.shape), _ranks(layout.stride)
    if form in {"zZ", "nN"}:
        return shape == (2, 2) and stride == (2, 2)
    column_major = form == "ColumnMajor"
    if operand == "A":
        pair = _constant(layout.stride, 0) == 2 if stride == (1, 2) else None
        return stride == (1, 2) and pair == column_major and shape in {(1, 2), (2, 2)}
    pair = _constant(layout.stride, 0, 1) == 2 if stride == (2, 1) else None
    return stride == (2, 1) and pair == column_major and shape in {(2, 1), (2, 2)}
