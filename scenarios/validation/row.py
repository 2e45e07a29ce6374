"""One comparison of a measured with a predicted number, and sums over many."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A measured number and what the model says to it.

    `kind` groups rows in the summary. `tolerance` is the relative error that still counts as right (0: the number has
    to be exact). `left_out` says why a row is listed but not counted, "" for a row that counts.
    """

    id: str
    kind: str
    measured: float
    predicted: float
    tolerance: float = 0.05
    left_out: str = ""

    @property
    def error(self) -> float:
        """Relative error, positive when the model says too much; of a measured 0 the difference itself."""
        if math.isnan(self.predicted):
            return math.inf
        return (self.predicted - self.measured) / (abs(self.measured) or 1.0)

    @property
    def right(self) -> bool:
        """Whether the error is within the tolerance."""
        return abs(self.error) <= self.tolerance + 1e-12


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of the rows of one kind, as shares (0.01 is one percent)."""

    kind: str
    number: int
    mean: float
    bias: float
    median: float
    percentile_95: float
    worst: float
    worst_id: str
    right: int
    left_out: int


def summary(kind: str, rows: list[Row]) -> Summary:
    """The summary of rows that are taken as one kind."""
    counted = [row for row in rows if not row.left_out]
    if not counted:
        return Summary(kind, 0, 0.0, 0.0, 0.0, 0.0, 0.0, "", 0, len(rows))
    ordered = sorted(abs(row.error) for row in counted)
    worst = max(counted, key=lambda row: abs(row.error))
    return Summary(
        kind=kind,
        number=len(counted),
        mean=sum(ordered) / len(ordered),
        bias=sum(row.error for row in counted) / len(counted),
        median=ordered[len(ordered) // 2],
        # the smallest error that at least 95 % of the rows do not exceed
        percentile_95=ordered[math.ceil(0.95 * len(ordered)) - 1],
        worst=abs(worst.error),
        worst_id=worst.id,
        right=sum(row.right for row in counted),
        left_out=len(rows) - len(counted),
    )


def summaries(rows: Iterable[Row]) -> list[Summary]:
    """One summary a kind in order of appearance, then one over all rows, named "all"."""
    every = list(rows)
    kinds: dict[str, list[Row]] = {}
    for row in every:
        kinds.setdefault(row.kind, []).append(row)
    return [summary(kind, kinds[kind]) for kind in sorted(kinds)] + [summary("all", every)]
