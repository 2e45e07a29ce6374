"""Shared-memory layouts that tensor-core descriptors understand: swizzle atoms and tiles of them.

An atom is 8 rows of 32, 64 or 128 bytes under the swizzle of that width. A vector type (`float16x2`) counts by its
lanes, as in the reference. Source: the TIRx CUDA backend's
`mma_*` constructors and the PTX ISA's descriptor layouts.
"""

from __future__ import annotations

from collections.abc import Sequence

from .dtype import dtype_bits, lane_type
from .protocol import LayoutError
from .swizzle import mode_number, swizzle_bits
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_canon import canonicalize
from .tirx_spec import compact_strides
from .tirx_tile import AnyTirx, tile_to


def mma_atom_shape(dtype: str, mode: str | int) -> tuple[int, int]:
    """Rows and columns of a swizzle atom: 8 rows of 32, 64 or 128 bytes; mode "none" has no atom.

    >>> mma_atom_shape("f16", "128B")
    (8, 64)
    """
    number = mode_number(mode)
    if number == 0:
        raise LayoutError("without a swizzle there is no atom; modes with one are 32B, 64B, 128B")
    return 8, (16 << number) * 8 // dtype_bits(lane_type(dtype))


def mma_atom_layout(dtype: str, mode: str | int) -> ComposeLayout:
    """The bare swizzle over one atom of elements in a row; mode "none" gives 8 rows of 16 bytes without a change.

    >>> print(mma_atom_layout("f16", "64B"))
    ComposeLayout(3, 2, 3, S[256:1])
    """
    keep, length, distance = swizzle_bits(mode, lane_type(dtype))
    size = 1 << (keep + length + 3)  # 8 rows of 16, 32, 64 or 128 bytes
    return ComposeLayout(keep, length, distance, TileLayout.from_iters([Iter(size, 1, "m")]))


def mma_shared_layout(dtype: str, mode: str | int, shape: Sequence[int]) -> AnyTirx:
    """A shared-memory tile of swizzle atoms: rows of atoms first, then columns, then leading dimensions.

    Args:
        dtype: element type; mode: "none", "32B", "64B", "128B" (or 0 to 3).
        shape: (..., rows, columns), two dimensions at least.

    Without a swizzle, 16-byte column blocks of all rows follow each other, or plain row-major when the
    columns are not a multiple of 16 bytes. LayoutError when rows or columns are smaller than the atom; a
    larger count that is not a multiple is cut down, as in the reference.

    >>> print(mma_shared_layout("f16", "128B", (64, 128)))
    ComposeLayout(3, 3, 3, S[(64,2,64):(64,4096,1)])
    """
    sizes = tuple(int(n) for n in shape)
    if len(sizes) < 2:
        raise LayoutError(f"a shared-memory tile needs rows and columns, not shape {sizes}")
    rows, cols = sizes[-2:]
    if mode_number(mode) == 0:
        return _plain(sizes, 128 // dtype_bits(lane_type(dtype)))
    atom_rows, atom_cols = mma_atom_shape(dtype, mode)
    if rows < atom_rows or cols < atom_cols:
        raise LayoutError(
            f"a {mode} tile of {dtype} is at least {atom_rows} x {atom_cols}, not {rows} x {cols}"
        )
    lead = len(sizes) - 2
    ones = (1,) * lead
    stacked = tile_to(mma_atom_layout(dtype, mode), (*ones, rows, atom_cols), (*ones, atom_rows, atom_cols))
    return tile_to(stacked, sizes, (*ones, rows, atom_cols))


def _plain(sizes: tuple[int, ...], block: int) -> TileLayout:
    *lead, rows, cols = sizes
    if block == 0 or cols % block:
        extents = list(sizes)
        steps = compact_strides(extents)
    else:
        extents = [*lead, rows, cols // block, block]
        outer = [step * rows * cols for step in compact_strides(lead)]
        steps = [*outer, block, rows * block, 1]
    return canonicalize(
        TileLayout.from_iters([Iter(n, step, "m") for n, step in zip(extents, steps, strict=True)])
    )
