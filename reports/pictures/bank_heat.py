"""Heat map of the banks: which access asks how many words of which bank."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ...sim.results import Picture
from .style import HEAT, INK, UNUSED, new_figure, rc, shorten


def bank_heat(picture: Picture) -> Figure:
    """One line an access, one column a bank.

    `data`: `names` (n texts), `words` (n lists of one number a bank). Colours are relative to the fullest bank of the
    line, so that a line of one colour is an access that spreads evenly; the number of the fullest bank stands
    beside. Banks that are not used stay grey.
    """
    words = np.asarray(picture.data["words"], dtype=np.float64)
    names = [shorten(name, 36) for name in picture.data["names"]]
    lines, banks = words.shape
    most = words.max(axis=1, keepdims=True)
    share = np.ma.masked_equal(np.divide(words, most, out=np.zeros_like(words), where=most > 0), 0)
    with rc():
        figure = new_figure(9.0, 1.5 + 0.30 * lines)
        axes = figure.add_subplot()
        axes.set_facecolor(UNUSED)
        image = axes.imshow(
            share, cmap=f"{HEAT}_r", norm=Normalize(0, 1), aspect="auto", interpolation="nearest"
        )
        axes.set_xticks(np.arange(-0.5, banks), minor=True)
        axes.set_yticks(np.arange(-0.5, lines), minor=True)
        axes.grid(which="minor", color="white", lw=0.8)
        axes.tick_params(which="both", length=0)
        axes.set_xticks(range(0, banks, max(banks // 16, 1)))
        axes.set_yticks(range(lines), names)
        axes.set_xlabel("bank")
        axes.set_title(picture.title, loc="left")
        for line, value in enumerate(most[:, 0]):
            axes.text(banks + 0.1, line, f"{int(value):,}", va="center", ha="left", color=INK)
        axes.text(banks + 0.1, -0.75, "most words", va="bottom", ha="left", color=INK)
        bar = figure.colorbar(image, ax=axes, location="bottom", aspect=50, shrink=0.5, pad=0.02)
        bar.set_label("words of the bank as a share of the fullest bank of its access; grey: none")
        bar.ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        bar.outline.set_visible(False)
        return figure
