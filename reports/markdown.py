"""Tables as Markdown text that also reads well in a terminal: one line a row, aligned, at most `width` wide."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells

from ..sim.results import Column, Table
from .text import cells, head, heading, is_numeric, told

_ENOUGH = 10  # of a text, as long as headings of numbers can give way
_LEAST = 6
_LEAST_HEADING = 4


def markdown_lines(table: Table, width: int = 100, limit: int | None = None) -> list[str]:
    """The lines of a table: heading, rule, rows (the first `limit` of them).

    Text columns are shortened with an ellipsis, the widest first, until a line fits into `width`, and where that is
    not enough the headings of numbers; numbers never are. Widths are those of a terminal: a Chinese sign takes two.
    A status that all rows share is left out, since every report says it once, and so are empty columns.

    >>> from bankbench.sim.results import Column, Table
    >>> t = Table("t", "T", (Column("access", "", ""), Column("ways", "", "")), {"access": ["a"], "ways": [8]})
    >>> print("\\n".join(markdown_lines(t)))
    | access | ways |
    | :----- | ---: |
    | a      |    8 |
    """
    columns = [column for column in told(table) if not _says_nothing(table, column)]
    values = list((table if limit is None else head(table, limit)).rows())
    texts = [[_cell(text) for text in cells(c, [row[c.name] for row in values])] for c in columns]
    rows = [[text[n] for text in texts] for n in range(len(values))]
    heads = [_cell(heading(column)) for column in columns]
    numeric = [is_numeric(table, column) for column in columns]
    least = [max((cell_len(row[i]) for row in rows), default=0) for i in range(len(heads))]
    widths = [max(3, cell_len(head), most) for head, most in zip(heads, least, strict=True)]
    _shrink(widths, numeric, least, width)
    rule = [("-" * (w - 1) + ":" if n else ":" + "-" * (w - 1)) for w, n in zip(widths, numeric, strict=True)]
    lines = [_line(heads, widths, numeric), "| " + " | ".join(rule) + " |"]
    return lines + [_line(row, widths, numeric) for row in rows]


def _says_nothing(table: Table, column: Column) -> bool:
    return column.name == "status" and len(table.columns) > 1 and len(set(table.data[column.name])) == 1


def _cell(text: str) -> str:
    """One line, with the characters that Markdown would read as structure escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def _shrink(widths: list[int], numeric: list[bool], least: list[int], width: int) -> None:
    """Makes columns narrower until a line fits: texts, then headings of numbers (`least`: the numbers), then texts."""
    texts = [i for i, number in enumerate(numeric) if not number]
    heads = [i for i, number in enumerate(numeric) if number]
    over = sum(widths) + 3 * len(widths) + 1 - width
    for columns, limit in (
        (texts, [_ENOUGH] * len(widths)),
        (heads, [max(most, _LEAST_HEADING) for most in least]),
        (texts, [_LEAST] * len(widths)),
    ):
        while over > 0 and (wide := [i for i in columns if widths[i] > limit[i]]):
            widths[max(wide, key=lambda i: widths[i])] -= 1
            over -= 1


def _line(cells: Sequence[str], widths: list[int], numeric: list[bool]) -> str:
    shown = (_fill(_shorten(cell, w), w, n) for cell, w, n in zip(cells, widths, numeric, strict=True))
    return "| " + " | ".join(shown) + " |"


def _fill(text: str, width: int, right: bool) -> str:
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank


def _shorten(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return chop_cells(text, width - 1)[0].rstrip("\\ ") + "…"
