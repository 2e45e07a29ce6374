"""The section `program:` evaluated: cycles, who waited for what, how busy every part was, and the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..sim.chip import Chip
from ..sim.engine import (
    Simulation,
    instruction_table,
    latency_table,
    perfetto_trace,
    simulate,
    stall_table,
    timing_of,
    tracks_of,
    usage_over_time,
    usage_table,
)
from ..sim.engine.errors import EngineError
from ..sim.results import Column, Picture, Table
from .buffers import place_buffers
from .errors import ScenarioError
from .expect import check_totals
from .part import Part
from .program_lower import LoweredProgram, lower_program

if TYPE_CHECKING:
    from .load import LoadedScenario

_MOST_RECORDED = 200_000
_MOST_LISTED = 20_000
_PICTURE_CYCLES = 600

_SUMMARY = (
    Column("cycles", "cycles", "from the first start to the last end, clock reads included"),
    Column("warps", "", "warps of the block"),
    Column("instructions", "", "warp instructions issued"),
    Column("per cycle", "instructions per cycle", "issued by the SM"),
    Column("trips skipped", "", "loop trips that were extrapolated, summed over the warps"),
)


def evaluate_program(loaded: LoadedScenario, chip: Chip) -> Part:
    """Simulates the program of a scenario on a chip. Raises ScenarioError, DeadlockError, CycleLimitError."""
    section = loaded.scenario.program
    assert section is not None
    if not chip.has("timing.queue.entries"):
        reason = f"time: no timing constants of the shared-memory path of {chip.title} are known"
        return Part(headline="time unknown", status="unknown", unknowns=(reason,))
    lowered = lower_section(loaded, chip)
    small = lowered.program.instructions <= _MOST_RECORDED
    run = _simulated(loaded, lowered, chip, timeline=small and not section.fast)
    totals = {"cycles": float(run.cycles)}
    return Part(
        headline=f"{run.cycles:,} cycles ({run.instructions:,} instructions of {lowered.program.warps} warps)",
        status=run.status,
        reasons=_reasons(run),
        tables=_tables(run, chip),
        pictures=_pictures(run, chip),
        assumptions=(*run.assumptions, *lowered.assumptions),
        violations=tuple(check_totals(totals, loaded.scenario.expect, str(loaded.place("expect")))),
        totals=totals,
        extra={"terminal": ["program", "ports", "stalls"]},
    )


def trace_of(loaded: LoadedScenario, chip: Chip) -> dict[str, Any]:
    """The timeline of the program as JSON data that Perfetto opens. Raises as `evaluate_program`."""
    if loaded.scenario.program is None:
        raise ScenarioError("a timeline needs a section program:", place=loaded.place())
    lowered = lower_section(loaded, chip)
    run = _simulated(loaded, lowered, chip, timeline=True)
    return perfetto_trace(tracks_of(run, timing_of(chip)))


def lower_section(loaded: LoadedScenario, chip: Chip) -> LoweredProgram:
    """The machine-level program of a scenario; errors name the place in the file."""
    scenario = loaded.scenario
    assert scenario.program is not None
    try:
        buffers = place_buffers({name: item.spec() for name, item in scenario.buffers.items()}, chip)
    except ScenarioError as error:
        raise error.at(loaded.place(*_path(error.key))) from None
    try:
        return lower_program(scenario.program, buffers, loaded.folder, chip, scenario.name)
    except ScenarioError as error:
        place = loaded.place("program", *_path(error.key))
        raise ScenarioError(
            error.message, place=place, key=f"program.{error.key}", caret=error.caret
        ) from None


def _path(key: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in key.split(".") if part]


def _simulated(loaded: LoadedScenario, lowered: LoweredProgram, chip: Chip, *, timeline: bool) -> Simulation:
    section = loaded.scenario.program
    assert section is not None
    try:
        return simulate(
            lowered.program,
            chip,
            starts=lowered.starts,
            limit=section.limit,
            fast=section.fast and not timeline,
            timeline=timeline,
        )
    except EngineError as error:
        raise ScenarioError(str(error), place=loaded.place("program"), key="program") from error


def _reasons(run: Simulation) -> tuple[str, ...]:
    lines = [run.critical]
    if run.skipped_trips:
        lines.append(
            f"{run.skipped_trips:,} loop trips ({run.skipped_cycles:,} cycles) were extrapolated from a steady state."
        )
    return tuple(lines)


def _tables(run: Simulation, chip: Chip) -> tuple[Table, ...]:
    summary: dict[str, list[Any]] = {
        "cycles": [run.cycles],
        "warps": [run.program.warps],
        "instructions": [run.instructions],
        "per cycle": [round(run.instructions / run.cycles, 2) if run.cycles else 0.0],
        "trips skipped": [run.skipped_trips],
    }
    tables = [Table("program", "The program", _SUMMARY, summary), usage_table(run), stall_table(run)]
    if run.timeline is not None:
        timing = timing_of(chip)
        tables += [latency_table(run), usage_over_time(run, timing)]
        if len(run.timeline) <= _MOST_LISTED:
            tables.append(instruction_table(run, timing))
    return tuple(tables)


def _pictures(run: Simulation, chip: Chip) -> tuple[Picture, ...]:
    if run.timeline is None:
        return ()
    tracks = tracks_of(run, timing_of(chip))
    shown = min(run.cycles, _PICTURE_CYCLES)
    data = {
        "end": shown,
        "cycles": run.cycles,
        "tracks": [
            {
                "name": track.name,
                "group": track.group,
                "slices": [
                    [piece.start, min(piece.end, shown), piece.label]
                    for piece in track.slices
                    if piece.start < shown
                ],
            }
            for track in tracks
        ],
    }
    part = f"the first {shown:,} of {run.cycles:,} cycles" if shown < run.cycles else f"{run.cycles:,} cycles"
    return (Picture("timeline", f"Timeline, {part}", f"{run.critical} {len(tracks)} tracks.", data),)
