"""How a layout shows itself in a notebook: its text, and a table of where the first elements lie."""

from __future__ import annotations

from html import escape
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from .protocol import IntArray, LayoutError

if TYPE_CHECKING:
    from .protocol import Layout

_ROWS, _COLUMNS = 16, 32
# Colours that people with any colour vision can tell apart, light enough for black figures.
_TINTS = ("#dfe7f1", "#f6e3b8", "#cdeadf", "#f3d9e7", "#d3ecfa", "#fadfcd", "#f5f1c4", "#e4e4e4")


class NotebookRepr:
    """Gives a layout `_repr_html_`: notation and text, then up to 16 x 32 elements with their physical coordinates."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return layout_html(cast("Layout", self))


def layout_html(layout: Layout) -> str:
    """HTML of a layout, without a page around it; colours repeat with the last axis, all texts are escaped.

    >>> from bankbench.layouts import parse
    >>> layout_html(parse("(2,2):(1,2)")).count("<td")
    4
    """
    head = f"<code>{escape(str(layout))}</code>"
    try:
        shape = layout.logical_shape
    except LayoutError as error:  # an encoding that says nothing of the tile
        return f"<div>{head}<br><small>{escape(error.message)}</small></div>"
    note = f"{layout.notation}, shape {shape}, axes {', '.join(layout.axes) or 'none'}"
    try:
        copies = max((len(values) for values in layout.replicas().values()), default=1)
        note += f", {copies} copies of every element (the first is shown)" if copies > 1 else ""
    except LayoutError:
        note += ", several copies of every element (one is shown)"
    if not shape or 0 in shape:
        return f"<div>{head}<br><small>{escape(note)}</small></div>"
    last = shape[-1]
    columns = min(last, _COLUMNS)
    total = prod(shape[:-1])
    rows = min(total, _ROWS)
    lead: list[IntArray] = []
    if len(shape) > 1:
        lead = [np.asarray(x, np.int64) for x in np.unravel_index(np.arange(rows), shape[:-1])]
    coords = [*(index[:, None] for index in lead), np.arange(columns, dtype=np.int64)[None, :]]
    found = {
        axis: np.broadcast_to(values, (rows, columns)).tolist()
        for axis, values in layout.evaluate(*coords, shape=shape).items()
    }
    if rows < total or columns < last:
        note += f"; the first {rows} x {columns} elements"
    body = "".join(_row(i, [int(x[i]) for x in lead], found, columns) for i in range(rows))
    return (
        f'<div>{head}<br><small>{escape(note)}</small><table style="border-collapse:collapse;font-size:85%">'
        f"{body}</table></div>"
    )


def _row(index: int, lead: list[int], found: dict[str, list[list[int]]], columns: int) -> str:
    name = ",".join(map(str, lead))
    cells = ""
    for column in range(columns):
        values = [places[index][column] for places in found.values()]
        tint = _TINTS[values[-1] // 8 % len(_TINTS)] if values else "#ffffff"
        title = ", ".join(f"{axis} {places[index][column]}" for axis, places in found.items())
        text = " ".join(map(str, values))
        cells += (
            f'<td style="background:{tint};color:#1f2430;text-align:right;padding:0 4px" title="{escape(title)}">'
            f"{text}</td>"
        )
    return f"<tr><th style='text-align:right;padding:0 6px'>{name}</th>{cells}</tr>"
