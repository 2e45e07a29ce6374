"""One look for all pictures: colour-blind safe colours, readable sizes, text as text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator
from rich.cells import cell_len

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

FONT = "DejaVu Sans"
# Families with Chinese, Japanese and Korean signs, which DejaVu lacks; those that are installed stand in for its gaps.
CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK TC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Microsoft YaHei",
    "PingFang SC",
    "PingFang HK",
    "Hiragino Sans GB",
    "Heiti SC",
    "STHeiti",
    "SimHei",
    "SimSun",
    "Droid Sans Fallback",
    "Arial Unicode MS",
)
_EM = 0.62  # width of a letter of DejaVu Sans in parts of its size, on the wide side of the mean

_RC: dict[Any, Any] = {
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
    with mpl.rc_context({**_RC, "font.family": font_families()}):
        yield


def font_families() -> list[str]:
    """DejaVu Sans, which comes with matplotlib, then the fonts of `CJK_FONTS` that this machine has.

    Only names of installed fonts: matplotlib warns of every other name whenever it draws a text.
    """
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [FONT, *(name for name in CJK_FONTS if name in installed)]


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


def count_text(value: float) -> str:
    """A number of an axis or a cell: thousands separators, four figures where it is no whole number.

    >>> count_text(12500.0), count_text(0.49375), count_text(1e-7)
    ('12,500', '0.4938', '1e-07')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


def count_ticks(axis: Axis) -> None:
    """Thousands separators on an axis, and no common factor beside it; powers of ten on a logarithmic one are plain."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: count_text(value)))


def ink_on(colour: Any) -> str:
    """White or ink, whichever can be read better on a colour (the larger contrast ratio of WCAG 2).

    >>> ink_on(BLUE), ink_on(YELLOW)
    ('white', '#1f2430')
    """
    ground = _luminance(colour)
    return "white" if 1.05 / (ground + 0.05) > (ground + 0.05) / (_luminance(INK) + 0.05) else INK


def _luminance(colour: Any) -> float:
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def figure_title(figure: Figure, text: str) -> None:
    """A title over all axes of a figure, on as many lines as its width asks for."""
    letters = int(figure.get_figwidth() * 72 / (10 * _EM))
    lines = textwrap.wrap(text, max(letters, 20)) or [""]
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10, fontweight="bold")


def legend_below(
    figure: Figure, handles: Sequence[Artist], *, size: float = 9, centred: bool = False
) -> None:
    """A legend under the axes, in as many columns as fit side by side; a single one where names are very long."""
    if not handles:
        return
    labels = [shorten(handle.get_label(), 90) for handle in handles]
    room = figure.get_figwidth() * 72 - 12
    columns = len(labels)
    while columns > 1 and _legend_width(labels, columns, size) > room:
        columns -= 1
    place: Any = (
        "outside lower center" if centred else "outside lower right"
    )  # the stubs do not know "outside"
    figure.legend(handles, labels, loc=place, ncols=columns, frameon=False, fontsize=size)


def _legend_width(labels: Sequence[str], columns: int, size: float) -> float:
    """Points that a legend takes: matplotlib fills it column by column; a key takes 2.8 letters, a gap 2."""
    rows, longer = divmod(len(labels), columns)
    ends = np.cumsum([rows + (column < longer) for column in range(columns)]).tolist()
    widest = [max(map(cell_len, labels[start:end])) for start, end in zip([0, *ends], ends, strict=False)]
    return sum(size * (_EM * width + 4.8) for width in widest)


def place_labels(
    axes: Axes, points: Sequence[tuple[float, float]], texts: Sequence[str], size: float = 7
) -> int:
    """Names points of axes as far as there is room: no name over another, over a named point, or outside.

    The limits and scales of the axes have to stand. The points come in order of weight. Returns how many got a name.
    """
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()  # places of data in pixels are known only behind the layout
    pixel = figure.dpi / 72
    frame = axes.bbox
    spots = [tuple(axes.transData.transform(point)) for point in points]
    taken = [(x - 3 * pixel, y - 3 * pixel, x + 3 * pixel, y + 3 * pixel) for x, y in spots]
    named = 0
    for (x, y), point, text in zip(spots, points, texts, strict=True):
        wide, high = _EM * size * cell_len(text) * pixel, 1.3 * size * pixel
        for right, up in (
            (1, 0.7),
            (1, -0.7),
            (-1, 0.7),
            (-1, -0.7),
            (1, 2.0),
            (1, -2.0),
            (-1, 2.0),
            (-1, -2.0),
        ):
            left = x + 5 * pixel if right > 0 else x - 5 * pixel - wide
            bottom = y + up * high - high / 2
            box = (left, bottom, left + wide, bottom + high)
            inside = box[0] >= frame.x0 and box[2] <= frame.x1 and box[1] >= frame.y0 and box[3] <= frame.y1
            if inside and not any(_meet(box, other) for other in taken):
                axes.annotate(
                    text,
                    point,
                    (5 * right, up * 1.3 * size),
                    textcoords="offset points",
                    ha="left" if right > 0 else "right",
                    va="center",
                    fontsize=size,
                    color=INK,
                    annotation_clip=False,
                ).set_in_layout(False)
                taken.append(box)
                named += 1
                break
    return named


def _meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
