"""Tables as Markdown text that also reads well in a terminal: one line a row, aligned, at most `width` wide."""

from __future__ import annotations

from collections.abc import Sequence

from ..sim.results import Column, Table
from .text import head, heading, is_numeric, show

_LEAST = 8


def markdown_lines(table: Table, width: int = 100, limit: int | None = None) -> list[str]:
    """The lines of a table: heading, rule, rows (the first `limit` of them).

    Text columns are shortened with an ellipsis, the widest first, until a line fits into `width`; numbers
    never are. A status that all rows share is left out, since every report says it once.

    >>> from bankbench.sim.results import Column, Table
    >>> t = Table("t", "T", (Column("access", "", ""), Column("ways", "", "")), {"access": ["a"], "ways": [8]})
    >>> print("\\n".join(markdown_lines(t)))
    | access | ways |
    | :----- | ---: |
    | a      |    8 |
    """
    columns = [column for column in table.columns if not _says_nothing(table, column)]
    rows = [
        [_cell(show(row[column.name])) for column in columns]
        for row in (table if limit is None else head(table, limit)).rows()
    ]
    heads = [_cell(heading(column)) for column in columns]
    numeric = [is_numeric(table, column) for column in columns]
    widths = [max(3, len(head), *(len(row[i]) for row in rows)) for i, head in enumerate(heads)]
    _shrink(widths, numeric, width)
    rule = [("-" * (w - 1) + ":" if n else ":" + "-" * (w - 1)) for w, n in zip(widths, numeric, strict=True)]
    lines = [_line(heads, widths, numeric), "| " + " | ".join(rule) + " |"]
    return lines + [_line(row, widths, numeric) for row in rows]


def _says_nothing(table: Table, column: Column) -> bool:
    return column.name == "status" and len(table.columns) > 1 and len(set(table.data[column.name])) == 1


def _cell(text: str) -> str:
    """One line, with the characters that Markdown would read as structure escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def _shrink(widths: list[int], numeric: list[bool], width: int) -> None:
    while sum(widths) + 3 * len(widths) + 1 > width:
        texts = [i for i, is_number in enumerate(numeric) if not is_number and widths[i] > _LEAST]
        if not texts:
            return
        widest = max(texts, key=lambda i: widths[i])
        widths[widest] -= 1


def _line(cells: Sequence[str], widths: list[int], numeric: list[bool]) -> str:
    shown = (
        cell.rjust(w) if n else _shorten(cell, w).ljust(w)
        for cell, w, n in zip(cells, widths, numeric, strict=True)
    )
    return "| " + " | ".join(shown) + " |"


def _shorten(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    short = text[: width - 1].rstrip("\\")
    return short + "…"
