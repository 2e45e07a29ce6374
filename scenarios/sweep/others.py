"""Results that need more than counting: totals of other sections (time, tensor memory, Ascend), point by point."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ScenarioError
from ..part import STATUSES, Part
from .chips import Variant
from .counting import Totals
from .errors import Errors
from .fields import replaced
from .plan import COUNTED, Plan, Points
from .values import used_names

if TYPE_CHECKING:
    from ..load import LoadedScenario
    from ..sections import Section

_MOST_ROWS = 64


class Others:
    """Evaluates the other sections of a scenario for every point, where an objective or constraint asks for them."""

    def __init__(self, plan: Plan, errors: Errors) -> None:
        self._plan, self._errors = plan, errors
        named = [name for name, _ in plan.goals]
        named += [name for text in plan.where for name in used_names(text) if name not in plan.aliases]
        self.wanted = [name for name in dict.fromkeys(named) if name not in COUNTED]

    @cached_property
    def sections(self) -> list[Section]:
        """The sections of the scenario besides its accesses."""
        # Not at the top: the whole scenario model comes with it, and sweeps that only count start without.
        from ..sections import SECTIONS

        return [s for s in SECTIONS if s.field != "accesses" and self._plan.data.get(s.field)]

    def totals(
        self, points: Points, variants: list[Variant], chip_at: NDArray[np.int64], totals: Totals
    ) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
        """(name -> (n,) totals, nan where there is none; (n,) number of the status) of the points without an error."""
        count = len(points)
        found = {name: np.full(count, np.nan) for name in self._plan.totals}
        status = np.zeros(count, np.int64)
        if not self._plan.totals:
            return found, status
        for point in np.flatnonzero(totals.error == 0).tolist():
            try:
                for name, value, known in self.at(points, point, variants[chip_at[point]]):
                    status[point] = max(status[point], STATUSES.index(known))
                    if name in found:
                        found[name][point] = value
            except ValueError as error:
                if not type(error).__module__.startswith("bankbench."):
                    raise
                message = getattr(error, "message", str(error))
                key = getattr(error, "key", "")
                totals.fail(np.array([point]), self._errors.number(f"{key}: {message}" if key else message))
        return found, status

    def at(self, points: Points, point: int, variant: Variant) -> list[tuple[str, float, str]]:
        """(name, total, status) of every other section of one point."""
        assert variant.chip is not None
        loaded = self.scenario(points, point)
        rows: list[tuple[str, float, str]] = []
        for section in self.sections:
            part = section.evaluate(loaded, variant.chip)
            if part.unknowns:
                raise ScenarioError("; ".join(part.unknowns))
            rows += [("", 0.0, part.status)]
            rows += [(name, float(value), part.status) for name, value in part.totals.items()]
            rows += [(name, value, part.status) for name, value in self._cells(part)]
        return rows

    def _cells(self, part: Part) -> list[tuple[str, float]]:
        """Numbers of the tables that the sweep asks for: `cube_share`, `ascend.cube_share`, `pipes.M.busy_share`."""
        wanted = [name for name in self.wanted if name not in part.totals]
        found: list[tuple[str, float]] = []
        for table in part.tables if wanted else ():
            rows = list(table.rows()) if len(table) <= _MOST_ROWS else []
            for row in rows:
                head = _word(str(next(iter(row.values()))))
                for column, value in row.items():
                    if isinstance(value, bool) or not isinstance(value, int | float):
                        continue
                    names = {f"{_word(table.name)}.{head}.{_word(column)}"}
                    if len(rows) == 1:
                        names |= {_word(column), f"{_word(table.name)}.{_word(column)}"}
                    found += [(name, float(value)) for name in wanted if name in names]
        return found

    def scenario(self, points: Points, point: int) -> LoadedScenario:
        """The scenario of one point, validated. Raises `ScenarioError`."""
        from ..load import validate
        from ..source import Source

        data: Any = replaced(self._plan.data, points.at(point))
        return validate(Source(self._plan.file, "", data))


def _word(text: str) -> str:
    return "_".join(text.split())
