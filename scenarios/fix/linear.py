"""Layouts of a whole power-of-two tile as bases: the notation that can say every exclusive or."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from ...layouts import Layout, parse
from ..skeleton import offsets_at
from .problem import Problem

IntArray = NDArray[np.int64]


def is_linear(problem: Problem) -> bool:
    """Whether the tile fills a power of two of bytes and lies in it by exclusive ors of its coordinate bits."""
    return linear_text(problem, (0, 0, 0)) is not None


def places(problem: Problem, swizzle: tuple[int, int, int]) -> IntArray:
    """Element offset of every element of the tile, row-major, under a swizzle in byte bits (no padding)."""
    buffer = problem.base.buffer
    grid = np.ogrid[tuple(slice(0, extent) for extent in buffer.shape)]
    found = problem.tight.evaluate(*grid, shape=buffer.shape)["m"]
    plain = np.broadcast_to(found, buffer.shape).ravel().astype(np.int32)
    # Counted in elements: the byte bits of the swizzle move down by those within an element.
    lower = buffer.bits.bit_length() - 4
    bits, base, shift = swizzle
    moved = (
        (-(-bits >> lower) if lower >= 0 else bits << -lower, 0, shift)
        if bits < 0
        else (bits, base - lower, shift)
    )
    table = np.array([moved if bits else swizzle], np.int32)
    zeros = np.zeros_like(plain)
    return offsets_at(zeros, plain, np.zeros(1, np.int32), table)[0].astype(np.int64)


def linear_text(problem: Problem, swizzle: tuple[int, int, int]) -> str | None:
    """`linear(offset=[...], shape=[...])` of the tile under a swizzle; None where the tile is not linear."""
    shape = problem.base.buffer.shape
    if any(extent & (extent - 1) for extent in shape):
        return None
    offsets = places(problem, swizzle)
    if not np.array_equal(np.sort(offsets), np.arange(len(offsets))):
        return None
    where = np.argsort(offsets)
    steps = [where[1 << bit] for bit in range(len(offsets).bit_length() - 1)]
    bases = [[int(x) for x in np.unravel_index(step, shape)] for step in steps]
    shown = ",".join(f"[{','.join(map(str, basis))}]" for basis in bases)
    text = f"linear(offset=[{shown}], shape=[{','.join(map(str, shape))}])"
    return text if np.array_equal(_offsets(parse(text), shape), offsets) else None


def swizzled_shared_text(problem: Problem, swizzle: tuple[int, int, int]) -> str | None:
    """Triton's `swizzled_shared(...)` that places the tile like this, None where there is none."""
    shape = problem.base.buffer.shape
    if len(shape) != 2:
        return None
    offsets = places(problem, swizzle)
    powers = [1 << bit for bit in range(8)]
    for order, phase, rows, vec in product(("[1,0]", "[0,1]"), powers, powers, powers):
        inner = shape[1] if order == "[1,0]" else shape[0]
        if vec * phase > inner or (phase == 1 and (rows > 1 or vec > 1)):
            continue
        size = f"shape=[{shape[0]},{shape[1]}]"
        text = f"swizzled_shared(vec={vec}, perPhase={rows}, maxPhase={phase}, order={order}, {size})"
        if np.array_equal(_offsets(parse(text), shape), offsets):
            return text
    return None


def _offsets(layout: Layout, shape: tuple[int, ...]) -> IntArray:
    grid = np.ogrid[tuple(slice(0, extent) for extent in shape)]
    return np.broadcast_to(layout.evaluate(*grid, shape=shape)["m"], shape).ravel()
