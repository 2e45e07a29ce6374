"""The section `tmem:` evaluated: the column map, instructions, allocation, descriptors, main loops and roles."""

from __future__ import annotations

from ..sim.chip import Chip
from ..sim.results import Column, Picture, Table
from ..sim.tmem import TmemError, check_pair, geometry, run_steps
from ..sim.traffic import replica_table
from .errors import ScenarioError
from .load import LoadedScenario
from .part import Part, unique, weakest
from .row_table import row_table
from .tmem_buffers import (
    PlacedTmem,
    buffer_table,
    check_plan,
    headline,
    map_picture,
    operand_replicas,
    place_all,
    reasons,
    window_table,
)
from .tmem_checks import evaluate_boxes, evaluate_descriptors, evaluate_elements
from .tmem_model import Tmem
from .tmem_moves import evaluate_moves, move_table, traffic_table
from .tmem_time import (
    TimePart,
    busy_table,
    evaluate_gemms,
    evaluate_roles,
    hazard_table,
    loop_table,
    wait_table,
)

_STATUS = {
    "measured": "measured",
    "fitted": "measured",
    "derived": "measured",
    "vendor document": "documented",
    "vendor code": "documented",
    "assumed": "assumed",
    "unknown": "unknown",
}
_TERMINAL = (
    "tmem_buffers",
    "tmem_moves",
    "tmem_loops",
    "tmem_hazards",
    "replicas",
    "tmem_elements",
    "tmem_allocations",
    "tmem_descriptors",
    "tmem_boxes",
)


def evaluate_tmem(loaded: LoadedScenario, chip: Chip) -> Part:
    """Answers the section on a chip. Raises ScenarioError when the chip has no tensor memory or a field is wrong."""
    section = loaded.scenario.tmem
    assert section is not None, "the section is evaluated when it is there"
    try:
        geometry(chip)
    except TmemError as error:
        raise ScenarioError(str(error), place=loaded.place("chip"), key="chip") from None
    placed = place_all(loaded, section, chip)
    moves = evaluate_moves(loaded, section, placed, chip)
    time = TimePart()
    evaluate_gemms(loaded, section.gemm, chip, time)
    if section.roles is not None:
        evaluate_roles(loaded, placed, chip, time)
    elements, element_errors = evaluate_elements(loaded, section.elements, placed)
    descriptors, sentences, descriptor_errors, no_answers = evaluate_descriptors(loaded, section.descriptors)
    unknowns = [*moves.unknowns, *no_answers]
    boxes, box_lines, box_errors = evaluate_boxes(loaded, section.boxes)
    steps, step_errors, step_line = _allocations(loaded, section, chip)
    pair_lines, pair_errors = _pair(loaded, section)
    replicas = [*operand_replicas(placed), *moves.replicas, *time.replicas]
    tables = [
        buffer_table(placed, chip),
        window_table(placed, chip),
        elements,
        move_table(moves.rows),
        replica_table(replicas),
        traffic_table([*moves.movements, *time.movements]),
        loop_table(time.loops),
        busy_table(time.runs),
        wait_table(time.runs),
        hazard_table(time.runs),
        descriptors,
        boxes,
        steps,
    ]
    if not section.buffers:
        tables = tables[2:]
    rests = list(dict.fromkeys([*moves.rests_on, *time.rests_on]))
    lines = [headline(placed)] if section.buffers else []
    lines += (
        time.headlines
        + sentences[:1]
        + ["unknown: " + line for line in no_answers[: not sentences]]
        + box_lines
        + step_line
        + pair_lines[:1]
    )
    if not lines:
        legal = sum(bool(row["legal"]) for row in moves.rows)
        lines = [f"{legal} of {len(moves.rows)} instructions are legal"]
        if moves.unknowns:
            lines.append(f"{len(moves.unknowns)} unknown")
    return Part(
        headline="; ".join(lines),
        status=weakest(
            [
                "unknown" if unknowns else "documented",
                *(_STATUS[chip.constant(path).confidence] for path in rests),
            ]
        ),
        reasons=unique(
            [*reasons(placed, section), *moves.refusals, *time.reasons, *sentences[1:], *pair_lines[1:]]
        ),
        tables=tuple(table for table in tables if len(table)),
        pictures=tuple(_pictures(placed, section, loaded, chip) + time.pictures),
        assumptions=unique(_assumptions(chip, rests)),
        violations=(
            *check_plan(placed, section.expect, str(loaded.place("tmem", "expect"))),
            *moves.violations,
            *element_errors,
            *descriptor_errors,
            *box_errors,
            *step_errors,
            *pair_errors,
            *time.violations,
        ),
        unknowns=unique(unknowns),
        totals={"columns": placed.plan.columns, "replica_bytes": sum(item.extra_writes for item in replicas)},
        extra={"terminal": list(_TERMINAL)},
    )


def _assumptions(chip: Chip, rests: list[str]) -> list[str]:
    """One line for every figure behind the times that is assumed, or that the user set."""
    found: list[str] = []
    for path in rests:
        constant = chip.constant(path)
        if constant.confidence in ("assumed", "unknown") or constant.overridden:
            note = f": {constant.note}" if constant.note else ""
            found.append(f"{path} = {constant.value} {constant.unit} ({constant.confidence}{note})")
    return found


def _pictures(placed: PlacedTmem, section: Tmem, loaded: LoadedScenario, chip: Chip) -> list[Picture]:
    if not section.buffers or not placed.plan.placements:
        return []
    title = loaded.scenario.title or loaded.scenario.name
    return [map_picture(placed, chip, title if len(title) <= 90 else loaded.scenario.name)]


def _allocations(loaded: LoadedScenario, section: Tmem, chip: Chip) -> tuple[Table, list[str], list[str]]:
    columns = (
        Column("step", "", "instruction"),
        Column("outcome", "", "what it does"),
        Column("column", "", "first column of an allocation"),
    )
    try:
        outcomes = run_steps([item.step for item in section.allocations], chip)
    except TmemError as error:
        raise ScenarioError(
            str(error), place=loaded.place("tmem", "allocations"), key="tmem.allocations"
        ) from None
    broken: list[str] = []
    for index, (item, outcome) in enumerate(zip(section.allocations, outcomes, strict=True)):
        if item.expect is not None and outcome.text.split()[0].strip(";(") != item.expect:
            place = loaded.place("tmem", "allocations", index)
            broken.append(f"{place}: {' '.join(map(str, item.step))}: {outcome.text}, expected {item.expect}")
    rows = [
        (" ".join(map(str, item.step)), outcome.text, outcome.column)
        for item, outcome in zip(section.allocations, outcomes, strict=True)
    ]
    bad = sum(outcome.verdict in ("illegal", "blocks") for outcome in outcomes)
    line = [f"{len(outcomes)} allocation steps, {bad} illegal or blocked"] if outcomes else []
    return row_table("tmem_allocations", "Allocation, step by step", columns, rows), broken, line


def _pair(loaded: LoadedScenario, section: Tmem) -> tuple[list[str], list[str]]:
    if not section.pair_events:
        return [], []
    place = loaded.place("tmem", "pair_events")
    try:
        problems = check_pair(section.pair_events)
    except TmemError as error:
        raise ScenarioError(str(error), place=place, key="tmem.pair_events") from None
    lines = ["the pair's events race" if problems else "the pair's events are safe", *map(str, problems)]
    broken: list[str] = []
    if section.pair_safe is not None and section.pair_safe == bool(problems):
        broken.append(f"{place}: {lines[0]}, expected {'safe' if section.pair_safe else 'a race'}")
    elif section.pair_safe is None and problems:
        broken = [f"{place}: {problem}" for problem in problems]
    return lines, broken
