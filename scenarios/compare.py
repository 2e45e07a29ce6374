"""Two runs side by side: the before/after table that people paste into a pull request.

A side is a scenario (run now), or the folder or the `result.json` of an earlier run. A profiler export is a side of
another kind: `PROFILE_READER` names the function that puts it beside a run.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from importlib import import_module, util
from pathlib import Path
from typing import Any

from ..sim.chip import load_chip
from ..sim.results import Column, RunResult, Table
from .errors import Place, ScenarioError
from .part import unique, weakest
from .run import run_scenario

PROFILE_SUFFIXES = tuple(
    f".{kind}{packed}" for kind in ("csv", "txt", "log") for packed in ("", ".gz", ".xz", ".zst")
)
# module:function(run: RunResult, profile: Path, command: str, kernel: str | None) -> RunResult
PROFILE_READER = "profiles:compare_profile"

# Totals in the order of their weight for a reader; others follow as they come.
_FIRST = (
    "wavefronts",
    "ideal_wavefronts",
    "excess_wavefronts",
    "bank_conflicts",
    "cycles",
    "footprint_bytes",
)
_MOST_ROWS = 400


def compare(a: str, b: str, *, chip: str | None = None, kernel: str | None = None) -> RunResult:
    """Compares two sides given as the command line gives them; A is before, B after.

    `kernel` is a part of the kernel's name in a profiler export, instead of what the scenario says.

    Raises `ScenarioError` when a side is neither a scenario nor a run, or when both are profiler exports.
    """
    command = shlex.join(["bankbench", "compare", a, b, *(["--chip", chip] if chip else [])])
    command += f" --kernel {shlex.quote(kernel)}" if kernel else ""
    profiles = [side for side in (a, b) if side.lower().endswith(PROFILE_SUFFIXES)]
    if len(profiles) == 2:
        raise ScenarioError(
            "both sides are profiler exports; name the run that they belong to", place=Place(a)
        )
    if profiles:
        run = read_side(b if profiles[0] == a else a, chip)
        return _profile_reader()(run, Path(profiles[0]), command, kernel)
    return compare_runs(read_side(a, chip), read_side(b, chip), command=command)


def _profile_reader() -> Any:
    module, _, name = PROFILE_READER.partition(":")
    if util.find_spec(f"{__package__}.{module}") is None:
        raise ScenarioError("this installation reads no profiler exports")
    return getattr(import_module(f"{__package__}.{module}"), name)


def read_side(side: str, chip: str | None = None) -> RunResult:
    """The result of one side: a run folder or its `result.json` is read, everything else is run."""
    path = Path(side)
    if path.is_dir():
        path = path / "result.json"
        if not path.exists():
            raise ScenarioError("has no result.json, so it is not the output of a run", place=Place(side))
    if path.suffix == ".json" and path.exists():
        data = _read_json(path)
        if "headline" in data:
            return _from_file(data, path, chip)
    return run_scenario(
        side, chip=chip, command=["bankbench", "run", side, *(["--chip", chip] if chip else [])]
    )


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScenarioError(f"cannot be read as JSON: {error}", place=Place(str(path))) from None
    return data if isinstance(data, dict) else {}


def _from_file(data: Mapping[str, Any], path: Path, chip: str | None) -> RunResult:
    from ..reports.files import result_from_json

    try:
        _check_shape(data)
        result = result_from_json(data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ScenarioError(f"is not the result of a run: {error!r}", place=Place(str(path))) from None
    if chip is not None and load_chip(chip).name != result.chip:
        raise ScenarioError(
            f"was run on {result.chip}; --chip {chip} needs the scenario itself", place=Place(str(path))
        )
    return result


def _check_shape(data: Mapping[str, Any]) -> None:
    """Raises ValueError where a file that somebody wrote or changed has not what a run writes."""
    totals = data.get("totals", {})
    if not all(value is None or _is_number(value) for value in totals.values()):
        raise ValueError("totals are numbers")
    for name, rows in data.get("tables", {}).items():
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError(f"table {name}: rows are objects")
    if not all(isinstance(row["access"], str) for row in data.get("tables", {}).get("accesses", ())):
        raise ValueError("table accesses: an access is named by a text")


def compare_runs(before: RunResult, after: RunResult, *, command: str = "") -> RunResult:
    """The tables `totals`, `accesses` and `differences` of two runs, as a result that every report can show.

    The exit code is that of the run after: broken limits and unknowns of B are carried over.

    >>> found = compare_runs(run_scenario("fp16-column-plain"), run_scenario("fp16-column-128B"))
    >>> found.headline
    'wavefronts 8 -> 1 (-87.5 %), excess wavefronts 7 -> 0, bank conflicts 7 -> 0'
    """
    totals = _totals(before, after)
    return RunResult(
        name=f"{before.name} against {after.name}",
        title=f"{before.title or before.name} (before) against {after.title or after.name} (after)",
        chip=before.chip if before.chip == after.chip else f"{before.chip}, {after.chip}",
        chip_title=before.chip_title
        if before.chip == after.chip
        else f"{before.chip_title} before, {after.chip_title} after",
        status=weakest([before.status, after.status]),
        headline=_headline(totals, before, after),
        reasons=_reasons(before, after),
        tables=tuple(
            table for table in (totals, _accesses(before, after), _differences(before, after)) if len(table)
        ),
        assumptions=unique([*before.assumptions, *after.assumptions]),
        violations=after.violations,
        unknowns=unique(
            [f"before: {line}" for line in before.unknowns] + [f"after: {line}" for line in after.unknowns]
        ),
        command=command,
        versions={**before.versions, **after.versions},
        inputs={
            **{f"before-{k}": v for k, v in before.inputs.items()},
            **{f"after-{k}": v for k, v in after.inputs.items()},
        },
        extra={"terminal": ["totals", "accesses", "differences"]},
    )


_WHAT = Column("what", "", "the quantity, summed over the run")
_BEFORE = Column("before", "", "the run A")
_AFTER = Column("after", "", "the run B")
_CHANGE = Column(
    "change",
    "",
    "after against before in percent (from tenfold on as a factor); the difference where before is 0",
)


def change(before: Any, after: Any) -> str:
    """`-87.5 %`, `+3` from zero, `=` for no change, "" where a side is missing.

    >>> change(8, 1), change(0, 3), change(5, 5), change(None, 5)
    ('-87.5 %', '+3', '=', '')
    """
    if not (_is_number(before) and _is_number(after)):
        return ""
    if before == after:
        return "="
    if before == 0:
        return f"{after - before:+,}"
    percent = 100 * (after - before) / abs(before)
    if percent >= 900:
        return f"{after / before:,.1f}x"
    return f"{percent:+,.1f} %" if abs(percent) >= 0.05 else ("+0.0 %" if percent > 0 else "-0.0 %")


def _totals(before: RunResult, after: RunResult) -> Table:
    sums = [_sums(before), _sums(after)]
    names = [name for name in _FIRST if any(name in s for s in sums)]
    names += [name for name in dict.fromkeys([*sums[0], *sums[1]]) if name not in names]
    data = {
        "what": [name.replace("_", " ") for name in names],
        "before": [sums[0].get(name) for name in names],
        "after": [sums[1].get(name) for name in names],
        "change": [change(sums[0].get(name), sums[1].get(name)) for name in names],
    }
    title = f"Before: {before.name} on {before.chip}. After: {after.name} on {after.chip}."
    return Table("totals", title, (_WHAT, _BEFORE, _AFTER, _CHANGE), data)


def _sums(result: RunResult) -> dict[str, Any]:
    found = dict(result.extra.get("totals", {}))
    for table in result.tables:
        if table.name == "buffers" and "bytes" in table.data:
            found["footprint_bytes"] = sum(value for value in table.data["bytes"] if _is_number(value))
    return found


def _accesses(before: RunResult, after: RunResult) -> Table:
    columns = (
        Column("access", "", "name of the access, of both runs where they differ"),
        Column("before", "", "wavefronts of the run A"),
        Column("after", "", "wavefronts of the run B"),
        _CHANGE,
        Column("excess_before", "", "wavefronts above the ideal, run A"),
        Column("excess_after", "", "wavefronts above the ideal, run B"),
    )
    rows = [
        {
            "access": name,
            "before": old.get("wavefronts"),
            "after": new.get("wavefronts"),
            "change": change(old.get("wavefronts"), new.get("wavefronts")),
            "excess_before": old.get("excess"),
            "excess_after": new.get("excess"),
        }
        for name, old, new in _pairs(_rows(before, "accesses"), _rows(after, "accesses"), "access")
    ]
    return Table(
        "accesses", "Wavefronts by access", columns, {c.name: [row[c.name] for row in rows] for c in columns}
    )


def _pairs(
    old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]], key: str
) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Rows of one name together; by position when no name is in both and there are equally many."""
    names_old, names_new = [row[key] for row in old], [row[key] for row in new]
    if not set(names_old) & set(names_new) and len(old) == len(new):
        return [(f"{a[key]} / {b[key]}", a, b) for a, b in zip(old, new, strict=True)]
    by_name = {row[key]: row for row in new}
    found = [(row[key], row, by_name.get(row[key], {})) for row in old]
    return found + [(row[key], {}, row) for row in new if row[key] not in set(names_old)]


def _rows(result: RunResult, name: str) -> list[dict[str, Any]]:
    return next((list(table.rows()) for table in result.tables if table.name == name), [])


def _differences(before: RunResult, after: RunResult) -> Table:
    """Every number that differs in the other tables that both runs have, row by row where texts identify rows."""
    columns = (
        Column("table", "", "name of the table"),
        Column("row", "", "the texts that identify the row"),
        Column("column", "", "the number that differs, with its unit"),
        Column("before", "", "the run A"),
        Column("after", "", "the run B"),
        _CHANGE,
    )
    rows: list[dict[str, Any]] = []
    names = {table.name: table for table in after.tables}
    for table in before.tables:
        other = names.get(table.name)
        if other is None or table.name in ("accesses", "instructions", "banks", "conflicts"):
            continue
        if max(len(table), len(other)) <= _MOST_ROWS:
            rows += _table_differences(table, other)
    return Table(
        "differences",
        "Other numbers that differ",
        columns,
        {c.name: [r[c.name] for r in rows] for c in columns},
    )


def _table_differences(table: Table, other: Table) -> list[dict[str, Any]]:
    shared = [c for c in table.columns if c.name in other.data]
    texts = [
        c.name for c in shared if all(isinstance(v, str) for t in (table, other) for v in t.data[c.name])
    ]
    key = next((name for name in texts if _distinct(table, name) and _distinct(other, name)), None)
    if key is None:
        return []
    new = {row[key]: row for row in other.rows()}
    return [
        {
            "table": table.name,
            "row": str(row[key]),
            "column": f"{c.name} ({c.unit})" if c.unit else c.name,
            "before": row[c.name],
            "after": new[row[key]][c.name],
            "change": change(row[c.name], new[row[key]][c.name]),
        }
        for row in table.rows()
        if row[key] in new
        for c in shared
        if _is_number(row[c.name])
        and _is_number(new[row[key]][c.name])
        and row[c.name] != new[row[key]][c.name]
    ]


def _distinct(table: Table, name: str) -> bool:
    return len(set(table.data[name])) == len(table)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,}"


def _headline(totals: Table, before: RunResult, after: RunResult) -> str:
    rows = {row["what"]: row for row in totals.rows()}
    parts = []
    for what in ("wavefronts", "cycles", "excess wavefronts", "bank conflicts"):
        row = rows.get(what)
        if row is None or row["before"] is None or row["after"] is None:
            continue
        shown = f" ({row['change']})" if what in ("wavefronts", "cycles") and row["change"] != "=" else ""
        parts.append(f"{what} {_number(row['before'])} -> {_number(row['after'])}{shown}")
    if not parts:
        unknown = [when for when, run in (("before", before), ("after", after)) if run.status == "unknown"]
        if unknown:
            return f"unknown {' and '.join(unknown)}: nothing to compare"
        differing = [row for row in rows.values() if row["change"] not in ("", "=")]
        return (
            f"{len(differing)} of {len(rows)} totals differ" if rows else "the runs have no totals in common"
        )
    return ", ".join(parts)


def _reasons(before: RunResult, after: RunResult) -> tuple[str, ...]:
    lines = [f"before: {before.headline}", f"after: {after.headline}"]
    if before.chip != after.chip:
        lines.append(f"the chips differ: {before.chip} before, {after.chip} after")
    return tuple(lines)
