"""What is to be fixed: one buffer, and every access that reaches it through its layout, as rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...layouts import ComposeLayout, CuteLayout, Layout, SwizzledLayout, TileLayout
from ...layouts.linear_encodings import Encoding
from ...sim.chip import Chip
from ...sim.memory import parse_op
from ..buffers import PlacedBuffer, place_buffers
from ..errors import ScenarioError
from ..lower import lower
from ..skeleton import Skeleton, compact, row_levels, skeleton
from ..specs import AccessSpec, BufferSpec
from .family import Limits


@dataclass(frozen=True, slots=True)
class Pattern:
    """Warp instructions of one access on the skeleton: rows and byte columns (n, 32), masks, code, repetitions."""

    name: str
    code: int
    width: int
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    mask: NDArray[np.uint32]
    active: NDArray[np.bool_]
    repeat: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A buffer without padding and swizzle at one row level, and the accesses to it.

    `tight` is the layout that padding and swizzle are put on, `level` the elements of a row (0: rows cannot move).
    """

    name: str
    tight: Layout
    level: int
    base: Skeleton
    patterns: tuple[Pattern, ...]

    @property
    def keep(self) -> int:
        """Bytes of the chunks that the accesses and the elements need whole."""
        return max(self.base.buffer.itemsize, *(pattern.width for pattern in self.patterns))


def problems(
    name: str,
    spec: BufferSpec,
    accesses: list[AccessSpec],
    chip: Chip,
    folder: Path,
    limits: Limits,
) -> list[Problem]:
    """One problem a row level of the buffer's layout; raises `ScenarioError` when no access can be moved."""
    placed = place_buffers({name: _plain(spec)}, chip)[name]
    tight = compact(without_swizzle(placed.layout))
    buffer = _tight_buffer(placed, tight)
    moved = [access for access in accesses if access.buffer == name and _by_coordinates(access)]
    if not moved:
        raise ScenarioError(
            f"no access reaches '{name}' by coordinates (lanes or fragment); bytes and offsets ask no layout",
            key=f"buffers.{name}",
        )
    levels: list[int] = []
    if limits.padding and not limits.tma:
        rows = row_levels(tight)
        if spec.layout is None:  # pad: stands after the last dimension
            rows = tuple(level for level in rows if level == buffer.shape[-1])
        levels = [level for level in rows if level * buffer.bits % 8 == 0]
    if not levels and limits.tma and len(buffer.shape) > 1:
        levels = [level for level in row_levels(tight)[:1] if level * buffer.bits % 8 == 0]
    return [_problem(name, tight, level, buffer, moved, folder) for level in (levels or [0])]


def _problem(
    name: str,
    tight: Layout,
    level: int,
    buffer: PlacedBuffer,
    accesses: list[AccessSpec],
    folder: Path,
) -> Problem:
    base = skeleton(buffer, level)
    patterns: list[Pattern] = []
    for access in accesses:
        found = lower(access, {name: base.buffer}, folder)
        rows, columns = base.split(found.offsets)
        code = parse_op(found.op, found.width, found.variant).code
        patterns.append(
            Pattern(found.name, code, found.width, rows, columns, found.mask, found.active, found.repeat)
        )
    return Problem(name, tight, level, base, tuple(patterns))


def _by_coordinates(access: AccessSpec) -> bool:
    return access.lanes is not None or access.fragment is not None


def _plain(spec: BufferSpec) -> BufferSpec:
    return replace(spec, pad=0, swizzle="none", offset=0)


def without_swizzle(layout: Layout) -> Layout:
    """The layout below a swizzle that is written into it. Raises `ScenarioError` for an offset below the swizzle."""
    if isinstance(layout, Encoding) and layout.kind == "swizzled_shared":
        plain = {"vec": 1, "perPhase": 1, "maxPhase": 1}
        return Encoding(layout.kind, tuple((k, plain.get(k, v)) for k, v in layout.parameters), layout.tile)
    if isinstance(layout, ComposeLayout):
        return layout.tile_layout
    if isinstance(layout, SwizzledLayout):
        if layout.offset:
            raise ScenarioError("the layout has an offset under its swizzle; write the buffer without it")
        return layout.layout
    return layout


def _tight_buffer(placed: PlacedBuffer, tight: Layout) -> PlacedBuffer:
    grid = np.ogrid[tuple(slice(0, extent) for extent in placed.shape)]
    last = int(tight.evaluate(*grid, shape=placed.shape)["m"].max())
    footprint = ((last + 1) * placed.bits + 7) // 8
    return replace(placed, layout=tight, base=0, footprint=footprint)


def swizzle_is_sayable(layout: Layout) -> bool:
    """Whether the notation of a layout has a swizzle."""
    return isinstance(layout, TileLayout | CuteLayout) or layout.notation == "linear"
