"""TLA tiles and tensors: cropping a layout to a tile, and a storage handle with a layout and a coordinate.

A tile keeps the strides of its parent and carries no offset; the offset lives in the tensor's coordinate. Source: the
CATLASS headers `tla/layout.hpp` and `tla/tensor.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .int_tuple import IntTuple, Leaf, Static, add, ceil_quotient, depth, get, modes, rank, show
from .protocol import LayoutError
from .tla import UINT32, TlaLayout
from .tla_tags import from_tag

ALL = "_"
"""The slice marker `tla::_`: keep this mode."""
SliceItem: TypeAlias = "Leaf | str"


def get_tile_layout(layout: TlaLayout, tile: Sequence[Leaf], coord: Sequence[Leaf]) -> TlaLayout:
    """The layout of a tile of `tile` elements whose first element is `coord`, cropped to what is valid.

    The stride is the parent's. A flat layout gets the tile as its shape; a nested one (rank 2) gets it in the parent's
    inner blocks. The origin is min(tile, valid elements left), in unsigned 32-bit arithmetic: a negative coordinate
    is huge and leaves 0. Neither tile nor coordinate need be aligned. LayoutError for nested or unequal tile and
    coordinate, for a rank that does not fit, for depth 3, and for (rows, (c0, n)) forms with a run-time c0.

    >>> parent = TlaLayout(((4, 2), (4, 3)), ((4, 16), (1, 32)))
    >>> print(get_tile_layout(parent, (4, 4), (6, 10)))
    ((4, 1), (4, 1)):((4, 16), (1, 32)) origin (2, 2)
    """
    for what, value in (("tile", tile), ("coordinate", coord)):
        if (
            isinstance(value, (int, Static))
            or not len(value)
            or any(isinstance(n, (tuple, list)) for n in value)
        ):
            raise LayoutError(f"a {what} is a flat tuple of elements, not {value!r}")
    if len(tile) != len(coord):
        raise LayoutError(f"tile of rank {len(tile)} and coordinate of rank {len(coord)} differ")
    origins = modes(layout.origin)
    if len(origins) < len(tile):
        raise LayoutError(f"origin {show(layout.origin)} has fewer dimensions than the tile")
    origin = tuple(
        _crop(int(_leaf(o)), int(t), int(c)) for o, t, c in zip(origins, tile, coord, strict=False)
    )
    return TlaLayout(_tile_shape(layout, tuple(tile)), layout.stride, origin)


def _crop(origin: int, tile: int, coord: int) -> int:
    start = coord % UINT32
    left = origin % UINT32 - start if start < origin % UINT32 else 0
    return min(tile % UINT32, left)


def _leaf(value: IntTuple) -> Leaf:
    if isinstance(value, tuple):
        raise LayoutError(f"expected an integer, not {show(value)}")
    return value


def _tile_shape(layout: TlaLayout, tile: tuple[Leaf, ...]) -> IntTuple:
    levels = depth(layout.stride)
    if levels == 1:
        if rank(layout.stride) != len(tile):
            raise LayoutError(f"a tile of a flat layout of rank {rank(layout.stride)} needs as many extents")
        return tile
    if levels == 0 or len(tile) != 2:
        raise LayoutError("a nested layout is cut by rows and columns; a layout of one integer cannot be cut")
    rows, cols = int(tile[0]), int(tile[1])
    row_rank, col_rank = rank(layout.shape, 0), rank(layout.shape, 1)
    if levels == 2 and rank(layout.shape) == 2 and (row_rank, col_rank) == (1, 2):
        inner = _static(get(layout.shape, 1, 0))
        return rows, (inner, ceil_quotient(cols, inner.value))
    if levels == 2 and rank(layout.shape) == 2 and (row_rank, col_rank) == (2, 1):
        inner = _static(get(layout.shape, 0, 0))
        return (inner, ceil_quotient(rows, inner.value)), cols
    first, second = _inner(get(layout.shape, 0, 0)), _inner(get(layout.shape, 1, 0))
    if not (isinstance(first, Static) and isinstance(second, Static)):
        first, second = int(first), int(second)
    return (first, ceil_quotient(rows, int(first))), (second, ceil_quotient(cols, int(second)))


def _static(value: IntTuple) -> Static:
    if not isinstance(value, Static):
        raise LayoutError("the inner size of a half-nested layout must be compile-time, such as _2")
    return value


def _inner(value: IntTuple) -> Leaf:
    if isinstance(value, tuple):
        raise LayoutError(f"inner blocks nest too deeply to be cut: {show(value)}")
    return value


def slice_and_offset(
    arg: Sequence[SliceItem], layout: TlaLayout, base: Sequence[Leaf] | None = None
) -> tuple[TlaLayout, int]:
    """(layout of the modes marked `_`, offset of the fixed ones); a nested mode is kept whole.

    `base` is added to the fixed coordinates. LayoutError without a marker or with a wrong rank.

    >>> slice_and_offset((2, "_"), TlaLayout((32, 48), (48, Static(1))))
    ((48):(_1) origin (48), 96)
    """
    shapes, strides, origins = modes(layout.shape), modes(layout.stride), modes(layout.origin)
    if len(arg) != len(shapes):
        raise LayoutError(f"a slice of {len(arg)} entries of a layout of rank {len(shapes)}")
    kept = [d for d, item in enumerate(arg) if _is_marker(item)]
    if not kept:
        raise LayoutError("a slice keeps at least one mode, marked '_'")
    fixed: IntTuple = tuple(0 if _is_marker(item) else item for item in arg)  # pyright: ignore[reportAssignmentType]
    if base is not None:
        fixed = add(tuple(base), fixed)
    part = TlaLayout(*(tuple(items[d] for d in kept) for items in (shapes, strides, origins)))
    return part, layout.offset(fixed)


def _is_marker(item: SliceItem) -> bool:
    return isinstance(item, str) and item == ALL


@dataclass(frozen=True, slots=True)
class TlaTensor:
    """A storage handle (`data_offset`, in elements), a layout and the coordinate of its first element.

    >>> tensor = TlaTensor(TlaLayout((17, 33), (33, Static(1))))
    >>> tile = tensor.get_tile((1, 15), (64, 100))
    >>> tile.layout.origin, tile.index((1, 5)) == tensor.index((2, 20))
    ((16, 18), True)
    """

    layout: TlaLayout
    coord: tuple[Leaf, ...] = ()
    data_offset: int = 0
    element: str | None = None

    def __post_init__(self) -> None:
        if not self.coord:
            object.__setattr__(self, "coord", _zeros(self.layout))

    def index(self, coord: Sequence[Leaf]) -> int:
        """Element offset in the storage of one element of this tensor; LayoutError for a wrong rank."""
        return self.data_offset + self.layout.offset(self._moved(coord))

    def _moved(self, coord: Sequence[Leaf]) -> tuple[Leaf, ...]:
        if isinstance(coord, (int, Static)):
            coord = (coord,)
        moved = add(self.coord, tuple(coord))
        assert isinstance(moved, tuple)
        return moved  # pyright: ignore[reportReturnType]

    def slice(self, arg: Sequence[SliceItem]) -> TlaTensor:
        """The sub-tensor of the modes marked `_`: its handle moves, its coordinate starts at zeros."""
        part, offset = slice_and_offset(arg, self.layout, self.coord)
        return TlaTensor(part, _zeros(part), self.data_offset + offset, self.element)

    def get_tile(self, coord: Sequence[Leaf], shape: Sequence[Leaf]) -> TlaTensor:
        """The tile of `shape` elements from `coord` (elements), cropped; strides and handle stay the parent's."""
        if len(coord) != len(self.coord):
            raise LayoutError(f"a tile coordinate of rank {len(coord)} in a tensor of rank {len(self.coord)}")
        layout = get_tile_layout(self.layout, shape, coord)
        return TlaTensor(layout, self._moved(coord), self.data_offset, self.element)

    def tile_view(self, tile_coord: Sequence[Leaf], shape: Sequence[Leaf]) -> TlaTensor:
        """`get_tile` with the coordinate counted in tiles (32-bit unsigned products)."""
        if len(tile_coord) != len(shape):
            raise LayoutError(
                f"tile coordinate of rank {len(tile_coord)} and tile of rank {len(shape)} differ"
            )
        coord = [int(c) * int(s) % UINT32 for c, s in zip(tile_coord, shape, strict=True)]
        return self.get_tile(coord, shape)


def tensor_like(
    like: TlaTensor, tag: str, dtype: str, arch: int = 2201, base: TlaLayout | None = None
) -> TlaTensor:
    """A fresh tensor with the valid extent of `like`, in another layout: `MakeTensorLike`.

    Without `base` the layout is that of `tag` for the origin of `like`, which must have rank 2; with `base` its shape
    and stride are used as they are (rank 1 or 2, the tag is not checked). LayoutError when `like` has another element.
    """
    if like.element is not None and like.element != dtype:
        raise LayoutError(f"the storage holds {like.element}, the new layout is for {dtype}")
    origin = modes(like.layout.origin)
    if base is not None:
        if len(origin) > 2:
            raise LayoutError(f"a like-tensor has rank 1 or 2, not {len(origin)}")
        return TlaTensor(TlaLayout(base.shape, base.stride, origin), element=dtype)
    if len(origin) != 2:
        raise LayoutError(f"a like-tensor of a tag has rows and columns, not rank {len(origin)}")
    return TlaTensor(from_tag(tag, _leaf(origin[0]), _leaf(origin[1]), dtype, arch), element=dtype)


def _zeros(layout: TlaLayout) -> tuple[Leaf, ...]:
    return (Static(0),) * len(modes(layout.shape))
