"""A timeline: one line a warp and one a port, slices of time coloured by what they are."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...sim.results import Picture
from .style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    VERMILION,
    YELLOW,
    count_ticks,
    figure_title,
    legend_below,
    new_figure,
    rc,
)

# What a slice is, by the beginning of its label (an opcode, or "wait").
_CLASSES = (
    ("waits", GREY, ("wait",)),
    ("loads", BLUE, ("LDS",)),
    ("stores", VERMILION, ("STS",)),
    ("tensor", PINK, ("HMMA", "HGMMA")),
    ("barrier", YELLOW, ("BAR",)),
    ("arithmetic", GREEN, ("FFMA", "FADD", "FMUL", "HFMA", "HADD", "HMUL", "IMAD", "IADD", "LOP", "MOV")),
    ("other", SKY, ("",)),
)
_PORT = ORANGE
_MOST_TRACKS = 48


def timeline(picture: Picture) -> Figure:
    """Horizontal bars over cycles.

    `data`: `tracks`, each with `name`, `group` and `slices` ([start, end, label] in cycles), and `end`, the last cycle
    shown. Tracks of the group "warps" are coloured by instruction, the others show when they were busy.
    """
    tracks = picture.data["tracks"][:_MOST_TRACKS]
    with rc():
        figure = new_figure(9.0, 1.5 + 0.24 * len(tracks))
        axes = figure.add_subplot()
        used: dict[str, str] = {}
        for row, track in enumerate(tracks):
            by_colour: dict[str, list[tuple[int, int]]] = {}
            for start, end, label in track["slices"]:
                name, colour = _class(str(label)) if track["group"] == "warps" else ("busy", _PORT)
                used[name] = colour
                by_colour.setdefault(colour, []).append((start, max(end - start, 1)))
            for colour, bars in by_colour.items():
                height = 0.3 if colour == GREY else 0.72
                axes.broken_barh(bars, (row - height / 2, height), facecolors=colour, linewidth=0)
        axes.set_yticks(range(len(tracks)), [str(track["name"]) for track in tracks], fontsize=7)
        axes.set_ylim(len(tracks) - 0.4, -0.6)
        axes.set_xlim(0, picture.data["end"])
        axes.set_xlabel("cycles")
        count_ticks(axes.xaxis)
        figure_title(figure, picture.title)
        # In one order whatever comes first, so that two timelines can be compared.
        order = [*(name for name, _, _ in _CLASSES), "busy"]
        legend_below(figure, [Patch(color=used[name], label=name) for name in order if name in used])
        return figure


def _class(label: str) -> tuple[str, str]:
    return next((name, colour) for name, colour, starts in _CLASSES if label.startswith(starts))
