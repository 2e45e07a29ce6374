"""One look for all pictures: colour-blind safe colours, readable sizes, text as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any colour vision can tell apart.
BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, YELLOW, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#7F7F7F",
)
INK = "#1f2430"
PAPER = "#ffffff"
HEAT = "cividis"

_RC = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "bankbench",
    "path.simplify": True,
}


@contextmanager
def rc() -> Iterator[None]:
    """The style as a context: figures are made and saved inside it."""
    with mpl.rc_context(_RC):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of the given size in inches, without pyplot (no global state, no window)."""
    return Figure(figsize=(width, height), layout="constrained")
