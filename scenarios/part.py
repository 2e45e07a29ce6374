"""What one section of a scenario contributes to the result of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..sim.results import Picture, Table

# From strong to weak: a run is as sure as its weakest answer.
STATUSES = ("measured", "documented", "assumed", "unknown")


@dataclass(frozen=True, slots=True)
class Part:
    """Sentences, tables and pictures of one section; `run` joins the parts of all sections.

    `headline` is the one line of answer, `status` one of `STATUSES`. `extra["terminal"]` may list further
    tables (by name) that belong on the terminal. `totals` holds named sums that `expect:` can limit, None where
    unknown.
    """

    headline: str
    status: str
    reasons: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    assumptions: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    totals: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def weakest(statuses: list[str]) -> str:
    """The weakest of several statuses; measured when there is none."""
    return max(statuses, key=STATUSES.index, default="measured")


def unique(lines: list[str]) -> tuple[str, ...]:
    """The lines without repetitions, in their first order."""
    return tuple(dict.fromkeys(lines))
