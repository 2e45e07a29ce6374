"""Moves and computations of a schedule as instructions: which pipe, which bytes, how long.

Every distinct case (valid extents, alignment, slots) becomes one `Op` that all its executions share. Addresses and
valid extents come from the layouts alone: `get_tile_layout` crops a tile at the matrix' edge.
"""

from __future__ import annotations

import numpy as np

from ..layouts import TlaLayout, dtype_bits, from_tag
from ..layouts.int_tuple import integers
from ..layouts.tla_ops import get_tile_layout
from ..sim.ascend import (
    PIPES,
    AscendError,
    AscendUnknown,
    Core,
    Cost,
    Op,
    Operand,
    Span,
    VectorOp,
    copy_cost,
    runs_of,
    tile_bytes,
    vector_time,
)
from ..sim.chip import ChipError
from .ascend_places import IntArray, MatrixData, Places, TileState

EXECUTE = 0
_ND2NZ = {"nValue": 16384, "dValue": 65535, "srcDValue": 65535, "dstNzC0Stride": 16384}
"""Largest values of the fields of an ND2NZ copy: lines, elements of a line, pitch of the matrix, rows of the tile."""


def span(tile: TileState, slot: int) -> Span:
    """The bytes of a tile's slot."""
    start = tile.buffer.addresses[slot]
    return Span(tile.buffer.memory, start, start + tile.buffer.bytes, tile.buffer.name)


def cut_layout(tile: TileState, valid: tuple[int, ...], arch: int) -> TlaLayout:
    """The layout that the valid part of a tile takes in its buffer, padding to whole fractals included."""
    rows, cols = (1, valid[0]) if len(valid) == 1 else valid
    return from_tag(tile.tag, rows, cols, tile.buffer.dtype, arch)


def matrix_cases(
    matrix: MatrixData, shape: tuple[int, ...], coords: tuple[IntArray, ...], granule: int
) -> tuple[list[tuple[int, ...]], list[int]]:
    """Representative coordinates of the distinct cases of a tile of a matrix, and the case of every iteration.

    Two iterations are one case when the same part of the tile is valid and its first byte is equally aligned.
    """
    if len(coords) != len(shape) or len(coords) != len(matrix.layout.logical_shape):
        raise AscendError(
            f"{matrix.name} has {len(matrix.layout.logical_shape)} dimensions, the tile {len(shape)}, "
            f"the coordinate {len(coords)}; they have to agree"
        )
    if any((coord < 0).any() for coord in coords):
        raise AscendError(f"{matrix.name}: a coordinate is negative")
    left = [
        np.clip(extent - coord, 0, size)
        for extent, coord, size in zip(matrix.layout.logical_shape, coords, shape, strict=True)
    ]
    phase = matrix.layout.evaluate(*coords)["m"] * matrix.bits // 8 % granule
    key = phase
    for part, size in zip(left, shape, strict=True):
        key = key * (size + 1) + part
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    cases = [tuple(int(coord[i]) for coord in coords) for i in first]
    return cases, inverse.ravel().tolist()


def matrix_runs(
    matrix: MatrixData, shape: tuple[int, ...], coord: tuple[int, ...]
) -> tuple[tuple[int, ...], IntArray, IntArray]:
    """(valid extents, run starts, run lengths in bytes) of a tile of a matrix; empty runs when nothing is valid."""
    valid = get_tile_layout(matrix.layout, shape, coord).logical_shape
    if not all(valid):
        empty = np.zeros(0, np.int64)
        return valid, empty, empty
    grid = np.ogrid[tuple(slice(c, c + n) for c, n in zip(coord, valid, strict=True))]
    starts, lengths = runs_of(np.asarray(matrix.layout.evaluate(*grid)["m"]), matrix.bits)
    return valid, starts, lengths


def copy_in(
    core: Core,
    places: Places,
    matrix: MatrixData,
    tile: TileState,
    slot: int,
    coord: tuple[int, ...],
    cores: int,
) -> tuple[Op | None, tuple[int, ...]]:
    """GM to L1 or UB on MTE2 (nd2nz when a plain matrix becomes fractal); None when the tile is empty."""
    valid, starts, lengths = matrix_runs(matrix, tile.shape, coord)
    if not len(starts):
        return None, valid
    kind = _conversion(core, matrix, tile)
    padded = tile_bytes(cut_layout(tile, valid, places.arch), tile.buffer.dtype)[0]
    cost = copy_cost(core, starts, lengths, cores=cores, l2_hit=matrix.l2_hit, padded=padded)
    name = f"{kind} {matrix.name} -> {tile.buffer.name}"
    path = f"GM -> {tile.buffer.memory}"
    return make_op("MTE2", name, cost, path, writes=(span(tile, slot),)), valid


def _conversion(core: Core, matrix: MatrixData, tile: TileState) -> str:
    """The name of a copy into a tile. AscendError for a conversion that the chip's MTE2 does not have."""
    if dtype_bits(tile.buffer.dtype) != matrix.bits:
        raise AscendError(
            f"copy {matrix.name} -> {tile.buffer.name}: {matrix.dtype} into {tile.buffer.dtype}; MTE2 does not convert"
        )
    if tile.buffer.memory not in ("L1", "UB"):
        raise AscendError(
            f"copy {matrix.name} -> {tile.buffer.name}: GM to {tile.buffer.memory}; copy into L1, then load"
        )
    if tile.tag not in ("zN", "nZ") or not matrix.order:
        return "copy"
    if tile.buffer.memory == "UB":
        raise AscendUnknown(
            f"nd2nz {matrix.name} -> {tile.buffer.name}: unknown for UB, documented is the way into L1; "
            "copy as it lies and re-lay with the vector unit"
        )
    _check_nd2nz(matrix, tile)
    straight = (matrix.order == "row") == (tile.tag == "zN")
    if straight:
        return "nd2nz"
    if core.chip.has("mte2.dn2nz") and core.chip["mte2.dn2nz"]:
        return "dn2nz"
    other = "nZ" if tile.tag == "zN" else "zN"
    raise AscendError(
        f"copy {matrix.name} -> {tile.buffer.name}: a {matrix.order}-major matrix becomes {other} with nd2nz; "
        f"{core.chip.title} cannot transpose on the way to {tile.tag}"
    )


def _check_nd2nz(matrix: MatrixData, tile: TileState) -> None:
    """The fields of the instruction hold the tile and the pitch of the matrix. AscendError with what would fit."""
    rows, cols = (1, *tile.shape)[-2:]
    lines, line = (rows, cols) if matrix.order == "row" else (cols, rows)
    strides = matrix.layout.stride
    pitch = line if matrix.layout.rank == 1 else max(integers(strides)[:2])
    fields = {
        "nValue": (lines, "lines of the tile"),
        "dValue": (line, "elements a line of the tile"),
        "srcDValue": (pitch, "elements a line of the matrix"),
        "dstNzC0Stride": (-(-lines // 16) * 16, "lines of the tile, padded"),
    }
    for name, (value, what) in fields.items():
        if value > _ND2NZ[name]:
            raise AscendError(
                f"nd2nz {matrix.name} -> {tile.buffer.name}: {value} {what}; {name} holds at most {_ND2NZ[name]}"
            )


def copy_out(
    core: Core,
    matrix: MatrixData,
    tile: TileState,
    slot: int,
    valid: tuple[int, ...],
    coord: tuple[int, ...],
    cores: int,
) -> Op | None:
    """UB to GM on MTE3; L1 to GM where the chip has the path, as it lies."""
    memory = tile.buffer.memory
    what = f"copy {tile.buffer.name} -> {matrix.name}"
    if memory == "L1":
        path = "mte3.l1_out"
        if not core.chip.has(path) or not core.chip[path]:
            raise AscendError(f"{what}: {core.chip.title} has no path L1 -> GM; L0C leaves by fixpipe")
        if matrix.order and matrix.layout.rank > 1 and tile.tag not in ("RowMajor", "ColumnMajor"):
            raise AscendError(f"{what}: L1 is copied out as it lies, so the matrix has the layout {tile.tag}")
    elif memory != "UB":
        raise AscendError(f"{what}: UB and L1 are copied out to GM, {memory} is not; L0C leaves by fixpipe")
    _, starts, lengths = matrix_runs(matrix, valid, coord)
    if not len(starts):
        return None
    cost = copy_cost(core, starts, lengths, pipe="mte3", cores=cores)
    return make_op("MTE3", what, cost, f"{memory} -> GM", reads=(span(tile, slot),))


def vector_ops(
    reads: list[Operand], writes: list[Operand], repeats: int, blocks: int, name: str
) -> list[VectorOp]:
    """A vector instruction of any length as instructions of at most 255 repeats."""
    parts: list[VectorOp] = []
    for first in range(0, repeats, 255):
        shifted = [
            tuple(
                Operand(o.base + 32 * first * o.repeat_stride, o.block_stride, o.repeat_stride, o.name)
                for o in side
            )
            for side in (reads, writes)
        ]
        parts.append(VectorOp(shifted[0], shifted[1], min(255, repeats - first), blocks, name))
    return parts


def vector_instruction(core: Core, op: VectorOp, reads: tuple[Span, ...], writes: tuple[Span, ...]) -> Op:
    """A vector instruction for the pipe V, conflicts of its own blocks included.

    AscendUnknown where the mapping of UB or the overhead of an instruction is not public.
    """
    try:
        time = vector_time(op, core.chip)
    except ChipError as error:
        raise AscendUnknown(f"{op.name}: {error}") from None
    cost = Cost(time.cycles, 0, op.bytes_moved, op.bytes_moved, float(op.repeats))
    return make_op("V", op.name, cost, "UB vector", reads, writes)


def make_op(
    pipe: str, name: str, cost: Cost, path: str, reads: tuple[Span, ...] = (), writes: tuple[Span, ...] = ()
) -> Op:
    """An instruction that moves data, for its pipe."""
    return Op(
        PIPES.index(pipe), EXECUTE, name, cost.busy, cost.tail, None, reads, writes, path=path, valid=cost.valid,
        moved=cost.moved, work=cost.work,
    )  # fmt: skip
