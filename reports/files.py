"""Tables and results as files: CSV, Parquet and JSON."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..sim.results import Column, RunResult, Table
from .text import sample


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
        pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"title": table.title})),
        path,
        compression="zstd",
    )


def result_json(
    result: RunResult, *, tables: tuple[str, ...] | None = None, limit: int | None = None
) -> dict[str, Any]:
    """A result as plain JSON values; unknown numbers are null. `tables` limits it to the named ones.

    With `limit` longer tables are sampled, and `sampled` says how many rows they really have.
    """
    return {
        "name": result.name,
        "title": result.title,
        "chip": result.chip,
        "chip_title": result.chip_title,
        "status": result.status,
        "exit_code": result.exit_code,
        "headline": result.headline,
        "reasons": list(result.reasons),
        "totals": {key: _json_value(value) for key, value in result.extra.get("totals", {}).items()},
        "tables": {
            table.name: [
                {key: _json_value(value) for key, value in row.items()}
                for row in (table if limit is None else sample(table, limit)).rows()
            ]
            for table in result.tables
            if tables is None or table.name in tables
        },
        "columns": {
            table.name: [{"name": c.name, "unit": c.unit, "doc": c.doc} for c in table.columns]
            for table in result.tables
            if tables is None or table.name in tables
        },
        "sampled": {t.name: len(t) for t in result.tables if limit is not None and len(t) > limit},
        "titles": {table.name: table.title for table in result.tables},
        "assumptions": list(result.assumptions),
        "violations": list(result.violations),
        "unknowns": list(result.unknowns),
        "command": result.command,
        "versions": dict(result.versions),
    }


def result_from_json(data: Mapping[str, Any]) -> RunResult:
    """The result that `result_json` wrote, without pictures and inputs. Raises KeyError for a missing field.

    >>> result_from_json(result_json(RunResult("n", "t", "h200", "NVIDIA H200", "measured", "fine"))).headline
    'fine'
    """
    columns: Mapping[str, Any] = data.get("columns", {})
    tables = tuple(
        Table(
            name,
            data.get("titles", {}).get(name, name),
            tuple(Column(c["name"], c["unit"], c["doc"]) for c in columns[name]),
            {c["name"]: [row[c["name"]] for row in rows] for c in columns[name]},
        )
        for name, rows in data["tables"].items()
        if name in columns
    )
    return RunResult(
        name=data["name"],
        title=data["title"],
        chip=data["chip"],
        chip_title=data.get("chip_title", data["chip"]),
        status=data["status"],
        headline=data["headline"],
        reasons=tuple(data["reasons"]),
        tables=tables,
        assumptions=tuple(data["assumptions"]),
        violations=tuple(data["violations"]),
        unknowns=tuple(data["unknowns"]),
        command=data["command"],
        versions=dict(data["versions"]),
        extra={"totals": dict(data.get("totals", {}))},
    )


def dumps(value: Any) -> str:
    """JSON text without NaN (which JSON does not have)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def column_guide(result: RunResult, limit: int | None = None) -> str:
    """A Markdown page: every table, every column, its unit and meaning."""
    lines = [f"# Columns of {result.name}", ""]
    for table in result.tables:
        lines += [f"## {table.name}: {table.title}", ""]
        if limit is not None and len(table) > limit:
            lines += [
                f"{len(table):,} rows: all in {table.name}.parquet, {len(sample(table, limit)):,} evenly spaced ones "
                f"in {table.name}.sample.csv and in result.json.",
                "",
            ]
        lines += ["| column | unit | meaning |", "| --- | --- | --- |"]
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
