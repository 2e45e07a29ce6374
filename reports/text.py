"""Numbers and small texts the way every report shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..sim.results import Column, RunResult, Table

_PLACES = 3
# Columns of yes and no in which "no" is bad news.
_WANTED = ("fits", "legal", "matches")


def show(value: Any) -> str:
    """A cell: thousands separators, floats with up to three places, lists joined by commas.

    >>> show(1048576), show(2.5), show(float("nan")), show([0, 4, 8])
    ('1,048,576', '2.5', 'unknown', '0, 4, 8')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if math.isnan(value):
            return "unknown"
        return f"{value:,.3f}".rstrip("0").rstrip(".") if abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(show(item) for item in value)
    return str(value)


def share_text(part: float, whole: float) -> str:
    """A share in whole percents, that never says nothing of something, nor everything of less.

    >>> share_text(1, 3), share_text(1, 1000), share_text(999, 1000), share_text(0, 5)
    ('33 %', 'under 1 %', 'over 99 %', '0 %')
    """
    percent = 100 * part / whole
    if 0 < percent < 0.5:
        return "under 1 %"
    return "over 99 %" if 99.5 <= percent < 100 else f"{percent:.0f} %"


def head(table: Table, limit: int) -> Table:
    """The first `limit` rows; nothing behind them is converted."""
    if len(table) <= limit:
        return table
    return replace(table, data={name: values[:limit] for name, values in table.data.items()})


def sample(table: Table, limit: int) -> Table:
    """At most `limit` rows, evenly spaced, the first one among them.

    >>> t = Table("t", "T", (Column("x", "", ""),), {"x": list(range(10))})
    >>> list(sample(t, 4).data["x"])
    [0, 3, 6, 9]
    """
    if len(table) <= limit:
        return table
    step = -(-len(table) // limit)
    return replace(table, data={name: values[::step] for name, values in table.data.items()})


def heading(column: Column) -> str:
    """`latency (cycles)`: a column's name with its unit, unless one of them ends with the other.

    >>> heading(Column("bank_conflicts", "", "")), heading(Column("start", "byte", ""))
    ('bank conflicts', 'start (byte)')
    >>> heading(Column("cycles", "warp cycles", ""))
    'warp cycles'
    """
    name = column.name.replace("_", " ")
    if column.unit.endswith(f" {name}"):
        return column.unit
    return f"{name} ({column.unit})" if column.unit and not name.endswith(column.unit) else name


def is_numeric(table: Table, column: Column) -> bool:
    """Whether a column is right-aligned: it has a number, and no text or yes and no."""
    values = [value for value in table.data[column.name] if value is not None]
    return bool(values) and not any(
        isinstance(value, str | list | tuple | bool | np.bool_) for value in values
    )


def cells(column: Column, values: Sequence[Any]) -> list[str]:
    """The texts of one column: `show`, and as many places in all numbers where the column is of one kind.

    Of one kind are columns with a unit and shares (0 to 1); others may hold counts beside ratios.

    >>> cells(Column("busy", "cycles", ""), [65536.0, 50331.648, None])
    ['65,536.000', '50,331.648', '']
    >>> cells(Column("share", "", ""), [0.95, 1.0, 0.0])
    ['0.95', '1.00', '0.00']
    """
    numbers = [v for v in values if isinstance(v, float) and math.isfinite(v)]
    shares = bool(numbers) and all(0 <= v <= 1 for v in numbers)
    whole = any(isinstance(v, int) and not isinstance(v, bool) for v in values)
    if not numbers or whole or not (column.unit or shares) or max(map(abs, numbers)) >= 1e15:
        return [show(value) for value in values]
    places = max(len(show(v).partition(".")[2]) for v in numbers)
    return [f"{v:,.{places}f}" if isinstance(v, float) and math.isfinite(v) else show(v) for v in values]


def told(table: Table) -> tuple[Column, ...]:
    """The columns that tell something: those with a value in some row; all of them when none has one."""
    found = tuple(c for c in table.columns if any(v is not None and v != "" for v in table.data[c.name]))
    return found or table.columns


def mood(result: RunResult) -> str:
    """How a verdict is marked: `bad` (a broken limit), `warn` (something unknown), `excess`, or `fine`.

    `excess` is whatever could be avoided or does not work although nobody set a limit: excess wavefronts, conflict
    cycles, hazards, and things that are illegal, do not fit or do not match.
    """
    if result.exit_code:
        return "bad" if result.exit_code == 1 else "warn"
    totals = result.extra.get("totals", {})
    avoidable = totals.get("excess_wavefronts") or totals.get("conflict_cycles") or totals.get("hazards")
    trouble = any(_has_trouble(table) for table in result.tables) or _is_overfull(result)
    return "excess" if avoidable or trouble else "fine"


def _is_overfull(result: RunResult) -> bool:
    """Whether a plan of tensor memory, or a main loop beside it, needs more columns than its map has."""
    maps = [picture.data for picture in result.pictures if picture.kind == "tmem_map"]
    exist = min((data["columns"] for data in maps), default=None)
    if exist is None:
        return False
    loops = [n for t in result.tables if t.name == "tmem_loops" for n in t.data.get("columns", ())]
    return any(n is not None and n > exist for n in (*(data["needed"] for data in maps), *loops))


def _has_trouble(table: Table) -> bool:
    if table.name.endswith("hazards"):
        return len(table) > 0
    refused = any(value is not None and not value for name in _WANTED for value in table.data.get(name, ()))
    return refused or any(str(value).startswith("illegal") for value in table.data.get("outcome", ()))
