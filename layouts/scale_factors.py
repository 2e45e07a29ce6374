"""Layouts of block scale factors for block-scaled tensor-core products, in TMEM and in shared memory.

The atom is S[(32, k):(1@TLane, 1@TCol)] + R[4:32@TLane]: k scale factors a row and MMA step, seen by all four
windows of 32 lanes. Units: elements (8-bit factors: four share a 32-bit column). Source: the TIRx CUDA
backend's constructors.
"""

from __future__ import annotations

from .protocol import LayoutError
from .tirx import Iter, TileLayout
from .tirx_tile import direct_sum

_FACTORS_A_COLUMN = 4  # 8-bit scale factors in one 32-bit column


def sf_tmem_layout(
    rows: int, SF_K: int, sf_per_mma: int, sf_reuse: int = 1, pipe_depth: int | None = None
) -> TileLayout:
    """Scale factors of `rows` rows and SF_K factors a row in TMEM.

    Followed from the reference: rows is divided by 32 and rounded down; pipeline stages lie 4*(rows/32)
    columns apart whatever SF_K is, so that they overlap when SF_K > 4; with 32 rows the reuse and pipeline
    iters land on TLane. LayoutError when SF_K is not a multiple of sf_per_mma.

    >>> print(sf_tmem_layout(128, 4, 4))
    S[(4,32,4):(4@TCol,1@TLane,1@TCol)] + R[4:32@TLane]
    """
    if sf_per_mma <= 0 or SF_K % sf_per_mma:
        raise LayoutError(f"SF_K={SF_K} is not a multiple of sf_per_mma={sf_per_mma}")
    row_blocks, steps = rows // 32, SF_K // sf_per_mma
    outer = [Iter(row_blocks, 4, "TCol")]
    if steps == 1:
        pass
    else:
        packed = max(_FACTORS_A_COLUMN // sf_per_mma, 1)
        while steps % packed:
            packed //= 2
        if packed > 1:
            if steps // packed > 1:
                outer.append(Iter(steps // packed, 4 * row_blocks, "TCol"))
            outer.append(Iter(packed, sf_per_mma, "TCol"))
        else:
            outer.append(Iter(steps, 4 * row_blocks, "TCol"))
    atom = TileLayout.from_iters([Iter(32, 1, "TLane"), Iter(sf_per_mma, 1, "TCol")], [Iter(4, 32, "TLane")])
    left = TileLayout.from_iters(outer)
    layout = direct_sum(atom, left, (row_blocks, steps), (32, sf_per_mma))
    assert isinstance(layout, TileLayout)
    axis = layout.shard[0].axis if layout.shard else "TCol"
    shard = list(layout.shard)
    if sf_reuse > 1:
        shard.append(Iter(sf_reuse, 0, axis))
    if pipe_depth is not None:
        shard.insert(0, Iter(pipe_depth, 4 * row_blocks, axis))
    return TileLayout.from_iters(shard, layout.replica, layout.offset)


def sf_smem_layout(
    rows: int, SF_K: int, sf_per_mma: int, sf_reuse: int = 1, pipe_depth: int | None = None
) -> TileLayout:
    """Scale factors in shared memory: blocks of 512 bytes of 128 rows x 4 factors.

    LayoutError unless rows is a multiple of 128, SF_K of 4, and sf_per_mma divides 4.
    """
    if rows % 128 or SF_K % 4 or sf_per_mma <= 0 or 4 % sf_per_mma:
        raise LayoutError(
            f"rows={rows} must be a multiple of 128, SF_K={SF_K} of 4, and sf_per_mma={sf_per_mma} divide 4"
        )
    blocks, quads, steps = rows // 128, SF_K // 4, 4 // sf_per_mma
    items = [
        (blocks, 512 * quads),
        (4, 4),
        (32, 16),
        (quads, 512),
        (sf_per_mma, steps),
        (steps, 1),
    ]
    if sf_reuse > 1:
        items.append((sf_reuse, 0))
    shard = [Iter(n, step, "m") for n, step in items if n != 1]
    if pipe_depth is not None:  # kept even when it is 1, as in the reference: the buffer has that dimension
        shard.insert(0, Iter(pipe_depth, 512 * quads * blocks, "m"))
    return TileLayout.from_iters(shard)
