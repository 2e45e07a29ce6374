"""How busy every part was over time: one strip a part, filled up to its share."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ...sim.results import Picture
from .style import BLUE, GREY, INK, VERMILION, count_ticks, figure_title, new_figure, rc, shorten

_FULL = 95.0


def port_use(picture: Picture) -> Figure:
    """Strips of 0 to 100 % over cycles; spans above 95 % are marked, since there the part is the limit.

    `data`: `from` (n begins of equal spans, cycles), `end`, `parts` (texts), `share` (for each part n percents).
    """
    data = picture.data
    edges = np.append(np.asarray(data["from"], dtype=np.float64), float(data["end"]))
    with rc():
        figure = new_figure(9.0, 1.0 + 0.42 * len(data["parts"]))
        every = figure.subplots(len(data["parts"]), 1, sharex=True, squeeze=False)[:, 0]
        for axes, name, values in zip(every, data["parts"], data["share"], strict=True):
            share = np.asarray(values, dtype=np.float64)
            axes.stairs(share, edges, fill=True, color=BLUE)
            full = np.where(share >= _FULL, share, 0.0)
            if full.any():
                axes.stairs(full, edges, fill=True, color=VERMILION, hatch="///", edgecolor="white", lw=0)
            axes.set_ylim(0, 100)
            axes.set_xlim(edges[0], edges[-1])
            axes.set_yticks([0, 100], ["", ""], fontsize=6)
            axes.axhline(100, color=GREY, lw=0.5)
            axes.set_ylabel(shorten(name, 40), rotation=0, ha="right", va="center", fontsize=8)
            axes.text(1.006, 0.5, f"{share.mean():.0f} %", transform=axes.transAxes, va="center", color=INK)
            axes.tick_params(axis="x", length=0 if axes is not every[-1] else 3)
        every[0].text(1.006, 1.35, "mean", transform=every[0].transAxes, va="center", color=INK)
        every[-1].set_xlabel("cycles; each strip is 0 to 100 % busy, hatched from 95 % on")
        count_ticks(every[-1].xaxis)
        figure_title(figure, picture.title)
        return figure
