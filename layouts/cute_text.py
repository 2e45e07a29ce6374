"""CuTe layouts as text: the reader.

layout  := pair | swizzle 'o' [pointer 'o'] [offset 'o'] pair
pair    := tree ':' tree              tree := integer | '(' tree (',' tree)* ')'      (strides also `1@0`)
integer := 16 | -16 | _16             (compile-time integers, as CuTe prints them)
swizzle := ('Sw' | 'Swizzle') '<' B ',' M ',' S '>'       pointer := 'smem_ptr[16b](unset)'
"""

from __future__ import annotations

import re

from ._text import Scanner
from .cute import Basis, CuteLayout, Shape, Stride, Swizzle, SwizzledLayout, alike, show
from .protocol import LayoutError

_POINTER = re.compile(r"(?:smem_ptr|gmem_ptr|ptr)\[([0-9]+)b\]\([^)]*\)")


def parse_cute(text: str) -> CuteLayout | SwizzledLayout:
    """A CuTe text as a layout; LayoutError with a caret where it is not one.

    >>> str(parse_cute("Swizzle<3,3,3> o (8, 64) : (64, 1)"))
    'Sw<3,3,3> o (8,64):(64,1)'
    """
    scan = Scanner(text)
    if not (scan.peek("S") or scan.peek("s")):
        layout = _pair(scan)
        scan.finish("the layout")
        return layout
    place = scan.at
    swizzle, bits, offset = _swizzle(scan), None, 0
    _circle(scan)
    pointer = _POINTER.match(text, scan.at)
    if pointer:
        bits = scan.whole(pointer.group(1), pointer.start(1))
        scan.at = pointer.end()
        scan.skip()
        _circle(scan)
    mark = scan.at
    number = None if scan.peek("(") else _integer(scan, "an offset or a shape")
    if number is not None and (scan.peek("o") or scan.peek("∘")):
        offset = number
        _circle(scan)
    else:
        scan.at = mark
    layout = _pair(scan)
    scan.finish("the layout")
    try:
        return SwizzledLayout(swizzle, layout, offset, bits)
    except LayoutError as error:
        raise scan.error(error.message, place) from error


def _circle(scan: Scanner) -> None:
    if not scan.accept("∘"):
        scan.expect("o", "(composition)")


def _swizzle(scan: Scanner) -> Swizzle:
    place = scan.at
    if not (scan.accept("Swizzle") or scan.accept("Sw") or scan.accept("S")):
        raise scan.error(f"expected Sw<B,M,S>, found {scan.found()}")
    scan.expect("<")
    numbers = [scan.signed("the number of bits B")]
    scan.expect(",")
    numbers.append(scan.signed("the base M"))
    scan.expect(",")
    numbers.append(scan.signed("the shift S"))
    scan.expect(">")
    try:
        return Swizzle(*numbers)
    except LayoutError as error:
        raise scan.error(error.message, place) from error


def _pair(scan: Scanner) -> CuteLayout:
    start = scan.at
    shape = _tree(scan, "shape")
    scan.expect(":", "between shape and stride")
    place = scan.at
    stride = _tree(scan, "stride")
    if not alike(shape, stride):
        raise scan.error(f"stride {show(stride)} does not nest like shape {show(shape)}", place)
    try:
        return CuteLayout(shape, stride)  # pyright: ignore[reportArgumentType]
    except LayoutError as error:
        raise scan.error(error.message, start) from error


def _tree(scan: Scanner, what: str) -> Shape | Stride:
    if scan.open("("):
        found: list[Shape | Stride] = []
        while not scan.peek(")"):
            found.append(_tree(scan, what))
            if not scan.accept(","):
                break
        scan.shut(")", f"in the {what}")
        return tuple(found)  # pyright: ignore[reportReturnType]
    value = _integer(scan, f"an integer in the {what}")
    if what == "stride" and scan.accept("@"):
        path = [str(scan.signed("a dimension"))]
        while scan.accept("@"):
            path.append(str(scan.signed("a dimension")))
        return Basis(value, "@".join(path))
    return value


def _integer(scan: Scanner, what: str) -> int:
    """A number; compile-time ones, as CuTe prints them, become plain ones."""
    static = scan.static()
    return scan.signed(what) if static is None else static
