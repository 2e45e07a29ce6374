"""Pictures of an Ascend core: its pipes over time, how busy they are, what the buffers hold, and the UB bank groups."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

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
    figure_title,
    ink_on,
    legend_below,
    new_figure,
    rc,
)

_COLOURS = {"S": GREY, "V": GREEN, "M": PINK, "MTE1": ORANGE, "MTE2": BLUE, "MTE3": SKY, "FIX": VERMILION}
_CAUSES = (YELLOW, SKY, ORANGE, GREY, GREEN, PINK)


def pipe_timeline(picture: Picture) -> Figure:
    """One line a pipe; the bars are instructions, named by what they write where there is room.

    `data`: `tracks`, each with `name` and `slices` ([start, end, label] in cycles), and `end`, the last cycle shown.
    """
    tracks, end = picture.data["tracks"], max(int(picture.data["end"]), 1)
    with rc():
        figure = new_figure(9.6, 1.25 + 0.42 * len(tracks))
        axes = figure.add_subplot()
        for row, track in enumerate(tracks):
            colour = _COLOURS.get(str(track["name"]), GREY)
            bars = []
            for index, (start, stop, label) in enumerate(track["slices"]):
                bars.append((start, max(stop - start, 1)))
                wide = (stop - start) / end
                text = _short(str(label))
                if wide * 80 > len(text):
                    axes.text(
                        (start + stop) / 2,
                        row,
                        text,
                        ha="center",
                        va="center",
                        fontsize=7,
                        color=ink_on(colour),
                        clip_on=True,
                    )
                if index > 4000:
                    break
            axes.broken_barh(bars, (row - 0.36, 0.72), facecolors=colour, edgecolor="white", linewidth=0.5)
        axes.set_yticks(range(len(tracks)), [str(track["name"]) for track in tracks])
        axes.set_ylim(len(tracks) - 0.5, -0.5)
        axes.set_xlim(0, end)
        axes.set_xlabel("cycles; a bar is named by what it writes")
        count_ticks(axes.xaxis)
        axes.set_title(picture.title, loc="left")
        return figure


def pipe_busy(picture: Picture) -> Figure:
    """Stacked bars: cycles in which a pipe works, waits by cause, has nothing to do.

    `data`: `pipes` (names), `busy` (cycles), `waits` (cause to cycles for each), `cycles` of the run.
    """
    names = [str(name) for name in picture.data["pipes"]]
    total = max(int(picture.data["cycles"]), 1)
    waits = picture.data["waits"]
    causes = sorted({cause for item in waits for cause in item})
    with rc():
        figure = new_figure(7.6, 1.5 + 0.38 * len(names))
        axes = figure.add_subplot()
        shares = [busy / total for busy in picture.data["busy"]]
        axes.barh(names, shares, 0.66, color=BLUE, label="works")
        left = list(shares)
        for number, cause in enumerate(causes):
            part = [item.get(cause, 0) / total for item in waits]
            colour = _CAUSES[number % len(_CAUSES)]
            axes.barh(names, part, 0.66, left=left, color=colour, hatch="///", edgecolor="white", label=cause)
            left = [a + b for a, b in zip(left, part, strict=True)]
        for row, (share, reached) in enumerate(zip(shares, left, strict=True)):
            axes.text(reached + 0.012, row, f"{share:.1%} busy", va="center", color=INK)
        axes.invert_yaxis()
        axes.set_xlim(0, max(1.0, *left) + 0.22)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
        axes.set_xlabel("of all cycles")
        axes.set_title(picture.title, loc="left")
        legend_below(figure, axes.get_legend_handles_labels()[0], size=8)
        return figure


def occupancy(picture: Picture) -> Figure:
    """One step line a memory: bytes in use over cycles, against what the memory has.

    `data`: `memories`, each with `name`, `bytes` (usable) and `steps` ([cycle, bytes]), and `end`.
    """
    memories = picture.data["memories"]
    with rc():
        figure = new_figure(8.4, 0.9 + 0.95 * max(len(memories), 1))
        rows = figure.subplots(max(len(memories), 1), 1, sharex=True, squeeze=False)[:, 0]
        for axes, memory in zip(rows, memories, strict=False):
            cycles = [step[0] for step in memory["steps"]]
            used = [step[1] / 1024 for step in memory["steps"]]
            room = memory["bytes"] / 1024
            cycles, used = [0, *cycles, picture.data["end"]], [0, *used, used[-1]]
            axes.fill_between(cycles, used, step="post", color=SKY, alpha=0.6, lw=0)
            axes.step(cycles, used, where="post", color=BLUE, lw=1.2)
            axes.axhline(room, color=VERMILION, lw=1, ls="--")
            axes.set_ylim(0, room * 1.12)
            axes.set_yticks([0, room], ["0", f"{room:,.0f} KiB"])
            axes.set_ylabel(memory["name"], rotation=0, ha="right", va="center", labelpad=26)
            axes.set_xlim(0, picture.data["end"])
        rows[-1].set_xlabel("cycles (dashed: usable bytes)")
        count_ticks(rows[-1].xaxis)
        figure_title(figure, picture.title)
        return figure


def ub_groups(picture: Picture) -> Figure:
    """Bank groups across, banks of a group down: which block of which operand lies where, in one repeat.

    `data`: `groups`, `banks` (a group), `cells` ([R or W, operand, block, group, bank in the group, address]),
    `busiest` (group), `cycles`, `note`.
    """
    groups, banks = int(picture.data["groups"]), int(picture.data["banks"])
    placed: dict[tuple[int, int], list[tuple[str, str, int]]] = {}
    labels: list[str] = []
    for what, label, block, group, bank, _ in picture.data["cells"]:
        entry = (str(what), str(label), int(block))
        held = placed.setdefault((int(group), int(bank)), [])
        if entry not in held:
            held.append(entry)
        name = f"{'reads' if what == 'R' else 'writes'} {label}"
        if name not in labels:
            labels.append(name)
    palette = dict(zip(labels, (BLUE, ORANGE, VERMILION, GREEN, PINK, SKY), strict=False))
    deepest = max((len(held) for held in placed.values()), default=1)
    height = max(0.42, min(0.2 * deepest, 1.6))
    with rc():
        figure = new_figure(max(1.4 + 0.52 * groups, 6.4), 1.5 + height * banks)
        axes = figure.add_subplot()
        axes.set_xlim(-0.5, groups - 0.5)
        axes.set_ylim(banks - 0.5, -0.5)
        axes.set_facecolor("#f3f4f6")
        for line in range(1, groups):
            axes.axvline(line - 0.5, color="white", lw=1.5)
        for line in range(1, banks):
            axes.axhline(line - 0.5, color="white", lw=1.5)
        for (group, bank), held in placed.items():  # blocks that share a bank share its cell
            share = 0.92 / len(held)
            for index, (what, label, block) in enumerate(held):
                top = bank - 0.46 + index * share
                name = f"{'reads' if what == 'R' else 'writes'} {label}"
                axes.add_patch(
                    Rectangle(
                        (group - 0.46, top), 0.92, share * 0.94, facecolor=palette.get(name, GREY), lw=0
                    )
                )
                axes.text(
                    group,
                    top + share * 0.47,
                    f"{what}{block}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color=ink_on(palette.get(name, GREY)),
                )
        if int(picture.data["cycles"]) > 1:
            busiest = int(picture.data["busiest"])
            axes.add_patch(
                Rectangle(
                    (busiest - 0.5, -0.5), 1, banks, fill=False, edgecolor=INK, lw=2, zorder=4, clip_on=False
                )
            )
        axes.set_xticks(range(groups))
        axes.set_yticks(range(banks), [f"bank {bank}" for bank in range(banks)])
        axes.set_xlabel(f"bank group; R/W and block of the repeat ({picture.data['note']})")
        axes.set_title(picture.title, loc="left")
        axes.tick_params(length=0)
        patches = [Patch(color=palette.get(name, GREY), label=name) for name in labels]
        if int(picture.data["cycles"]) > 1:
            patches.append(Patch(facecolor="white", edgecolor=INK, lw=1.5, label="busiest bank group"))
        legend_below(figure, patches)
        return figure


def _short(label: str) -> str:
    """What an instruction writes: `A1` of "nd2nz A -> A1"."""
    return label.rsplit("-> ", 1)[-1]
