"""The section `program:` evaluated: cycles, who waited for what, how busy every part was, and the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..sim.chip import Chip, ChipError
from ..sim.engine import (
    Simulation,
    Track,
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
from .hopper_report import advice, busy_tables, engine_tracks, hazard_lines, standing
from .part import Part
from .program_lower import LoweredProgram, lower_program

if TYPE_CHECKING:
    from ..sim.hopper import HopperSm
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
    if lowered.engines is not None and not chip.arch.startswith("sm_90"):
        reason = f"time: wgmma, TMA and mbarriers were measured on an H200 (sm_90), not on {chip.title} ({chip.arch})"
        return Part(headline="time unknown", status="unknown", unknowns=(reason,))
    small = lowered.program.instructions <= _MOST_RECORDED
    run, sm = _simulated(loaded, lowered, chip, timeline=small and not section.fast)
    broken: list[str] = []
    resting: list[str] = []
    status = run.status
    critical = run.critical
    advised: list[str] = []
    tables = list(_tables(run, chip))
    if sm is not None and lowered.engines is not None:
        broken = hazard_lines(sm)
        resting, status = standing(chip, run.status)
        advised = advice(run, sm, lowered.engines)
        if sm.totals()["busy", "tensor core"]:
            # The engine's own sentence knows the parts of the warps' path only, not the engines beside it.
            critical, *advised = advised
        tables[1:1] = busy_tables(run, sm)
    totals = {"cycles": float(run.cycles)}
    return Part(
        headline=f"{run.cycles:,} cycles ({run.instructions:,} instructions of {lowered.program.warps} warps)",
        status=status,
        reasons=(critical, *_extrapolated(run), *advised),
        tables=tuple(tables),
        pictures=_pictures(run, sm, chip, critical),
        assumptions=(*run.assumptions, *resting, *lowered.assumptions),
        violations=(
            *broken,
            *check_totals(totals, loaded.scenario.expect, str(loaded.place("expect"))),
        ),
        totals=totals,
        extra={"terminal": ["program", "engines", "engine_waits", "ports", "stalls"]},
    )


def trace_of(loaded: LoadedScenario, chip: Chip) -> dict[str, Any]:
    """The timeline of the program as JSON data that Perfetto opens. Raises as `evaluate_program`."""
    if loaded.scenario.program is None:
        raise ScenarioError("a timeline needs a section program:", place=loaded.place())
    lowered = lower_section(loaded, chip)
    run, sm = _simulated(loaded, lowered, chip, timeline=True)
    return perfetto_trace(_tracks(run, sm, chip))


def _tracks(run: Simulation, sm: HopperSm | None, chip: Chip) -> list[Track]:
    """Warps and ports, and the engines where there are any."""
    return [*tracks_of(run, timing_of(chip)), *(engine_tracks(sm) if sm is not None else [])]


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


def _simulated(
    loaded: LoadedScenario, lowered: LoweredProgram, chip: Chip, *, timeline: bool
) -> tuple[Simulation, HopperSm | None]:
    section = loaded.scenario.program
    assert section is not None
    try:
        sm = lowered.engines.agent(chip) if lowered.engines is not None else None
        run = simulate(
            lowered.program,
            chip,
            starts=lowered.starts,
            limit=section.limit,
            fast=section.fast and not timeline,
            timeline=timeline,
            agents=[sm] if sm is not None else [],
        )
    except (EngineError, ChipError) as error:
        raise ScenarioError(str(error), place=loaded.place("program"), key="program") from error
    return run, sm


def _extrapolated(run: Simulation) -> tuple[str, ...]:
    if not run.skipped_trips:
        return ()
    return (
        f"{run.skipped_trips:,} loop trips ({run.skipped_cycles:,} cycles) were extrapolated from a steady state.",
    )


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


def _pictures(run: Simulation, sm: HopperSm | None, chip: Chip, critical: str) -> tuple[Picture, ...]:
    if run.timeline is None:
        return ()
    tracks = _tracks(run, sm, chip)
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
    return (Picture("timeline", f"Timeline, {part}", f"{critical} {len(tracks)} tracks.", data),)
