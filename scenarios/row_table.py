"""Tables from rows: most answers come a row at a time, `Table` holds columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..sim.results import Column, Table


def row_table(
    name: str, title: str, columns: tuple[Column, ...], rows: Sequence[Sequence[Any] | Mapping[str, Any]]
) -> Table:
    """A table of rows in the order of the columns, or of mappings by column name; what a mapping lacks stays empty.

    >>> columns = (Column("slot", "", "number"), Column("bytes", "bytes", "in it"))
    >>> row_table("t", "Slots", columns, [(0, 512), {"slot": 1}]).data
    {'slot': [0, 1], 'bytes': [512, None]}
    """
    data = {
        column.name: [row.get(column.name) if isinstance(row, Mapping) else row[index] for row in rows]
        for index, column in enumerate(columns)
    }
    return Table(name, title, columns, data)
