"""TIRx layouts as text: the reader and the printers.

    tile     := [T.]TileLayout(sum) | [T.]TileLayout.from_iters(offset={...}) | sum
    sum      := term ('+' term)*            term := S[...] | R[...] | offset | '(' offset ('+' offset)* ')'
    offset   := stride                      stride := integer ('*' integer)* ['@' axis] | 'name' | (integer, 'name')
    compose  := [T.]ComposeLayout(M, B, S, tile [, swizzle_inner=False])     (or by keyword)

An axis is a registered name, `Axis.name`, a quoted name or `Axis.get('name')`; the last two also take names
that are not registered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ._text import Scanner
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_axes import AXES
from .tirx_spec import Spec, add_terms, compact_strides

if TYPE_CHECKING:
    from .protocol import LayoutError


def parse_tirx(text: str) -> TileLayout | ComposeLayout:
    """A TIRx text as a layout; LayoutError with a caret where it is not one.

    >>> parse_tirx("T.TileLayout(T.S[(8, 4):(4 @ Axis.laneid, 1)] + 5 @ Axis.warpid)").offset
    {'warpid': 5}
    """
    scanner = Scanner(text)
    layout = _layout(scanner)
    scanner.finish("the layout")
    return layout


def _layout(scan: Scanner) -> TileLayout | ComposeLayout:
    _module(scan)
    return _compose(scan) if scan.accept("ComposeLayout") else _tile(scan)


def _module(scan: Scanner) -> None:
    if scan.peek("T."):
        scan.expect("T")
        scan.expect(".")


def _tile(scan: Scanner) -> TileLayout:
    _module(scan)
    if not scan.accept("TileLayout"):
        return TileLayout(_sum(scan))
    if scan.accept("."):
        scan.expect("from_iters", "after 'TileLayout.'")
        scan.expect("(")
        offset: dict[str, int] = {}
        if scan.accept("offset"):
            scan.expect("=")
            offset = _offset_table(scan)
        scan.expect(")")
        return TileLayout.from_iters(offset=offset)
    scan.expect("(")
    spec = _sum(scan)
    scan.accept(",")
    scan.expect(")")
    return TileLayout(spec)


def _offset_table(scan: Scanner) -> dict[str, int]:
    offset: dict[str, int] = {}
    scan.expect("{")
    while not scan.accept("}"):
        name = _axis(scan)
        scan.expect(":")
        offset[name] = scan.signed("an offset")
        if not scan.accept(","):
            scan.expect("}")
            break
    return offset


def _compose(scan: Scanner) -> ComposeLayout:
    start = scan.at
    scan.expect("(")
    names = ("per_element", "swizzle_len", "atom_len", "tile_layout", "swizzle_inner")
    values: dict[str, object] = {}
    while not scan.accept(")"):
        place = scan.at
        key = next((name for name in names if scan.accept(name)), None)
        if key is not None:
            scan.expect("=", f"after {key}")
        elif len(values) < len(names):
            key = names[len(values)]
        else:
            raise scan.error("ComposeLayout takes five arguments")
        if key in values:
            raise scan.error(f"{key} is given twice", place)
        if key == "tile_layout":
            values[key] = _tile(scan)
        elif key == "swizzle_inner":
            values[key] = _boolean(scan)
        else:
            values[key] = scan.signed(f"a number of bits for {key}")
        if not scan.accept(","):
            scan.expect(")")
            break
    missing = [name for name in names[:4] if name not in values]
    if missing:
        raise scan.error(f"ComposeLayout misses {', '.join(missing)}", start)
    try:
        return ComposeLayout(**values)  # pyright: ignore[reportArgumentType]
    except ValueError as error:
        raise scan.error(getattr(error, "message", str(error)), start) from error


def _boolean(scan: Scanner) -> bool:
    if scan.accept("True"):
        return True
    scan.expect("False", "or 'True'")
    return False


def _sum(scan: Scanner) -> Spec:
    total = Spec()
    while True:
        place = scan.at
        _module(scan)
        if scan.accept("S"):
            total = _part(scan, total, place, "S")
        elif scan.accept("R"):
            total = _part(scan, total, place, "R")
        elif scan.accept("("):
            total = _offset(scan, total)
            while scan.accept("+"):
                total = _offset(scan, total)
            scan.expect(")")
        else:
            total = _offset(scan, total)
        if not scan.accept("+"):
            if scan.peek("-"):
                raise scan.error("layouts have no subtraction; write '+ -1@axis'")
            break
    if total.shard is None and total.replica is None:
        raise scan.error("a layout needs S[...] or R[...]", 0)
    return total


def _part(scan: Scanner, total: Spec, place: int, which: str) -> Spec:
    known = total.shard if which == "S" else total.replica
    if known is not None:
        raise scan.error(f"a second {which}[...]: only one counts, write it flat", place)
    if which == "S" and total.offset and set(total.offset) != {"m"}:
        raise scan.error("an offset on an axis has to stand behind S[...]", place)
    iters = _iters(scan)
    if which == "S":
        return Spec(iters, total.replica, total.offset)
    return Spec(total.shard, iters, total.offset)


def _iters(scan: Scanner) -> tuple[Iter, ...]:
    scan.expect("[")
    place = scan.at
    extents = _extents(scan)
    if scan.accept(":"):
        strides = _strides(scan)
        if len(strides) != len(extents):
            raise scan.error(f"{len(extents)} extents but {len(strides)} strides", place)
        if scan.accept(":"):
            raise scan.error("only one ':' belongs between extents and strides")
    else:
        strides = [(step, "m") for step in compact_strides(extents)]
    scan.expect("]", "after the iters")
    return tuple(Iter(extent, *stride) for extent, stride in zip(extents, strides, strict=True))


def _extents(scan: Scanner) -> list[int]:
    close = ")" if scan.accept("(") else "]" if scan.accept("[") else ""
    found: list[int] = []
    while not (close and scan.peek(close)) and not (not close and (scan.peek("]") or scan.peek(":"))):
        place = scan.at
        if scan.peek("("):
            raise scan.error("nested shapes have to be written flat")
        value = _product(scan, "an extent")
        if value < 0:
            raise scan.error("an extent cannot be negative", place)
        found.append(value)
        if not scan.accept(","):
            break
    if close:
        scan.expect(close, "after the extents")
    elif not found:
        raise scan.error(f"expected extents, found {scan.found()}")
    return found


def _strides(scan: Scanner) -> list[tuple[int, str]]:
    if scan.peek("]"):
        raise scan.error("strides are missing after ':'")
    close = ")" if scan.accept("(") else "]" if scan.accept("[") else ""
    if not close:
        return [_stride(scan)]
    found: list[tuple[int, str]] = []
    alone = close == ")"
    while not scan.peek(close):
        found.append(_stride(scan))
        if not scan.accept(","):
            break
        alone = False
    scan.expect(close, "after the strides")
    if scan.peek("@"):
        if not alone or not found or found[0][1] != "m":
            raise scan.error("'@axis' belongs to one stride")
        scan.expect("@")
        return [(found[0][0], _axis(scan))]  # (-4)@laneid is one stride in parentheses
    return found


def _stride(scan: Scanner) -> tuple[int, str]:
    name = scan.string()
    if name is not None:
        return 1, name
    if scan.accept("("):
        value = scan.signed("a stride")
        axis = "m"
        if scan.accept(","):
            axis = _axis(scan)
        scan.expect(")")
        if scan.accept("@"):
            axis = _axis(scan)
        return value, axis
    value = _product(scan, "a stride")
    return value, _axis(scan) if scan.accept("@") else "m"


def _product(scan: Scanner, what: str) -> int:
    value = scan.signed(what)
    while scan.accept("*"):
        value *= scan.signed("a factor")
    return value


def _offset(scan: Scanner, total: Spec) -> Spec:
    place = scan.at
    if not (scan.peek("-") or scan.peek("(") or scan.text[place : place + 1].isdigit()):
        raise scan.error(f"expected S[...], R[...] or an offset such as 5@warpid, found {scan.found()}")
    value, axis = _stride(scan)
    return Spec(total.shard, total.replica, add_terms(total.offset, {axis: value}))


def _axis(scan: Scanner) -> str:
    place = scan.at
    quoted = scan.string()
    if quoted is not None:
        return quoted
    _module(scan)
    if scan.accept("Axis"):
        scan.expect(".", "after 'Axis'")
        if scan.accept("get"):
            scan.expect("(")
            quoted = scan.string()
            if quoted is None:
                raise scan.error("expected a quoted axis name")
            scan.expect(")")
            return quoted
    name = scan.name()
    if name is None:
        raise scan.error(f"expected an axis name, found {scan.found()}")
    if name not in AXES:
        raise _unknown_axis(scan, name, place)
    return name


def _unknown_axis(scan: Scanner, name: str, place: int) -> LayoutError:
    from difflib import get_close_matches

    near = get_close_matches(name, AXES, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"registered are {', '.join(AXES)}"
    return scan.error(f'unknown axis {name!r}; {hint} (a name of your own is written @"{name}")', place)


def print_tile(layout: TileLayout) -> str:
    """The short form, read back exactly by `parse_tirx`.

    >>> print_tile(parse_tirx("S[(8, 4) : (4@laneid, 1)] + R[2 : 4@warpid]"))
    'S[(8,4):(4@laneid,1)] + R[2:4@warpid]'
    """
    parts: list[str] = []
    if layout.shard or not layout.replica:
        parts.append(f"S[{_pairs(layout.shard, ',', _at)}]" if layout.shard else "S[()]")
    if layout.replica:
        parts.append(f"R[{_pairs(layout.replica, ',', _at)}]")
    parts += [_at(value, axis) for axis, value in layout.offset_terms]
    return " + ".join(parts)


def print_compose(layout: ComposeLayout) -> str:
    mirrored = "" if layout.swizzle_inner else ", swizzle_inner=False"
    numbers = f"{layout.per_element}, {layout.swizzle_len}, {layout.atom_len}"
    return f"ComposeLayout({numbers}, {print_tile(layout.tile_layout)}{mirrored})"


def print_tile_script(layout: TileLayout) -> str:
    """The form that the reference prints, `T.TileLayout(T.S[...] + T.R[...] + offset)`.

    As there, an axis that is not registered prints as `Axis.name`, which cannot be read back; `str` can.
    """
    terms = [_script_at(value, axis) for axis, value in layout.offset_terms]
    if not layout.shard and not layout.replica:
        return f"T.TileLayout.from_iters({_script_table(layout.offset)})"
    parts = [f"T.S[{_pairs(layout.shard, ', ', _script_at)}]"] if layout.shard else []
    if layout.replica:
        parts.append(f"T.R[{_pairs(layout.replica, ', ', _script_at)}]")
    if terms:
        parts.append(terms[0] if len(terms) == 1 else f"({' + '.join(terms)})")
    return f"T.TileLayout({' + '.join(parts)})"


def print_iter_script(item: Iter) -> str:
    """`T.Iter(8, 4, "laneid")`."""
    return f'T.Iter({_number(item.extent)}, {_number(item.stride)}, "{item.axis}")'


def print_compose_script(layout: ComposeLayout) -> str:
    mirrored = "" if layout.swizzle_inner else ", swizzle_inner=False"
    numbers = f"{layout.per_element}, {layout.swizzle_len}, {layout.atom_len}"
    return f"T.ComposeLayout({numbers}, {print_tile_script(layout.tile_layout)}{mirrored})"


def _pairs(iters: Sequence[Iter], comma: str, at: _Printer) -> str:
    extents = [at(item.extent, "m") for item in iters]
    strides = [at(item.stride, item.axis) for item in iters]
    if len(iters) == 1:
        return f"{extents[0]}:{strides[0]}"
    return f"({comma.join(extents)}):({comma.join(strides)})"


def _at(value: int, axis: str) -> str:
    value = int(value) if isinstance(value, bool) else value
    if axis == "m":
        return str(value)
    if axis in AXES:
        return f"{value}@{axis}"
    return f"{value}@'{axis}'" if '"' in axis else f'{value}@"{axis}"'


def _script_at(value: int, axis: str) -> str:
    if axis == "m":
        return _number(value)
    return f"{_number(value)} @ Axis.{axis}"


def _number(value: float) -> str:
    if isinstance(value, bool):
        return f"T.bool({value})"
    return str(value) if isinstance(value, int) else f"T.float32({value})"


def _script_table(offset: Mapping[str, int]) -> str:
    if not offset:
        return ""
    terms = ", ".join(f'"{axis}": {_number(value)}' for axis, value in sorted(offset.items()))
    return f"offset={{{terms}}}"


if TYPE_CHECKING:
    from collections.abc import Callable

    _Printer = Callable[[int, str], str]
