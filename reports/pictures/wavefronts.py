"""Wavefronts against the ideal, one pair of bars an access."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from rich.cells import cell_len

from ...sim.results import Picture
from .style import BLUE, INK, VERMILION, legend_below, new_figure, rc, shorten

_MOST = 40


def wavefronts(picture: Picture) -> Figure:
    """Horizontal bars: the ideal part of every access, and the excess behind it.

    `data`: `names` (n texts), `ideal` and `excess` (n numbers of wavefronts). More than 40 accesses: the
    worst 40 are drawn, and the title says so.
    """
    names = [str(name) for name in picture.data["names"]]
    ideal = np.asarray(picture.data["ideal"], dtype=np.int64)
    excess = np.asarray(picture.data["excess"], dtype=np.int64)
    title = picture.title
    if len(names) > _MOST:
        keep = np.sort(np.argsort(-excess, kind="stable")[:_MOST])
        title += f" (worst {_MOST} of {len(names)})"
        names, ideal, excess = [names[i] for i in keep], ideal[keep], excess[keep]
    shown = [shorten(name, 44) for name in names]
    with rc():
        figure = new_figure(6.4 + 0.07 * max(map(cell_len, shown)), 1.15 + 0.34 * len(names))
        axes = figure.add_subplot()
        rows = np.arange(len(names))
        axes.barh(rows, ideal, 0.66, color=BLUE, label="ideal")
        axes.barh(
            rows, excess, 0.66, left=ideal, color=VERMILION, hatch="///", edgecolor="white", label="excess"
        )
        total = ideal + excess
        span = max(int(total.max()), 1)
        for row, (value, over) in enumerate(zip(total, excess, strict=True)):
            text = f"{value:,}" + (f"  ({over:,} excess)" if over else "")
            axes.text(value + 0.012 * span, row, text, va="center", ha="left", color=INK)
        axes.set_yticks(rows, shown)
        axes.invert_yaxis()
        axes.set_xlim(0, span * 1.34)
        axes.set_xlabel("wavefronts")
        axes.set_title(title, loc="left")
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        legend_below(figure, axes.get_legend_handles_labels()[0])
        return figure
