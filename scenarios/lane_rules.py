"""What the lanes of an access may do: which are active, the names in their expressions, and the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .buffers import PlacedBuffer
from .errors import Place, ScenarioError
from .expressions import evaluate
from .instruction import Instruction
from .specs import AccessSpec

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
_MAX_LANES = 1 << 26


def active_lanes(access: AccessSpec, names: Mapping[str, Any], shape: tuple[int, ...]) -> BoolArray:
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


def expression_names(loops: Mapping[str, IntArray], warps: int) -> dict[str, Any]:
    """Expression names with the shape (iterations, warps, lanes) in mind."""
    names: dict[str, Any] = {key: values[:, None, None] for key, values in loops.items()}
    return {**names, "warp": np.arange(warps)[None, :, None], "lane": np.arange(32)[None, None, :]}


def check_size(count: int, warps: int, elements: int) -> None:
    if count * warps * 32 * elements > _MAX_LANES:
        raise ScenarioError(
            f"{count} iterations of {warps} warps with {elements} elements a lane; at most {_MAX_LANES} lane "
            "accesses fit in one scenario"
        )


def asked_width(access: AccessSpec, op: Instruction) -> int | None:
    if access.width is not None and op.width is not None and access.width != op.width:
        raise ScenarioError(
            f"{access.width} bytes, but {access.instruction or access.op} moves {op.width}", key="width"
        )
    return access.width or op.width


def stated_width(access: AccessSpec, buffer: PlacedBuffer | None, op: Instruction) -> int:
    width = 16 if op.is_matrix else asked_width(access, op)
    if width is None and buffer is not None:
        width = buffer.itemsize
    if width is None:
        raise ScenarioError(
            "byte offsets need a width; write width: 4, name the instruction (with: lds.128), or name a buffer",
            key="width",
        )
    return width


def check_coordinates(coords: list[IntArray], active: BoolArray, buffer: PlacedBuffer) -> None:
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


def check_range(offsets: IntArray, active: BoolArray, width: int, buffer: PlacedBuffer | None) -> None:
    low, high = (0, 1 << 40) if buffer is None else (buffer.base, buffer.base + buffer.footprint)
    outside = ((offsets < low) | (offsets + width > high)) & active
    if outside.any():
        i, lane = (int(x[0]) for x in np.nonzero(outside))
        at = int(offsets[i, lane]) - low
        where = (
            f"buffer '{buffer.name}' has bytes 0 to {buffer.footprint - 1}"
            if buffer
            else "offsets lie between 0 and 2**40"
        )
        raise ScenarioError(f"lane {lane} touches bytes {at} to {at + width - 1}; {where}")
    skewed = (offsets % width != 0) & active
    if skewed.any():
        i, lane = (int(x[0]) for x in np.nonzero(skewed))
        raise ScenarioError(
            f"lane {lane} starts at byte {int(offsets[i, lane])}, misaligned: "
            f"a {width}-byte access starts at a multiple of {width}"
        )
