"""Linear layouts and Triton encodings as text: the reader.

linear(register=[[0,1],[0,2]], lane=[[1,0]], warp=[], block=[] [, shape=[4,4]])
swizzled_shared(vec=8, perPhase=1, maxPhase=8, order=[1,0] [, shape=[64,64]])
#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [64, 64]}>
#ttg.slice<{dim = 0, parent = #ttg.blocked<{...}>}>
vec=8 perPhase=2 maxPhase=4 [order=[1,0]]      (a swizzled_shared, as people write it in issues)
offset=[[0,1],[0,2],[1,0]]                     (bases alone: a linear layout)
"""

from __future__ import annotations

import re
from typing import cast

from ._text import Scanner
from .linear import LinearLayout
from .linear_encodings import PARAMETERS, Encoding, Value
from .protocol import LayoutError

_SWIZZLE_PARAMETERS = {"vec", "perPhase", "maxPhase"}
_BARE = re.compile(r"\s*(vec|perPhase|maxPhase|register|lane|warp|block|offset)\s*=")
_PREFIXES = ("#ttg.", "#triton_gpu.", "#gluon.", "ttg.", "#")


def parse_linear(text: str) -> LinearLayout | Encoding:
    """A linear layout or an encoding from its text; LayoutError with a caret where it is not one.

    >>> str(parse_linear("#ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = []}>"))
    'linear(register=[[0,1]], lane=[[1,0]], warp=[], block=[])'
    """
    scan = Scanner(text)
    found = _bare(scan) if _BARE.match(text) else _layout(scan)
    scan.finish("the layout")
    return found


def _bare(scan: Scanner) -> LinearLayout | Encoding:
    """Parameters alone, with commas or without: of a `swizzled_shared` (rows are the slow dimension if not said), or
    the bases of a linear layout."""
    given: dict[str, Value] = {}
    place = scan.at
    while not scan.done:
        _argument(scan, given)
        scan.accept(",")
    try:
        if _SWIZZLE_PARAMETERS & given.keys():
            return _make("swizzled_shared", {"order": (1, 0), **given})
        return _make("linear", given)
    except LayoutError as error:
        raise scan.error(error.message, place) from error


def _layout(scan: Scanner) -> LinearLayout | Encoding:
    place = scan.at
    for prefix in _PREFIXES:
        if scan.peek(prefix):
            scan.at += len(prefix)
            break
    name_place = scan.at
    name = scan.name()
    if name is None:
        raise scan.error(f"expected the name of an encoding, found {scan.found()}")
    kind = {"shared_linear": "linear", "linear_encoding": "linear"}.get(name, name)
    if kind != "linear" and kind not in PARAMETERS:
        known = ", ".join(["linear", *PARAMETERS])
        raise scan.error(f"unknown encoding {name!r}; known are {known}", name_place)
    given: dict[str, Value] = {}
    if scan.accept("<"):
        if scan.accept("["):
            given["paddings"] = _paddings(scan)
        if scan.open("{"):
            _arguments(scan, given, "}")
        scan.expect(">")
    else:
        if not scan.open("("):
            scan.expect("(", f"after {name}")
        _arguments(scan, given, ")")
    try:
        return _make(kind, given)
    except LayoutError as error:
        raise scan.error(error.message, place) from error


def _make(kind: str, given: dict[str, Value]) -> LinearLayout | Encoding:
    shape = given.pop("shape", None)
    if shape is not None and not (isinstance(shape, tuple) and all(isinstance(n, int) for n in shape)):
        raise LayoutError("shape is a list of integers")
    sizes = None if shape is None else cast("tuple[int, ...]", shape)
    if kind != "linear":
        return Encoding.make(kind, sizes, **given)
    bases: dict[str, list[list[int]]] = {}
    for name, value in given.items():
        if name in {"alignment"}:
            continue
        if not isinstance(value, tuple):
            raise LayoutError(f"{name} is a list of bases")
        vectors: list[list[int]] = []
        for vector in value:
            if not isinstance(vector, tuple) or not all(isinstance(v, int) for v in vector):
                raise LayoutError(f"a basis of {name} is a list of integers, not {vector}")
            vectors.append([int(cast("int", v)) for v in vector])
        bases[name] = vectors
    return LinearLayout.from_bases(bases, sizes)


def _paddings(scan: Scanner) -> Value:
    found: list[Value] = []
    while not scan.peek("]"):
        interval = scan.signed("a padding interval")
        scan.expect(":")
        scan.expect("+")
        found.append((interval, scan.signed("a padding")))
        if not scan.accept(","):
            break
    scan.expect("]", "after the paddings")
    return tuple(found)


def _arguments(scan: Scanner, given: dict[str, Value], close: str) -> None:
    while not scan.peek(close):
        _argument(scan, given)
        if not scan.accept(","):
            break
    scan.shut(close, "after the parameters")


def _argument(scan: Scanner, given: dict[str, Value]) -> None:
    place = scan.at
    name = scan.name()
    if name is None:
        raise scan.error(f"expected a parameter, found {scan.found()}")
    if name in given:
        raise scan.error(f"{name} is given twice", place)
    scan.expect("=", f"after {name}")
    given[name] = _value(scan)


def _value(scan: Scanner) -> Value:
    if scan.open("["):
        found: list[Value] = []
        while not scan.peek("]"):
            found.append(_value(scan))
            if not scan.accept(","):
                break
        scan.shut("]", "after the list")
        return tuple(found)
    if scan.accept("true") or scan.accept("True"):
        return True
    if scan.accept("false") or scan.accept("False"):
        return False
    if scan.peek("#") or (not scan.done and scan.text[scan.at].isalpha()):
        nested = _layout(scan)
        if isinstance(nested, LinearLayout):
            raise scan.error("a parent is an encoding by parameters, not a list of bases")
        return nested
    return scan.signed("a value")
