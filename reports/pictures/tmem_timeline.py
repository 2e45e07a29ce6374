"""Resources and roles of a tensor-memory kernel over time: work as bars, waits hatched."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...sim.results import Picture
from .style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PINK,
    SKY,
    VERMILION,
    YELLOW,
    count_ticks,
    legend_below,
    new_figure,
    rc,
)

_COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW, VERMILION)


def tmem_timeline(picture: Picture) -> Figure:
    """One line a resource or role.

    `data`: `rows` (names, top to bottom), and one entry a bar: `row`, `text`, `start`, `end` in cycles, `waiting` (a
    role that waits, hatched); `from` and `until` are the edges. Bars have the colour of what they work on: the first
    word of `text` and the one behind it, without the number of a ring's slot.
    """
    data = picture.data
    rows = [str(row) for row in data["rows"]]
    kinds = [_kind(str(text)) for text in data["text"]]
    work = [kind for kind, waits in zip(kinds, data["waiting"], strict=True) if not waits]
    colour_of = {kind: _COLOURS[n % len(_COLOURS)] for n, kind in enumerate(dict.fromkeys(work))}
    at = {row: n for n, row in enumerate(rows)}
    with rc():
        figure = new_figure(10.4, 1.35 + 0.33 * len(rows))
        axes = figure.add_subplot()
        for row, kind, start, end, waits in zip(
            data["row"], kinds, data["start"], data["end"], data["waiting"], strict=True
        ):
            axes.barh(
                at[str(row)],
                end - start,
                0.62,
                left=start,
                color="white" if waits else colour_of[kind],
                edgecolor=GREY if waits else "white",
                hatch="////" if waits else None,
                lw=0.4,
            )
        axes.set_yticks(np.arange(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(float(data["from"]), float(data["until"]))
        axes.set_xlabel("cycles")
        count_ticks(axes.xaxis)
        axes.set_title(picture.title, loc="left")
        handles = [
            Rectangle((0, 0), 1, 1, facecolor=colour, label=kind) for kind, colour in colour_of.items()
        ]
        if any(data["waiting"]):
            handles.append(
                Rectangle((0, 0), 1, 1, facecolor="white", edgecolor=INK, hatch="////", label="waits")
            )
        legend_below(figure, handles, size=8, centred=True)
        return figure


def _kind(text: str) -> str:
    words = text.split()
    return " ".join([words[0], *(word.split("[")[0] for word in words[1:2])]) if words else ""
