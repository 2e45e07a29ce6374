"""One self-contained HTML page a run: summary, tables, pictures; no network, light and dark, printable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from ..sim.results import RunResult, Table
from .pictures import pictures_of, svg_text
from .text import head, heading, is_numeric, show

_MAX_ROWS = 500
_OPEN_ROWS = 24  # longer tables stand closed behind the pictures


def render_html(result: RunResult, svgs: Sequence[str] | None = None) -> str:
    """The page as text. Everything that comes from a scenario is escaped.

    `svgs` are the pictures (`pictures_of`) as SVG texts, where somebody has drawn them already.
    """
    shown = pictures_of(result)
    drawn = [svg_text(picture) for picture in shown] if svgs is None else svgs
    tables = [_table(table) for table in result.tables if len(table)]
    pictures = [
        {"title": picture.title, "alt": picture.alt, "svg": _svg(svg, picture.alt, index)}
        for index, (picture, svg) in enumerate(zip(shown, drawn, strict=True))
    ]
    return _template().render(
        result=result, tables=tables, pictures=pictures, facts=_facts(result), mood=_mood(result)
    )


def _facts(result: RunResult) -> list[tuple[str, str]]:
    """The sums of the run that a reader looks for first: what, number."""
    return [(name.replace("_", " "), show(value)) for name, value in result.extra.get("totals", {}).items()]


def _mood(result: RunResult) -> str:
    """How the verdict is marked: a broken limit, something unknown, excess or hazards, or nothing."""
    if result.exit_code:
        return "bad" if result.exit_code == 1 else "warn"
    hazards = any(len(table) for table in result.tables if table.name.endswith("hazards"))
    totals = result.extra.get("totals", {})
    avoidable = totals.get("excess_wavefronts") or totals.get("conflict_cycles")
    return "excess" if hazards or avoidable else "fine"


@lru_cache(maxsize=1)
def _template() -> Any:
    from jinja2 import Environment

    text = (resources.files("bankbench.reports") / "templates" / "report.html.j2").read_text(encoding="utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)


def _svg(text: str, alt: str, index: int) -> Markup:
    """Our own SVG, with ids made unique in the page and its text alternative as title."""
    label = Markup('<svg role="img" aria-label="{}" ').format(alt)
    for name in ('id="', "url(#", 'href="#'):
        text = text.replace(name, f"{name}p{index}-")
    return label + Markup(text.removeprefix("<svg "))


def _table(table: Table) -> dict[str, Any]:
    numeric = [is_numeric(table, column) for column in table.columns]
    rows = [
        [_cell(row[c.name], number) for c, number in zip(table.columns, numeric, strict=True)]
        for row in head(table, _MAX_ROWS).rows()
    ]
    more = max(len(table) - _MAX_ROWS, 0)
    return {
        "name": table.name,
        "title": table.title,
        "columns": [
            {"heading": heading(c), "doc": c.doc, "numeric": number}
            for c, number in zip(table.columns, numeric, strict=True)
        ],
        "rows": rows,
        "more": more,
        "sampled": f"The first {_MAX_ROWS:,} of {len(table):,} rows; all are in tables/{table.name}.parquet.",
        "length": len(table),
        "long": len(table) > _OPEN_ROWS,
    }


def _cell(value: Any, number: bool) -> dict[str, Any]:
    """Text and sort key of a cell; no key where the page can sort by the text itself."""
    text = show(value)
    key = _sort_key(value)
    return {"text": text, "sort": None if not number and key == text else key}


def _sort_key(value: Any) -> str:
    """What the page sorts by: a plain number, or the text; "" for nothing, which goes last."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return repr(value) if isinstance(value, int | float) else show(value)
