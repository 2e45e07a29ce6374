"""Buffers of many points at once: how many bytes each takes, and what moves its addresses (padding, swizzle)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from ...layouts import CuteLayout, LayoutError, SwizzledLayout, TileLayout, parse, swizzle_bits
from ...layouts.swizzle import MODES
from ...sim.chip import Chip
from ..buffers import ALIGNMENT, PlacedBuffer, constant, place_buffers
from ..errors import ScenarioError
from ..model_access import Buffer
from ..skeleton import Skeleton, offsets_at, rescale, skeleton
from ..specs import BufferSpec
from .combine import combined
from .errors import Errors, first_problem
from .fields import Path, replaced
from .plan import Plan, Points

IntArray = NDArray[np.int64]
# Padding and swizzle move addresses by arithmetic; any other field of a buffer needs a lowering of its own.
MOVING = (("pad",), ("swizzle",))
MEMORY = 50_000


@dataclass(frozen=True)
class Still:
    """A buffer without padding and swizzle: what one lowering serves. `error` says why there is none."""

    spec: BufferSpec | None
    placed: PlacedBuffer | None
    skeleton: Skeleton | None
    error: str = ""
    key: tuple[Any, ...] = ()
    _swizzles: dict[str, tuple[int, int, int] | None] = field(default_factory=dict, compare=False)

    @cached_property
    def elements(self) -> tuple[IntArray, IntArray]:
        """(row, byte within the row) of every element, in the order of addresses."""
        assert self.skeleton is not None
        rows, columns = self.skeleton.split(self.skeleton.element_offsets())
        return rows.astype(np.int64), columns.astype(np.int64)

    @property
    def dense(self) -> bool:
        """Whether every byte up to the last holds an element."""
        assert self.placed is not None
        return self.placed.footprint == self.placed.valid

    @property
    def base(self) -> int:
        """The stated offset; 0 for a place behind other buffers, since those start at multiples of 1024 bytes."""
        return self.spec.offset or 0 if self.spec else 0

    def swizzle(self, text: Any) -> tuple[int, int, int] | None:
        """B, M, S in byte bits of a swizzle's text; None when only the ordinary way can judge it."""
        if not isinstance(text, str):
            return self._read_swizzle(text)
        if text not in self._swizzles:
            self._swizzles[text] = self._read_swizzle(text)
        return self._swizzles[text]

    def _read_swizzle(self, text: Any) -> tuple[int, int, int] | None:
        assert self.placed is not None
        if not isinstance(text, str) or not isinstance(self.placed.layout, TileLayout | CuteLayout):
            return (0, 0, 0) if text in ("none", None) else None
        lower = self.placed.bits.bit_length() - 4  # log2 of the bytes of an element
        spelled = text.replace("Swizzle<", "Sw<").replace(" ", "")
        try:
            if spelled.startswith("Sw<"):
                found = cast("SwizzledLayout", parse(f"{spelled} o 1:0")).swizzle
                bits, base, shift = found.bits, found.base, found.shift
            else:
                base, bits, shift = swizzle_bits(text, self.placed.bits)
        except LayoutError:
            return None
        if isinstance(self.placed.layout, TileLayout) and shift < bits:
            return None
        return (bits, base + lower, shift) if base + lower >= 0 or not bits else None


@dataclass(frozen=True, slots=True)
class Moved:
    """One buffer at every point: `stills[which]`, `pad` bytes and `swizzles[swizzle]`; its `footprint` in bytes.

    `slow` marks points that the ordinary way has to judge; `error` is a number of `Errors`, 0 for none.
    """

    stills: list[Still]
    which: IntArray
    pad: IntArray
    swizzles: list[Any]
    swizzle: IntArray
    footprint: IntArray
    valid: IntArray
    slow: NDArray[np.bool_]
    error: IntArray


class Places:
    """Evaluates buffers of points; what it has learnt about one it keeps for the next batch."""

    def __init__(self, plan: Plan, errors: Errors) -> None:
        self._plan = plan
        self._errors = errors
        self._data: Mapping[str, Any] = plan.data.get("buffers") or {}
        self._stills: dict[tuple[Any, ...], Still] = {}
        self._sizes: dict[tuple[Any, ...], tuple[int, int]] = {}

    @property
    def names(self) -> list[str]:
        """The buffers of the scenario."""
        return list(self._data)

    def forget(self) -> None:
        """Drops what was learnt when it has become much, so that memory stays bounded."""
        for memory in (self._stills, self._sizes):
            if len(memory) > MEMORY:
                memory.clear()

    def of(self, name: str, points: Points) -> Moved:
        """The buffer of that name at every point."""
        count = len(points)
        mine = {path: found for path, found in points.fields.items() if path[:2] == ("buffers", name)}
        still_paths = [path for path in mine if path[2:] not in MOVING]
        rows, which = combined([mine[path] for path in still_paths], count)
        stills = [self._still(name, dict(zip(still_paths, row, strict=True))) for row in rows]
        data = self._data[name] or {}
        pads, pad_at = mine.get(("buffers", name, "pad"), ([data.get("pad", 0)], np.zeros(count, np.int64)))
        texts, swizzle_at = mine.get(
            ("buffers", name, "swizzle"), ([data.get("swizzle", "none")], np.zeros(count, np.int64))
        )
        moved = Moved(
            stills,
            which,
            np.zeros(count, np.int64),
            texts,
            swizzle_at,
            np.zeros(count, np.int64),
            np.zeros(count, np.int64),
            np.zeros(count, np.bool_),
            np.zeros(count, np.int64),
        )
        numbers = np.array(
            [p if isinstance(p, int) and not isinstance(p, bool) and 0 <= p <= 1 << 20 else -1 for p in pads]
        )
        elements = numbers[pad_at]
        for index, still in enumerate(stills):
            at = np.flatnonzero(which == index)
            if not len(at):
                continue
            if still.error:
                moved.error[at] = self._errors.number(still.error)
                continue
            self._fill(still, moved, at, elements[at], texts)
        slow = np.flatnonzero(moved.slow)
        for point in slow.tolist():
            size, error = self._ordinary(name, points, point)
            moved.footprint[point], moved.error[point] = size, error
        return moved

    def _fill(self, still: Still, moved: Moved, at: IntArray, elements: IntArray, texts: list[Any]) -> None:
        """Footprints of the points `at` of one still buffer, by arithmetic where that is exact."""
        assert still.placed is not None
        assert still.skeleton is not None
        assert still.spec is not None
        bits, row = still.placed.bits, still.skeleton.row
        moved.valid[at] = still.placed.valid
        pad = elements * bits
        wrong = (elements < 0) | (pad % 8 != 0) | ((elements > 0) & (still.spec.layout is not None))
        moved.slow[at] = wrong
        pad = np.where(wrong | (row == 0), 0, pad // 8)
        moved.pad[at] = pad
        last_row = (still.placed.footprint - 1) // row if row else 0
        plain = still.placed.footprint + last_row * pad
        moved.footprint[at] = plain
        for number in np.unique(moved.swizzle[at]).tolist():
            mine = at[(moved.swizzle[at] == number) & ~wrong]
            triple = still.swizzle(texts[number])
            if triple is None:
                moved.slow[mine] = True
                continue
            if not triple[0] or not len(mine):
                continue
            top = 1 << (triple[0] + triple[1] + max(-triple[2], 0))
            size = moved.footprint[mine]
            if texts[number] in MODES:
                # A named mode permutes whole rows; the ordinary way says so where they do not fit.
                span = 1 << (triple[0] + triple[1])
                misfit = size % span != 0
                moved.slow[mine[misfit]] = True
                mine, size = mine[~misfit], size[~misfit]
            holes = mine[~((moved.pad[mine] == 0) & (size % top == 0) & still.dense)]
            if len(holes):
                pads, which = np.unique(moved.pad[holes], return_inverse=True)
                moved.footprint[holes] = _last_bytes(still, pads, triple)[which]

    def _still(self, name: str, values: dict[Path, Any]) -> Still:
        key = (name, *((path, repr(value)) for path, value in values.items()))
        if key not in self._stills:
            made = self._make_still(name, {path[2:]: value for path, value in values.items()})
            self._stills[key] = replace(made, key=key)
        return self._stills[key]

    def _make_still(self, name: str, values: dict[Path, Any]) -> Still:
        data = replaced(self._data[name], values)
        try:
            spec = Buffer.model_validate({**data, "pad": 0, "swizzle": "none"}).spec()
            alone = {name: replace(spec, offset=0)}
            placed = place_buffers(alone, None)[name]
        except ValidationError as error:
            return Still(None, None, None, f"buffers.{name}: {first_problem(error)}")
        except ScenarioError as error:
            return Still(None, None, None, f"{error.key}: {error.message}")
        level = placed.shape[-1] if spec.layout is None and len(placed.shape) > 1 else 0
        if level and (level * placed.bits % 8 or rescale(placed.layout, level, level) is None):
            level = 0
        return Still(spec, placed, skeleton(placed, level))

    def spec_at(self, name: str, points: Points, point: int) -> BufferSpec:
        """The buffer of one point as the ordinary way takes it. Raises `ScenarioError`."""
        values = {
            path[2:]: value for path, value in points.at(point).items() if path[:2] == ("buffers", name)
        }
        try:
            return Buffer.model_validate(replaced(self._data[name], values)).spec()
        except ValidationError as error:
            raise ScenarioError(first_problem(error), key=f"buffers.{name}") from None

    def _ordinary(self, name: str, points: Points, point: int) -> tuple[int, int]:
        """(footprint, number of the error) of one buffer of one point, placed alone."""
        values = points.at(point)
        key = (name, *((path, repr(v)) for path, v in values.items() if path[:2] == ("buffers", name)))
        if key not in self._sizes:
            try:
                spec = replace(self.spec_at(name, points, point), offset=0)
                placed = place_buffers({name: spec}, None)[name]
                self._sizes[key] = placed.footprint, 0
            except ScenarioError as error:
                self._sizes[key] = 0, self._errors.number(f"{error.key}: {error.message}")
        return self._sizes[key]

    @property
    def shared(self) -> bool:
        """Whether the buffers lie in the shared memory of a block, so that its size limits them."""
        return all((data or {}).get("space", "shared") == "shared" for data in self._data.values())

    def together(
        self,
        points: Points,
        moved: Mapping[str, Moved],
        chips: list[Chip | None],
        chip_at: IntArray,
        judged: NDArray[np.bool_],
    ) -> IntArray:
        """Number of the error of each point whose buffers do not fit together: capacity, and overlap."""
        found = np.zeros(len(points), np.int64)
        end = np.zeros(len(points), np.int64)
        stated = np.zeros(len(points), np.bool_)
        for buffer in moved.values():
            offset = np.array(
                [-1 if s.spec is None or s.spec.offset is None else s.spec.offset for s in buffer.stills]
            )
            stated |= offset[buffer.which] >= 0
            base = np.where(offset[buffer.which] >= 0, offset[buffer.which], -(-end // ALIGNMENT) * ALIGNMENT)
            end = np.maximum(end, base + buffer.footprint)
        limits = np.array([_limit(chip) for chip in chips])
        suspicious = ((end > limits[chip_at]) | (stated & (len(moved) > 1))) & judged
        for point in np.flatnonzero(suspicious).tolist():
            chip = chips[chip_at[point]]
            assert chip is not None
            key = (
                chip.name,
                limits[chip_at[point]],
                *((path, repr(v)) for path, v in points.at(point).items() if path[0] == "buffers"),
            )
            if key not in self._sizes:
                try:
                    specs = {name: self.spec_at(name, points, point) for name in moved}
                    place_buffers(specs, chip)
                    self._sizes[key] = 0, 0
                except ScenarioError as error:
                    self._sizes[key] = 0, self._errors.number(f"{error.key}: {error.message}")
            found[point] = self._sizes[key][1]
        return found


def _last_bytes(still: Still, pads: IntArray, triple: tuple[int, int, int]) -> IntArray:
    """(k,) bytes up to the last element of a swizzled buffer with holes, for k paddings.

    Address bits from `top` on never change, so the last byte comes from the elements with the largest upper part,
    which lie in the last rows.
    """
    assert still.skeleton is not None
    assert still.placed is not None
    rows, columns = still.elements
    pitch = still.skeleton.row + pads
    top = triple[0] + triple[1] + max(-triple[2], 0)
    if still.skeleton.row:
        near = rows >= rows[-1] - (1 << top) // int(pitch.min()) - 1
        rows, columns = rows[near], columns[near]
    found = np.empty(len(pads), np.int64)
    step = max((1 << 20) // len(rows), 1)
    for start in range(0, len(pads), step):
        part = slice(start, start + step)
        plain = rows * pitch[part, None] + columns
        upper = plain >> top
        swizzle = np.array([triple], np.int32)
        moved = offsets_at(
            np.zeros_like(plain, np.int32), plain.astype(np.int32), np.zeros(1, np.int32), swizzle
        )[0]
        found[part] = np.where(upper == upper.max(axis=1, keepdims=True), moved, -1).max(axis=1)
    return found + still.placed.itemsize


def _limit(chip: Chip | None) -> int:
    return (constant(chip, "shared_memory.max_bytes_per_block") if chip else None) or 1 << 60
