"""The layout tags of TLA: RowMajor, zN, nZ, ... as layouts, by rows, columns and element width.

b is the element width in bits, C0 = 256/b the elements in 32 bytes, F = 4096/b the elements of a 512-byte
fractal. First letter: order inside a fractal (z row-major, n column-major); second: order of the fractals.
Source: the CATLASS headers (`MakeLayout<Element, Tag>`); every inner size and stride is compile-time, what is
computed from the size is run-time.
"""

from __future__ import annotations

from ._text import Scanner
from .dtype import dtype_bits, lane_type
from .int_tuple import IntTuple, Leaf, Static
from .protocol import LayoutError
from .tla import TlaLayout

TAGS = ("RowMajor", "ColumnMajor", "VectorLayout", "zN", "nZ", "zZ", "L0C", "Weight4BitnZ")
"""Tags that `from_tag` makes a layout of."""
REFUSED = (
    "nN",
    "PaddingRowMajor",
    "PaddingColumnMajor",
    "NC1HWC0",
    "CI1KHKWCOCI0",
    "NDC1HWC0",
    "KDC1KHKWN1N0C0",
)
"""Tags that exist but that the two-argument form refuses."""


def ceil_div(a: Leaf, b: Leaf) -> Leaf:
    """Smallest integer not below a/b; compile-time when both are."""
    return _static(a, b, -(-int(a) // _divisor(b)))


def round_up(a: Leaf, b: Leaf) -> Leaf:
    """Smallest multiple of b not below a; compile-time when both are."""
    return _static(a, b, -(-int(a) // _divisor(b)) * int(b))


def round_down(a: Leaf, b: Leaf) -> Leaf:
    """Largest multiple of b not above a; compile-time when both are."""
    return _static(a, b, int(a) // _divisor(b) * int(b))


def _static(a: Leaf, b: Leaf, value: int) -> Leaf:
    return Static(value) if isinstance(a, Static) and isinstance(b, Static) else value


def _divisor(b: Leaf) -> int:
    if int(b) == 0:
        raise LayoutError("cannot round by 0")
    return int(b)


def element_bits(dtype: str | int) -> int:
    """Width in bits of a type name or a width; the tags need 4, 8, 16, 32 or 64."""
    bits = dtype_bits(lane_type(dtype)) if isinstance(dtype, str) else int(dtype)
    if bits not in (4, 8, 16, 32, 64):
        raise LayoutError(f"layout tags need elements of 4, 8, 16, 32 or 64 bits, not {bits}")
    return bits


def is_fp4(dtype: str | int) -> bool:
    """Whether an element is a 4-bit float; a bare width of 4 counts as one."""
    if not isinstance(dtype, str):
        return dtype == 4
    return dtype_bits(lane_type(dtype)) == 4 and "int" not in dtype and dtype[0] not in "isub"


def from_tag(tag: str, rows: Leaf, cols: Leaf, dtype: str | int, arch: int = 2201) -> TlaLayout:
    """The layout of a tag for rows x columns of an element type: `MakeLayout<Element, Tag>(rows, cols)`.

    Args:
        tag: one of `TAGS`; rows, cols: logical extents, run-time or `Static`.
        dtype: element type by name, or its width in bits.
        arch: 2201 (A2) or 3510 (950): on the latter 4-bit row strides are rounded up to whole bytes.

    Oddities of the headers that are followed: VectorLayout drops the rows; L0C has 16 x 16 fractals whatever
    the element; the origin is (rows, cols) as passed; nN and the padding and convolution tags are refused
    here.

    >>> print(from_tag("zN", 100, 100, "f16"))
    ((_16, 7), (_16, 7)):((_16, _256), (_1, 1792)) origin (100, 100)
    """
    bits = element_bits(dtype)
    c0, fractal = 256 // bits, 4096 // bits
    packed = 2 if arch == 3510 and is_fp4(dtype) else 1
    r, c = int(rows), int(cols)
    one = Static(1)
    shape: IntTuple
    stride: IntTuple
    if tag in {"RowMajor", "ColumnMajor"}:
        shape = (rows, cols)
        stride = (_up(c, packed), one) if tag == "RowMajor" else (one, _up(r, packed))
    elif tag == "VectorLayout":
        return TlaLayout((cols,), (one,), (cols,))
    elif tag in {"zN", "L0C"}:
        if tag == "L0C":
            c0, fractal = 16, 256
        shape = _blocks(rows, 16, cols, c0)
        stride = ((Static(c0), Static(fractal)), (one, _up(r, 16) * c0))
    elif tag in {"nZ", "Weight4BitnZ"}:
        if tag == "Weight4BitnZ":
            c0, fractal = 32, 512
        shape = _blocks(rows, c0, cols, 16)
        stride = ((one, _up(c, 16) * c0), (Static(c0), Static(fractal)))
    elif tag == "zZ":
        shape = _blocks(rows, 16, cols, c0)
        stride = ((Static(c0), _up(c, c0) * 16), (one, Static(fractal)))
    elif tag in REFUSED:
        raise LayoutError(
            f"tag {tag} has no rows x columns form; use the legacy tag objects or from_tag of {TAGS}"
        )
    else:
        raise LayoutError(f"unknown layout tag {tag!r}; known are {', '.join(TAGS)}")
    return TlaLayout(shape, stride, (rows, cols))


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _blocks(rows: Leaf, inner_rows: int, cols: Leaf, inner_cols: int) -> IntTuple:
    return (
        (Static(inner_rows), ceil_div(rows, Static(inner_rows))),
        (Static(inner_cols), ceil_div(cols, Static(inner_cols))),
    )


def read_tag(scan: Scanner) -> TlaLayout:
    """The tag form of a text, `zN(100, 100, f16)`; `VectorLayout(100, f16)` takes one size."""
    place = scan.at
    tag = scan.name() or ""
    if tag not in TAGS and tag not in REFUSED:
        raise scan.error(f"unknown layout tag {tag!r}; known are {', '.join(TAGS)}", place)
    scan.expect("(")
    sizes: list[Leaf] = []
    dtype: str | int | None = None
    while not scan.peek(")"):
        at = scan.at
        if scan.peek("_"):
            static = scan.static()
            if static is None or static < 0:
                raise scan.error("expected a size such as 100 or _100", at)
            sizes.append(Static(static))
        elif scan.text[scan.at : scan.at + 1].isdecimal():
            sizes.append(scan.signed())
        else:
            dtype = scan.name()
            if dtype is None:
                raise scan.error(f"expected a size or an element type, found {scan.found()}")
            try:
                dtype_bits(dtype)
            except LayoutError as error:
                raise scan.error(error.message, at) from error
        if not scan.accept(","):
            break
    scan.expect(")")
    scan.finish("the layout")
    if tag == "VectorLayout" and len(sizes) == 1:
        sizes = [1, *sizes]
    if len(sizes) != 2 or dtype is None:
        raise scan.error(f"a tag takes rows, columns and an element type: {tag}(100, 100, f16)", place)
    try:
        return from_tag(tag, sizes[0], sizes[1], dtype)
    except LayoutError as error:
        raise scan.error(error.message, place) from error
