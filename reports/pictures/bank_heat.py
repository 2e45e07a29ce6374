"""Heat map of the banks: which access asks how many words of which bank."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from ...sim.results import Picture
from .style import HEAT, INK, new_figure, rc, shorten


def bank_heat(picture: Picture) -> Figure:
    """One line an access, one column a bank.

    `data`: `names` (n texts), `words` (n lists of one number a bank). Colours are relative to the fullest bank of the
    line, so that a line of one colour is an access that spreads evenly; the number of the fullest bank stands beside.
    """
    words = np.asarray(picture.data["words"], dtype=np.float64)
    names = [shorten(name, 36) for name in picture.data["names"]]
    lines, banks = words.shape
    most = words.max(axis=1, keepdims=True)
    share = np.divide(words, most, out=np.zeros_like(words), where=most > 0)
    with rc():
        figure = new_figure(9.0, 1.5 + 0.30 * lines)
        axes = figure.add_subplot()
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
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(lines), [f"{int(value):,}" for value in most[:, 0]], color=INK)
        right.set_ylabel("words of the fullest bank")
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        bar = figure.colorbar(image, ax=axes, location="bottom", aspect=50, shrink=0.5, pad=0.02)
        bar.set_label("words of the bank, as a share of the fullest bank of the access")
        bar.outline.set_visible(False)
        return figure
