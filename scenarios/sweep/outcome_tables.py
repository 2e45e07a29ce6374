"""Tables of a finished sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...sim.results import Column, Table
from .pareto import effects
from .plan import Plan
from .words import DOCS

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ERRORS = 50


def some_rows(plan: Plan, table: pa.Table, rows: NDArray[np.int64], name: str, title: str) -> Table:
    """Some rows of the table with documented columns; columns that say nothing are left out."""
    part = table.take(rows)
    paths = {plan.names[p.text]: f"parameter {p.text}" for p in plan.parameters}
    paths |= {plan.names[text]: f"derived: {text} = {expression}" for text, _, expression in plan.derived}
    goals = [goal for goal, _ in plan.goals]
    short = {"point", *goals, *(plan.names[p.text] for p in plan.leaders)}
    short |= {plan.names[text] for text, path, _ in plan.derived if path is None}
    columns: list[Column] = []
    for column in part.column_names:
        if name != "points" and column not in short:
            continue
        if column == "error" and part[column].null_count == part.num_rows:
            continue
        unit, doc = DOCS.get(column, ("", f"result {column}"))
        columns.append(Column(column, unit, paths.get(column, doc)))
    if name != "points":
        columns.sort(key=lambda c: (c.name != "point", c.name in goals))
    return Table(name, title, tuple(columns), {c.name: part[c.name].to_pylist() for c in columns})


def sensitivity(plan: Plan, table: pa.Table, parameters: Mapping[str, NDArray[np.int64]]) -> Table:
    """How much of each objective's variance each parameter explains on its own, and its best value."""
    data: dict[str, list[Any]] = {
        name: [] for name in ("objective", "parameter", "share", "best_value", "best_mean", "worst_mean")
    }
    by_column = {plan.names[p.text]: p for p in plan.parameters}
    for goal, largest in plan.goals:
        objective = table[goal].to_numpy(zero_copy_only=False).astype(np.float64)
        for column, which in parameters.items():
            share, _, means = effects(which, objective)
            if not len(means) or np.isnan(means).all():
                continue
            best = int(np.nanargmax(means) if largest else np.nanargmin(means))
            data["objective"].append(goal)
            data["parameter"].append(column)
            data["share"].append(round(100 * share, 1))
            data["best_value"].append(str(by_column[column].values[best]))
            data["best_mean"].append(float(means[best]))
            data["worst_mean"].append(float(np.nanmin(means) if largest else np.nanmax(means)))
    columns = (
        Column("objective", "", "the result"),
        Column("parameter", "", "the parameter"),
        Column("share", "%", "of the objective's variance that this parameter explains on its own"),
        Column("best_value", "", "the value with the best mean over all other parameters"),
        Column("best_mean", "", "that mean"),
        Column("worst_mean", "", "the mean at the worst value"),
    )
    return Table("sensitivity", "Which parameter moves which objective", columns, data)


def errors(table: pa.Table) -> Table:
    """The different errors, the most frequent first; those that differ in numbers only are one, with an example."""
    groups: dict[str, list[Any]] = {}
    for item in table["error"].drop_null().value_counts().to_pylist():
        group = groups.setdefault(re.sub(r"\d+", "#", item["values"]), [0, item["values"]])
        group[0] += item["counts"]
        group[1] = min(group[1], item["values"])
    rows = sorted(groups.values(), key=lambda group: (-group[0], group[1]))[:_MOST_ERRORS]
    columns = (
        Column("points", "", "points with this error"),
        Column("error", "", "why they have no result; of errors that differ in numbers only, one"),
    )
    data = {"points": [count for count, _ in rows], "error": [text for _, text in rows]}
    return Table("errors", "Points without a result", columns, data)
