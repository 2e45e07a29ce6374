"""The older layout tag objects (`Catlass::layout::*`): flat shapes (inner rows, row blocks, inner columns, blocks).

They answer offsets, capacities and tiles like the newer layouts, with differences that are followed here: zZ
and nN give only the base of the fractal; Weight4BitnZ has C0 = 16 in fractals of 512 elements; NC1HWC0 and
CI1KHKWCOCI0 compute strides in 32 bits; padding tags rebuild their strides from the tile. Source:
`catlass/layout/*.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from .int_tuple import Leaf, Static
from .int_tuple import ceil_quotient as cd
from .protocol import LayoutError
from .tla import UINT32, TlaLayout
from .tla_tags import element_bits, is_fp4

_MATRIX = ("zN", "nZ", "zZ", "nN", "L0C", "Weight4BitnZ")


@dataclass(frozen=True, slots=True)
class LegacyTag:
    """A tag object with its sizes; `origin` is () for the tags that do not carry one.

    >>> tag = legacy_tag("zN", 33, 65, "f16")
    >>> tag.shape, tag.stride, tag.offset((12, 9))
    ((16, 3, 16, 5), (16, 256, 1, 768), 201)
    """

    tag: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    origin: tuple[int, ...] = ()

    @property
    def capacity(self) -> int | None:
        """Elements that the object spans, None for the tags that do not say."""
        shape, stride = self.shape, self.stride
        if self.tag == "RowMajor":
            return shape[0] * stride[0]
        if self.tag == "ColumnMajor":
            return shape[1] * stride[1]
        if self.tag in {"zN", "L0C"}:
            return stride[3] * shape[3]
        if self.tag in {"nZ", "Weight4BitnZ"}:
            return stride[1] * shape[1]
        if self.tag in {"NC1HWC0", "CI1KHKWCOCI0"}:
            return shape[0] * stride[0]
        return None

    def offset(self, coord: Sequence[int]) -> int:
        """Element offset of a coordinate, by the object's own rule; LayoutError for a coordinate of wrong
        length.
        """
        s = self.stride
        c = tuple(int(n) for n in coord)
        if self.tag in {"NDC1HWC0", "KDC1KHKWN1N0C0"}:
            picks = (4, 3, 2, 1) if self.tag == "NDC1HWC0" else (3, 1)
            _check_rank(c, len(picks), self.tag)
            return sum(n * s[i] for n, i in zip(c, picks, strict=True))
        if len(self.shape) != 4 or self.tag not in {*_MATRIX, "PaddingRowMajor", "PaddingColumnMajor"}:
            _check_rank(c, len(self.shape), self.tag)
            return sum(n * step for n, step in zip(c, s, strict=True))
        _check_rank(c, 2, self.tag)
        inner_rows, inner_cols = self.shape[0], self.shape[2]
        base = c[0] // inner_rows * s[1] + c[1] // inner_cols * s[3]
        if self.tag in {"zZ", "nN"}:
            return base
        return base + c[0] % inner_rows * s[0] + c[1] % inner_cols * s[2]

    def tile(self, tile: Sequence[int]) -> LegacyTag:
        """`GetTileLayout(tile)`; LayoutError for the tags without it (zZ, nN) and for a tile of wrong length.

        C0 of NDC1HWC0, and C0 and N0 of KDC1KHKWN1N0C0, stay the parent's whatever the tile says, as in the headers
        (which take N0 of the tile for strides all the same).
        """
        sizes = tuple(int(n) for n in tile)
        if self.tag in {"zZ", "nN"}:
            raise LayoutError(f"tag {self.tag} has no tiles")
        if self.tag in {"PaddingRowMajor", "PaddingColumnMajor"}:
            _check_rank(sizes, 2, self.tag)
            return padding_tag(self.tag, sizes[0], sizes[1], self.shape[0], self.shape[2])
        if self.tag == "NDC1HWC0":
            _check_rank(sizes, 6, self.tag)
            packed = conv_tag(self.tag, (*sizes[:5], self.shape[3]))
            return LegacyTag(self.tag, packed.shape, packed.stride, sizes)
        if self.tag == "KDC1KHKWN1N0C0":
            _check_rank(sizes, 4, self.tag)
            k, n1, n0, _ = sizes
            c0, own_n0, outer = self.shape[0], self.shape[2], self.stride[2]
            return LegacyTag(self.tag, (c0, k, own_n0, n1), (1, outer * n1 * n0, c0, outer * n0), sizes)
        if self.tag in _MATRIX:
            _check_rank(sizes, 2, self.tag)
            rows, cols = sizes
            shape = (self.shape[0], cd(rows, self.shape[0]), self.shape[2], cd(cols, self.shape[2]))
            return LegacyTag(self.tag, shape, self.stride, sizes)
        _check_rank(sizes, len(self.shape), self.tag)
        return LegacyTag(self.tag, sizes, self.stride)


def _check_rank(coord: tuple[int, ...], rank: int, tag: str) -> None:
    if len(coord) != rank:
        raise LayoutError(f"tag {tag} takes {rank} coordinates, not {len(coord)}")


def legacy_tag(
    tag: str, rows: int, cols: int, dtype: str | int = 16, ldm: int | None = None, arch: int = 2201
) -> LegacyTag:
    """The object of a matrix tag, `Tag::MakeLayout<Element>(rows, cols)`; RowMajor and ColumnMajor take an `ldm`.

    On arch 3510 the leading dimension of 4-bit floats is rounded up to whole bytes.
    """
    packed = 2 if arch == 3510 and is_fp4(dtype) else 1
    if tag == "RowMajor":
        return LegacyTag(tag, (rows, cols), (cd(cols, packed) * packed if ldm is None else ldm, 1))
    if tag == "ColumnMajor":
        return LegacyTag(tag, (rows, cols), (1, cd(rows, packed) * packed if ldm is None else ldm))
    if tag == "VectorLayout":
        raise LayoutError("VectorLayout has no rows x columns form; use vector_tag(size)")
    if tag not in _MATRIX:
        raise LayoutError(
            f"unknown legacy matrix tag {tag!r}; known are RowMajor, ColumnMajor, {', '.join(_MATRIX)}"
        )
    bits = element_bits(dtype)
    c0, fractal = 256 // bits, 4096 // bits
    if tag == "L0C":
        c0, fractal = 16, 256
    elif tag == "Weight4BitnZ":
        c0, fractal = 16, 512
    row_block, col_block = (16, c0) if tag in {"zN", "zZ", "L0C"} else (c0, 16)
    padded_rows, padded_cols = cd(rows, row_block) * row_block, cd(cols, col_block) * col_block
    strides: dict[str, tuple[int, int, int, int]] = {
        "zN": (c0, fractal, 1, padded_rows * c0),
        "zZ": (c0, padded_cols * 16, 1, fractal),
        "nZ": (1, padded_cols * c0, c0, fractal),
        "nN": (1, fractal, c0, padded_rows * 16),
    }
    kind = {"L0C": "zN", "Weight4BitnZ": "nZ"}.get(tag, tag)
    shape = (row_block, cd(rows, row_block), col_block, cd(cols, col_block))
    return LegacyTag(tag, shape, strides[kind], (rows, cols))


def vector_tag(size: int) -> LegacyTag:
    """A vector of `size` elements."""
    return LegacyTag("VectorLayout", (size,), (1,))


def in_ub_tag(tag: str, rows: int | None, cols: int, dtype: str | int) -> LegacyTag:
    """`MakeLayoutInUb<Element>`: RowMajor with rows of whole 32 bytes; VectorLayout of size 1 or 0.

    The latter compares where a round-up is evidently meant (size is 1 if 32 bytes hold more elements, else
    0), as in the headers.
    """
    c0 = 256 // element_bits(dtype)
    if tag == "VectorLayout":
        return vector_tag(1 if c0 > cols else 0)
    if tag != "RowMajor" or rows is None:
        raise LayoutError(f"tag {tag} has no layout in UB")
    return legacy_tag("RowMajor", rows, cols, dtype, cd(cols, c0) * c0)


def padding_tag(tag: str, rows: int, cols: int, block_rows: int, block_cols: int) -> LegacyTag:
    """PaddingRowMajor or PaddingColumnMajor of blocks: blocks in that order, and elements inside them too."""
    row_blocks, col_blocks = cd(rows, block_rows), cd(cols, block_cols)
    area = block_rows * block_cols
    if tag == "PaddingRowMajor":
        stride = (block_cols, block_rows * col_blocks * block_cols, 1, area)
    elif tag == "PaddingColumnMajor":
        stride = (1, area, block_rows, row_blocks * block_rows * block_cols)
    else:
        raise LayoutError(f"{tag} is not a padding tag")
    return LegacyTag(tag, (block_rows, row_blocks, block_cols, col_blocks), stride, (rows, cols))


def _packed5(tag: str, args: tuple[int, ...]) -> LegacyTag:
    stride = [prod(args[i + 1 :]) % UINT32 for i in range(len(args))]
    return LegacyTag(tag, args, tuple(stride))


def _ndc1hwc0(tag: str, args: tuple[int, ...]) -> LegacyTag:
    n, d, c1, h, w, c0 = args
    plane = h * w * c0
    stride = (1, c0, plane, plane * c1, plane * c1 * d)
    return LegacyTag(tag, (n, w, h, c0, d * c1), stride, args)


def _kdc1(tag: str, args: tuple[int, ...]) -> LegacyTag:
    k, n1, n0, c0 = args
    return LegacyTag(tag, (c0, k, n0, n1), (1, c0, c0 * n0, c0 * n0 * n1), args)


_CONV: dict[str, tuple[int, Callable[[str, tuple[int, ...]], LegacyTag]]] = {
    "NC1HWC0": (5, _packed5),
    "CI1KHKWCOCI0": (5, _packed5),
    "NDC1HWC0": (6, _ndc1hwc0),
    "KDC1KHKWN1N0C0": (4, _kdc1),
}


def conv_tag(tag: str, args: Sequence[int]) -> LegacyTag:
    """A convolution tag of its sizes, in the order of its name; K D C1 KH KW count as one size in the last
    one.
    """
    if tag not in _CONV:
        raise LayoutError(f"{tag} is not a convolution tag; known are {', '.join(_CONV)}")
    rank, make = _CONV[tag]
    sizes = tuple(int(n) for n in args)
    _check_rank(sizes, rank, tag)
    return make(tag, sizes)


def from_legacy(tag: LegacyTag) -> TlaLayout:
    """The TLA layout of a tag object, `MakeLayoutFromTag`: inner sizes become run-time.

    RowMajor, ColumnMajor (which keep a compile-time 1), VectorLayout (whose 1 is run-time), zN, nZ and L0C
    only.

    >>> print(from_legacy(legacy_tag("zN", 16, 16, "f16")))
    ((16, 1), (16, 1)):((16, 256), (1, 256)) origin (16, 16)
    """
    shape, stride = tag.shape, tag.stride
    one: Leaf = Static(1)
    if tag.tag == "RowMajor":
        return TlaLayout(shape, (stride[0], one), shape)
    if tag.tag == "ColumnMajor":
        return TlaLayout(shape, (one, stride[1]), shape)
    if tag.tag == "VectorLayout":
        return TlaLayout(shape, stride, shape)
    if tag.tag in {"zN", "nZ", "L0C"}:
        return TlaLayout((shape[:2], shape[2:]), (stride[:2], stride[2:]), tag.origin)
    raise LayoutError(
        f"tag {tag.tag} cannot be made a layout; only RowMajor, ColumnMajor, VectorLayout, zN, nZ, L0C"
    )
