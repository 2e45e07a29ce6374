"""Predicted against measured numbers: a scatter along the diagonal, and the errors below it."""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ...sim.results import Picture
from .style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    VERMILION,
    count_ticks,
    figure_title,
    legend_below,
    new_figure,
    place_labels,
    rc,
)

_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PINK, SKY)
_MARKERS = "osv^DPX*"
_BAND = 0.05
_NAMED = 3
_MOST_KINDS = 24


def predicted_measured(picture: Picture) -> Figure:
    """Two plots with one horizontal axis, the measured number: prediction above, relative error below.

    `data`: `measured`, `predicted` (n numbers), `kind`, `id` (n texts), `unit`. The band marks 5 %; of the three worst
    rows those are named for which there is room. Kinds beyond 24 have no entry in the legend, which says so.
    """
    measured = np.asarray(picture.data["measured"], dtype=np.float64)
    predicted = np.asarray(picture.data["predicted"], dtype=np.float64)
    kinds = np.array([str(kind) for kind in picture.data["kind"]])
    ids = [str(row) for row in picture.data["id"]]
    error = (predicted - measured) / np.where(measured == 0, 1.0, np.abs(measured))
    names = sorted(set(kinds.tolist()))
    with rc():
        figure = new_figure(7.6, 6.2 + 0.17 * -(-min(len(names), _MOST_KINDS + 1) // 3))
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        handles: list[Artist] = []
        for index, name in enumerate(names):
            at = kinds == name
            style = {
                "color": _COLOURS[index % len(_COLOURS)],
                "marker": _MARKERS[index // len(_COLOURS) % len(_MARKERS)],
                "s": 16,
                "linewidths": 0,
                "alpha": 0.8,
            }
            dots = above.scatter(measured[at], predicted[at], label=name, **style)
            below.scatter(measured[at], error[at], **style)
            if index < _MOST_KINDS:
                handles.append(dots)
        if len(names) > _MOST_KINDS:
            handles.append(above.scatter([], [], alpha=0, label=f"and {len(names) - _MOST_KINDS} more kinds"))
        low, high = float(min(measured.min(), predicted.min())), float(max(measured.max(), predicted.max()))
        above.plot([low, high], [low, high], color=GREY, linewidth=0.8, zorder=0)
        logarithmic = low > 0 and high > 20 * low
        if logarithmic:
            above.set_xscale("log")
            above.set_yscale("log")
        for axis in (above.yaxis, below.xaxis):
            count_ticks(axis)
            if logarithmic:
                decades = np.log10(high / low)
                axis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2 else (1.0, 2.0, 5.0)))
                axis.set_minor_formatter(NullFormatter())
        below.axhspan(-_BAND, _BAND, color=GREY, alpha=0.15, linewidth=0)
        below.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        below.margins(y=0.12)
        unit = picture.data["unit"]
        figure_title(figure, picture.title)
        above.set_ylabel(f"predicted ({unit})")
        below.set_ylabel(f"error (grey: {_BAND:.0%})".replace("%", " %"))
        below.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g} %"))
        below.set_xlabel(f"measured ({unit})")
        legend_below(figure, handles, size=7, centred=True)
        worst = [int(row) for row in np.argsort(-np.abs(error), kind="stable")[:_NAMED] if error[row]]
        place_labels(below, [(measured[row], error[row]) for row in worst], [ids[row] for row in worst], 8)
        return figure
