"""Moves and computations of a schedule as instructions: which pipe, which bytes, how long.

Every distinct case (valid extents, alignment, slots) becomes one `Op` that all its executions share. Addresses and
valid extents come from the layouts alone: `get_tile_layout` crops a tile at the matrix' edge.
"""

from __future__ import annotations

import numpy as np

from ..layouts import TlaLayout, dtype_bits, from_tag
from ..layouts.tla_ops import get_tile_layout
from ..sim.ascend import (
    PIPES,
    AscendError,
    Core,
    Cost,
    Op,
    Operand,
    Span,
    VectorOp,
    copy_cost,
    fixpipe_cost,
    load_cost,
    mmad_cost,
    runs_of,
    tile_bytes,
    vector_time,
)
from .ascend_places import IntArray, MatrixData, Places, TileState

EXECUTE = 0
_ND2NZ_PITCH = 65535


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
    return _op("MTE2", name, cost, path, writes=(span(tile, slot),)), valid


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
    pitch = max(int(extent) for extent in matrix.layout.logical_shape)
    if pitch > _ND2NZ_PITCH:
        raise AscendError(
            f"nd2nz {matrix.name}: {pitch} elements a line; srcDValue holds at most {_ND2NZ_PITCH}"
        )
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


def copy_out(
    core: Core,
    matrix: MatrixData,
    tile: TileState,
    slot: int,
    valid: tuple[int, ...],
    coord: tuple[int, ...],
    cores: int,
) -> Op | None:
    """UB to GM on MTE3."""
    if tile.buffer.memory != "UB":
        raise AscendError(
            f"copy {tile.buffer.name} -> {matrix.name}: only UB is copied out to GM; L0C leaves by fixpipe"
        )
    _, starts, lengths = matrix_runs(matrix, valid, coord)
    if not len(starts):
        return None
    cost = copy_cost(core, starts, lengths, pipe="mte3", cores=cores)
    return _op(
        "MTE3", f"copy {tile.buffer.name} -> {matrix.name}", cost, "UB -> GM", reads=(span(tile, slot),)
    )


def copy_across(core: Core, source: TileState, target: TileState, slots: tuple[int, int], arch: int) -> Op:
    """Between L1 and UB, where the chip has the path."""
    pair = (source.buffer.memory, target.buffer.memory)
    pipe, path = {("L1", "UB"): ("MTE1", "mte1.UB"), ("UB", "L1"): ("MTE3", "mte3.L1")}.get(pair, ("", ""))
    if not pipe or not core.chip.has(path):
        raise AscendError(
            f"copy {source.buffer.name} -> {target.buffer.name}: {core.chip.title} has no path {pair[0]} -> {pair[1]}"
        )
    padded, valid = tile_bytes(cut_layout(source, source.valid, arch), source.buffer.dtype)
    start = core.number(f"{pipe.lower()}.start")
    cost = Cost(int(np.ceil(start + padded / core.number(path))), 0, valid, padded)
    name = f"copy {source.buffer.name} -> {target.buffer.name}"
    spans = (span(source, slots[0]),), (span(target, slots[1]),)
    return _op(pipe, name, cost, f"{pair[0]} -> {pair[1]}", *spans)


def load(
    core: Core,
    source: TileState,
    target: TileState,
    slots: tuple[int, int],
    coord: tuple[int, ...],
    arch: int,
) -> tuple[Op | None, tuple[int, ...]]:
    """L1 to L0A or L0B on MTE1; the valid part is that of the source at the coordinate."""
    memory = target.buffer.memory
    if source.buffer.memory != "L1" or memory not in ("L0A", "L0B"):
        raise AscendError(
            f"load {source.buffer.name} -> {target.buffer.name}: LoadData moves L1 to L0A or L0B, "
            f"not {source.buffer.memory} to {memory}"
        )
    parent = cut_layout(source, source.valid, arch)
    valid = get_tile_layout(parent, target.shape, coord).logical_shape
    if not all(valid):
        return None, valid
    padded, bytes_valid = tile_bytes(cut_layout(target, valid, arch), target.buffer.dtype)
    transposed = source.tag[0] != target.tag[0]
    cost = load_cost(core, memory, bytes_valid, padded, transposed)
    verb = "load transposed" if transposed else "load"
    name = f"{verb} {source.buffer.name} -> {target.buffer.name}"
    return _op(
        "MTE1", name, cost, f"L1 -> {memory}", (span(source, slots[0]),), (span(target, slots[1]),)
    ), valid


def mmad(
    core: Core,
    tiles: tuple[TileState, TileState, TileState],
    slots: tuple[int, int, int],
    opens: bool,
    unit: str,
    closes: bool,
) -> Op | None:
    """One Mmad over the valid parts; None when one of them is empty."""
    a, b, c = tiles
    for tile, memory in ((a, "L0A"), (b, "L0B"), (c, "L0C")):
        if tile.buffer.memory != memory:
            raise AscendError(
                f"mmad: {tile.buffer.name} lies in {tile.buffer.memory}, it has to be in {memory}"
            )
    align = core.chip.integer("align.L0C_mmad") if core.chip.has("align.L0C_mmad") else 1
    address = c.buffer.addresses[slots[2]]
    if address % align:
        raise AscendError(
            f"mmad: {c.buffer.name} lies at {address:#x} in L0C; an Mmad result starts at a multiple of {align}, "
            f"nearest {address // align * align:#x}"
        )
    m, k = a.valid
    k_b, n = b.valid
    if k != k_b:
        raise AscendError(f"mmad: {a.buffer.name} has {k} valid k, {b.buffer.name} {k_b}; they have to agree")
    if (m > c.shape[0] or n > c.shape[1]) and opens:
        raise AscendError(
            f"mmad: {m}x{n} results do not fit into {c.buffer.name} of {c.shape[0]}x{c.shape[1]}"
        )
    cost = mmad_cost(core, m, n, k, a.buffer.dtype)
    if not cost.busy:
        return None
    reads = (span(a, slots[0]), span(b, slots[1]))
    whole = span(c, slots[2])
    # A result of m x n takes that many blocks at the start of its tile: its size tells whether a barrier is needed.
    blocks = -(-m // 16) * -(-n // 16)
    out = Span(whole.memory, whole.start, min(whole.start + 1024 * blocks, whole.end), whole.buffer)
    name = f"mmad {a.buffer.name} x {b.buffer.name} -> {c.buffer.name}"
    return Op(
        PIPES.index("M"), EXECUTE, name, cost.busy, cost.tail, None, reads, (out,), unit, opens, closes, "cube",
        cost.valid, cost.moved, cost.work,
    )  # fmt: skip


def fixpipe(
    core: Core,
    tile: TileState,
    slot: int,
    matrix: MatrixData,
    coord: tuple[int, ...],
    unit: str,
    cores: int,
) -> Op | None:
    """L0C to GM through FIX, cropped to the matrix."""
    if tile.buffer.memory != "L0C":
        raise AscendError(f"fixpipe: {tile.buffer.name} lies in {tile.buffer.memory}; FIX reads L0C")
    valid, starts, _ = matrix_runs(matrix, tile.valid, coord)
    if not len(starts):
        return None
    cost = fixpipe_cost(core, valid[0], valid[1], matrix.dtype, "GM", cores=cores, runs=len(starts))
    name = f"fixpipe {tile.buffer.name} -> {matrix.name}"
    return _fix(name, cost, "L0C -> GM", tile, slot, unit)


def fixpipe_l1(core: Core, tile: TileState, target: TileState, slots: tuple[int, int], unit: str) -> Op:
    """L0C to a tile in L1 through FIX."""
    if tile.buffer.memory != "L0C" or target.buffer.memory != "L1":
        raise AscendError(
            f"fixpipe {tile.buffer.name} -> {target.buffer.name}: FIX moves L0C to GM or L1, "
            f"not {tile.buffer.memory} to {target.buffer.memory}"
        )
    cost = fixpipe_cost(core, tile.valid[0], tile.valid[1], target.buffer.dtype, "L1")
    name = f"fixpipe {tile.buffer.name} -> {target.buffer.name}"
    return _fix(name, cost, "L0C -> L1", tile, slots[0], unit, (span(target, slots[1]),))


def _fix(
    name: str, cost: Cost, path: str, tile: TileState, slot: int, unit: str, writes: tuple[Span, ...] = ()
) -> Op:
    return Op(
        PIPES.index("FIX"), EXECUTE, name, cost.busy, cost.tail, None, (span(tile, slot),), writes, unit, False,
        bool(unit), path, cost.valid, cost.moved, cost.work,
    )  # fmt: skip


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
    """A vector instruction for the pipe V, conflicts of its own blocks included."""
    time = vector_time(op, core.chip)
    cost = Cost(time.cycles, 0, op.bytes_moved, op.bytes_moved, float(op.repeats))
    return _op("V", op.name, cost, "UB vector", reads, writes)


def _op(
    pipe: str, name: str, cost: Cost, path: str, reads: tuple[Span, ...] = (), writes: tuple[Span, ...] = ()
) -> Op:
    return Op(
        PIPES.index(pipe), EXECUTE, name, cost.busy, cost.tail, None, reads, writes, path=path, valid=cost.valid,
        moved=cost.moved, work=cost.work,
    )  # fmt: skip
