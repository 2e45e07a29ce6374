"""Four ways to say where the lanes go, each turned into byte addresses: lanes, fragment, bytes, offsets.

In the first two the buffer's layout is the only source of addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..layouts import Layout, LayoutError, parse
from .buffers import PlacedBuffer
from .errors import Place, ScenarioError, caret_lines
from .expressions import evaluate, evaluate_vector
from .fragments import holders, matrix_rows
from .instruction import Instruction
from .lane_rules import (
    active_lanes,
    asked_width,
    check_coordinates,
    check_size,
    expression_names,
    stated_width,
)
from .offsets import read_offsets
from .specs import AccessSpec
from .vectorise import pack_narrow, split_instructions

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Warp instructions: `offsets` and `active` (n, 32), the width in bytes, and (n,) whose each one is.

    `warp` is the warp that executes an instruction, `owner` the iteration of the loops it belongs to.
    """

    offsets: IntArray
    active: BoolArray
    width: int
    warp: IntArray
    owner: IntArray


def from_lanes(
    access: AccessSpec, buffer: PlacedBuffer, op: Instruction, count: int, loops: Mapping[str, IntArray]
) -> Pattern:
    matrix = op.is_matrix
    vector = 16 * 8 // buffer.bits if matrix else access.vector
    check_size(count, access.warps, vector)
    names = expression_names(loops, access.warps)
    shape = (count, access.warps, 32)
    active = active_lanes(access, names, shape)
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
    check_coordinates(grown, np.broadcast_to(active[..., None], (*shape, vector)), buffer)
    grown = [np.where(active[..., None], x, 0) for x in grown]
    used = np.broadcast_to(active[..., None], (*shape, vector))
    addresses, used, itemsize = _element_addresses(
        buffer, [g.reshape(-1, 32, vector) for g in grown], used.reshape(-1, 32, vector)
    )
    width = 16 if matrix else asked_width(access, op)
    offsets, lanes, width = split_instructions(addresses, used, itemsize, width)
    owner, warp = owners(len(offsets), count, access.warps)
    return Pattern(offsets, lanes, width, warp, owner)


def from_fragment(
    access: AccessSpec, buffer: PlacedBuffer, op: Instruction, count: int, loops: Mapping[str, IntArray]
) -> Pattern:
    fragment, whole = fragment_layout(access, buffer)
    tile = tuple(access.tile) if access.tile else whole
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
    check_size(count, warps * len(held.warps), registers)
    names = expression_names(loops, warps)
    origin = _origin(access, len(tile), names, (count, warps, 1))
    # (iterations, warps of the scenario, warps of the fragment, lanes, registers)
    shape = (count, warps, *held.element.shape)
    coords = [o[..., None, None] + c for o, c in zip(origin, held.coordinates(), strict=True)]
    mask = active_lanes(access, names, (count, warps, 32))[:, :, None, :, None]
    active = np.broadcast_to((held.element >= 0) & mask, shape)
    coords = [np.broadcast_to(c, shape) for c in coords]
    check_coordinates(coords, active, buffer)
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
        offsets, lanes, width = split_instructions(addresses, used, itemsize, asked_width(access, op))
    per_iteration = len(offsets) // count
    owner = np.repeat(np.arange(count), per_iteration)
    numbers = held.warps if held.names_warps else np.arange(warps)
    warp = np.tile(np.repeat(numbers, per_iteration // len(numbers)), count)
    return Pattern(offsets, lanes, width, warp, owner)


def fragment_layout(access: AccessSpec, buffer: PlacedBuffer) -> tuple[Layout, tuple[int, ...]]:
    """The fragment and its tile's shape: a layout, or `mma.SHAPE.OPERAND` for the tensor core's own."""
    text = str(access.fragment)
    try:
        if text.startswith("mma."):
            parts = text.split(".")
            if len(parts) != 3:
                raise ScenarioError(
                    f"'{text}': write mma.SHAPE.OPERAND, such as mma.m16n8k16.A", key="fragment"
                )
            from ..layouts import fragment_shape, mma_fragment

            shape = fragment_shape(parts[1], parts[2])
            return mma_fragment(parts[1], parts[2], buffer.dtype), shape
        fragment = parse(text)
        return fragment, tuple(fragment.logical_shape)
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


def from_bytes(
    access: AccessSpec,
    buffer: PlacedBuffer | None,
    op: Instruction,
    count: int,
    loops: Mapping[str, IntArray],
) -> Pattern:
    check_size(count, access.warps, 1)
    names = expression_names(loops, access.warps)
    shape = (count, access.warps, 32)
    active = active_lanes(access, names, shape)
    if op.is_matrix:
        active = active & (np.arange(32) < 8 * op.matrices)
    offsets = np.broadcast_to(evaluate(str(access.bytes), names), shape)
    base = buffer.base if buffer else 0
    owner, warp = owners(count * access.warps, count, access.warps)
    width = stated_width(access, buffer, op)
    return Pattern((offsets + base).reshape(-1, 32), active.reshape(-1, 32), width, warp, owner)


def from_offsets(access: AccessSpec, buffer: PlacedBuffer | None, op: Instruction, folder: Path) -> Pattern:
    assert access.offsets is not None
    rows, active = read_offsets(access.offsets, folder)
    names: dict[str, Any] = {"lane": np.arange(32)[None, :]}
    active = active & active_lanes(access, names, active.shape)
    if op.is_matrix:
        active = active & (np.arange(32) < 8 * op.matrices)
    base = buffer.base if buffer else 0
    zeros = np.zeros(len(rows), dtype=np.int64)
    return Pattern(rows + base, active, stated_width(access, buffer, op), zeros, zeros)


def owners(instructions: int, count: int, warps: int) -> tuple[IntArray, IntArray]:
    """Which iteration and which warp each instruction belongs to; instructions run (iteration, warp, rest)."""
    each = instructions // (count * warps)
    owner = np.repeat(np.arange(count), warps * each)
    return owner, np.tile(np.repeat(np.arange(warps), each), count)
