"""Replica traffic: bytes that differ against bytes that are moved, by mover, memory and axis."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ...sim.results import Picture
from .style import BLUE, INK, ORANGE, byte_ticks, legend_below, new_figure, rc, shorten, size_text


def replica_traffic(picture: Picture) -> Figure:
    """Horizontal bars: the unique bytes, and behind them the bytes of the copies.

    `data`: `names`, `memory`, `axes` (n texts: which axis copies how often), `unique` and `physical` (n bytes).
    """
    data = picture.data
    unique = np.asarray(data["unique"], dtype=np.float64)
    physical = np.asarray(data["physical"], dtype=np.float64)
    labels = [f"{shorten(n, 34)}\n{m}" for n, m in zip(data["names"], data["memory"], strict=True)]
    with rc():
        figure = new_figure(8.4, 1.3 + 0.46 * len(labels))
        axes = figure.add_subplot()
        rows = np.arange(len(labels))
        axes.barh(rows, unique, 0.62, color=BLUE, label="unique bytes")
        copies = np.maximum(physical - unique, 0)
        axes.barh(
            rows,
            copies,
            0.62,
            left=unique,
            color=ORANGE,
            hatch="///",
            edgecolor="white",
            label="copies of them",
        )
        span = float(max(physical.max(), unique.max(), 1.0))
        for row, (own, all_bytes, axis) in enumerate(zip(unique, physical, data["axes"], strict=True)):
            times = f", {all_bytes / own:.3g}x" if own and all_bytes != own else ""
            text = f"{size_text(all_bytes)}{times}" + (f" ({shorten(axis, 24)})" if axis else "")
            axes.text(max(own, all_bytes) + 0.012 * span, row, text, va="center", color=INK)
        axes.set_yticks(rows, labels, fontsize=8)
        axes.invert_yaxis()
        axes.set_xlim(0, span * 1.42)
        byte_ticks(axes.xaxis, span)
        axes.set_xlabel("bytes moved on the side of the copies")
        axes.set_title(picture.title, loc="left")
        legend_below(figure, axes.get_legend_handles_labels()[0])
        return figure
