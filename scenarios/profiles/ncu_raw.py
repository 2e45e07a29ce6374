"""The raw page: one row a launch, one column a metric, a row of units below the header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .ncu_common import LAUNCH_COLUMNS, has_launch_columns, launch_of, reading
from .numbers import Locale
from .rows import Row
from .values import Launch, Problem, Profile


def is_header(cells: Sequence[str]) -> bool:
    """Whether this record heads a raw page."""
    return has_launch_columns(cells) and "Metric Name" not in cells


def read(found: Sequence[Row | Problem], file: str, locale: Locale) -> Profile:
    """Launches of the records from the header on; a second header (exports joined into one file) starts anew."""
    launches: list[Launch] = []
    problems: list[Problem] = []
    names: list[str] = []
    units: list[str] = []
    for row in found:
        if isinstance(row, Problem):
            problems.append(row)
            continue
        if row.chatter:
            continue
        if is_header(row.cells):
            names, units = [cell.strip() for cell in row.cells], []
            continue
        if len(row.cells) != len(names):
            problems.append(_short(row, len(names)))
            continue
        key = row.cells[names.index("ID")].strip()
        if not key and not units:
            units = row.cells
            continue
        if not key.isdigit():
            problems.append(Problem(row.line, f"ID {key[:20]!r} is no number; the row is left out"))
            continue
        given = dict(zip(names, row.cells, strict=True))
        metrics = {
            name: reading(cell, unit, locale)
            for name, cell, unit in zip(names, row.cells, units or [""] * len(names), strict=True)
            if name not in LAUNCH_COLUMNS
        }
        launches.append(replace(launch_of(given), metrics=metrics))
    return Profile(file, "Nsight Compute", "raw", tuple(launches), tuple(problems))


def _short(row: Row, columns: int) -> Problem:
    return Problem(row.line, f"{len(row.cells)} cells, the header has {columns}; the row is left out")
