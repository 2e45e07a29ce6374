"""Conversion between the notations: the same placement in another text, with what is lost and what to watch.

A conversion is either exact (every element is compared on both sides, up to a size limit) or impossible with the
reason. Warnings name the classic mistakes: linear coordinates run row-major in TIRx and column-major in CuTe and
TLA; swizzle parameters count elements or bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import log2, prod
from operator import mul

import numpy as np

from .bit_linear import to_linear
from .cute import Basis, CuteLayout, Shape, Stride, Swizzle, SwizzledLayout
from .cute_algebra import compose
from .fragments import to_thread_values
from .int_tuple import IntTuple, Static, leaves
from .linear import AXIS_OF_INPUT, LinearLayout
from .linear_encodings import Encoding
from .notation import NOTATIONS, parse
from .protocol import IntArray, Layout, LayoutError, tile_offsets
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_canon import fuse
from .tirx_group import try_group
from .tla import TlaLayout

CHECK_LIMIT = 1 << 22
"""Elements up to which a conversion is checked one by one."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The outcome: a layout with its text, or the reason why there is none; `checked` elements were compared."""

    source: Layout
    target: Layout | None
    warnings: tuple[str, ...] = ()
    reason: str | None = None
    checked: int = 0

    @property
    def text(self) -> str | None:
        """The converted text, None when the conversion is impossible."""
        return None if self.target is None else str(self.target)


class _Impossible(Exception):
    """There is no such form; the message is the reason."""


@dataclass(slots=True)
class _Notes:
    """Warnings collected on the way, each once."""

    lines: list[str] = field(default_factory=list[str])

    def add(self, line: str) -> None:
        if line not in self.lines:
            self.lines.append(line)


def convert(
    source: str | Layout,
    to: str,
    shape: Sequence[int] | None = None,
    notation: str | None = None,
    element_bytes: float | None = None,
) -> Conversion:
    """A layout in another notation.

    Args:
        source: a layout or its text (`notation` forces how the text is read).
        to: "tirx", "tla", "cute" or "linear".
        shape: logical shape to read the layout in, where it has several (TIRx shard extents need not be the tile's).
        element_bytes: element size (0.5 for 4 bits), to say swizzle parameters in bytes too.

    Returns a Conversion; LayoutError only for a text that cannot be read or an unknown notation.

    >>> convert("S[(8,64):(64,1)]", "cute").text
    '(8,64):(64,1)'
    >>> convert("S[4:1@laneid] + R[2:4@laneid]", "cute").reason
    'a replica has no CuTe form: a CuTe layout maps each coordinate to one offset'
    """
    layout = parse(source, notation) if isinstance(source, str) else source
    if to not in NOTATIONS:
        raise LayoutError(f"unknown notation {to!r}; known are {', '.join(NOTATIONS)}")
    notes = _Notes()
    makers: dict[str, Callable[[Layout, tuple[int, ...] | None, _Notes], Layout]] = {
        "tirx": _to_tirx,
        "cute": _to_cute,
        "tla": _to_tla,
        "linear": _to_linear,
    }
    sizes = None if shape is None else tuple(int(n) for n in shape)
    try:
        target = makers[to](_in_shape(layout, sizes), sizes, notes)
        extents = sizes or (layout.padded_shape if isinstance(layout, TlaLayout) else layout.logical_shape)
        checked = _check(layout, target, extents)
    except _Impossible as reason:
        return Conversion(layout, None, tuple(notes.lines), str(reason))
    except LayoutError as error:
        return Conversion(layout, None, tuple(notes.lines), error.message)
    if not checked:
        notes.add(
            f"the tile has more than {CHECK_LIMIT} elements: the conversion follows the rules but was not compared"
        )
    _swizzle_note(target, element_bytes, notes)
    return Conversion(layout, target, tuple(notes.lines), None, checked)


def _in_shape(layout: Layout, shape: tuple[int, ...] | None) -> Layout:
    """A CuTe layout whose modes are the dimensions of `shape`, which CuTe walks with the first one fastest."""
    if shape is None or not isinstance(layout, (CuteLayout, SwizzledLayout)) or layout.logical_shape == shape:
        return layout
    column_major = CuteLayout(shape, (1, *accumulate(shape[:-1], mul)))
    inner = layout.layout if isinstance(layout, SwizzledLayout) else layout
    if prod(shape) != inner.size():
        return layout  # the comparison of both on every element says what does not fit
    composed = compose(inner, column_major)
    return replace(layout, layout=composed) if isinstance(layout, SwizzledLayout) else composed


def _check(source: Layout, target: Layout, shape: tuple[int, ...]) -> int:
    """Both layouts on every element; LayoutError on a difference, which would be a bug of this module."""
    if prod(shape) > CHECK_LIMIT:
        return 0
    left, right = tile_offsets(source, shape), tile_offsets(target, shape)
    zero: IntArray = np.zeros((), np.int64)
    for axis in {*left, *right}:
        if bool((left.get(axis, zero) != right.get(axis, zero)).any()):
            raise LayoutError(f"internal: {source} and {target} differ on axis {axis}; please report this")
    return prod(shape)


def _swizzle_note(target: Layout, element_bytes: float | None, notes: _Notes) -> None:
    if isinstance(target, ComposeLayout):
        b, m, s = target.swizzle_len, target.per_element, target.atom_len
    elif isinstance(target, SwizzledLayout) and target.pointer_bits is None:
        b, m, s = target.swizzle.bits, target.swizzle.base, target.swizzle.shift
    else:
        return
    if element_bytes is None:
        notes.add(
            f"the swizzle counts elements: on byte addresses M is {m} + log2(bytes an element), "
            f"for 2-byte elements Sw<{b},{m + 1},{s}>"
        )
        return
    base = m + log2(element_bytes)
    if base == int(base) and base >= 0:
        notes.add(f"the swizzle counts elements: on byte addresses it is Sw<{b},{int(base)},{s}>")
    else:
        notes.add("the swizzle counts elements: no swizzle of byte addresses does the same")


def _order_note(notes: _Notes, rank: int) -> None:
    if rank > 1:
        notes.add(
            "linear coordinates run row-major in TIRx and column-major (first mode fastest) in CuTe and TLA: "
            "the coordinates of each dimension agree, a single linear index does not"
        )


# to CuTe


def _to_cute(
    layout: Layout, shape: tuple[int, ...] | None, notes: _Notes, form: str = "CuTe"
) -> CuteLayout | SwizzledLayout:
    if isinstance(layout, (CuteLayout, SwizzledLayout)):
        return layout
    if isinstance(layout, TlaLayout):
        return _tla_to_cute(layout, notes)
    if isinstance(layout, (LinearLayout, Encoding)):
        shape = shape or layout.logical_shape
        layout = _to_tirx(layout, shape, notes)
    if isinstance(layout, ComposeLayout):
        inner = _tile_to_cute(layout.tile_layout, shape, notes, form, offset_allowed=True)
        shift = layout.atom_len if layout.swizzle_inner else -layout.atom_len
        swizzle = Swizzle(layout.swizzle_len, layout.per_element, shift)
        return SwizzledLayout(swizzle, inner, layout.tile_layout.offset.get("m", 0))
    assert isinstance(layout, TileLayout)
    return _tile_to_cute(layout, shape, notes, form)


def _tile_to_cute(
    tile: TileLayout, shape: tuple[int, ...] | None, notes: _Notes, form: str, offset_allowed: bool = False
) -> CuteLayout:
    if tile.replica:
        raise _Impossible(f"a replica has no {form} form: a {form} layout maps each coordinate to one offset")
    threads = [axis for axis in tile.axes if axis != "m"]
    if threads:
        raise _Impossible(
            f"axes {', '.join(threads)} have no {form} form: a {form} layout has one codomain"
            + _thread_values(tile, shape)
        )
    if any(value for _, value in tile.offset_terms) and not offset_allowed:
        raise _Impossible(
            f"an offset has no {form} form: a {form} layout maps coordinate 0 to 0; add it to the pointer"
        )
    groups = _groups(tile, shape)
    _order_note(notes, len(groups))
    shapes = tuple(_nest([item.extent for item in items]) for items in groups)
    strides = tuple(_nest([item.stride for item in items]) for items in groups)
    if len(groups) == 1:
        return CuteLayout(shapes[0], strides[0])
    return CuteLayout(shapes, strides)


def _thread_values(tile: TileLayout, shape: tuple[int, ...] | None) -> str:
    """What to write instead for a fragment, where there is such a thing."""
    threads = [axis for axis in tile.axes if axis != "m"]
    if len(threads) == 1:
        try:
            found = to_thread_values(tile, shape or tile.logical_shape, threads[0])
            return f"; as a thread-value layout (the other way round) it is {found}"
        except LayoutError:
            pass  # no thread-value form either: the reason stands alone
    return ""


def _groups(tile: TileLayout, shape: tuple[int, ...] | None) -> list[list[Iter]]:
    """Iters by logical dimension, each inner one first (CuTe's order)."""
    if shape is None:
        return [[item] for item in tile.shard]
    found = try_group(tile.shard, shape)
    if found is None:
        raise _Impossible(
            f"extents {tile.extents} cannot be regrouped as {shape}: a dimension is not a run of iters"
        )
    shard, seps = found
    groups: list[list[Iter]] = []
    for d, size in enumerate(shape):
        items = fuse([item for item in shard[seps[d] : seps[d + 1]] if item.extent != 1])
        groups.append(items[::-1] or [Iter(size, 0, "m")])
    return groups


def _nest(values: Sequence[int]) -> int | tuple[int, ...]:
    return values[0] if len(values) == 1 else tuple(values)


def _tla_to_cute(layout: TlaLayout, notes: _Notes) -> CuteLayout:
    if any(isinstance(leaf, Static) for part in (layout.shape, layout.stride) for leaf in leaves(part)):
        notes.add("compile-time integers become plain ones: the text does not say which were static")
    if layout.logical_shape != layout.padded_shape:
        notes.add(
            f"the origin {layout.logical_shape} is lost: the text says only the padded shape {layout.padded_shape}"
        )

    def plain(value: IntTuple) -> Shape:
        return tuple(plain(item) for item in value) if isinstance(value, tuple) else int(value)

    return CuteLayout(plain(layout.shape), plain(layout.stride))


# to TLA


def _to_tla(layout: Layout, shape: tuple[int, ...] | None, notes: _Notes) -> TlaLayout:
    if isinstance(layout, TlaLayout):
        return layout
    cute = _to_cute(layout, shape, notes, "TLA")
    if isinstance(cute, SwizzledLayout):
        raise _Impossible("a swizzle has no TLA form: a TLA layout is a sum of strides")
    if cute.axes != ("m",):
        raise _Impossible("coordinate strides have no TLA form: a TLA layout maps to one element offset")

    def wrap(value: Shape | Stride) -> IntTuple:
        if isinstance(value, Basis):
            raise _Impossible("coordinate strides have no TLA form")
        return tuple(wrap(item) for item in value) if isinstance(value, tuple) else value

    notes.add("sizes and strides become run-time integers and the origin the full shape")
    made = TlaLayout(wrap(cute.shape), wrap(cute.stride))
    return made if isinstance(cute.shape, tuple) else TlaLayout((made.shape,), (made.stride,))


# to TIRx


def _to_tirx(layout: Layout, shape: tuple[int, ...] | None, notes: _Notes) -> TileLayout | ComposeLayout:
    if isinstance(layout, (TileLayout, ComposeLayout)):
        return layout
    if isinstance(layout, SwizzledLayout):
        swizzle = layout.element_swizzle
        if layout.pointer_bits is not None:
            notes.add(f"the swizzle counted bytes ({layout.swizzle}); in elements it is {swizzle}")
        tile = _modes_to_tile(layout.layout.modes, notes, layout.offset)
        return ComposeLayout(swizzle.base, swizzle.bits, abs(swizzle.shift), tile, swizzle.shift >= 0)
    if isinstance(layout, CuteLayout):
        if layout.axes != ("m",):
            raise _Impossible("coordinate strides have no TIRx axis of their own; name the axes by hand")
        return _modes_to_tile(layout.modes, notes)
    if isinstance(layout, TlaLayout):
        cute = _tla_to_cute(layout, notes)
        return _modes_to_tile(cute.modes, notes)
    if isinstance(layout, Encoding):
        if layout.kind == "padded_shared":
            return _padded_to_tile(layout, shape)
        return _linear_to_tirx(layout.linear(shape))
    assert isinstance(layout, LinearLayout)
    return _linear_to_tirx(layout)


def _modes_to_tile(parts: Sequence[CuteLayout], notes: _Notes, offset: int = 0) -> TileLayout:
    shard: list[Iter] = []
    for part in parts:
        for extent, step in reversed(part.flat):
            assert not isinstance(step, Basis)
            shard.append(Iter(extent, step, "m"))
    sizes = [part.size() for part in parts]
    if len(shard) != len(parts):
        notes.add(f"nested modes become flat iters: evaluate the TIRx layout with shape={tuple(sizes)}")
    _order_note(notes, len(parts))
    return TileLayout.from_iters(shard, offset={"m": offset} if offset else None)


def _linear_to_tirx(layout: LinearLayout) -> TileLayout | ComposeLayout:
    """Each logical bit as an iter of extent 2, fused; a swizzle is looked for when bits are xor-ed."""
    if not layout.is_surjective():
        raise _Impossible("some element has no place, which no TIRx layout can say")
    plain = _permutation(layout)
    if plain is not None:
        return plain
    fields = [name for name, vectors in layout.bases if vectors]
    if fields != ["offset"] or not layout.is_injective():
        raise _Impossible(
            "bits are xor-ed across the hardware indices: only a shared-memory swizzle has a TIRx form"
        )
    bits = len(dict(layout.bases)["offset"])
    for length in range(1, bits // 2 + 1):
        for keep in range(bits - 2 * length + 1):
            for distance in range(length, bits - keep - length + 1):
                tile = _permutation(layout.swizzled(keep, length, distance))
                if tile is not None:
                    return ComposeLayout(keep, length, distance, tile)
    raise _Impossible("the bits are xor-ed in a pattern that no single swizzle (M, B, S) over strides makes")


def _permutation(layout: LinearLayout) -> TileLayout | None:
    """The tile of a layout in which every hardware bit is one logical bit or a copy; None otherwise."""
    weights: dict[tuple[int, int], Iter] = {}
    copies: list[Iter] = []
    for name, vectors in layout.bases:
        axis = AXIS_OF_INPUT.get(name, name)
        for bit, vector in enumerate(vectors):
            where = [(d, v) for d, v in enumerate(vector) if v]
            if not where:
                copies.append(Iter(2, 1 << bit, axis))
            elif len(where) > 1 or where[0][1] & (where[0][1] - 1) or where[0] in weights:
                return None
            else:
                weights[where[0]] = Iter(2, 1 << bit, axis)
    shard: list[Iter] = []
    for d, extent in enumerate(layout.shape):
        found = [weights.get((d, 1 << b)) for b in reversed(range(extent.bit_length() - 1))]
        shard += fuse([item for item in found if item is not None]) or [Iter(1, 1, "m")]
    return TileLayout.from_iters(shard, fuse(copies[::-1]))


def _padded_to_tile(layout: Encoding, shape: tuple[int, ...] | None) -> TileLayout:
    """Padding after every row of a row-major tile is a stride; other intervals are not."""
    extents = shape or layout.logical_shape
    places = layout.evaluate(*np.ogrid[tuple(slice(0, n) for n in extents)], shape=extents)["m"]
    steps = [
        int(places[tuple(int(d == k) for d in range(len(extents)))]) if n > 1 else 0
        for k, n in enumerate(extents)
    ]
    tile = TileLayout.from_iters([Iter(n, step, "m") for n, step in zip(extents, steps, strict=True)])
    if bool((tile_offsets(tile)["m"] != places).any()):
        raise _Impossible("the padding does not fall on a whole dimension, so no stride says it")
    return tile


# to linear


def _to_linear(layout: Layout, shape: tuple[int, ...] | None, notes: _Notes) -> LinearLayout:
    if isinstance(layout, Encoding) and layout.kind == "padded_shared":
        raise _Impossible("padding is not linear over bits")
    if isinstance(layout, ComposeLayout) and layout.tile_layout.replica:
        raise _Impossible("copies under a swizzle lie differently for each element")
    if isinstance(layout, CuteLayout) and layout.axes != ("m",):
        raise _Impossible("coordinate strides have no linear form here")
    if isinstance(layout, TlaLayout) and shape is None:
        layout = _tla_to_cute(layout, notes)  # the whole padded shape, as for CuTe
    if layout.notation in {"cute", "tla"}:
        _order_note(notes, len(shape or layout.logical_shape))
    return to_linear(layout, shape)
