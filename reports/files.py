"""Tables and results as files: CSV, Parquet and JSON."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

from ..sim.results import RunResult, Table


def write_csv(table: Table, path: Path) -> None:
    """One CSV file; the heading row has the plain column names, `columns.md` their units and meanings."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([column.name for column in table.columns])
        for row in table.rows():
            writer.writerow([_cell(row[column.name]) for column in table.columns])


def write_parquet(table: Table, path: Path) -> None:
    """One Parquet file; every column's unit and meaning are stored in its field metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [pa.array(list(table.data[column.name])) for column in table.columns]
    fields = [
        pa.field(column.name, array.type, metadata={"unit": column.unit, "doc": column.doc})
        for column, array in zip(table.columns, arrays, strict=True)
    ]
    pq.write_table(
        pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"title": table.title})), path
    )


def result_json(result: RunResult, *, tables: tuple[str, ...] | None = None) -> dict[str, Any]:
    """A result as plain JSON values; unknown numbers are null. `tables` limits it to the named ones."""
    return {
        "name": result.name,
        "title": result.title,
        "chip": result.chip,
        "status": result.status,
        "exit_code": result.exit_code,
        "headline": result.headline,
        "reasons": list(result.reasons),
        "tables": {
            table.name: [{key: _json_value(value) for key, value in row.items()} for row in table.rows()]
            for table in result.tables
            if tables is None or table.name in tables
        },
        "assumptions": list(result.assumptions),
        "violations": list(result.violations),
        "unknowns": list(result.unknowns),
        "command": result.command,
        "versions": dict(result.versions),
    }


def dumps(value: Any) -> str:
    """JSON text without NaN (which JSON does not have)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def column_guide(result: RunResult) -> str:
    """A Markdown page: every table, every column, its unit and meaning."""
    lines = [f"# Columns of {result.name}", ""]
    for table in result.tables:
        lines += [f"## {table.name}: {table.title}", "", "| column | unit | meaning |", "| --- | --- | --- |"]
        lines += [f"| {c.name} | {c.unit} | {c.doc.replace('|', chr(92) + '|')} |" for c in table.columns]
        lines.append("")
    return "\n".join(lines)


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return value
