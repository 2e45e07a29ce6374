"""A recorded trace through the counting model: conflicts by place in the program, worst first."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...sim.chip import Chip, load_chip
from ...sim.memory import OPERATIONS, explain
from ...sim.results import Column, RunResult, Table
from ..part import weakest
from ..sentences import plural
from .batch import Places
from .blocks import Progress
from .open import open_trace
from .tally import Place, Tally

_MOST_EXPLAINED = 5
_MOST_TOLD = 10
_MOST_OTHERS = 40
# Opcodes that touch shared memory by other ways than the load and store path, which is what is counted here.
_ELSEWHERE = ("LDGSTS", "UTMALDG", "UTMASTG", "UBLKCP", "HGMMA", "UTCHMMA", "SYNCS", "STAS", "REDAS")
_TOTALS = {
    "wavefronts": "wavefronts",
    "ideal_wavefronts": "ideal",
    "excess_wavefronts": "excess",
    "bank_conflicts": "bank_conflicts",
}
_NO_MASKS = (
    "mem_trace writes no masks: lanes with address 0 beside generic ones are inactive, all others active"
)


def replay(
    path: str | Path,
    chip: str | Chip = "h200",
    *,
    kind: str | None = None,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> RunResult:
    """Counts every access to shared memory of a trace and sums them by program counter.

    `kind` is csv, jsonl, parquet, nvbit or accelsim; default: told from the file. `progress(done, of)` is called for
    each block. Memory does not grow with the length of the trace. Rows that could not be used are named in
    `extra["problems"]` (exit code 2 on the command line).

    Raises `ScenarioError` when the file cannot be read (with the line), `ChipError` for an unknown chip.
    """
    machine = load_chip(chip)
    places = Places()
    found, batches = open_trace(Path(path), places, progress, kind)
    tally = Tally(machine)
    for batch in batches:
        tally.add(batch)
    return _result(Path(path), found, tally, places, machine, command or ("bankbench", "replay", str(path)))


def _result(
    path: Path, kind: str, tally: Tally, places: Places, chip: Chip, command: Sequence[str]
) -> RunResult:
    rows = tally.worst_first()
    problems = [f"{path}:{problem.line}: {problem.message}" for problem in tally.problems[:_MOST_TOLD]]
    if tally.wrong > len(problems):
        problems.append(f"{tally.wrong - len(problems):,} more rows could not be used")
    unknowns = tuple(tally.reasons) if tally.unknown else ()
    some = tally.unknown < tally.count or not tally.count  # else the sums are of nothing that is known
    return RunResult(
        name=path.name,
        title=f"Trace {path.name} ({kind}) replayed on {chip.title}",
        chip=chip.name,
        chip_title=chip.title,
        status=weakest(sorted(tally.statuses)),
        headline=_headline(rows, tally, places, chip),
        reasons=(
            *_meetings_said(rows, places, chip),
            *_elsewhere(tally),
            *(f"not used: {line}" for line in problems),
        ),
        tables=tuple(
            table
            for table in (
                _places_table(rows, places),
                _meetings_table(rows, places, chip),
                _others_table(tally),
            )
            if len(table)
        ),
        assumptions=(*tally.assumptions, *((_NO_MASKS,) if kind == "nvbit" and rows else ())),
        unknowns=unknowns,
        command=shlex.join(command),
        versions={name: version(name) for name in ("bankbench", "numpy")},
        extra={
            "terminal": ["places", "meetings", "others"],
            "problems": problems,
            "totals": {
                "instructions": tally.count,
                "instructions_unknown": tally.unknown,
                **{
                    total: sum(getattr(row, name) for row in rows) if some else None
                    for total, name in _TOTALS.items()
                },
                "other_instructions": sum(tally.others.values()),
                "rows_not_used": tally.wrong,
            },
        },
    )


def _headline(rows: Sequence[Place], tally: Tally, places: Places, chip: Chip) -> str:
    if not rows:
        return "no access to shared memory in this trace"
    waves, ideal, excess = (
        sum(getattr(row, name) for row in rows) for name in ("wavefronts", "ideal", "excess")
    )
    text = plural(tally.count, "instruction") + " on shared memory"
    if tally.unknown == tally.count:
        return f"{text}: unknown on {chip.name}"
    text += f": {plural(waves, 'wavefront')}, {ideal:,} ideal, {excess:,} excess"
    if excess:
        worst = rows[0]
        text += f"; worst: {_where(worst, places)} with {worst.excess:,} ({worst.ways}-way)"
    text += f" on {chip.name}"
    return f"{text} ({tally.unknown:,} of {tally.count:,} unknown)" if tally.unknown else text


def _elsewhere(tally: Tally) -> list[str]:
    found = [f"{tally.others[name]:,} {name}" for name in _ELSEWHERE if tally.others[name]]
    if not found:
        return []
    return [
        f"{', '.join(found)} touch shared memory by other ways than loads and stores; they are not counted here"
    ]


def _where(row: Place, places: Places) -> str:
    name, operation = places.names[row.place], OPERATIONS[row.kind].name
    return name if operation in name.lower() else f"{name} {operation}"


def _places_table(rows: Sequence[Place], places: Places) -> Table:
    total = sum(row.excess for row in rows)
    columns = (
        Column("place", "", "program counter, or what the trace has instead of one"),
        Column("instruction", "", "operation with its width in bits, or its variant"),
        Column("count", "", "executed warp instructions"),
        Column("wavefronts", "", "passes through shared memory; empty where unknown"),
        Column("ideal", "", "the fewest that this width and mask can take"),
        Column("excess", "", "wavefronts above the ideal"),
        Column("share", "%", "of the excess of the whole trace"),
        Column("bank_conflicts", "", "what the hardware's bank-conflict counter shows"),
        Column("ways", "", "the most distinct words in one bank of one group of lanes"),
        Column("gap", "", "mean number of other instructions of the warp since its last access"),
    )
    data: dict[str, list[Any]] = {
        "place": [places.names[row.place] for row in rows],
        "instruction": [OPERATIONS[row.kind].name for row in rows],
        "count": [row.count for row in rows],
        "wavefronts": _known(rows, "wavefronts"),
        "ideal": _known(rows, "ideal"),
        "excess": _known(rows, "excess"),
        "share": [
            (round(100 * row.excess / total, 2) if total else 0.0) if row.known else None for row in rows
        ],
        "bank_conflicts": _known(rows, "bank_conflicts"),
        "ways": _known(rows, "ways"),
        "gap": [round(row.gap / row.count, 2) if row.count else 0.0 for row in rows],
    }
    return Table("places", "By place, worst first", columns, data)


def _known(rows: Sequence[Place], name: str) -> list[int | None]:
    """A column of sums, None for a place whose operation is unknown."""
    return [getattr(row, name) if row.known else None for row in rows]


def _meetings(rows: Sequence[Place], chip: Chip) -> list[tuple[Place, int, int, int, list[int], list[int]]]:
    """(place, phase, bank, ways, lanes, words) of the fullest bank in the worst instruction of the worst places."""
    found: list[tuple[Place, int, int, int, list[int], list[int]]] = []
    for row in rows[:_MOST_EXPLAINED]:
        if row.worst_excess <= 0 or row.worst_offsets is None:
            continue
        witness = explain(row.worst_offsets, op=OPERATIONS[row.kind], mask=row.worst_mask, chip=chip)
        uses = [(phase.number, use) for phase in witness.phases for use in phase.worst[:1]]
        if uses:
            number, use = max(uses, key=lambda item: item[1].ways)
            atomic = witness.operation.serves != "words"
            lanes = list(use.lanes) if atomic else [word.lanes[0] for word in use.words]
            found.append((row, number, use.bank, use.ways, lanes, [word.offset for word in use.words]))
    return found


def _meetings_said(rows: Sequence[Place], places: Places, chip: Chip) -> list[str]:
    said = []
    for row, _, bank, ways, lanes, _ in _meetings(rows, chip)[:3]:
        shown = ", ".join(map(str, lanes[:6])) + (", ..." if len(lanes) > 6 else "")
        said.append(
            f"{_where(row, places)}: lanes {shown} meet on bank {bank} ({ways}-way) in its worst instruction"
        )
    return said


def _meetings_table(rows: Sequence[Place], places: Places, chip: Chip) -> Table:
    columns = (
        Column("place", "", "program counter, or what the trace has instead of one"),
        Column("phase", "", "which group of lanes that are served together"),
        Column("bank", "", "the fullest bank"),
        Column("ways", "", "distinct words there (atomics: lanes)"),
        Column("lanes", "", "lanes that meet on the bank, one for each word"),
        Column("words", "byte", "where those words start in shared memory"),
    )
    found = _meetings(rows, chip)
    data: dict[str, list[Any]] = {
        "place": [_where(item[0], places) for item in found],
        "phase": [item[1] for item in found],
        "bank": [item[2] for item in found],
        "ways": [item[3] for item in found],
        "lanes": [_short(item[4]) for item in found],
        "words": [_short(item[5]) for item in found],
    }
    return Table("meetings", "Who meets where (worst instruction of the worst places)", columns, data)


def _short(values: Sequence[int], most: int = 8) -> str:
    return " ".join(map(str, values[:most])) + (f" ... ({len(values)})" if len(values) > most else "")


def _others_table(tally: Tally) -> Table:
    columns = (
        Column("opcode", "", "instructions that do not touch shared memory; kept as time between accesses"),
        Column("count", "", "how many of them were executed"),
    )
    most = tally.others.most_common(_MOST_OTHERS)
    rest = sum(tally.others.values()) - sum(count for _, count in most)
    if rest:
        most.append(("(others)", rest))
    data = {"opcode": [name for name, _ in most], "count": [count for _, count in most]}
    return Table("others", "Other instructions", columns, data)
