"""Pictures of a finished sweep, as data for reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...sim.results import Picture
from .pareto import effects
from .plan import Plan
from .words import heading, words

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_DOTS = 4000
_MOST_LINES = 1000


def pictures(
    plan: Plan,
    table: pa.Table,
    costs: NDArray[np.float64],
    front: NDArray[np.int64],
    parameters: Mapping[str, NDArray[np.int64]],
) -> list[Picture]:
    """Pareto plot, parallel coordinates and heat maps, where there is enough to draw."""
    fine = np.flatnonzero(~np.isnan(costs).any(axis=1))
    if len(fine) < 2:
        return []
    shown = _sample(fine, front, _MOST_DOTS)
    found: list[Picture] = []
    goals = [name for name, _ in plan.goals]
    columns = {name: table[name].to_numpy(zero_copy_only=False).astype(np.float64) for name in goals}
    if len(goals) > 1:
        x, y = goals[1], goals[0]
        settings = [", ".join(f"{n} {table[n][row].as_py()}" for n in parameters) for row in front.tolist()]
        data = {
            "x": columns[x][shown],
            "y": columns[y][shown],
            "x_name": heading(x),
            "y_name": heading(y),
            "front_x": columns[x][front],
            "front_y": columns[y][front],
            "front_names": settings,
            "drawn": _drawn(shown, fine),
        }
        alt = f"{len(fine):,} points, {words(y)} against {words(x)}; {len(front)} of them on the Pareto front"
        found.append(Picture("sweep_pareto", f"{words(y)} against {words(x)}", alt, data))
    by_column = {plan.names[p.text]: p for p in plan.parameters}
    shown = _sample(fine, front, _MOST_LINES)
    axes = [
        {"name": name, "at": which[shown], "labels": [str(v) for v in by_column[name].values]}
        for name, which in parameters.items()
    ]
    results = [
        {"name": heading(name), "at": columns[name][shown], "bounds": _bounds(columns[name][fine])}
        for name in goals
    ]
    if len(axes) + len(results) > 2:
        found.append(
            Picture(
                "sweep_parallel",
                "Every point as a line" if len(shown) == len(fine) else "Points as lines",
                f"parallel coordinates of {len(shown):,} points over {', '.join([*parameters, *goals])}",
                {"parameters": axes, "results": results, "drawn": _drawn(shown, fine)},
            )
        )
    found += _maps(plan, parameters, columns, by_column)
    return found


def _sample(rows: NDArray[np.int64], front: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Rows to draw: the Pareto front, and others at random; every hundredth would keep step with a parameter."""
    if len(rows) <= most:
        return rows
    others = np.random.default_rng(0).choice(rows, most, replace=False)
    return np.unique(np.concatenate([front[:most], others]))


def _bounds(values: NDArray[np.float64]) -> list[float]:
    return [float(values.min()), float(values.max())]


def _drawn(shown: NDArray[np.int64], fine: NDArray[np.int64]) -> str:
    return "" if len(shown) == len(fine) else f"{len(shown):,} of {len(fine):,}, at random"


def _maps(
    plan: Plan,
    parameters: Mapping[str, NDArray[np.int64]],
    columns: Mapping[str, NDArray[np.float64]],
    by_column: Mapping[str, Any],
) -> list[Picture]:
    """Heat maps of the first objective over every pair of the (at most four) parameters that matter most."""
    goal, largest = plan.goals[0]
    objective = columns[goal]
    names = sorted(parameters, key=lambda n: -effects(parameters[n], objective)[0])
    names = [n for n in names if len(by_column[n].values) <= 64][:4]
    if len(names) < 2:
        return []
    panels = []
    fine = ~np.isnan(objective)
    for index, y in enumerate(names):
        for x in names[index + 1 :]:
            shape = (len(by_column[y].values), len(by_column[x].values))
            grid = np.full(shape, -np.inf if largest else np.inf)
            place = (parameters[y][fine], parameters[x][fine])
            (np.maximum if largest else np.minimum).at(grid, place, objective[fine])
            panels.append(
                {
                    "x": x,
                    "y": y,
                    "x_labels": [str(v) for v in by_column[x].values],
                    "y_labels": [str(v) for v in by_column[y].values],
                    "values": np.where(np.isfinite(grid), grid, np.nan),
                }
            )
    title = f"Best {words(goal)} for every pair of parameters"
    pairs = ", ".join(f"{panel['y']} and {panel['x']}" for panel in panels)
    alt = f"heat maps of the best {words(goal)} over {pairs}"
    return [Picture("sweep_maps", title, alt, {"panels": panels, "name": heading(goal)})]
