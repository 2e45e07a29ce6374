"""A run beside a profile: what the addresses explain of each counter, and what is left over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...sim.results import Column, RunResult, Table
from ..errors import Place, ScenarioError
from .against_msprof import msprof_result
from .lines import Line, RunAccess, launch_lines
from .read import read_profile
from .values import Launch, Profile

_MOST_PROBLEMS = 10
_NOTHING = "and nothing here says what they are"


def compare_profile(
    run: RunResult, profile: str | Path | Profile, command: str = "", kernel: str | None = None
) -> RunResult:
    """Measured and modelled side by side, launch by launch.

    The accesses of a run say with `kernel:` which launches they belong to; `kernel` replaces that, and names the
    launches by a part of their name. Without either the export must hold a single kernel. Rows that could not be
    read are listed in `extra["problems"]` (exit code 2 on the command line).

    Raises `ScenarioError` when the file is no export, and when no launch fits.
    """
    read = profile if isinstance(profile, Profile) else read_profile(profile)
    if read.tool != "Nsight Compute":
        return msprof_result(run, read, command)
    parts = _parts(run, kernel, read)
    lines: list[Line] = []
    notes: list[str] = list(read.notes)
    for part, accesses in parts.items():
        launches = _launches(read, part)
        if len(launches) > 1:
            notes.append(f"{len(launches)} launches match {part!r}; each is compared by itself")
        for launch in launches:
            number = f" (launch {launch.key})" if len(launches) > 1 else ""
            lines += launch_lines(launch, accesses, _short(launch.kernel) + number)
    notes += _other_chip(run, read)
    missing = _missing(lines)
    return _result(run, read, lines, [*notes, *missing], command)


def _parts(run: RunResult, kernel: str | None, profile: Profile) -> dict[str, list[RunAccess]]:
    """The accesses by the part of the kernel's name that they belong to."""
    rows = _rows(run, "accesses")
    if not rows:
        raise ScenarioError(f"{run.name} has no accesses to shared memory to compare with counters")
    named = {row["access"]: row["kernel"] for row in _rows(run, "kernels")}
    loops = {row["access"]: row for row in _rows(run, "loops")}
    parts: dict[str, list[RunAccess]] = {}
    for row in rows:
        part = named.get(row["access"], "") if kernel is None else kernel
        parts.setdefault(part, []).append(RunAccess(row, loops.get(row["access"])))
    if "" in parts and len({launch.kernel for launch in profile.launches}) > 1:
        names = list(dict.fromkeys(_short(launch.kernel) for launch in profile.launches))
        raise ScenarioError(
            f"{len(names)} kernels here: {'; '.join(names[:6])}; say kernel: in the scenario, or --kernel NAME",
            place=Place(profile.file),
        )
    return parts


def _launches(profile: Profile, part: str) -> tuple[Launch, ...]:
    launches = profile.select(part)
    if not launches:
        names = list(dict.fromkeys(_short(launch.kernel) for launch in profile.launches))
        raise ScenarioError(
            f"no launch of a kernel named like {part!r}; there are: {'; '.join(names[:8]) or 'none'}",
            place=Place(profile.file),
        )
    return launches


def _other_chip(run: RunResult, profile: Profile) -> list[str]:
    """A note when the launches ran on another architecture than the run assumes."""
    from ...sim.chip import ChipError, load_chip

    capabilities = {launch.device for launch in profile.launches if launch.device}
    try:
        arch = load_chip(run.chip).arch
    except ChipError:  # a chip file that is no longer there
        return []
    others = sorted(
        cc for cc in capabilities if arch.startswith("sm_") and arch != f"sm_{cc.replace('.', '')}"
    )
    if not others:
        return []
    return [
        f"measured on compute capability {', '.join(others)}, modelled for {run.chip} ({arch}); --chip names another"
    ]


def _missing(lines: Sequence[Line]) -> list[str]:
    if any(line.operation in ("load", "store", "atomic") for line in lines):
        return []
    return [
        "the export has no counters of shared memory by operation; record them with "
        "ncu --set full, or --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum,... "
        "(_op_st, and l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum, _op_st)"
    ]


def _result(
    run: RunResult, profile: Profile, lines: Sequence[Line], notes: Sequence[str], command: str
) -> RunResult:
    by_operation = [line for line in lines if line.operation in ("load", "store", "atomic")]
    equal = sum(line.left_over == 0 for line in by_operation)
    if by_operation:
        head = (
            f"{equal} of {len(by_operation)} counters of loads, stores and atomics are as the addresses say"
        )
    else:
        head = "no counters of loads, stores or atomics in this export"
    problems = [f"{profile.file}:{problem.line}: {problem.message}" for problem in profile.problems]
    if len(problems) > _MOST_PROBLEMS:
        problems = [
            *problems[:_MOST_PROBLEMS],
            f"{len(problems) - _MOST_PROBLEMS} more rows could not be read",
        ]
    rounded = [line for line in lines if not line.exact]
    if rounded:
        notes = [
            *notes,
            f"{len(rounded)} numbers were rounded by the profiler; export with --print-units base",
        ]
    return RunResult(
        name=f"{run.name} against {Path(profile.file).name}",
        title=f"{run.title or run.name}, measured ({profile.tool}, {profile.page} page) and modelled",
        chip=run.chip,
        chip_title=run.chip_title,
        status=run.status,
        headline=head,
        reasons=(*_sentences(lines), *(f"not read: {line}" for line in problems), *notes),
        tables=tuple(table for table in (_table(lines), _metrics(lines)) if len(table)),
        assumptions=run.assumptions,
        violations=run.violations,
        unknowns=run.unknowns,
        command=command,
        versions=run.versions,
        inputs=run.inputs,
        extra={"terminal": ["counters"], "problems": problems, "profile_notes": list(notes)},
    )


def _metrics(lines: Sequence[Line]) -> Table:
    """Which metric of the export each quantity was read from."""
    found = dict.fromkeys((line.operation, line.quantity.replace("_", " "), line.origin) for line in lines)
    names = ("operation", "quantity", "metric")
    docs = (
        "as in the table of counters",
        "as in the table of counters",
        "where the number stands in the export",
    )
    columns = tuple(Column(name, "", doc) for name, doc in zip(names, docs, strict=True))
    return Table(
        "metrics",
        "Where the numbers stand",
        columns,
        {n: [row[i] for row in found] for i, n in enumerate(names)},
    )


def _sentences(lines: Sequence[Line]) -> list[str]:
    """One sentence a counter that is not explained whole, and one for the rest of each total."""
    said: list[str] = []
    for kernel in dict.fromkeys(line.kernel for line in lines):
        own = {(line.operation, line.quantity): line for line in lines if line.kernel == kernel}
        for (operation, quantity), line in own.items():
            if line.left_over is None or operation == "source":
                continue
            what = quantity.replace("_", " ")
            if operation == "total":
                said += _total_sentence(kernel, what, line, own)
            elif line.left_over > 0:
                waves = own.get((operation, "wavefronts"))
                idle = quantity == "instructions" and waves is not None and waves.left_over == 0
                said.append(
                    f"{kernel}: of {line.measured:,} {operation} {what} the addresses explain {line.explained:,}; "
                    f"{line.left_over:,} are left over, "
                    + ("all of their lanes inactive: they took no wavefront" if idle else _NOTHING)
                )
            elif line.left_over < 0:
                said.append(
                    f"{kernel}: the run has {line.modelled:,} {operation} {what}, the profile {line.measured:,}: "
                    f"{-line.left_over:,} more than were measured, so the scenario is not this launch"
                )
    return said


def _total_sentence(kernel: str, what: str, line: Line, own: Mapping[tuple[str, str], Line]) -> list[str]:
    if not line.left_over or line.left_over < 0:
        return []
    parts = [own[o, line.quantity] for o in ("load", "store", "atomic") if (o, line.quantity) in own]
    counted = sum(part.measured for part in parts)
    text = (
        f"{kernel}: of {line.measured:,} {what} in all the addresses explain {line.explained:,}; "
        f"{line.left_over:,} are left over"
    )
    if parts and line.measured >= counted:
        text += f", of which {line.measured - counted:,} are neither loads, stores nor atomics by the profiler's count"
    return [text]


def _table(lines: Sequence[Line]) -> Table:
    columns = (
        Column("kernel", "", "the launch, by its kernel"),
        Column(
            "operation",
            "",
            "load, store, atomic; total: the whole pipe; source: the profiler's own sum from addresses",
        ),
        Column("quantity", "", "what is counted, summed over the launch"),
        Column("measured", "", "the profiler's number"),
        Column("modelled", "", "what the addresses of the run give"),
        Column("explained", "", "the part of the measured number that the addresses account for"),
        Column("left_over", "", "measured less modelled; negative: the run has more than was measured"),
    )
    rows = [
        {
            "kernel": line.kernel,
            "operation": line.operation,
            "quantity": line.quantity.replace("_", " "),
            "measured": line.measured,
            "modelled": line.modelled,
            "explained": line.explained,
            "left_over": line.left_over,
        }
        for line in lines
    ]
    data = {column.name: [row[column.name] for row in rows] for column in columns}
    return Table("counters", "Measured and modelled", columns, data)


def _rows(run: RunResult, name: str) -> list[dict[str, Any]]:
    return next((list(table.rows()) for table in run.tables if table.name == name), [])


def _short(name: str) -> str:
    """A kernel's name up to its arguments, at most 60 characters."""
    text = name.removeprefix("void ").split("(const")[0]
    return text if len(text) <= 60 else text[:57] + "..."
