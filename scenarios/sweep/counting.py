"""Accesses of many points at once: lowered once for all paddings and swizzles, counted in one call a chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from ...sim.chip import ChipError
from ...sim.memory import AccessError, Trace, count_trace, parse_op
from ..buffers import PlacedBuffer, place_buffers
from ..errors import ScenarioError
from ..instruction import instruction_of
from ..lower import lower
from ..lowered import LoweredAccess
from ..model_access import Access
from ..part import STATUSES
from ..skeleton import offsets_at
from ..specs import AccessSpec
from .chips import Variant
from .combine import combined
from .errors import Errors, first_problem
from .fields import replaced
from .patterns import Pattern, pattern_of
from .places import MEMORY, Moved, Places
from .plan import Plan, Points

IntArray = NDArray[np.int64]
SUMS = ("wavefronts", "ideal_wavefronts", "bank_conflicts", "instructions")
_ROWS = 1 << 16  # accesses counted in one call: their columns stay in the cache
_UNKNOWN = STATUSES.index("unknown")


@dataclass(frozen=True, slots=True)
class _Lowered:
    """An access with all its still fields: its pattern, or the ordinary way only, or an error."""

    spec: AccessSpec | None
    pattern: Pattern | None
    error: str = ""


class Totals:
    """Sums over the accesses of every point while they are added up; arrays of length n."""

    def __init__(self, count: int) -> None:
        self.sums = {name: np.zeros(count, np.int64) for name in SUMS}
        self.ways = np.zeros(count, np.int64)
        self.status = np.zeros(count, np.int64)
        self.error = np.zeros(count, np.int64)

    def add(self, at: IntArray, found: Mapping[str, IntArray], ways: IntArray, status: IntArray) -> None:
        """Adds the counts of one access of the points `at`."""
        for name, values in found.items():
            self.sums[name][at] += values
        self.ways[at] = np.maximum(self.ways[at], ways)
        self.status[at] = np.maximum(self.status[at], status)

    def fail(self, at: IntArray, number: int) -> None:
        """Gives the points their error, where they have none yet."""
        free = at[self.error[at] == 0]
        self.error[free] = number


class Counting:
    """Counts the accesses of points; lowered accesses are kept for the next batch."""

    def __init__(self, plan: Plan, places: Places, errors: Errors) -> None:
        self._plan, self._places, self._errors = plan, places, errors
        self._data: list[Any] = list(plan.data.get("accesses") or [])
        self._lowered: dict[tuple[Any, ...], _Lowered] = {}
        self._ordinary_found: dict[tuple[Any, ...], tuple[IntArray, int, int] | int] = {}
        self._folder = File(plan.file).parent if File(plan.file).exists() else File()

    def forget(self) -> None:
        """Drops what was learnt when it has become much, so that memory stays bounded."""
        for memory in (self._lowered, self._ordinary_found):
            if len(memory) > MEMORY:
                memory.clear()

    @property
    def any(self) -> bool:
        """Whether the scenario has accesses."""
        return bool(self._data)

    def count(
        self,
        points: Points,
        moved: Mapping[str, Moved],
        variants: list[Variant],
        chip_at: IntArray,
        totals: Totals,
    ) -> None:
        """Adds the counts of all accesses of all points to `totals`."""
        for number in range(len(self._data)):
            mine = [path for path in points.fields if path[:2] == ("accesses", number)]
            rows, which = combined([points.fields[path] for path in mine], len(points))
            for index, row in enumerate(rows):
                values = {path[2:]: value for path, value in zip(mine, row, strict=True)}
                data = replaced(self._data[number], values) if values else self._data[number]
                at = np.flatnonzero((which == index) & (totals.error == 0))
                name = data.get("buffer") if isinstance(data, dict) else None
                if name is not None and name in moved:
                    buffer = moved[name]
                    for still in range(len(buffer.stills)):
                        some = at[buffer.which[at] == still]
                        if len(some):
                            key = (number, tuple(map(repr, row)), name, buffer.stills[still].key)
                            lowered = self._lower(key, number, data, name, buffer, still)
                            self._moved(
                                lowered, number, name, buffer, some, points, variants, chip_at, totals
                            )
                elif len(at):
                    lowered = self._lower((number, tuple(map(repr, row))), number, data, None, None, 0)
                    self._moved(lowered, number, None, None, at, points, variants, chip_at, totals)

    def _lower(
        self, key: tuple[Any, ...], number: int, data: Any, name: str | None, buffer: Moved | None, still: int
    ) -> _Lowered:
        if key in self._lowered:
            return self._lowered[key]
        try:
            spec = Access.model_validate(data).spec()
        except ValidationError as error:
            found = _Lowered(None, None, f"accesses[{number}].{first_problem(error)}")
        else:
            try:
                found = _Lowered(spec, self._pattern(spec, name, buffer, still))
            except ScenarioError as error:
                # The frame may be refused where the real layout is not (offsets behind its end); ask it then.
                found = _Lowered(spec, None) if buffer else _Lowered(spec, None, _said(number, error))
        self._lowered[key] = found
        return found

    def _pattern(
        self, spec: AccessSpec, name: str | None, buffer: Moved | None, still: int
    ) -> Pattern | None:
        if buffer is None or name is None:
            return _unmoved(lower(spec, {}, self._folder))
        if spec.bytes is not None or spec.offsets is not None:
            return None  # the layout does not move them, but its size limits them: the ordinary way
        held = buffer.stills[still]
        if held.skeleton is None:
            return None
        found = lower(spec, {name: held.skeleton.buffer}, self._folder)
        stated = spec.width is not None or instruction_of(spec).width is not None
        return pattern_of(spec, found, held.skeleton, held.base, stated)

    def _moved(
        self,
        lowered: _Lowered,
        number: int,
        name: str | None,
        buffer: Moved | None,
        at: IntArray,
        points: Points,
        variants: list[Variant],
        chip_at: IntArray,
        totals: Totals,
    ) -> None:
        """Counts one access of the points `at`, which differ in padding, swizzle and chip only."""
        if lowered.error:
            totals.fail(at, self._errors.number(lowered.error))
            return
        pattern = lowered.pattern
        if buffer is None or pattern is None:
            slow = np.full(len(at), pattern is None)
            pad, triples, swizzle = np.zeros(len(at), np.int64), [(0, 0, 0)], np.zeros(len(at), np.int64)
        else:
            still = buffer.stills[int(buffer.which[at[0]])]
            slow = buffer.slow[at].copy()
            pad, swizzle = buffer.pad[at], buffer.swizzle[at]
            triples = [still.swizzle(text) or (0, 0, 0) for text in buffer.swizzles]
        if pattern is not None and not slow.all():
            fast = np.flatnonzero(~slow)
            row = 0 if buffer is None else still.skeleton.row if still.skeleton else 0  # type: ignore[union-attr]
            codes = pad[fast] * len(triples) + swizzle[fast]
            different, combo = np.unique(codes, return_inverse=True)
            pitch = (different // len(triples) + row).astype(np.int32)
            table = np.array(triples, np.int32).reshape(-1, 3)[different % len(triples)]
            width = pattern.widths(pitch.astype(np.int64))
            hard = (table[:, 0] > 0) & ((1 << table[:, 1].astype(np.int64)) < width)
            hard |= ((width < pattern.width) & pattern.fixed) | (width < pattern.least)
            hard |= (width == pattern.width) & pattern.may_join(pitch, table)
            slow[fast[hard[combo]]] = True
            for size in np.unique(width[~hard]).tolist():
                chosen = np.flatnonzero((width == size) & ~hard)
                place = np.full(len(different), -1)
                place[chosen] = np.arange(len(chosen))
                mine = fast[place[combo] >= 0]
                self._count(
                    pattern,
                    int(size),
                    pitch[chosen],
                    table[chosen],
                    at[mine],
                    place[combo][place[combo] >= 0],
                    variants,
                    chip_at,
                    totals,
                )
        for point in at[slow].tolist():
            self._ordinary(lowered, number, name, points, point, variants, int(chip_at[point]), totals)

    def _count(
        self,
        pattern: Pattern,
        width: int,
        pitch: NDArray[np.int32],
        table: NDArray[np.int32],
        at: IntArray,
        combo: IntArray,
        variants: list[Variant],
        chip_at: IntArray,
        totals: Totals,
    ) -> None:
        """Counts the layouts (pitch, swizzle) on every chip, and adds `combo` of them to the points `at`."""
        rows, columns, mask = pattern.pieces(width)
        code, size = pattern.code(width), len(rows)
        chips = np.unique(chip_at[at]).tolist()
        known: dict[int, int] = {}
        for chip in chips:
            status, error = variants[chip].status(code)
            if error:
                totals.fail(at[chip_at[at] == chip], self._errors.number(error))
            else:
                known[chip] = status
        shape = (len(pitch), len(known))
        found = {name: np.zeros(shape, np.int64) for name in SUMS}
        found["instructions"][:] = size * pattern.repeat
        ways = np.zeros(shape, np.int64)
        step = max(_ROWS // size, 1)
        kinds, masks = np.full(step * size, code, np.uint8), np.tile(mask, step)
        for start in range(0, len(pitch), step):
            part = slice(start, min(start + step, len(pitch)))
            offsets = offsets_at(rows, columns, pitch[part], table[part])
            if pattern.base:
                offsets += np.int32(pattern.base)
            count = len(offsets)
            trace = Trace(kinds[: count * size], offsets.reshape(-1, 32), masks[: count * size])
            for column, chip in enumerate(known):
                variant = variants[chip].chip
                assert variant is not None
                counts = count_trace(trace, variant)
                for name in SUMS[:3]:
                    summed = getattr(counts, name).reshape(count, size).sum(axis=1, dtype=np.int64)
                    found[name][part, column] = summed * pattern.repeat
                ways[part, column] = counts.worst_ways.reshape(count, size).max(axis=1)
        for column, (chip, status) in enumerate(known.items()):
            mine = chip_at[at] == chip
            which = combo[mine]
            clear = 0 if status == _UNKNOWN else 1
            totals.add(
                at[mine],
                {
                    name: values[which, column] * (clear if name != "instructions" else 1)
                    for name, values in found.items()
                },
                ways[which, column] * clear,
                np.full(int(mine.sum()), status),
            )

    def _ordinary(
        self,
        lowered: _Lowered,
        number: int,
        name: str | None,
        points: Points,
        point: int,
        variants: list[Variant],
        chip: int,
        totals: Totals,
    ) -> None:
        """One access of one point as `bankbench run` counts it; equal ones are remembered."""
        values = points.at(point)
        mine = tuple(
            (path, repr(value))
            for path, value in values.items()
            if path[:2] in (("accesses", number), ("buffers", name))
        )
        variant = variants[chip].chip
        assert variant is not None
        assert lowered.spec is not None
        key = (number, mine, variant.name, variant.overrides)
        if key not in self._ordinary_found:
            try:
                buffers: dict[str, PlacedBuffer] = {}
                if name is not None:
                    spec = self._places.spec_at(name, points, point)
                    buffers = place_buffers({name: spec}, None)
                found = lower(lowered.spec, buffers, self._folder)
                kind = parse_op(found.op, found.width, found.variant)
                counts = count_trace(Trace.of(found.offsets, op=kind, mask=found.active), variant)
                status = STATUSES.index(counts.status)
                clear = int(status != _UNKNOWN) * found.repeat
                sums = [int(getattr(counts, column).sum(dtype=np.int64)) * clear for column in SUMS[:3]]
                row = np.array([*sums, len(found) * found.repeat], np.int64)
                self._ordinary_found[key] = row, int(counts.worst_ways.max()) * bool(clear), status
            except ScenarioError as error:
                self._ordinary_found[key] = self._errors.number(_said(number, error))
            except (AccessError, ChipError) as error:
                self._ordinary_found[key] = self._errors.number(str(error))
        result = self._ordinary_found[key]
        at = np.array([point])
        if isinstance(result, int):
            totals.fail(at, result)
        else:
            row, ways, status = result
            sums_at = {column: row[i : i + 1] for i, column in enumerate(SUMS)}
            totals.add(at, sums_at, np.array([ways]), np.array([status]))


def _unmoved(found: LoweredAccess) -> Pattern:
    """An access of plain byte offsets as a pattern of one row, whose width is stated."""
    columns = found.offsets.astype(np.int32)
    return Pattern(
        op=found.op,
        variant=found.variant,
        width=found.width,
        fixed=True,
        rows=np.zeros_like(columns),
        columns=columns,
        active=found.active,
        mask=found.mask,
        pairs=None,
        odd=True,
        base=0,
        repeat=found.repeat,
        least=found.width,
    )


def _said(number: int, error: ScenarioError) -> str:
    key = f"accesses[{number}].{error.key}" if error.key else f"accesses[{number}]"
    return f"{key}: {error.message}"


__all__ = ["SUMS", "Counting", "Totals"]
