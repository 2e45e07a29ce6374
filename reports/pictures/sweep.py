"""Pictures of a sweep: the Pareto front, parallel coordinates, and heat maps over pairs of parameters."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ...sim.results import Picture
from .style import (
    BLUE,
    GREY,
    HEAT,
    INK,
    VERMILION,
    count_text,
    count_ticks,
    figure_title,
    ink_on,
    legend_below,
    new_figure,
    place_labels,
    rc,
)

_NAMED = 12
_MOST_TICKS = 12


def sweep_pareto(picture: Picture) -> Figure:
    """All points in grey, the Pareto front in red with the settings of those of its points for which there is room.

    `data`: `x`, `y` (n numbers), `x_name`, `y_name`, and `front_x`, `front_y`, `front_names` of the front. The front is
    a staircase along what can be had; with more than two objectives it is no line in this plane and stays dots.
    `drawn` says how many of the points these are, when not all.
    """
    data = picture.data
    x, y = np.asarray(data["x"], float), np.asarray(data["y"], float)
    front_x, front_y = np.asarray(data["front_x"], float), np.asarray(data["front_y"], float)
    order = np.argsort(front_x, kind="stable")
    with rc():
        figure = new_figure(7.6, 4.6)
        axes = figure.add_subplot()
        axes.scatter(x, y, s=10, color=GREY, alpha=0.45, linewidths=0, label=_points(picture))
        where = _stairs(x, y, front_x[order], front_y[order])
        if where:
            axes.step(front_x[order], front_y[order], where=where, color=VERMILION, lw=1.4)
        axes.scatter(front_x, front_y, s=26, color=VERMILION, zorder=3, label="Pareto front")
        for values, setter, axis in ((x, axes.set_xscale, axes.xaxis), (y, axes.set_yscale, axes.yaxis)):
            if len(values) and values.min() > 0 and values.max() > 50 * values.min():
                setter("log")
            count_ticks(axis)
        axes.margins(0.08, 0.12)
        axes.set_xlabel(str(data["x_name"]))
        axes.set_ylabel(str(data["y_name"]))
        axes.set_title(picture.title, loc="left")
        legend_below(figure, axes.get_legend_handles_labels()[0])
        spread = order[np.unique(np.linspace(0, len(order) - 1, _NAMED).astype(int))] if len(order) else order
        first = sorted(spread.tolist())  # the front comes best first
        place_labels(
            axes,
            [(float(front_x[i]), float(front_y[i])) for i in first],
            [_short(str(data["front_names"][i])) for i in first],
        )
        return figure


def _stairs(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    front_x: NDArray[np.float64],
    front_y: NDArray[np.float64],
) -> Literal["pre", "post"] | None:
    """How the front steps: `post` when a point's y holds for larger x, `pre` for smaller ones; None: no staircase."""
    steps = np.diff(front_y)
    right, left = x[:, None] >= front_x, x[:, None] <= front_x
    above, below = y[:, None] >= front_y, y[:, None] <= front_y
    if (
        steps <= 0
    ).all():  # small x and small y are good, or large ones: the other points lie behind the front
        return "post" if _behind(right & above) >= _behind(left & below) else "pre"
    if (steps >= 0).all():  # large x and small y, or small x and large y
        return "pre" if _behind(left & above) >= _behind(right & below) else "post"
    return None


def _behind(worse: NDArray[np.bool_]) -> int:
    """Points that some point of the front is as good as, in both directions."""
    return int(worse.any(axis=1).sum())


def sweep_parallel(picture: Picture) -> Figure:
    """One line a point across vertical axes: the parameters by their values, then the results.

    `data`: `parameters`, each with `name`, `at` (n places 0, 1, ...) and `labels`; `results`, each with `name`, `at`
    (n numbers) and `bounds` (least and greatest of all points, also those not drawn). Lines are coloured by the first
    result, dark is small. `drawn` as in `sweep_pareto`.
    """
    parameters, results = picture.data["parameters"], picture.data["results"]
    heights, names = [], []
    rng = np.random.default_rng(0)
    for axis in parameters:
        at, count = np.asarray(axis["at"], float), max(len(axis["labels"]) - 1, 1)
        # A little spread, so that lines of one value do not lie on top of each other.
        heights.append(np.clip(at / count + rng.uniform(-0.018, 0.018, len(at)), -0.02, 1.02))
        names.append(str(axis["name"]))
    bounds = []
    for axis in results:
        at = np.asarray(axis["at"], float)
        low, high = axis["bounds"]
        bounds.append((low, high))
        heights.append((at - low) / ((high - low) or 1.0))
        names.append(str(axis["name"]))
    first = np.asarray(results[0]["at"], float)
    with rc():
        figure = new_figure(max(6.4, 1.5 * len(names) + 1.2), 4.4)
        axes = figure.add_subplot()
        order = np.argsort(-first, kind="stable")
        points = np.column_stack(heights)[order]
        segments = np.stack([np.broadcast_to(np.arange(len(names)), points.shape), points], axis=2)
        low, high = bounds[0]
        norm = Normalize(low, high if high > low else low + 1)
        alpha = float(np.clip(200 / max(len(first), 1), 0.2, 0.5))
        lines = LineCollection(list(segments), array=first[order], cmap=HEAT, norm=norm, lw=0.7, alpha=alpha)
        axes.add_collection(lines)
        for place, axis in enumerate(parameters):
            axes.axvline(place, color=INK, lw=0.8)
            labels = axis["labels"]
            step = -(-len(labels) // _MOST_TICKS)
            shown = distinct([str(label) for label in labels], 16)
            for index in range(0, len(labels), step):
                _tick(axes, place, index / max(len(labels) - 1, 1), shown[index])
        for index, (low, high) in enumerate(bounds):
            place = len(parameters) + index
            axes.axvline(place, color=BLUE, lw=1.2)
            _tick(axes, place, 0.0, count_text(low))
            _tick(axes, place, 1.0, count_text(high))
        axes.set_xlim(-0.25, len(names) - 0.55)
        axes.set_ylim(-0.06, 1.06)
        axes.set_xticks(range(len(names)), [_short(name, 24) for name in names])
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(length=0)
        axes.set_title(picture.title, loc="left")
        if picture.data.get("drawn"):
            axes.set_title(_points(picture), loc="right", fontsize=7, fontweight="normal")
        bar = figure.colorbar(ScalarMappable(norm, colormaps[HEAT]), ax=axes, pad=0.01, aspect=30)
        count_ticks(bar.ax.yaxis)
        bar.set_label(str(results[0]["name"]))
        bar.outline.set_visible(False)
        return figure


def sweep_maps(picture: Picture) -> Figure:
    """Small heat maps, one for every pair of parameters; every cell is the best result with these two values.

    `data`: `name` of the result and `panels`, each with `x`, `y`, `x_labels`, `y_labels` and `values` (y by x; nan
    where no point has a result, drawn as a dash or grey).
    """
    panels = picture.data["panels"]
    every = np.concatenate([np.asarray(panel["values"], float).ravel() for panel in panels])
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    with rc():
        figure = new_figure(3.1 * columns + 1.0, 2.7 * rows + 0.4)
        grid = figure.subplots(rows, columns, squeeze=False)
        norm = Normalize(low, high if high > low else low + 1)
        for index, axes in enumerate(grid.ravel()):
            if index >= len(panels):
                axes.set_visible(False)
                continue
            _panel(axes, panels[index], norm)
        mappable = ScalarMappable(norm, colormaps[HEAT])
        bar = figure.colorbar(mappable, ax=grid.ravel().tolist(), aspect=30, pad=0.01)
        bar.set_label(str(picture.data["name"]))
        bar.outline.set_visible(False)
        if norm.vmax == int(norm.vmax or 0):
            bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        count_ticks(bar.ax.yaxis)
        figure_title(figure, picture.title)
        return figure


def _panel(axes, panel, norm) -> None:  # type: ignore[no-untyped-def]
    values = np.asarray(panel["values"], float)
    axes.set_facecolor("#e5e7eb")
    axes.imshow(np.ma.masked_invalid(values), cmap=HEAT, norm=norm, aspect="auto", interpolation="nearest")
    if values.size <= 80:
        for (y, x), value in np.ndenumerate(values):
            text = "-" if np.isnan(value) else count_text(float(value))
            colour = INK if np.isnan(value) else ink_on(colormaps[HEAT](norm(value)))
            axes.text(x, y, text, ha="center", va="center", fontsize=6.5, color=colour)
    for labels, ticks in ((panel["x_labels"], axes.set_xticks), (panel["y_labels"], axes.set_yticks)):
        step = -(-len(labels) // _MOST_TICKS)
        places = range(0, len(labels), step)
        shown = distinct([str(label) for label in labels], 20)
        ticks(list(places), [shown[place] for place in places], fontsize=7)
    if max(len(str(label)) for label in panel["x_labels"]) > 4:
        for label in axes.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(str(panel["x"]))
    axes.set_ylabel(str(panel["y"]))


def _points(picture: Picture) -> str:
    drawn = str(picture.data.get("drawn") or "")
    return f"points ({drawn})" if drawn else "points"


def _tick(axes, x: float, y: float, text: str) -> None:  # type: ignore[no-untyped-def]
    axes.text(x + 0.02, y, text, ha="left", va="center", fontsize=7, color=INK, zorder=4).set_bbox(
        {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.6}
    )


def _short(text: str, most: int = 46) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def distinct(labels: list[str], most: int) -> list[str]:
    """Labels of at most `most` letters: cut behind, or in the middle where the cut ones would look alike.

    >>> distinct(["read a column of words", "read a column of bytes", "store rows"], 14)
    ['read a … words', 'read a … bytes', 'store rows']
    """
    cut = [_short(label, most) for label in labels]
    tail = most // 2 - 1
    return [
        label[: most - tail - 1] + "…" + label[-tail:] if short != label and cut.count(short) > 1 else short
        for label, short in zip(labels, cut, strict=True)
    ]
