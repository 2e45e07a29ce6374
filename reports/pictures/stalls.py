"""Stall breakdown: what was waited for, by role where there are several."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ...sim.results import Picture
from ..text import share_text
from .style import CATEGORIES, HATCHES, INK, count_ticks, legend_below, new_figure, rc, shorten


def stalls(picture: Picture) -> Figure:
    """Bars of waited cycles: one a cause for a single role, else one a role, divided by cause.

    `data`: `names` (n roles), `causes` (m texts), `cycles` (n lists of m numbers).
    """
    names = [shorten(name, 40) for name in picture.data["names"]]
    causes = [shorten(cause, 40) for cause in picture.data["causes"]]
    cycles = np.asarray(picture.data["cycles"], dtype=np.float64)
    with rc():
        single = len(names) == 1
        lines = causes if single else names
        figure = new_figure(8.4, 1.25 + 0.34 * len(lines) + (0 if single else 0.2 * -(-len(causes) // 4)))
        axes = figure.add_subplot()
        rows = np.arange(len(lines))
        total = cycles[0] if single else cycles.sum(axis=1)
        if single:
            axes.barh(rows, total, 0.66, color=CATEGORIES[0])
        else:
            left = np.zeros(len(names))
            for index, cause in enumerate(causes):
                axes.barh(
                    rows,
                    cycles[:, index],
                    0.66,
                    left=left,
                    label=cause,
                    color=CATEGORIES[index % len(CATEGORIES)],
                    hatch=HATCHES[index // len(CATEGORIES) % len(HATCHES)],
                    edgecolor="white",
                    lw=0.4,
                )
                left += cycles[:, index]
            legend_below(figure, axes.get_legend_handles_labels()[0], size=8, centred=True)
        span = max(float(total.max()), 1.0)
        for row, value in enumerate(total):
            share = f" ({share_text(value, total.sum())})" if single and total.sum() else ""
            axes.text(value + 0.012 * span, row, f"{value:,.0f}{share}", va="center", color=INK)
        axes.set_yticks(rows, lines)
        axes.invert_yaxis()
        axes.set_xlim(0, span * (1.3 if single else 1.2))
        count_ticks(axes.xaxis)
        axes.set_xlabel("waited cycles" + (f" of {names[0]}" if single else ""))
        axes.set_title(picture.title, loc="left")
        return figure
