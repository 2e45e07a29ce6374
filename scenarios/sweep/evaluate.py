"""One batch of points from their numbers to a table of results; the same on every worker, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..part import STATUSES
from . import arrow
from .chips import Chips
from .counting import SUMS, Counting, Totals
from .errors import Errors
from .others import Others
from .places import Places
from .plan import Plan, Points, points_of
from .values import condition

if TYPE_CHECKING:
    import pyarrow as pa

_UNKNOWN = STATUSES.index("unknown")


@dataclass(frozen=True, slots=True)
class _Texts:
    """A column of texts: the different ones, and which one each row has."""

    texts: Sequence[str]
    which: NDArray[np.int64]

    def __getitem__(self, row: int) -> str:
        return self.texts[int(self.which[row])]


class Session:
    """Evaluates batches of one plan; what it learns about buffers, accesses and chips serves the next batch."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.errors = Errors()
        self.chips = Chips(plan)
        self.places = Places(plan, self.errors)
        self.counting = Counting(plan, self.places, self.errors)
        self.others = Others(plan, self.errors)

    def batch(self, number: int) -> pa.Table:
        """The results of one batch as an Arrow table, one row a point, in the order of the points."""
        self.places.forget()
        self.counting.forget()
        return self.table(*self.plan.span(number))

    def table(self, start: int, stop: int) -> pa.Table:
        """The results of the points from `start` to `stop`."""
        points = points_of(self.plan, start, stop)
        columns, good = self.results(points)
        return _filter(self._arrow(points, columns, good), self.plan, points, columns)

    def results(self, points: Points) -> tuple[dict[str, Any], dict[str, Any]]:
        """(column -> values, column -> where they are valid) of the results of some points."""
        count = len(points)
        variants, chip_at = self.chips.of(points)
        totals = Totals(count)
        for number, variant in enumerate(variants):
            if variant.error:
                totals.fail(np.flatnonzero(chip_at == number), self.errors.number(variant.error))
        moved = {name: self.places.of(name, points) for name in self.places.names}
        size = np.zeros(count, np.int64)
        for buffer in moved.values():
            _fail_each(totals, buffer.error)
            size += buffer.footprint
        if moved and self.places.shared:
            chips = [variant.chip for variant in variants]
            _fail_each(totals, self.places.together(points, moved, chips, chip_at, totals.error == 0))
        self.counting.count(points, moved, variants, chip_at, totals)
        extra, status = self.others.totals(points, variants, chip_at, totals)
        fine = totals.error == 0
        known = fine & (totals.status != _UNKNOWN)
        columns: dict[str, Any] = {}
        good: dict[str, Any] = {}
        if self.counting.any:
            columns |= {name: totals.sums[name] for name in SUMS[:3]}
            columns["excess_wavefronts"] = columns["wavefronts"] - columns["ideal_wavefronts"]
            columns["worst_ways"] = totals.ways
            good |= dict.fromkeys(columns, known)
            columns["instructions"], good["instructions"] = totals.sums["instructions"], fine
        if moved:
            columns["bytes"], good["bytes"] = size, fine
        for name, values in extra.items():
            columns[name], good[name] = values, fine & ~np.isnan(values)
        columns["status"], good["status"] = _Texts(STATUSES, np.maximum(totals.status, status)), fine
        numbers, which = np.unique(totals.error, return_inverse=True)
        columns["error"] = _Texts([self.errors.text(n) for n in numbers.tolist()], which.reshape(-1))
        good["error"] = ~fine
        return columns, good

    def _arrow(self, points: Points, columns: dict[str, Any], good: dict[str, Any]) -> pa.Table:
        import pyarrow as pa

        arrays: dict[str, Any] = {"point": arrow.numbers(points.index)}
        for text, (values, which) in points.values.items():
            arrays[self.plan.names[text]] = _taken(values, which)
        for name, values in columns.items():
            if isinstance(values, _Texts):
                arrays[name] = arrow.texts(values.texts, values.which, good[name])
            else:
                arrays[name] = arrow.numbers(values, good[name])
        return pa.table(arrays)


def _fail_each(totals: Totals, errors: Any) -> None:
    for number in np.unique(errors[errors > 0]).tolist():
        totals.fail(np.flatnonzero(errors == number), number)


def _taken(values: list[Any], which: Any) -> Any:
    """A parameter's column: whole numbers, fractions or texts; lists as text."""
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return arrow.numbers(np.asarray(values, np.int64)[which])
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return arrow.numbers(np.asarray(values, np.float64)[which])
    words = ["x".join(map(str, v)) if isinstance(v, list) else "" if v is None else str(v) for v in values]
    return arrow.texts(words, which)


def _filter(table: pa.Table, plan: Plan, points: Points, columns: dict[str, Any]) -> pa.Table:
    """Rows that meet the constraints on results; a failed point stays, with its error."""
    late = plan.result_conditions()
    if not late:
        return table
    names = dict(points.names)
    for name, values in columns.items():
        if not isinstance(values, _Texts):
            names[name] = np.nan_to_num(values).astype(np.int64)
    keep = np.ones(len(points), np.bool_)
    for text in late:
        keep &= np.broadcast_to(condition(text, names, plan.texts), (len(points),))
    failed = np.array([bool(text) for text in columns["error"].texts], np.bool_)[columns["error"].which]
    return table.filter(arrow.flags(keep | failed))
