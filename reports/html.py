"""One self-contained HTML page a run: summary, tables, pictures; no network, light and dark, printable."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from ..sim.results import RunResult, Table
from .pictures import pictures_of, svg_text
from .text import cells, head, heading, is_numeric, mood, show, told

_MAX_ROWS = 500
_OPEN_ROWS = 24  # longer tables stand closed behind the pictures, but for the first one of a result
_OPEN_FIRST = 100


def render_html(result: RunResult, svgs: Sequence[str] | None = None) -> str:
    """The page as text. Everything that comes from a scenario is escaped.

    `svgs` are the pictures (`pictures_of`) as SVG texts, where somebody has drawn them already.
    """
    shown = pictures_of(result)
    drawn = [svg_text(picture) for picture in shown] if svgs is None else svgs
    filled = [table for table in result.tables if len(table)]
    tables = [_table(table, _OPEN_ROWS if index else _OPEN_FIRST) for index, table in enumerate(filled)]
    pictures = [
        {"title": picture.title, "alt": picture.alt, "svg": _svg(svg, picture.alt, index)}
        for index, (picture, svg) in enumerate(zip(shown, drawn, strict=True))
    ]
    return _template().render(
        result=result, tables=tables, pictures=pictures, facts=_facts(result), mood=mood(result)
    )


def _facts(result: RunResult) -> list[tuple[str, str]]:
    """The sums of the run that a reader looks for first: what, number."""
    return [(name.replace("_", " "), show(value)) for name, value in result.extra.get("totals", {}).items()]


@lru_cache(maxsize=1)
def _template() -> Any:
    from jinja2 import Environment

    text = (resources.files("bankbench.reports") / "templates" / "report.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["marked"] = _marked
    return environment.from_string(text)


def _marked(text: str) -> Markup:
    """A sentence of a scenario: escaped, and `what stands in backticks` as code.

    >>> str(_marked("set `swizzle: none` <here>"))
    'set <code>swizzle: none</code> &lt;here&gt;'
    """
    pieces = re.split(r"`([^`\n]+)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if n % 2 else p for n, p in enumerate(pieces))


def _svg(text: str, alt: str, index: int) -> Markup:
    """Our own SVG, with ids made unique in the page and its text alternative as title."""
    label = Markup('<svg role="img" aria-label="{}" ').format(alt)
    for name in ('id="', "url(#", 'href="#'):
        text = text.replace(name, f"{name}p{index}-")
    return label + Markup(text.removeprefix("<svg "))


def _table(table: Table, most_open: int) -> dict[str, Any]:
    columns, first = told(table), head(table, _MAX_ROWS)
    numeric = [is_numeric(table, column) for column in columns]
    rows = list(first.rows())
    texts = [cells(column, [row[column.name] for row in rows]) for column in columns]
    return {
        "name": table.name,
        "title": table.title,
        "columns": [
            {"heading": heading(c), "doc": c.doc, "numeric": number}
            for c, number in zip(columns, numeric, strict=True)
        ],
        "rows": [
            [
                _cell(row[c.name], text[n], number)
                for c, text, number in zip(columns, texts, numeric, strict=True)
            ]
            for n, row in enumerate(rows)
        ],
        "more": max(len(table) - _MAX_ROWS, 0),
        "sampled": f"The first {_MAX_ROWS:,} of {len(table):,} rows; all are in tables/{table.name}.parquet.",
        "length": len(table),
        "long": len(table) > most_open,
    }


def _cell(value: Any, text: str, number: bool) -> dict[str, Any]:
    """Text and sort key of a cell; no key where the page can sort by the text itself."""
    key = _sort_key(value)
    return {"text": text, "sort": None if not number and key == text else key}


def _sort_key(value: Any) -> str:
    """What the page sorts by: a plain number, or the text; "" for nothing, which goes last."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return repr(value) if isinstance(value, int | float) else show(value)
