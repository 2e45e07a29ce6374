"""Predicted against measured numbers: a scatter along the diagonal, and the errors below it."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ...sim.results import Picture
from .style import BLUE, GREEN, GREY, INK, ORANGE, PINK, SKY, VERMILION, new_figure, rc

_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PINK, SKY)
_MARKERS = "osv^DPX*"
_BAND = 0.05
_NAMED = 3
_MOST_KINDS = 24


def predicted_measured(picture: Picture) -> Figure:
    """Two plots with one horizontal axis, the measured number: prediction above, relative error below.

    `data`: `measured`, `predicted` (n numbers), `kind`, `id` (n texts), `unit`. The band marks 5 %, the three worst
    rows are named.
    """
    measured = np.asarray(picture.data["measured"], dtype=np.float64)
    predicted = np.asarray(picture.data["predicted"], dtype=np.float64)
    kinds = np.array([str(kind) for kind in picture.data["kind"]])
    ids = [str(row) for row in picture.data["id"]]
    error = (predicted - measured) / np.where(measured == 0, 1.0, np.abs(measured))
    with rc():
        figure = new_figure(7.6, 6.4)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        names = sorted(set(kinds.tolist()))
        for index, name in enumerate(names):
            at = kinds == name
            style = {
                "color": _COLOURS[index % len(_COLOURS)],
                "marker": _MARKERS[index // len(_COLOURS) % len(_MARKERS)],
                "s": 16,
                "linewidths": 0,
                "alpha": 0.8,
            }
            label = name if index < _MOST_KINDS else None
            above.scatter(measured[at], predicted[at], label=label, **style)
            below.scatter(measured[at], error[at], **style)
        low, high = float(min(measured.min(), predicted.min())), float(max(measured.max(), predicted.max()))
        above.plot([low, high], [low, high], color=GREY, linewidth=0.8, zorder=0)
        if low > 0 and high > 20 * low:
            above.set_xscale("log")
            above.set_yscale("log")
        below.axhspan(-_BAND, _BAND, color=GREY, alpha=0.15, linewidth=0)
        below.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        for row in np.argsort(-np.abs(error), kind="stable")[:_NAMED]:
            if error[row]:
                below.annotate(
                    ids[row], (measured[row], error[row]), (4, 2), textcoords="offset points", color=INK
                )
        unit = picture.data["unit"]
        figure.suptitle(picture.title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        above.set_ylabel(f"predicted ({unit})")
        below.set_ylabel("error")
        below.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        below.set_xlabel(f"measured ({unit})")
        figure.legend(loc="outside right upper", frameon=False, fontsize=7, markerscale=0.9)
        return figure
