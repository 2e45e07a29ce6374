"""Layout objects of other packages as they are, told by what they have and not by what they are.

No other package is imported. What is read: (shape, stride) objects of pycute, the CuTe DSL and tensor-layouts and their
compositions with a swizzle; TVM's `TileLayout` and `ComposeLayout`; Triton's linear-layout bases and Gluon's layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, cast

from .protocol import Layout, LayoutError

_LINEAR_INPUTS = ("register", "lane", "warp", "block")
_GLUON_BASES = {
    "reg_bases": "register",
    "lane_bases": "lane",
    "warp_bases": "warp",
    "block_bases": "block",
    "offset_bases": "offset",
}
_MOST_DEPTH = 32


def from_object(value: object) -> Layout:
    """A layout of ours from a layout object of another package, or from plain tuples.

    Accepted, in this order: a layout of ours; a text in any notation; TVM's `TileLayout` (shard, replica, offset) and
    `ComposeLayout` (per_element, swizzle_len, atom_len, tile_layout); Triton bases (a mapping such as
    `{"offset": [[0, 1], ...]}`, an object with `bases`, Gluon's linear, swizzled, padded and blocked layouts); a
    composition of a swizzle with a layout (pycute, CuTe DSL, tensor-layouts); anything with `shape` and `stride`; a
    pair `(shape, stride)`. Extents may be any integers, also wrapped ones with a `value`.

    Raises LayoutError that says what was found where it is none of these, holds symbols, or composes something else.

    >>> class Theirs:
    ...     shape, stride = ((2, 4), 8), ((1, 16), 2)
    >>> str(from_object(Theirs())), str(from_object(((8, 64), (64, 1))))
    ('((2,4),8):((1,16),2)', '(8,64):(64,1)')
    """
    if isinstance(value, str):
        from .notation import parse

        return parse(value)
    if _is_ours(value):
        return cast("Layout", value)
    for reader in (_tirx, _compose, _linear, _gluon, _composed, _shape_stride):
        found = reader(value)
        if found is not None:
            return found
    raise LayoutError(
        f"{_named(value)} is no layout that is known: it has neither shape and stride, nor shard and replica, nor "
        "bases, and is no text"
    )


def _is_ours(value: object) -> bool:
    module = type(value).__module__
    return module.startswith("bankbench.layouts.") and isinstance(value, Layout)


def _named(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 80 else text[:77] + '...'}"


def _has(value: object, *names: str) -> bool:
    return all(_get(value, name) is not None for name in names)


def _get(value: object, *names: str) -> Any:
    """The first attribute that is there, None otherwise; properties that raise count as not there."""
    for name in names:
        try:
            found = getattr(value, name)
        except Exception:  # a property of a foreign object may raise anything; then it is not there
            continue
        if found is not None:
            return found
    return None


def _integer(value: object, what: str) -> int:
    """An integer of any kind: Python's, NumPy's, a wrapped constant. LayoutError for symbols."""
    for _ in range(4):
        if isinstance(value, bool):
            break
        try:
            return _bounded(index(cast("Any", value)), what)
        except TypeError:
            inner = _get(value, "value")
            if inner is None:
                break
            value = inner
    raise LayoutError(f"{what}: {_named(value)} is no integer; layouts of symbols need their numbers first")


def _bounded(number: int, what: str) -> int:
    if abs(number) >= 10**18:
        raise LayoutError(f"{what}: {number} does not fit 64 bits")
    return number


def _nested(value: object, what: str, leaf: Callable[[object, str], Any], depth: int = 0) -> Any:
    """Tuples and lists, nested, as tuples."""
    if depth > _MOST_DEPTH:
        raise LayoutError(f"{what}: nested deeper than {_MOST_DEPTH} levels")
    if isinstance(value, (tuple, list)):
        items = cast("Sequence[object]", value)
        return tuple(_nested(item, what, leaf, depth + 1) for item in items)
    return leaf(value, what)


# Shapes with strides, and swizzles over them.


def _step(value: object, what: str) -> Any:
    """A stride: an integer, or a scaled basis vector of a coordinate tensor (value and mode)."""
    mode = _get(value, "mode", "_mode")
    if mode is not None and not callable(mode) and not isinstance(value, int):
        from .cute import Basis

        path = cast("Sequence[object]", mode) if isinstance(mode, (tuple, list)) else [mode]
        return Basis(
            _integer(_get(value, "value", "_value"), what), "@".join(str(_integer(m, what)) for m in path)
        )
    return _integer(value, what)


def _shape_stride(value: object) -> Layout | None:
    pair: tuple[Any, Any] | None = None
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        if len(items) == 2 and isinstance(items[0], (int, tuple, list)):
            pair = (cast("Any", items[0]), items[1])
    else:
        shape, stride = _get(value, "shape"), _get(value, "stride")
        if shape is not None and stride is not None and not callable(shape) and not callable(stride):
            pair = (shape, stride)
    if pair is None:
        return None
    from .cute import CuteLayout

    return CuteLayout(_nested(pair[0], "shape", _integer), _nested(pair[1], "stride", _step))


def _swizzle(value: object) -> tuple[int, int, int] | None:
    numbers = [
        _get(value, *names) for names in (("bits", "num_bits"), ("base", "num_base"), ("shift", "num_shift"))
    ]
    if any(number is None or callable(number) for number in numbers) or _has(value, "stride"):
        return None
    bits, base, shift = (_integer(number, "swizzle") for number in numbers)
    return bits, base, shift


def _composed(value: object) -> Layout | None:
    """swizzle o offset o layout, whichever of the two ways round the package names its parts."""
    parts = [
        (_get(value, first), _get(value, second))
        for first, second in (
            ("outer", "inner"),
            ("inner", "outer"),
            ("layout_a", "layout_b"),
            ("layoutA", "layoutB"),
        )
    ]
    if all(first is None or second is None for first, second in parts):
        return None
    from .cute import CuteLayout, Swizzle, SwizzledLayout

    for first, second in parts:
        found = None if first is None else _swizzle(first)
        if found is None or second is None:
            continue
        inner = from_object(second)
        if not isinstance(inner, CuteLayout):
            raise LayoutError(f"a swizzle over {_named(second)}: only a shape:stride layout can stand there")
        offset = _get(value, "offset")
        return SwizzledLayout(Swizzle(*found), inner, 0 if offset is None else _integer(offset, "offset"))
    raise LayoutError(f"{_named(value)}: only compositions swizzle o offset o layout are known")


# TVM.


def _iters(items: object, what: str) -> list[Any]:
    from .tirx import Iter

    if items is None:
        return []
    return [
        Iter(
            _integer(_get(item, "extent"), what),
            _integer(_get(item, "stride"), what),
            _axis(_get(item, "axis")),
        )
        for item in cast("Sequence[object]", items)
    ]


def _axis(value: object) -> str:
    name = value if isinstance(value, str) else _get(value, "name")
    if not isinstance(name, str):
        raise LayoutError(f"axis {_named(value)} has no name")
    return name


def _tirx(value: object) -> Layout | None:
    if _get(value, "shard") is None or not hasattr(value, "replica"):
        return None
    if _get(value, "per_element") is not None:
        return None
    from .tirx import TileLayout

    offset = _get(value, "offset")
    pairs = list(cast("Mapping[object, object]", offset).items()) if offset is not None else []
    return TileLayout.from_iters(
        _iters(_get(value, "shard"), "shard"),
        _iters(_get(value, "replica"), "replica"),
        {_axis(axis): _integer(number, "offset") for axis, number in pairs},
    )


def _compose(value: object) -> Layout | None:
    numbers = [_get(value, name) for name in ("per_element", "swizzle_len", "atom_len")]
    if any(number is None for number in numbers):
        return None
    from .tirx import ComposeLayout, TileLayout

    tile = _get(value, "tile_layout", "layout")
    inner = None if tile is None else from_object(tile)
    if not isinstance(inner, TileLayout):
        raise LayoutError(f"{_named(value)}: a ComposeLayout needs its tile_layout")
    first, length, atom = (_integer(number, "swizzle") for number in numbers)
    swapped = _get(value, "swizzle_inner")
    return ComposeLayout(first, length, atom, inner, True if swapped is None else bool(swapped))


# Triton.


def _vectors(bases: object, what: str) -> list[list[int]]:
    found: list[list[int]] = []
    for vector in cast("Sequence[object]", bases):
        items = cast("Sequence[object]", vector) if isinstance(vector, (tuple, list)) else [vector]
        found.append([_integer(item, what) for item in items])
    return found


def _linear(value: object) -> Layout | None:
    bases: Any = cast("Any", value) if isinstance(value, Mapping) else _get(value, "bases")
    if bases is None or callable(bases):
        return None
    if not isinstance(bases, Mapping):
        pairs = cast("Sequence[Any]", bases)
        if not all(_is_named(pair) for pair in pairs):
            return None
        bases = dict(cast("Any", pairs))
    named = cast("Mapping[object, object]", bases)
    known = {*_LINEAR_INPUTS, "offset"}
    if not named or not all(isinstance(name, str) and name in known for name in named):
        raise LayoutError(
            f"bases of {', '.join(map(str, named)) or 'nothing'}; inputs are {', '.join(_LINEAR_INPUTS)}, or offset"
        )
    from .linear import LinearLayout

    return LinearLayout.from_bases(
        {str(name): _vectors(vectors, str(name)) for name, vectors in named.items()},
        _plain_shape(cast("object", value)),
    )


def _is_named(pair: Any) -> bool:
    return (
        isinstance(pair, (tuple, list)) and len(cast("Sequence[Any]", pair)) == 2 and isinstance(pair[0], str)
    )


def _plain_shape(value: object) -> list[int] | None:
    """The shape of the logical tile, where the object says it."""
    shape: Any = None if isinstance(value, Mapping) else _get(value, "shape")
    if shape is None:
        sizes: Any = None if isinstance(value, Mapping) else _get(value, "out_dims")
        if isinstance(sizes, Mapping):
            shape = list(cast("Mapping[object, object]", sizes).values())
        elif isinstance(sizes, (tuple, list)):
            pairs = cast("Sequence[Any]", sizes)
            shape = [cast("Any", pair[1] if isinstance(pair, (tuple, list)) else pair) for pair in pairs]
    if shape is None or callable(shape):
        return None
    return [_integer(extent, "shape") for extent in cast("Sequence[object]", shape)]


# encoding -> the attributes of Gluon's class, by the parameter that they are here
_GLUON: dict[str, dict[str, str]] = {
    "swizzled_shared": {"vec": "vec", "perPhase": "per_phase", "maxPhase": "max_phase", "order": "order"},
    "nvmma_shared": {
        "swizzlingByteWidth": "swizzle_byte_width",
        "transposed": "transposed",
        "elementBitWidth": "element_bitwidth",
        "fp4Padded": "fp4_padded",
        "rank": "rank",
    },
    "padded_shared": {"paddings": "interval_padding_pairs", "order": "order"},
    "blocked": {
        "sizePerThread": "size_per_thread",
        "threadsPerWarp": "threads_per_warp",
        "warpsPerCTA": "warps_per_cta",
        "order": "order",
    },
    "slice": {"dim": "dim", "parent": "parent"},
    "dot_op": {"opIdx": "operand_index", "parent": "parent", "kWidth": "k_width"},
}


def _gluon(value: object) -> Layout | None:
    if _get(value, "cga_layout") or any(n != 1 for n in _get(value, "ctas_per_cga") or ()):
        raise LayoutError(f"{_named(value)}: layouts over several CTAs are not known")
    padded, mma = _gluon_padded(value), _gluon_mma(value)
    if padded is not None or mma is not None:
        return padded or mma
    bases = {ours: _get(value, theirs) for theirs, ours in _GLUON_BASES.items()}
    if bases["offset"] is not None or bases["lane"] is not None:
        given = {name: vectors for name, vectors in bases.items() if vectors is not None}
        from .linear import LinearLayout

        return LinearLayout.from_bases(
            {name: _vectors(vectors, name) for name, vectors in given.items()}, _plain_shape(value)
        )
    from .linear_encodings import PARAMETERS, Encoding

    for kind, names in _GLUON.items():
        if any(_get(value, names[needed]) is None for needed in PARAMETERS[kind][0] if needed in names):
            continue
        given = {ours: _get(value, theirs) for ours, theirs in names.items()}
        frozen = {name: _parameter(item, name) for name, item in given.items() if item is not None}
        return Encoding.make(kind, _plain_shape(value), **frozen)
    return None


def _gluon_padded(value: object) -> Layout | None:
    """Padding over bases: an encoding where the bases count the elements in some order of the dimensions."""
    pairs, bases, shape = (_get(value, name) for name in ("interval_padding_pairs", "offset_bases", "shape"))
    if pairs is None or bases is None or shape is None:
        return None
    from .linear_encodings import Encoding

    sizes = [_integer(extent, "shape") for extent in cast("Sequence[object]", shape)]
    given = _vectors(bases, "offset")
    minor_first: list[int] = []
    for vector in given:
        minor_first += [d for d, step in enumerate(vector) if step and d not in minor_first]
    order = minor_first + [d for d in reversed(range(len(sizes))) if d not in minor_first]
    encoding = Encoding.make(
        "padded_shared", sizes, paddings=_parameter(pairs, "paddings"), order=tuple(order)
    )
    plain = dict(encoding.linear().bases)["offset"]
    if plain != tuple(tuple(vector) for vector in given):
        raise LayoutError(
            f"{_named(value)}: padding over elements in an order other than the dimensions' is not known"
        )
    return encoding


def _gluon_mma(value: object) -> Layout | None:
    version, warps, shape = (_get(value, name) for name in ("version", "warps_per_cta", "instr_shape"))
    if version is None or warps is None or shape is None:
        return None
    from .linear_encodings import Encoding

    major, minor = (_integer(number, "version") for number in cast("Sequence[object]", version))
    return Encoding.make(
        "nvidia_mma",
        versionMajor=major,
        versionMinor=minor,
        warpsPerCTA=_parameter(warps, "warps_per_cta"),
        instrShape=_parameter(shape, "instr_shape"),
    )


def _parameter(value: object, what: str) -> Any:
    """A parameter of an encoding; an object in its place is the parent of a slice or an operand."""
    if isinstance(value, bool):
        return value
    return _gluon(value) if what == "parent" else _nested(value, what, _integer)
