"""Descriptors and boxes against the layout of the buffer; the error names the first element that lies elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..sim.hopper import first_difference, operand_descriptor
from ..sim.tmem import TmaBox, TmemError, swizzle_mode
from .buffers import PlacedBuffer
from .errors import ScenarioError
from .expressions import evaluate, evaluate_vector
from .hopper_model import Operand, TmaStep

__all__ = ["buffer_of", "check_box", "check_operand", "place_of", "stage_of"]

_K_BYTES = 32
_CORE = 16


def buffer_of(name: str, buffers: Mapping[str, PlacedBuffer]) -> PlacedBuffer:
    """The buffer of a name."""
    if name not in buffers:
        raise ScenarioError(f"no buffer {name!r} (buffers: {', '.join(buffers) or 'none'})", key="buffer")
    return buffers[name]


def place_of(at: str | list[int], buffer: PlacedBuffer, names: Mapping[str, int]) -> tuple[int, ...]:
    """The coordinates of a place. Raises ScenarioError when they do not lie in the buffer."""
    found = at if isinstance(at, list) else [int(value) for value in evaluate_vector(at, names)]
    if len(found) != len(buffer.shape):
        raise ScenarioError(
            f"{len(found)} coordinates for buffer '{buffer.name}' of {len(buffer.shape)} dimensions", key="at"
        )
    for number, (value, extent) in enumerate(zip(found, buffer.shape, strict=True)):
        if not 0 <= value < extent:
            raise ScenarioError(
                f"coordinate {number} is {value}; buffer '{buffer.name}' has {extent} there", key="at"
            )
    return tuple(found)


def stage_of(stage: int | str, names: Mapping[str, int]) -> int:
    """The number of a stage."""
    return stage if isinstance(stage, int) else int(evaluate(stage, names))


def _addresses(
    buffer: PlacedBuffer, at: tuple[int, ...], box: tuple[int, ...], key: str
) -> NDArray[np.int64]:
    """Byte addresses of the elements of a box, of the shape of the box."""
    for number, (first, size, extent) in enumerate(zip(at, box, buffer.shape, strict=True)):
        if first + size > extent:
            raise ScenarioError(
                f"elements {first} to {first + size - 1} of dimension {number}; "
                f"buffer '{buffer.name}' has {extent}",
                key=key,
            )
    grid = np.ogrid[tuple(slice(first, first + size) for first, size in zip(at, box, strict=True))]
    return np.broadcast_to(buffer.addresses(*grid), box)


def check_operand(operand: Operand, buffer: PlacedBuffer, at: tuple[int, ...], rows: int, k: int) -> int:
    """Compares an operand's descriptor with the buffer; returns the byte at which it starts.

    The last two dimensions of the buffer are (M or N, K), or (K, M or N) for MN-major operands. `k` instructions of 32
    bytes of K are covered. Raises ScenarioError with the first element that lies elsewhere.
    """
    element = buffer.itemsize
    along = k * _K_BYTES // element
    tile = (rows, along) if operand.major == "K" else (along, rows)
    box = (1,) * (len(buffer.shape) - 2) + tile
    ours = _addresses(buffer, at, box, "at").reshape(tile)
    ours = ours if operand.major == "K" else ours.T
    width = {"none": 16, "32B": 32, "64B": 64, "128B": 128}[operand.swizzle]
    # one descriptor reaches as far along K as a swizzled row; each further one starts anew
    step = along if operand.major == "MN" or operand.swizzle == "none" else max(width // element, 1)
    start = int(ours[0, 0])
    for first in range(0, along, step):
        part = ours[:, first : first + step]
        begin = int(part[0, 0])
        if begin % _CORE:
            raise ScenarioError(
                f"the operand starts at byte {begin} of shared memory; a multiple of {_CORE} is needed",
                key="at",
            )
        try:
            item = operand_descriptor(
                begin, operand.major, operand.swizzle, element, rows, operand.lbo, operand.sbo
            )
            wrong = first_difference(part, item, element, operand.major)
        except TmemError as error:
            raise ScenarioError(str(error), key="swizzle") from None
        if wrong is not None:
            mn, column, here, there, number = wrong
            raise ScenarioError(
                f"the descriptor (swizzle {operand.swizzle}, {operand.major}-major, LBO {item.lbo}, SBO {item.sbo}) "
                f"does not describe buffer '{operand.buffer}': element (mn {mn}, k {first + column}) lies at byte "
                f"{here}, the descriptor reads byte {there}; {number} of {part.size} elements differ",
                key="swizzle",
            )
    return start


def check_box(step: TmaStep, buffer: PlacedBuffer, at: tuple[int, ...], swizzle: str) -> tuple[int, int, int]:
    """Compares a TMA box with the buffer; returns (first byte, rows, bytes a row), rows 0 for a bulk copy.

    Raises ScenarioError for a box that the hardware refuses, and with the first element that lies elsewhere.
    """
    box = (1,) * (len(buffer.shape) - len(step.box)) + tuple(step.box)
    if len(step.box) > len(buffer.shape):
        raise ScenarioError(
            f"a box of {len(step.box)} dimensions in a buffer of {len(buffer.shape)}", key="box"
        )
    if step.interleave != "none":
        raise ScenarioError(
            "where an interleaved box puts its elements is not modelled; describe the copy without",
            key="interleave",
        )
    ours = _addresses(buffer, at, box, "box")
    row_bytes = step.box[-1] * buffer.bits // 8
    problems = TmaBox(swizzle.upper(), step.interleave.upper(), row_bytes, tuple(reversed(step.box))).problems
    if problems and len(step.box) > 1:
        raise ScenarioError(problems[0], key="box")
    mode = swizzle_mode(swizzle.upper())
    flat = ours.reshape(-1, step.box[-1])
    # the tensor map writes rows one behind the other and swizzles addresses, whatever the buffer's layout is
    base = int(mode.evaluate(np.array(int(flat[0, 0]))))
    logical = base + row_bytes * np.arange(flat.shape[0])[:, None]
    logical = logical + (np.arange(step.box[-1]) * buffer.bits // 8)[None, :]
    theirs = mode.evaluate(logical)
    start = int(logical[0, 0])
    alignment = 128 if len(step.box) > 1 else 16
    if start % alignment:
        raise ScenarioError(
            f"the copy's place in shared memory, byte {start}, is no multiple of {alignment}", key="at"
        )
    wrong = flat != theirs
    if wrong.any():
        row, column = divmod(int(np.argmax(wrong.ravel())), flat.shape[1])
        where = np.unravel_index(row * flat.shape[1] + column, box)
        element = [int(first + offset) for first, offset in zip(at, where, strict=True)]
        raise ScenarioError(
            f"the box with swizzle {swizzle} does not fill buffer '{buffer.name}' as its layout says: element "
            f"{element} lies at byte {int(flat[row, column])}, the copy puts it at byte {int(theirs[row, column])}; "
            f"{int(wrong.sum())} of {flat.size} elements differ",
            key="swizzle",
        )
    rows = math.prod(step.box[:-1])
    return start, (rows if len(step.box) > 1 else 0), row_bytes
