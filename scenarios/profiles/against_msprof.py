"""A table of `msprof op` beside a run."""

from __future__ import annotations

from pathlib import Path

from ...sim.results import Column, RunResult, Table
from ..sentences import plural
from .values import Profile


def msprof_result(run: RunResult, profile: Profile, command: str) -> RunResult:
    """The columns of the export with their mean and range over the cores, beside the run.

    The profiler gives ratios of cycles and times, not counts: no share of them is ascribed to addresses.
    """
    names = list(dict.fromkeys(name for launch in profile.launches for name in launch.metrics))
    rows = []
    for name in names:
        readings = [launch.metrics[name] for launch in profile.launches if name in launch.metrics]
        values = [reading.value for reading in readings if reading.value is not None]
        if values:
            rows.append(
                {
                    "metric": name,
                    "unit": readings[0].unit,
                    "cores": len(values),
                    "mean": sum(values) / len(values),
                    "least": min(values),
                    "most": max(values),
                }
            )
    columns = (
        Column("metric", "", "column of the export"),
        Column("unit", "", "its unit; a ratio has none"),
        Column("cores", "", "rows that have a number"),
        Column("mean", "", "over these cores"),
        Column("least", "", "the smallest"),
        Column("most", "", "the largest"),
    )
    table = Table(
        "profile",
        f"{profile.page} of msprof op",
        columns,
        {c.name: [r[c.name] for r in rows] for c in columns},
    )
    problems = [f"{profile.file}:{problem.line}: {problem.message}" for problem in profile.problems]
    conflicts = next((row for row in rows if row["metric"].endswith("vec_total_cflt_ratio")), None)
    head = f"{plural(len(profile.launches), 'core')} in {profile.page}"
    if conflicts is not None:
        head += (
            f"; vector instructions wait for conflicts in {conflicts['mean']:.2%} of their cycles on average"
        )
    return RunResult(
        name=f"{run.name} against {Path(profile.file).name}",
        title=f"{run.title or run.name} beside {profile.page} of msprof op",
        chip=run.chip,
        chip_title=run.chip_title,
        status=run.status,
        headline=head,
        reasons=(
            f"run: {run.headline}",
            "msprof op prints ratios of cycles, not counts: they are shown beside the run, no share of them is "
            "ascribed to addresses",
            *(f"not read: {line}" for line in problems),
            *profile.notes,
        ),
        tables=tuple(t for t in (table, *run.tables) if len(t)),
        assumptions=run.assumptions,
        violations=run.violations,
        unknowns=run.unknowns,
        command=command,
        versions=run.versions,
        inputs=run.inputs,
        extra={"terminal": ["profile"], "problems": problems, "profile_notes": list(profile.notes)},
    )
