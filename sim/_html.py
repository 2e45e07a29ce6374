"""Small HTML for notebooks: a heading, sentences and a table, every text escaped. No page, no style sheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MOST_ROWS = 60


def fragment(head: str, lines: Iterable[str] = (), tables: Iterable[str] = ()) -> str:
    """A heading in bold, sentences, and tables that are HTML already.

    >>> fragment("8 < 9", ["so it is"])
    '<div><b>8 &lt; 9</b><br>so it is</div>'
    """
    said = "".join(f"<br>{escape(line)}" for line in lines)
    return f"<div><b>{escape(head)}</b>{said}{''.join(tables)}</div>"


def table(title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], total: int) -> str:
    """A table of at most 60 rows; `total` says how many there are."""
    names = "".join(f"<th>{escape(name)}</th>" for name in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(show(v))}</td>' for v in row)}</tr>" for row in rows)
    more = f"<small>the first {MOST_ROWS} of {total:,} rows</small>" if total > MOST_ROWS else ""
    return f"<table><caption>{escape(title)}</caption><tr>{names}</tr>{body}</table>{more}"


def show(value: Any) -> str:
    """A cell: integers with separators, floats in short, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
