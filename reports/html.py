"""One self-contained HTML page a run: summary, tables, pictures; no network, light and dark, printable."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from ..sim.results import RunResult, Table
from .pictures import svg_text
from .text import heading, is_numeric, show

_MAX_ROWS = 500
_OPEN_ROWS = 40  # longer tables stand closed behind the pictures


def render_html(result: RunResult) -> str:
    """The page as text. Everything that comes from a scenario is escaped."""
    tables = [_table(table) for table in result.tables if len(table)]
    pictures = [
        {"title": picture.title, "alt": picture.alt, "svg": _svg(svg_text(picture), picture.alt, index)}
        for index, picture in enumerate(result.pictures)
    ]
    return _template().render(result=result, tables=tables, pictures=pictures)


@lru_cache(maxsize=1)
def _template() -> Any:
    from jinja2 import Environment

    text = (resources.files(__package__) / "templates" / "report.html.j2").read_text(encoding="utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)


def _svg(text: str, alt: str, index: int) -> Markup:
    """Our own SVG, with ids made unique in the page and its text alternative as title."""
    label = Markup('<svg role="img" aria-label="{}" ').format(alt)
    for name in ('id="', "url(#", 'href="#'):
        text = text.replace(name, f"{name}p{index}-")
    return label + Markup(text.removeprefix("<svg "))


def _table(table: Table) -> dict[str, Any]:
    rows = []
    for index, row in enumerate(table.rows()):
        if index >= _MAX_ROWS:
            break
        rows.append([{"text": show(row[c.name]), "sort": _sort_key(row[c.name])} for c in table.columns])
    return {
        "name": table.name,
        "title": table.title,
        "columns": [
            {"heading": heading(c), "doc": c.doc, "numeric": is_numeric(table, c)} for c in table.columns
        ],
        "rows": rows,
        "more": max(len(table) - _MAX_ROWS, 0),
        "length": len(table),
        "long": len(table) > _OPEN_ROWS,
    }


def _sort_key(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    return repr(value) if isinstance(value, int | float) else show(value)
