"""One look for all pictures: colour-blind safe colours, readable sizes, text as text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

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
# In the order in which kinds of things get them; beyond eight, the colours come again with a hatch.
CATEGORIES = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, YELLOW, GREY)
HATCHES = ("", "///", "...", "xxx")
INK = "#1f2430"
PAPER = "#ffffff"
UNUSED = "#f3f4f6"
HEAT = "cividis"

_RC: dict[Any, Any] = {
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
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}


@contextmanager
def rc() -> Iterator[None]:
    """The style as a context: figures are made and saved inside it."""
    with mpl.rc_context(_RC):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of the given size in inches, without pyplot (no global state, no window)."""
    return Figure(figsize=(width, height), layout="constrained")


def shorten(text: object, most: int) -> str:
    """A text in one line of at most `most` characters, with an ellipsis where it was longer.

    >>> shorten("load  columns of the tile", 12)
    'load column…'
    """
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def size_text(count: float) -> str:
    """Bytes with a binary unit, in three figures: 1.5 KiB.

    >>> size_text(16384), size_text(1000), size_text(692736)
    ('16 KiB', '1,000 B', '676 KiB')
    """
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            value = count / (1 << power)
            return f"{value:,.0f} {unit}" if value >= 100 or value == int(value) else f"{value:.3g} {unit}"
    return f"{count:,.0f} B"


def byte_ticks(axis: Axis, span: float) -> None:
    """Round binary steps (four to eight of them up to `span`) with their unit on an axis."""
    step = 2.0 ** max(math.ceil(math.log2(max(span, 8) / 6)), 0)
    axis.set_major_locator(MultipleLocator(step))
    axis.set_major_formatter(FuncFormatter(lambda value, _: size_text(value)))
