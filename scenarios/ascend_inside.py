"""Moves inside a core as instructions: L1 and UB, loads into L0 and the tables, Mmad, and L0C out through FIX."""

from __future__ import annotations

from ..layouts import dtype_bits
from ..layouts.tla_ops import get_tile_layout
from ..sim.ascend import (
    PIPES,
    AscendError,
    Core,
    Cost,
    Op,
    Span,
    cube_type,
    fixpipe_cost,
    load_cost,
    mmad_cost,
    path_cost,
    scale_bytes,
    tile_bytes,
)
from .ascend_moves import EXECUTE, cut_layout, make_op, matrix_runs, span
from .ascend_places import MatrixData, TileState

_TABLES = {"BT": ("MTE1", "mte1.BT"), "FB": ("FIX", "mte1.FB")}
"""Tables that a load fills: the pipe that does it, and its rate."""


def copy_across(core: Core, source: TileState, target: TileState, slots: tuple[int, int], arch: int) -> Op:
    """Between L1 and UB, where the chip has the path."""
    pair = (source.buffer.memory, target.buffer.memory)
    pipe, path = {("L1", "UB"): ("MTE1", "mte1.UB"), ("UB", "L1"): ("MTE3", "mte3.L1")}.get(pair, ("", ""))
    if not pipe or not core.chip.has(path):
        raise AscendError(
            f"copy {source.buffer.name} -> {target.buffer.name}: {core.chip.title} has no path {pair[0]} -> {pair[1]}"
        )
    padded, valid = tile_bytes(cut_layout(source, source.valid, arch), source.buffer.dtype)
    cost = path_cost(core, pipe, path, valid, padded)
    name = f"copy {source.buffer.name} -> {target.buffer.name}"
    spans = (span(source, slots[0]),), (span(target, slots[1]),)
    return make_op(pipe, name, cost, f"{pair[0]} -> {pair[1]}", *spans)


def load(
    core: Core,
    source: TileState,
    target: TileState,
    slots: tuple[int, int],
    coord: tuple[int, ...],
    arch: int,
) -> tuple[Op | None, tuple[int, ...]]:
    """L1 to L0A, L0B or BT on MTE1, to FB on FIX; the valid part is that of the source at the coordinate."""
    memory = target.buffer.memory
    what = f"{source.buffer.name} -> {target.buffer.name}"
    if source.buffer.memory != "L1" or memory not in ("L0A", "L0B", *_TABLES):
        raise AscendError(
            f"load {what}: LoadData moves L1 to L0A, L0B, BT or FB, not {source.buffer.memory} to {memory}"
        )
    if source.buffer.dtype != target.buffer.dtype and memory not in _TABLES:
        raise AscendError(
            f"load {what}: {source.buffer.dtype} into {target.buffer.dtype}; MTE1 does not convert"
        )
    if memory not in _TABLES:
        _check_fractals(source, target, coord, what)
    parent = cut_layout(source, source.valid, arch)
    valid = get_tile_layout(parent, target.shape, coord).logical_shape
    if not all(valid):
        return None, valid
    padded, bytes_valid = tile_bytes(cut_layout(target, valid, arch), target.buffer.dtype)
    if memory in _TABLES:
        pipe, path = _TABLES[memory]
        cost = path_cost(core, pipe, path, bytes_valid, padded)
        spans = (span(source, slots[0]),), (span(target, slots[1]),)
        return make_op(pipe, f"load {what}", cost, f"L1 -> {memory}", *spans), valid
    transposed = _outer(source.tag) != _outer(target.tag)
    scales = 0
    if cube_type(source.buffer.dtype).startswith("mx"):
        rows, k = valid if memory == "L0A" else valid[::-1]
        scales = scale_bytes(rows, k)
    cost = load_cost(core, memory, bytes_valid, padded, transposed, scales)
    verb = "load transposed" if transposed else "load"
    name = f"{verb} {what}"
    return make_op(
        "MTE1", name, cost, f"L1 -> {memory}", (span(source, slots[0]),), (span(target, slots[1]),)
    ), valid


def _outer(tag: str) -> str:
    """How the elements of a fractal run: z by rows, n by columns; the first letter of the tag for all else."""
    return "n" if tag == "Weight4BitnZ" else tag[0]


def _check_fractals(source: TileState, target: TileState, coord: tuple[int, ...], what: str) -> None:
    """LoadData moves whole fractals of 512 bytes: the source is made of them, and the coordinate begins one."""
    outer = _outer(source.tag)
    if outer not in "zn":
        raise AscendError(
            f"load {what}: {source.buffer.name} is {source.tag} in L1; LoadData reads fractals (zN, nZ)"
        )
    bits = dtype_bits(source.buffer.dtype)
    depth = 256 // bits
    steps = (16, depth) if outer == "z" else (depth, 16)
    nearest = ", ".join(str(c // s * s) for c, s in zip(coord, steps, strict=True))
    for at, step in zip(coord, steps, strict=True):
        if at % step:
            raise AscendError(
                f"load {what}: the coordinate {', '.join(map(str, coord))} begins inside a fractal; multiples of "
                f"{steps[0]} and {steps[1]}, nearest {nearest}"
            )
    if bits == 4 and outer != _outer(target.tag) and target.buffer.memory == "L0A":
        raise AscendError(f"load {what}: 4-bit elements are transposed into L0B only")


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
    if m > c.shape[0] or n > c.shape[1]:
        raise AscendError(
            f"mmad: {m}x{n} results do not fit into {c.buffer.name} of {c.shape[0]}x{c.shape[1]}"
        )
    _check_types(core, (a, b), slots)
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


def _check_types(core: Core, tiles: tuple[TileState, TileState], slots: tuple[int, int, int]) -> None:
    """Both operands of one kind that the cube multiplies, MX operands at their own alignment."""
    a, b = tiles
    kinds = [cube_type(tile.buffer.dtype) for tile in tiles]
    if kinds[0] != kinds[1] and all(kinds):
        raise AscendError(
            f"mmad: {a.buffer.name} is {a.buffer.dtype}, {b.buffer.name} {b.buffer.dtype}; both have to be of one kind"
        )
    if not kinds[0].startswith("mx") or not core.chip.has("align.L0_mx"):
        return
    align = core.chip.integer("align.L0_mx")
    for tile, slot in zip(tiles, slots[:2], strict=True):
        address = tile.buffer.addresses[slot]
        if address % align:
            raise AscendError(
                f"mmad: {tile.buffer.name} lies at {address:#x} in {tile.buffer.memory}; an MX operand starts at a "
                f"multiple of {align}, nearest {address // align * align:#x}"
            )


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
    cost = fixpipe_cost(
        core,
        valid[0],
        valid[1],
        matrix.dtype,
        "GM",
        cores=cores,
        runs=len(starts),
        transposed=matrix.order == "column",
    )
    name = f"fixpipe {tile.buffer.name} -> {matrix.name}"
    return _fix(name, cost, "L0C -> GM", tile, slot, unit)


def fixpipe_tile(core: Core, tile: TileState, target: TileState, slots: tuple[int, int], unit: str) -> Op:
    """L0C to a tile in L1, or in UB where the chip has the path, through FIX."""
    to = target.buffer.memory
    if tile.buffer.memory != "L0C" or to not in ("L1", "UB"):
        raise AscendError(
            f"fixpipe {tile.buffer.name} -> {target.buffer.name}: FIX moves L0C to GM, L1 or UB, "
            f"not {tile.buffer.memory} to {to}"
        )
    cost = fixpipe_cost(core, tile.valid[0], tile.valid[1], target.buffer.dtype, to)
    name = f"fixpipe {tile.buffer.name} -> {target.buffer.name}"
    return _fix(name, cost, f"L0C -> {to}", tile, slots[0], unit, (span(target, slots[1]),))


def _fix(
    name: str, cost: Cost, path: str, tile: TileState, slot: int, unit: str, writes: tuple[Span, ...] = ()
) -> Op:
    return Op(
        PIPES.index("FIX"), EXECUTE, name, cost.busy, cost.tail, None, (span(tile, slot),), writes, unit, False,
        bool(unit), path, cost.valid, cost.moved, cost.work,
    )  # fmt: skip
