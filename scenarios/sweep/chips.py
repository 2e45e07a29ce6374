"""The chip variants of a sweep: one Chip for every combination of chip and overridden constants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sim.chip import Chip, ChipError, load_chip
from ...sim.memory import AccessError
from ...sim.memory.rules import rule_for
from ..part import STATUSES
from .combine import combined
from .plan import Plan, Points


@dataclass(frozen=True, slots=True)
class Variant:
    """A chip with its overrides, or why there is none."""

    chip: Chip | None
    error: str = ""

    def status(self, code: int) -> tuple[int, str]:
        """(number of the status, error) of an operation on this chip; the error when the chip lacks it."""
        assert self.chip is not None
        try:
            return STATUSES.index(rule_for(self.chip, code).status), ""
        except (AccessError, ChipError) as error:
            return 0, str(error)


class Chips:
    """Makes variants once; `of` gives the variants of some points and which one each point has."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._made: dict[tuple[Any, ...], Variant] = {}

    def of(self, points: Points) -> tuple[list[Variant], NDArray[np.int64]]:
        """(variants, (n,) which)."""
        paths = [path for path in points.fields if path[0] in ("chip", "overrides")]
        rows, which = combined([points.fields[path] for path in paths], len(points))
        return [self._variant(dict(zip(paths, row, strict=True))) for row in rows], which

    def _variant(self, values: dict[Any, Any]) -> Variant:
        key = tuple((path, repr(value)) for path, value in values.items())
        if key not in self._made:
            self._made[key] = self._make(values)
        return self._made[key]

    def _make(self, values: dict[Any, Any]) -> Variant:
        plan = self._plan
        name = str(values.get(("chip",), plan.chip or plan.data.get("chip", "h200")))
        local = Path(plan.file).parent / name
        constants = dict(plan.data.get("overrides") or {})
        constants |= {path[1]: value for path, value in values.items() if path[0] == "overrides"}
        given: dict[str, Any] = {}
        if plan.overrides:
            from ..run import _parse_overrides  # with the whole scenario model, which counting needs not

            given = _parse_overrides(plan.overrides)
        try:
            chip = load_chip(local if name.endswith((".yaml", ".yml")) and local.exists() else name)
            return Variant(chip.override(constants).override(given))
        except ChipError as error:
            return Variant(None, str(error))
