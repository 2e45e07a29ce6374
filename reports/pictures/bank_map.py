"""Line x bank map: where the lanes of one warp instruction land in shared memory, and where they collide."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...sim.results import Picture
from .style import UNUSED, VERMILION, ink_on, new_figure, rc

_MOST_LINES = 48
# One scale for all maps, so that two of them can be compared: steps of ways, each twice the one before.
_STEPS = ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32))


def bank_map(picture: Picture) -> Figure:
    """A grid of lines (one row of all banks each) by banks; a cell is one word.

    `data`: `banks`, `bank_bytes`; and one entry a touched word: `line`, `bank`, `ways` (distinct words in
    that bank in the same group of lanes), `lanes` (text such as "0 8"). Cells are coloured by `ways`, the same
    colour for the same ways in every map; words that collide (ways above 1) have a red frame. The lanes are
    written in, runs of them as first-last, too many as their number. Lines that no lane touches are left out
    where more than 48 lie between the first and the last.
    """
    data = picture.data
    banks = int(data["banks"])
    line, bank = np.asarray(data["line"]), np.asarray(data["bank"])
    ways = np.asarray(data["ways"])
    lines = np.unique(line)
    contiguous = len(lines) and lines[-1] - lines[0] < _MOST_LINES
    shown = np.arange(lines[0], lines[-1] + 1) if contiguous else lines[:_MOST_LINES]
    row_of = {int(value): row for row, value in enumerate(shown)}
    with rc():
        cell_w, cell_h = 0.30 * 32 / banks if banks > 32 else 0.30, 0.27
        figure = new_figure(max(1.6 + cell_w * banks, 6.4), 1.9 + cell_h * len(shown))
        axes = figure.add_subplot()
        colours = colormaps["cividis_r"].resampled(len(_STEPS))
        norm = BoundaryNorm([0.5, *(last + 0.5 for _, last in _STEPS)], len(_STEPS))
        axes.set_xlim(-0.5, banks - 0.5)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_facecolor(UNUSED)
        inner = [[(x - 0.5, -0.5), (x - 0.5, len(shown) - 0.5)] for x in range(1, banks)]
        inner += [[(-0.5, y - 0.5), (banks - 0.5, y - 0.5)] for y in range(1, len(shown))]
        axes.add_collection(LineCollection(inner, colors="white", linewidths=0.8), autolim=False)
        cells: list[Rectangle] = []
        fills: list[tuple[float, ...]] = []
        for at_line, at_bank, way, lanes in zip(line, bank, ways, data["lanes"], strict=True):
            row = row_of.get(int(at_line))
            if row is None:
                continue
            fill = colours(norm(min(way, _STEPS[-1][1])))
            cells.append(Rectangle((at_bank - 0.47, row - 0.47), 0.94, 0.94))
            fills.append(fill)
            text = _ranges(str(lanes))
            size = 7.4 if len(text) <= 2 else (6.0 if len(text) <= 4 else (4.6 if len(text) <= 6 else 3.6))
            label = axes.text(at_bank, row, text, ha="center", va="center", fontsize=size, color=ink_on(fill))
            label.set_in_layout(
                False
            )  # it lies inside the axes; asking a thousand texts takes most of the time
        axes.add_collection(PatchCollection(cells, facecolors=fills, linewidths=0), autolim=False)
        clashes = [cell for cell, way in zip(cells, ways[np.isin(line, shown)], strict=True) if way > 1]
        frames = PatchCollection(clashes, facecolors="none", edgecolors=VERMILION, linewidths=1.2)
        axes.add_collection(frames, autolim=False)
        axes.set_xticks(range(0, banks, max(banks // 16, 1)))
        step = max(len(shown) // 24, 1)
        axes.set_yticks(range(0, len(shown), step), [f"{int(value):,}" for value in shown[::step]])
        counted = " (×4: four of them)" if any(t.get_text().startswith("×") for t in axes.texts) else ""
        axes.set_xlabel(f"bank ({data['bank_bytes']} bytes each); numbers in the cells are lanes{counted}")
        axes.set_ylabel(f"line ({banks * int(data['bank_bytes'])} bytes)")
        note = (
            ""
            if len(lines) <= _MOST_LINES or contiguous
            else f" (first {_MOST_LINES} of {len(lines)} touched lines)"
        )
        axes.set_title(picture.title + note, loc="left")
        axes.tick_params(length=0)
        bar = figure.colorbar(
            ScalarMappable(norm, colours),
            ax=axes,
            location="bottom",
            spacing="uniform",
            aspect=50,
            shrink=0.5,
            pad=0.02,
        )
        bar.set_label("ways: distinct words (atomics: lanes) in the bank at once; red frame: they collide")
        bar.set_ticks([(first + last) / 2 for first, last in _STEPS], labels=_step_names())
        bar.ax.minorticks_off()
        bar.outline.set_visible(False)
        return figure


def _step_names() -> list[str]:
    names = [str(last) if first == last else f"{first}-{last}" for first, last in _STEPS]
    return [*names[:-1], f"{_STEPS[-1][0]} or more"]


def _ranges(lanes: str) -> str:
    """Lanes in as little room as they take: runs of three or more as first-last, else how many they are."""
    numbers = [int(word) for word in lanes.split()] if lanes.replace(" ", "").isdigit() else []
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else " ".join(map(str, run)) for run in runs]
    text = " ".join(parts)
    return text if len(text) <= 6 or not numbers else f"×{len(numbers)}"
