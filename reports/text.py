"""Numbers and small texts the way every report shows them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..sim.results import Column, Table


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
    """`latency (cycles)`: a column's name with its unit, unless the name ends with it.

    >>> heading(Column("bank_conflicts", "", "")), heading(Column("start", "byte", ""))
    ('bank conflicts', 'start (byte)')
    """
    name = column.name.replace("_", " ")
    return f"{name} ({column.unit})" if column.unit and not name.endswith(column.unit) else name


def is_numeric(table: Table, column: Column) -> bool:
    """Whether a column is right-aligned: it has a number and no text."""
    values = [value for value in table.data[column.name] if value is not None]
    return bool(values) and not any(isinstance(value, str | list | tuple) for value in values)
