"""TLA layouts (CATLASS): shape, stride and originShape as nested integer tuples, and where a coordinate lies.

Units: elements, never bytes. The shape says how a coordinate is taken apart, the stride how far each part
moves, the origin which extent of it is valid data; the origin never enters an offset. Source of the rules:
the TLA document and the public CATLASS headers, which are followed where the two differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._arrays import as_coordinates, divide, flatten_column_major, sum_terms
from ._notebook import NotebookRepr
from ._text import Scanner
from .int_tuple import (
    IntTuple,
    Leaf,
    Static,
    colex_terms,
    congruent,
    depth,
    integers,
    modes,
    normalise,
    read,
    show,
    size,
)
from .protocol import ArrayLike, IntArray, LayoutError

UINT32 = 1 << 32


@dataclass(frozen=True, slots=True, repr=False)
class TlaLayout(NotebookRepr):
    """A TLA layout; leave the origin out to have it derived (one product a top-level mode, at run time).

    Shape and stride may be tuples or plain integers, their leaves integers or `Static`; ranks are compared
    when the layout is used, not when it is made, as in the headers.

    >>> layout = TlaLayout(((4, 2), (4, 3)), ((4, 16), (1, 32)))
    >>> layout.offset((1, 5)), layout.origin
    (37, (8, 12))
    """

    shape: IntTuple
    stride: IntTuple
    origin: IntTuple = ()

    def __post_init__(self) -> None:
        shape = normalise(self.shape)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", normalise(self.stride, "a stride"))
        origin = normalise(self.origin, "an origin")
        if origin == () and shape != ():
            origin = tuple(size(mode) % UINT32 for mode in modes(shape))
        object.__setattr__(self, "origin", origin)

    @property
    def notation(self) -> str:
        return "tla"

    @property
    def axes(self) -> tuple[str, ...]:
        return ("m",)

    @property
    def logical_shape(self) -> tuple[int, ...]:
        """The valid extent of every logical dimension (the origin)."""
        return integers(self.origin)

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """Elements that each top-level mode can address, padding counted."""
        return tuple(size(mode) for mode in modes(self.shape))

    @property
    def rank(self) -> int:
        """Number of top-level modes of the shape."""
        return len(modes(self.shape))

    @property
    def depth(self) -> int:
        """Nesting of the shape: 0 for an integer, 1 for a flat tuple; LayoutError for an empty tuple."""
        return depth(self.shape)

    def size(self) -> int:
        """Elements that the shape addresses, padding counted."""
        return size(self.shape)

    def cosize(self) -> int:
        """Largest offset of a coordinate inside the shape, plus 1: the elements that the layout needs in
        memory.
        """
        pairs = zip(integers(self.shape), integers(self.stride), strict=True)
        return 1 + sum(max(0, (extent - 1) * step) for extent, step in pairs) if self.size() else 0

    def offset(self, coord: IntTuple, unsigned32: bool = False) -> int:
        """Element offset of one coordinate, nested, flat or linear: `crd2offset`."""
        return crd2offset(coord, self.shape, self.stride, unsigned32)

    def evaluate(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """Element offsets `{"m": array}`, one coordinate array a top-level mode, or a single linear coordinate.

        A linear coordinate runs through the first mode fastest (colexicographic). With `shape` of the
        layout's own rank the coordinates are per mode; another shape is read as a linear coordinate, first
        dimension fastest. No range is checked: what lies outside extrapolates along the outermost sub-mode,
        as in the headers.
        """
        arrays = as_coordinates(coords)
        shapes, strides = modes(self.shape), modes(self.stride)
        if shape is not None and len(arrays) != len(shape):
            raise LayoutError(f"{len(arrays)} coordinates given in a shape of {len(shape)} dimensions")
        common = np.broadcast_shapes(*(array.shape for array in arrays))
        if shape is not None and len(shape) != len(shapes):
            arrays = [flatten_column_major(arrays, [int(n) for n in shape])]
        if len(arrays) == 1 and len(shapes) != 1:
            shapes, strides = (self.shape,), (self.stride,)
        if len(arrays) != len(shapes) or len(shapes) != len(strides):
            raise LayoutError(
                f"{len(arrays)} coordinates given to a layout of rank {self.rank} {show(self.shape)}; "
                "give one a mode, 1 linear coordinate, or shape="
            )
        terms: list[IntArray] = []
        for array, mode, step in zip(arrays, shapes, strides, strict=True):
            terms += colex_terms(array, integers(mode), integers(step))
        return {"m": sum_terms(terms, common)}

    def replicas(self) -> dict[str, IntArray]:
        """TLA knows no copies: always {}."""
        return {}

    def pair(self) -> str:
        """The reference's documentation form, without the origin: `((_16, 2), (_16, 3)):((16, 256), (1,
        512))`.
        """
        return f"{show(self.shape)}:{show(self.stride)}"

    def __str__(self) -> str:
        return f"{self.pair()} origin {show(self.origin)}"

    def __repr__(self) -> str:
        return str(self)


def crd2offset(coord: IntTuple, shape: IntTuple, stride: IntTuple, unsigned32: bool = False) -> int:
    """Element offset of one coordinate, by the recursion of the headers.

    A tuple coordinate meets a tuple shape of the same rank mode by mode; an integer meets a tuple shape by
    splitting, first mode fastest, the last one without a modulo; integers multiply. LayoutError for differing
    ranks or a tuple against an integer. With `unsigned32` the arithmetic is that of C++ for 32-bit unsigned
    coordinates and strides of at most 32 bits: every product and sum wraps modulo 2^32 (strides of the tag
    constructors are 64-bit and do not).

    >>> crd2offset((1, 5), ((4, 2), (4, 3)), ((4, 16), (1, 32)))
    37
    """
    if isinstance(shape, tuple) or isinstance(stride, tuple):
        if not isinstance(shape, tuple) or not isinstance(stride, tuple) or len(shape) != len(stride):
            raise LayoutError(f"shape {show(shape)} and stride {show(stride)} have different ranks")
        if isinstance(coord, tuple):
            if len(coord) != len(shape):
                raise LayoutError(
                    f"coordinate {show(coord)} has rank {len(coord)}, shape {show(shape)} {len(shape)}"
                )
            parts: list[IntTuple] = list(coord)
        else:
            parts = []
            rest = np.asarray(int(coord), np.int64)
            for mode in shape[:-1]:
                rest, part = divide(rest, size(mode))
                parts.append(int(part))
            parts += [int(rest)] if shape else []
        total = sum(crd2offset(c, s, d, unsigned32) for c, s, d in zip(parts, shape, stride, strict=True))
        return total % UINT32 if unsigned32 else total
    if isinstance(coord, tuple):
        raise LayoutError(f"coordinate {show(coord)} is a tuple where the shape {show(shape)} is an integer")
    product = int(coord) * int(stride)
    return product % UINT32 if unsigned32 else product


def packed_length(length: Leaf) -> TlaLayout:
    """A vector of one length, `MakeLayout(len)`: `(len):(_1)`."""
    return TlaLayout((length,), (Static(1),), (length,))


def parse_tla(text: str) -> TlaLayout:
    """A TLA text as a layout: `shape:stride`, `shape:stride origin (...)`, or a tag form such as `zN(100, 100, f16)`.

    Without an origin it is derived. The tag form takes rows, columns and an element type or a width in bits.

    >>> parse_tla("((_16, 7), (_16, 7)):((_16, _256), (_1, 1792)) origin (100, 100)").logical_shape
    (100, 100)
    """
    scan = Scanner(text)
    if not scan.done and scan.text[scan.at].isalpha():
        from .tla_tags import read_tag

        return read_tag(scan)
    place = scan.at
    shape = read(scan, True, "the shape")
    scan.expect(":", "between shape and stride")
    stride_place = scan.at
    stride = read(scan, True, "the stride")
    origin: IntTuple = ()
    if scan.accept("origin"):
        origin_place = scan.at
        origin = read(scan, True, "the origin")
        if not isinstance(origin, tuple) or any(isinstance(item, tuple) for item in origin):
            raise scan.error("an origin is a flat tuple, one entry a logical dimension", origin_place)
        if any(extent < 0 for extent in integers(origin)):
            raise scan.error("an origin cannot be negative", origin_place)
    scan.finish("the layout")
    if not congruent(shape, stride):
        raise scan.error(f"the stride does not nest like the shape {show(shape)}", stride_place)
    if any(extent < 0 for extent in integers(shape)):
        raise scan.error("an extent cannot be negative", place)
    return TlaLayout(shape, stride, origin)
