"""A finished sweep as a result: the best points, the Pareto front, sensitivities, pictures and ready scenarios."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from numpy.typing import NDArray

from ...sim.results import RunResult
from ..load import LoadedScenario
from ..part import STATUSES
from ..run import choose_chip
from .fields import replaced
from .outcome_pictures import pictures
from .outcome_tables import errors, sensitivity, some_rows
from .pareto import effects, pareto_front
from .plan import Plan, points_of
from .words import number, words

if TYPE_CHECKING:
    import pyarrow as pa

_BEST = 10
_MOST_ROWS = 5000


def outcome(
    loaded: LoadedScenario, plan: Plan, table: pa.Table, *, command: Sequence[str] = (), folder: str = ""
) -> RunResult:
    """The result of a sweep: tables `best`, `pareto`, `sensitivity`, `errors`, `points`, and their pictures."""
    chip = choose_chip(loaded, plan.chip, plan.overrides)
    costs = _costs(plan, table)
    order = _order(costs)
    front = pareto_front(costs)
    failed = table.num_rows - table["error"].null_count
    statuses = [text for text in table["status"].unique().to_pylist() if text]
    parameters = _parameters(plan, table)
    tables = [
        some_rows(plan, table, order[:_BEST], "best", f"The {min(_BEST, len(order))} best points"),
        some_rows(plan, table, front, "pareto", "Pareto front: no other point is better in every objective"),
        sensitivity(plan, table, parameters),
        errors(table),
        some_rows(plan, table, np.arange(min(table.num_rows, _MOST_ROWS)), "points", "All points"),
    ]
    return RunResult(
        name=f"sweep-{loaded.scenario.name.removeprefix('sweep-')}",
        title=loaded.scenario.title or f"Sweep of {loaded.scenario.name}",
        chip=chip.name,
        chip_title=chip.title,
        status=max(statuses, key=STATUSES.index, default="unknown"),
        headline=_headline(plan, table, order, front, failed),
        reasons=tuple(_sentences(plan, table, front, parameters, folder)),
        tables=tuple(t for t in tables if len(t) and (t.name != "pareto" or len(plan.goals) > 1)),
        pictures=tuple(pictures(plan, table, costs, front, parameters)),
        unknowns=() if len(order) else ("no point has all objectives",),
        command=shlex.join(command or ("bankbench", "sweep", loaded.source.file)),
        versions={name: version(name) for name in ("bankbench", "numpy")},
        inputs={Path(loaded.source.file).name: loaded.source.text},
        extra={"terminal": ["best", "pareto", "sensitivity", "errors"], "notes": loaded.scenario.notes},
    )


def best_scenarios(loaded: LoadedScenario, plan: Plan, table: pa.Table) -> dict[str, str]:
    """File name -> text of the ten best points as scenario files that run as they are."""
    found: dict[str, str] = {}
    numbers = table["point"].to_numpy()
    for rank, row in enumerate(_order(_costs(plan, table))[:_BEST].tolist(), 1):
        point = int(numbers[row])
        data = copy.deepcopy(replaced(plan.data, points_of(plan, point, point + 1).at(0)))
        said = [f"{plan.names[p.text]} {_said(p.values, plan, point, p.digit)}" for p in plan.leaders]
        data["name"] = f"{loaded.scenario.name}-{rank:02d}"
        data["title"] = f"Point {point} of the sweep {loaded.scenario.name}: {', '.join(said)}"[:400]
        if plan.chip and ("chip",) not in {p.path for p in plan.parameters}:
            data["chip"] = plan.chip
        data.pop("expect", None)
        for access in data.get("accesses") or []:
            access.pop("expect", None)
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
        found[f"{rank:02d}-point-{point}.yaml"] = text
    return found


def _said(values: Sequence[Any], plan: Plan, point: int, digit: int) -> str:
    return str(values[int(plan.digits(np.array([point]))[digit][0])])


def _costs(plan: Plan, table: pa.Table) -> NDArray[np.float64]:
    """(n, objectives) costs to minimise; nan where a point has no result."""
    columns = []
    for name, largest in plan.goals:
        values = table[name].to_numpy(zero_copy_only=False).astype(np.float64)
        columns.append(-values if largest else values)
    return np.column_stack(columns)


def _order(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows from best to worst by the first objective, then the second, and so on; rows without a result left out."""
    fine = np.flatnonzero(~np.isnan(costs).any(axis=1))
    return fine[np.lexsort(costs[fine].T[::-1])]


def _parameters(plan: Plan, table: pa.Table) -> dict[str, NDArray[np.int64]]:
    """Column of a parameter with more than one value -> (n,) which value each row has."""
    digits = plan.digits(table["point"].to_numpy())
    return {plan.names[p.text]: digits[p.digit] for p in plan.leaders}


def _headline(
    plan: Plan, table: pa.Table, order: NDArray[np.int64], front: NDArray[np.int64], failed: int
) -> str:
    text = f"{table.num_rows:,} points"
    if failed:
        text += f" ({failed:,} with an error)"
    if not len(order):
        return f"{text}: none has a result"
    row = int(order[0])
    goals = ", ".join(f"{number(table[name][row].as_py())} {words(name)}" for name, _ in plan.goals)
    point = ", ".join(f"{plan.names[p.text]} {table[plan.names[p.text]][row].as_py()}" for p in plan.leaders)
    text += f"; best: {goals} ({point})"
    return text + (f"; {len(front)} on the Pareto front" if len(plan.goals) > 1 else "")


def _sentences(
    plan: Plan,
    table: pa.Table,
    front: NDArray[np.int64],
    parameters: Mapping[str, NDArray[np.int64]],
    folder: str,
) -> list[str]:
    lines: list[str] = []
    for name, _ in plan.goals:
        objective = table[name].to_numpy(zero_copy_only=False).astype(np.float64)
        shares = sorted(
            ((effects(which, objective)[0], column) for column, which in parameters.items()), reverse=True
        )
        if shares and shares[0][0] > 0:
            said = ", ".join(
                f"{column} {100 * share:.0f} %" for share, column in shares[:3] if share >= 0.005
            )
            lines.append(f"{words(name)} depends on {said} (share of its variance)")
    if folder:
        lines.append(
            f"all points: {folder}/points.parquet and points.csv; the best as scenarios: {folder}/best/"
        )
    return lines
