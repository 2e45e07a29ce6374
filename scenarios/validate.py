"""Validation runs: measured rows against the models, as a result that reports can show."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..sim.chip import Chip, load_chip
from ..sim.results import Column, Picture, RunResult, Table
from .errors import ScenarioError
from .validation import Row, Summary, ValidationSet, find_sets, summaries

Compared = list[tuple[ValidationSet, list[Row]]]

_SUMMARY = (
    Column("set", "", "the set of measurements"),
    Column("kind", "", "kind of row"),
    Column("rows", "", "rows compared"),
    Column("mean", "%", "mean absolute error"),
    Column("p95", "%", "95 % of the rows err by no more"),
    Column("worst", "%", "largest absolute error"),
    Column("worst row", "", "the row with it"),
    Column("right", "", "rows within their tolerance (5 % for times, 0 for counts)"),
)
_ROWS = (
    Column("set", "", "the set of measurements"),
    Column("id", "", "the row"),
    Column("kind", "", "kind of row"),
    Column("measured", "", "what the hardware showed"),
    Column("predicted", "", "what the model says"),
    Column("error", "%", "relative error, positive when the model says too much"),
    Column("left out", "", "why the row is not compared"),
)


def compare(
    *,
    chip: str | None = None,
    sets: Sequence[str] = (),
    files: Sequence[tuple[str, Path]] = (),
) -> Compared:
    """The rows of the chosen sets, or of (format, file) pairs.

    Without `sets` and `files` all sets of the chip run. Raises ScenarioError, ChipError, ProgramError, AccessError.
    """
    if files:
        machine = load_chip(chip or "h200")
        return [(own, list(own.rows(machine, file))) for own, file in _own_sets(files, machine)]
    chosen = find_sets(list(sets) or None, load_chip(chip).name if chip else None)
    if not chosen:
        raise ScenarioError(f"no measurements of {chip}; there are some of: {', '.join(_chips())}")
    return [(item, list(item.rows(load_chip(item.chip)))) for item in chosen]


def json_rows(compared: Compared) -> Iterator[dict[str, Any]]:
    """One plain object a row: id, measured, predicted, and set, kind, error, left_out."""
    for item, rows in compared:
        for row in rows:
            yield {
                "id": row.id,
                "measured": row.measured,
                "predicted": _finite(row.predicted),
                "set": item.name,
                "kind": row.kind,
                "error": _finite(row.error),
                "left_out": row.left_out,
            }


def validation_result(compared: Compared, command: Sequence[str] = ("bankbench", "validate")) -> RunResult:
    """Tables, one scatter picture a set of times, and a line of answer for each set."""
    by_set = [(item, rows, summaries(rows)) for item, rows in compared]
    lines = [_sentence(item, rows, found[-1]) for item, rows, found in by_set]
    chips = list(dict.fromkeys(item.chip for item, _ in compared))
    return RunResult(
        name="validation",
        title="Measured against predicted",
        chip=", ".join(chips),
        chip_title=", ".join(load_chip(name).title for name in chips),
        status="measured",
        headline=f"{sum(len(rows) for _, rows in compared):,} measured rows in {len(compared)} sets",
        reasons=tuple(lines),
        tables=(_summary_table(by_set), _row_table(compared)),
        pictures=tuple(_picture(item, rows) for item, rows in compared if not item.exact and rows),
        command=shlex.join(command),
        versions={name: version(name) for name in ("bankbench", "numpy", "simpy")},
        extra={"terminal": ["validation"]},
    )


def _own_sets(files: Sequence[tuple[str, Path]], chip: Chip) -> Iterator[tuple[ValidationSet, Path]]:
    for name, file in files:
        base = next((item for item in find_sets() if item.format == name), None)
        if base is None:
            raise ScenarioError(f"no validation format {name!r}")
        if not file.is_file():
            raise ScenarioError(f"{file}: no such file")
        yield replace(base, name=file.name.split(".")[0], title=str(file), chip=chip.name), file


def _chips() -> list[str]:
    return list(dict.fromkeys(item.chip for item in find_sets()))


def _sentence(item: ValidationSet, rows: Sequence[Row], every: Summary) -> str:
    start = f"{item.name} ({item.title})"
    if not every.number:
        return f"{start}: no row to compare."
    share = every.right / every.number
    left_out = f"; {every.left_out} left out" if every.left_out else ""
    if item.exact:
        return f"{start}: {every.right:,} of {every.number:,} agree{left_out}."
    tolerances = {row.tolerance for row in rows}
    # A reference that is known less well than to 5 % says so in its rows.
    within = f"{100 * min(tolerances):g} %" if len(tolerances) == 1 else "the tolerance of their row"
    return (
        f"{start}: mean error {every.mean:.2%}, {share:.1%} of {every.number:,} within {within}, "
        f"worst {every.worst:.1%} ({every.worst_id}){left_out}."
    )


def _summary_table(by_set: list[tuple[ValidationSet, list[Row], list[Summary]]]) -> Table:
    lines = [(item, found) for item, _, summed in by_set for found in summed]
    data: dict[str, list[Any]] = {
        "set": [item.name for item, _ in lines],
        "kind": [found.kind for _, found in lines],
        "rows": [found.number for _, found in lines],
        "mean": [_percent(found.mean) for _, found in lines],
        "p95": [_percent(found.percentile_95) for _, found in lines],
        "worst": [_percent(found.worst) for _, found in lines],
        "worst row": [found.worst_id if found.worst else "" for _, found in lines],
        "right": [found.right for _, found in lines],
    }
    return Table("validation", "Errors by kind", _SUMMARY, data)


def _row_table(compared: Compared) -> Table:
    rows = [(item.name, row) for item, found in compared for row in found]
    data: dict[str, list[Any]] = {
        "set": [name for name, _ in rows],
        "id": [row.id for _, row in rows],
        "kind": [row.kind for _, row in rows],
        "measured": [row.measured for _, row in rows],
        "predicted": [row.predicted for _, row in rows],
        "error": [_percent(row.error) for _, row in rows],
        "left out": [row.left_out for _, row in rows],
    }
    return Table("validation_rows", "Every row", _ROWS, data)


def _picture(item: ValidationSet, rows: list[Row]) -> Picture:
    counted = [row for row in rows if not row.left_out]
    every = summaries(rows)[-1]
    return Picture(
        kind="predicted_measured",
        title=f"Predicted against measured: {item.title}",
        alt=f"{every.number} points; mean error {every.mean:.2%}, worst {every.worst:.1%} ({every.worst_id}).",
        data={
            "unit": item.unit,
            "id": [row.id for row in counted],
            "kind": [row.kind for row in counted],
            "measured": [row.measured for row in counted],
            "predicted": [row.predicted for row in counted],
        },
    )


def _finite(value: float) -> float | None:
    """The number, None where there is none (JSON knows no nan)."""
    return value if math.isfinite(value) else None


def _percent(share: float) -> float:
    return round(100 * share, 3)
