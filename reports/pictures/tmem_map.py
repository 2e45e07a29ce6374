"""The map of tensor memory: lanes down, columns across, named buffers and stages, unused columns hatched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    legend_below,
    new_figure,
    rc,
)

_COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW, VERMILION)
_DARK = (BLUE, GREEN, VERMILION)
_WIDE = 10.4
_NARROWEST = 26  # columns that a horizontal name needs, at least


def tmem_map(picture: Picture) -> Figure:
    """128 lanes x 512 columns with one box a buffer and stage.

    `data`: `lanes`, `columns`, `window` and `slab` (lanes of a warp's window and of half of it), `needed` and
    `allocation` (columns), and `boxes`: mappings with `name`, `group` (one colour), `column`, `columns`, `slabs` (bit
    for each slab of lanes), `inside` (name of the box it shares, or ""), `copies`. Lanes of an allocated column that
    nothing uses, and columns that are allocated but not needed, are hatched; columns that nobody allocates are grey.
    """
    data = picture.data
    lanes, columns = int(data["lanes"]), int(data["columns"])
    boxes: Sequence[Mapping[str, Any]] = data["boxes"]
    needed, allocation = int(data["needed"]), int(data["allocation"])
    most = max(columns, needed)
    groups = list(dict.fromkeys(str(box["group"]) for box in boxes))
    colour_of = {name: _COLOURS[n % len(_COLOURS)] for n, name in enumerate(groups)}
    small = [box for box in boxes if box["columns"] < _NARROWEST * most / 512]
    with rc():
        figure = new_figure(_WIDE, 4.1)
        axes = figure.add_subplot()
        axes.set_xlim(0, most)
        axes.set_ylim(lanes, 0)
        axes.add_patch(Rectangle((0, 0), most, lanes, facecolor="#eceef1", lw=0))
        used = min(allocation or needed, most)
        axes.add_patch(
            Rectangle((0, 0), used, lanes, facecolor="white", hatch="////", edgecolor="#b9bec7", lw=0)
        )
        for box in boxes:
            inner = [other for other in boxes if other["inside"] == box["name"]]
            _box(axes, box, colour_of[str(box["group"])], int(data["slab"]), box in small, inner)
        for lane in range(0, lanes, int(data["window"])):
            axes.axhline(lane, color=INK, lw=0.7, ls=(0, (4, 3)), alpha=0.45)
        if needed > columns:
            axes.axvline(columns, color=VERMILION, lw=2)
            axes.text(
                columns - 6,
                lanes * 0.875,
                f"only {columns} exist",
                ha="right",
                va="center",
                color=VERMILION,
                bbox={"facecolor": "white", "edgecolor": VERMILION, "boxstyle": "round,pad=0.25"},
            )
        if allocation:
            axes.axvline(min(allocation, most), color=INK, lw=1.6)
        axes.set_xticks(_ticks(boxes, most, allocation))
        axes.tick_params(axis="x", labelsize=8)
        axes.set_yticks(range(0, lanes + 1, int(data["window"])))
        axes.set_xlabel("column (32 bits of every lane)")
        axes.set_ylabel("lane")
        right = axes.secondary_yaxis("right")
        step = int(data["window"])
        right.set_yticks(
            [step * (n + 0.5) for n in range(lanes // step)],
            [f"warp {n} mod 4" for n in range(lanes // step)],
        )
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        axes.set_title(picture.title, loc="left")
        sizes = (allocation, needed, columns)
        handles = _legend(groups, colour_of, boxes, sizes, lanes // int(data["slab"]))
        legend_below(figure, handles, size=8, centred=True)
        return figure


def _box(
    axes: Any,
    box: Mapping[str, Any],
    colour: str,
    slab: int,
    small: bool,
    inner: Sequence[Mapping[str, Any]],
) -> None:
    """One rectangle for each run of slabs; the name stands in the widest part that no inner box covers."""
    start, width = int(box["column"]), int(box["columns"])
    runs = _runs(int(box["slabs"]))
    inside = bool(box["inside"])
    for first, count in runs:
        axes.add_patch(
            Rectangle(
                (start, first * slab),
                width,
                count * slab,
                facecolor=colour,
                alpha=0.6 if inside else 1,
                edgecolor=INK,
                lw=0.3 if width < 3 else 1.1,
                ls="--" if inside else "-",
            )
        )
    if small:
        return
    dark = colour in _DARK and not inside
    name = str(box["name"]) + (f" x{box['copies']}" if int(box["copies"]) > 1 else "")
    whole = [run for run in runs if run[1] == max(count for _, count in runs)]
    for first, count in whole if len(runs) > 1 else runs:
        tall = count * slab
        # between two lines of the windows, and lower for a box that lies over another
        middle = first * slab + tall * (0.625 if inside else 0.375 if tall > 4 * slab else 0.5)
        axes.text(
            _middle(start, width, inner),
            middle,
            name if tall <= 2 * slab else f"{name}\n{width} columns",
            ha="center",
            va="center",
            fontsize=8 if width < 60 else 9,
            color="white" if dark else INK,
            rotation=90 if width < 44 and tall > 2 * slab else 0,
        )


def _middle(start: int, width: int, inner: Sequence[Mapping[str, Any]]) -> float:
    """The middle of the widest stretch of columns that is free of inner boxes, of the whole when there is none."""
    edges = sorted((int(box["column"]), int(box["column"]) + int(box["columns"])) for box in inner)
    gaps: list[tuple[int, int]] = []
    at = start
    for first, end in edges:
        gaps.append((first - at, at))
        at = max(at, end)
    gaps.append((start + width - at, at))
    wide, first = max(gaps)
    return first + wide / 2 if wide > 0 else start + width / 2


def _runs(bits: int) -> list[tuple[int, int]]:
    """(first, count) of the runs of set bits."""
    runs: list[tuple[int, int]] = []
    for n in range(bits.bit_length()):
        if bits >> n & 1:
            if runs and sum(runs[-1]) == n:
                runs[-1] = (runs[-1][0], runs[-1][1] + 1)
            else:
                runs.append((n, 1))
    return runs


def _ticks(boxes: Sequence[Mapping[str, Any]], most: int, allocation: int) -> list[int]:
    """Edges of buffers, as far as their numbers do not run into each other."""
    wanted = [0, most, allocation, *(int(box["column"]) for box in boxes)]
    wanted += [int(box["column"]) + int(box["columns"]) for box in boxes]
    kept: list[int] = []
    for tick in dict.fromkeys(wanted):
        if tick <= most and all(abs(tick - other) >= most * 0.034 for other in kept):
            kept.append(tick)
    return sorted(kept)


def _legend(
    groups: Sequence[str],
    colour_of: Mapping[str, str],
    boxes: Sequence[Mapping[str, Any]],
    sizes: tuple[int, int, int],
    slabs: int,
) -> list[Rectangle]:
    allocation, needed, columns = sizes
    handles: list[Rectangle] = []
    for name in groups:
        own = [box for box in boxes if box["group"] == name]
        starts = list(dict.fromkeys(str(box["column"]) for box in own))  # stacked buffers share one
        at = ", ".join(starts[:4]) + (" ..." if len(starts) > 4 else "")
        copies = f", {own[0]['copies']} copies" if int(own[0]["copies"]) > 1 else ""
        columns_text = f"{own[0]['columns']} column{'s' if int(own[0]['columns']) != 1 else ''}"
        text = f"{name}: {columns_text} at {at}{copies}"
        handles.append(Rectangle((0, 0), 1, 1, facecolor=colour_of[name], edgecolor=INK, label=text))
    covered = np.zeros((slabs, max(allocation, needed)), bool)
    for box in boxes:
        for first, count in _runs(int(box["slabs"])):
            covered[first : first + count, int(box["column"]) : int(box["column"]) + int(box["columns"])] = (
                True
            )
    free = int((~covered).sum())
    if free:
        text = f"allocated, unused ({free / covered.size:.0%})"
        handles.append(Rectangle((0, 0), 1, 1, facecolor="white", hatch="////", edgecolor=GREY, label=text))
    if allocation and allocation < columns:
        text = f"free ({columns - allocation} columns)"
        handles.append(Rectangle((0, 0), 1, 1, facecolor="#eceef1", edgecolor=GREY, label=text))
    return handles
