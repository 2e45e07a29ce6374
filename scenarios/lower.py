"""Lowering: an access of a scenario becomes warp instructions with one byte address a lane.

Three ways to say where the lanes go meet here: a register fragment (who holds which element), lane
expressions (which element a lane touches), and byte offsets. In the first two the buffer's layout is the
only source of addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..layouts import Layout, LayoutError, parse
from .buffers import PlacedBuffer
from .errors import Place, ScenarioError, caret_lines
from .expressions import evaluate, evaluate_vector
from .fragments import holders, loop_grid, matrix_rows
from .instruction import Instruction, instruction_of
from .lowered import LoweredAccess
from .offsets import read_offsets
from .specs import AccessSpec
from .vectorise import pack_narrow, split_instructions

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
_MAX_LANES = 1 << 26


def lower(access: AccessSpec, buffers: Mapping[str, PlacedBuffer], folder: Path) -> LoweredAccess:
    """Lowers one access; file names in it start from `folder`.

    Raises `ScenarioError` whose `key` names the wrong field: unknown buffer or instruction, coordinates
    outside the shape (lane and coordinate), misaligned addresses, a mask without lanes.
    """
    try:
        return _lower(access, buffers, folder)
    except ScenarioError as error:
        raise error.at(error.place, _main_field(access)) from None


def _main_field(access: AccessSpec) -> str:
    return next(
        (key for key in ("lanes", "fragment", "bytes", "offsets") if getattr(access, key) is not None), ""
    )


def _lower(access: AccessSpec, buffers: Mapping[str, PlacedBuffer], folder: Path) -> LoweredAccess:
    buffer = _buffer(access, buffers)
    op = instruction_of(access)
    count, loops = loop_grid(_loop_values(access))
    name = access.name or f"{access.op} {access.buffer or 'offsets'}"
    if access.fragment is not None:
        assert buffer is not None
        offsets, active, width, warp, owner = _from_fragment(access, buffer, op, count, loops)
    elif access.lanes is not None:
        assert buffer is not None
        offsets, active, width, warp, owner = _from_lanes(access, buffer, op, count, loops)
    elif access.bytes is not None:
        offsets, active, width, warp, owner = _from_bytes(access, buffer, op, count, loops)
    else:
        offsets, active, width, warp, owner = _from_offsets(access, buffer, op, folder)
        loops = {}
    # An instruction whose lanes are all off is not executed (a predicated warp, a hole of a fragment).
    executed = active.any(axis=1)
    if not executed.any():
        raise ScenarioError(
            "no lane is active in any instruction", key="mask" if access.mask is not None else ""
        )
    active, warp, owner = active[executed], warp[executed], owner[executed]
    offsets = np.where(active, offsets[executed], 0)
    _check_range(offsets, active, width, buffer)
    return LoweredAccess(
        name=name,
        buffer=buffer,
        op=op.op,
        width=width,
        variant=op.variant,
        offsets=offsets,
        active=active,
        warp=warp,
        loops={key: values[owner] for key, values in loops.items()},
    )


def _buffer(access: AccessSpec, buffers: Mapping[str, PlacedBuffer]) -> PlacedBuffer | None:
    if access.buffer is None:
        return None
    if access.buffer not in buffers:
        raise ScenarioError(
            f"no buffer '{access.buffer}'; there are: {', '.join(buffers) or 'none'}", key="buffer"
        )
    return buffers[access.buffer]


def _loop_values(access: AccessSpec) -> dict[str, list[int]]:
    return {name: list(range(r)) if isinstance(r, int) else list(r) for name, r in access.loops.items()}


def _width(access: AccessSpec, op: Instruction) -> int | None:
    if access.width is not None and op.width is not None and access.width != op.width:
        raise ScenarioError(
            f"{access.width} bytes, but {access.instruction or access.op} moves {op.width}", key="width"
        )
    return access.width or op.width


def _mask(access: AccessSpec, names: Mapping[str, Any], shape: tuple[int, ...]) -> BoolArray:
    """Active lanes, broadcast to `shape` whose last dimension is the 32 lanes."""
    lanes = np.arange(32)
    if access.mask is None:
        return np.ones(shape, dtype=np.bool_)
    if isinstance(access.mask, str):
        try:
            value = evaluate(access.mask, names) != 0
        except ScenarioError as error:
            raise error.at(Place(), "mask") from None
    elif isinstance(access.mask, int):
        if not 0 <= access.mask < 1 << 32:
            raise ScenarioError(
                f"a mask of 32 lanes lies in 0 .. 0xffffffff, found {access.mask:#x}", key="mask"
            )
        value = (access.mask >> lanes) & 1 != 0
    else:
        wrong = [lane for lane in access.mask if not 0 <= lane < 32]
        if wrong:
            raise ScenarioError(f"lane {wrong[0]}; a warp has lanes 0 to 31", key="mask")
        value = np.isin(lanes, access.mask)
    return np.broadcast_to(value, shape)


def _names(loops: Mapping[str, IntArray], warps: int) -> dict[str, Any]:
    """Expression names with the shape (iterations, warps, lanes) in mind."""
    names: dict[str, Any] = {key: values[:, None, None] for key, values in loops.items()}
    return {**names, "warp": np.arange(warps)[None, :, None], "lane": np.arange(32)[None, None, :]}


def _guard(count: int, warps: int, elements: int) -> None:
    if count * warps * 32 * elements > _MAX_LANES:
        raise ScenarioError(
            f"{count} iterations of {warps} warps with {elements} elements a lane; at most {_MAX_LANES} lane "
            "accesses fit in one scenario"
        )


def _from_lanes(
    access: AccessSpec, buffer: PlacedBuffer, op: Instruction, count: int, loops: Mapping[str, IntArray]
) -> tuple[IntArray, BoolArray, int, IntArray, IntArray]:
    matrix = op.is_matrix
    vector = 16 * 8 // buffer.bits if matrix else access.vector
    _guard(count, access.warps, vector)
    names = _names(loops, access.warps)
    shape = (count, access.warps, 32)
    active = _mask(access, names, shape)
    if matrix:
        active = active & (np.arange(32) < 8 * op.matrices)
    assert access.lanes is not None
    coords = [np.broadcast_to(x, shape) for x in evaluate_vector(access.lanes, names)]
    if len(coords) != len(buffer.shape):
        raise ScenarioError(
            f"{len(coords)} coordinates for buffer '{buffer.name}' of shape {list(buffer.shape)}: one expression a "
            f"dimension, such as [{', '.join(['lane % 8', '8 * step', '0', '0'][: len(buffer.shape)])}]"
        )
    steps = np.arange(vector)
    grown = [x[..., None] + (steps if d == len(coords) - 1 else 0 * steps) for d, x in enumerate(coords)]
    _check_coords(grown, np.broadcast_to(active[..., None], (*shape, vector)), buffer)
    grown = [np.where(active[..., None], x, 0) for x in grown]
    used = np.broadcast_to(active[..., None], (*shape, vector))
    addresses, used, itemsize = _element_addresses(
        buffer, [g.reshape(-1, 32, vector) for g in grown], used.reshape(-1, 32, vector)
    )
    width = 16 if matrix else _width(access, op)
    offsets, lanes, width = split_instructions(addresses, used, itemsize, width)
    owner, warp = _owners(len(offsets), count, access.warps)
    return offsets, lanes, width, warp, owner


def _from_fragment(
    access: AccessSpec, buffer: PlacedBuffer, op: Instruction, count: int, loops: Mapping[str, IntArray]
) -> tuple[IntArray, BoolArray, int, IntArray, IntArray]:
    fragment = _fragment_layout(access, buffer)
    tile = tuple(access.tile) if access.tile else tuple(fragment.logical_shape)
    if len(tile) != len(buffer.shape):
        raise ScenarioError(
            f"the fragment's tile has shape {list(tile)}, the buffer {list(buffer.shape)}; "
            "tile: states the tile's shape with as many dimensions as the buffer",
            key="tile" if access.tile else "fragment",
        )
    held = holders(fragment, tile)
    if held.names_warps and access.warps != 1:
        raise ScenarioError("the fragment itself places warps; leave warps: out", key="warps")
    warps = 1 if held.names_warps else access.warps
    registers = held.element.shape[-1]
    _guard(count, warps * len(held.warps), registers)
    names = _names(loops, warps)
    origin = _origin(access, len(tile), names, (count, warps, 1))
    # (iterations, warps of the scenario, warps of the fragment, lanes, registers)
    shape = (count, warps, *held.element.shape)
    coords = [o[..., None, None] + c for o, c in zip(origin, held.coordinates(), strict=True)]
    mask = _mask(access, names, (count, warps, 32))[:, :, None, :, None]
    active = np.broadcast_to((held.element >= 0) & mask, shape)
    coords = [np.broadcast_to(c, shape) for c in coords]
    _check_coords(coords, active, buffer)
    coords = [np.where(active, c, 0).reshape(-1, 32, registers) for c in coords]
    addresses, used, itemsize = _element_addresses(buffer, coords, active.reshape(-1, 32, registers))
    if op.is_matrix:
        if not used.all():
            raise ScenarioError(
                "a matrix instruction fills every register of every lane; this fragment does not"
            )
        offsets = matrix_rows(addresses, itemsize, op.matrices, op.transposed)
        lanes = np.broadcast_to(np.arange(32) < 8 * op.matrices, offsets.shape)
        width = 16
    else:
        offsets, lanes, width = split_instructions(addresses, used, itemsize, _width(access, op))
    per_iteration = len(offsets) // count
    owner = np.repeat(np.arange(count), per_iteration)
    numbers = held.warps if held.names_warps else np.arange(warps)
    warp = np.tile(np.repeat(numbers, per_iteration // len(numbers)), count)
    return offsets, lanes, width, warp, owner


def _fragment_layout(access: AccessSpec, buffer: PlacedBuffer) -> Layout:
    """The fragment: TIRx text, or `mma.SHAPE.OPERAND` (mma.m16n8k16.A) for the tensor core's own."""
    text = str(access.fragment)
    try:
        if text.startswith("mma."):
            parts = text.split(".")
            if len(parts) != 3:
                raise ScenarioError(
                    f"'{text}': write mma.SHAPE.OPERAND, such as mma.m16n8k16.A", key="fragment"
                )
            from ..layouts import mma_fragment

            return mma_fragment(parts[1], parts[2], buffer.dtype)
        return parse(text)
    except LayoutError as error:
        raise ScenarioError(
            error.message, key="fragment", caret=caret_lines(error.text, error.position)
        ) from None


def _origin(
    access: AccessSpec, rank: int, names: Mapping[str, Any], shape: tuple[int, ...]
) -> list[IntArray]:
    if access.at is None:
        return [np.zeros(shape, dtype=np.int64)] * rank
    if isinstance(access.at, str):
        try:
            without_lane = {key: value for key, value in names.items() if key != "lane"}
            values = list(evaluate_vector(access.at, without_lane))
        except ScenarioError as error:
            raise error.at(Place(), "at") from None
    else:
        values = [np.asarray(x, dtype=np.int64) for x in access.at]
    if len(values) != rank:
        raise ScenarioError(f"{len(values)} coordinates, the buffer has {rank} dimensions", key="at")
    return [np.broadcast_to(value, shape) for value in values]


def _element_addresses(
    buffer: PlacedBuffer, coords: list[IntArray], active: BoolArray
) -> tuple[IntArray, BoolArray, int]:
    """(byte addresses, active, bytes an element) of shape (n, 32, r); types below a byte are folded to bytes."""
    try:
        offsets = buffer.layout.evaluate(*coords, shape=buffer.shape)["m"]
    except LayoutError as error:
        raise ScenarioError(error.message, key="buffer") from None
    bits = offsets * buffer.bits
    if buffer.bits >= 8:
        return buffer.base + bits // 8, active, buffer.itemsize
    addresses, active = pack_narrow(bits // 8, active, buffer.bits, bits)
    return buffer.base + addresses, active, 1


def _from_bytes(
    access: AccessSpec,
    buffer: PlacedBuffer | None,
    op: Instruction,
    count: int,
    loops: Mapping[str, IntArray],
) -> tuple[IntArray, BoolArray, int, IntArray, IntArray]:
    _guard(count, access.warps, 1)
    names = _names(loops, access.warps)
    shape = (count, access.warps, 32)
    active = _mask(access, names, shape)
    if op.is_matrix:
        active = active & (np.arange(32) < 8 * op.matrices)
    offsets = np.broadcast_to(evaluate(str(access.bytes), names), shape)
    base = buffer.base if buffer else 0
    owner, warp = _owners(count * access.warps, count, access.warps)
    width = _stated_width(access, buffer, op)
    return (offsets + base).reshape(-1, 32), active.reshape(-1, 32), width, warp, owner


def _from_offsets(
    access: AccessSpec, buffer: PlacedBuffer | None, op: Instruction, folder: Path
) -> tuple[IntArray, BoolArray, int, IntArray, IntArray]:
    assert access.offsets is not None
    rows, active = read_offsets(access.offsets, folder)
    names: dict[str, Any] = {"lane": np.arange(32)[None, :]}
    active = active & _mask(access, names, active.shape)
    if op.is_matrix:
        active = active & (np.arange(32) < 8 * op.matrices)
    base = buffer.base if buffer else 0
    zeros = np.zeros(len(rows), dtype=np.int64)
    return rows + base, active, _stated_width(access, buffer, op), zeros, zeros


def _stated_width(access: AccessSpec, buffer: PlacedBuffer | None, op: Instruction) -> int:
    width = 16 if op.is_matrix else _width(access, op)
    if width is None and buffer is not None:
        width = buffer.itemsize
    if width is None:
        raise ScenarioError(
            "byte offsets need a width; write width: 4, name the instruction (with: lds.128), or name a buffer",
            key="width",
        )
    return width


def _owners(instructions: int, count: int, warps: int) -> tuple[IntArray, IntArray]:
    """Which iteration and which warp each instruction belongs to; instructions run (iteration, warp, rest)."""
    each = instructions // (count * warps)
    owner = np.repeat(np.arange(count), warps * each)
    return owner, np.tile(np.repeat(np.arange(warps), each), count)


def _check_coords(coords: list[IntArray], active: BoolArray, buffer: PlacedBuffer) -> None:
    for d, (values, extent) in enumerate(zip(coords, buffer.shape, strict=True)):
        outside = ((values < 0) | (values >= extent)) & active
        if outside.any():
            at = tuple(int(x[0]) for x in np.nonzero(outside))
            point = [int(np.broadcast_to(c, active.shape)[at]) for c in coords]
            lane = at[-2]
            raise ScenarioError(
                f"lane {lane} touches element {point}, outside the shape {list(buffer.shape)} of buffer "
                f"'{buffer.name}' (dimension {d} has {extent})"
            )


def _check_range(offsets: IntArray, active: BoolArray, width: int, buffer: PlacedBuffer | None) -> None:
    low, high = (0, 1 << 40) if buffer is None else (buffer.base, buffer.base + buffer.footprint)
    outside = ((offsets < low) | (offsets + width > high)) & active
    if outside.any():
        i, lane = (int(x[0]) for x in np.nonzero(outside))
        at = int(offsets[i, lane]) - low
        where = (
            f"buffer '{buffer.name}' has bytes 0 to {buffer.footprint - 1}"
            if buffer
            else "offsets start at 0"
        )
        raise ScenarioError(f"lane {lane} touches bytes {at} to {at + width - 1}; {where}")
    skewed = (offsets % width != 0) & active
    if skewed.any():
        i, lane = (int(x[0]) for x in np.nonzero(skewed))
        raise ScenarioError(
            f"lane {lane} starts at byte {int(offsets[i, lane])}, misaligned: "
            f"a {width}-byte access starts at a multiple of {width}"
        )
