"""Time in the section `tmem:`: main loops and roles simulated, their waits, busy resources, hazards and timelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..sim.chip import Chip
from ..sim.engine.errors import EngineError
from ..sim.results import Column, Picture, Table
from ..sim.tmem import (
    Allocator,
    GemmLoop,
    Movement,
    Program,
    Simulation,
    TmemError,
    gemm_replicas,
    gemm_traffic,
    mma_cycles,
    simulate,
)
from ..sim.tmem import Step as AllocationStep
from ..sim.traffic import ReplicaTraffic
from .errors import Place, ScenarioError
from .load import LoadedScenario
from .row_table import row_table
from .tmem_buffers import PlacedTmem
from .tmem_model import GemmExpect, TmemGemm
from .tmem_roles import roles_program

_TIMELINE_CYCLES = 6_000
_TIMELINE_SPANS = 1_500


@dataclass(slots=True)
class TimePart:
    """What main loops and roles contribute."""

    headlines: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    loops: list[dict[str, Any]] = field(default_factory=list)
    movements: list[Movement] = field(default_factory=list)
    replicas: list[ReplicaTraffic] = field(default_factory=list)
    runs: list[Simulation] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    rests_on: list[str] = field(default_factory=list)


def evaluate_gemms(loaded: LoadedScenario, items: Sequence[TmemGemm], chip: Chip, part: TimePart) -> None:
    """Plans, counts and simulates every main loop of the section."""
    for index, item in enumerate(items):
        place = str(loaded.place("tmem", "gemm", index))
        fields = item.model_dump(exclude={"name", "simulate", "expect", "vector"})
        try:
            loop = GemmLoop(**fields, scale_vec=item.vector, chip=chip)
            found = loop.plan
        except TmemError as error:
            raise ScenarioError(
                str(error), place=loaded.place("tmem", "gemm", index), key=f"tmem.gemm[{index}]"
            ) from None
        cycles = mma_cycles(loop.shape, loop.operands, chip)
        part.rests_on += cycles.rests_on
        row: dict[str, Any] = {
            "loop": item.name,
            "product": f"{loop.M}x{loop.N} {loop.operands}",
            "columns": found.columns,
            "fits": found.fits,
            "interval": cycles.interval,
            "bound": cycles.bound,
        }
        values: dict[str, Any] = {**row, "hazards": None, "cycles": None, "busy": None}
        if not found.fits:
            part.headlines.append(f"{item.name}: does not fit ({found.advice[0]})")
            part.reasons += [f"{item.name}: {line}" for line in found.advice[1:]]
            if item.expect.fits is None:
                part.violations.append(f"{place}: {item.name}: {found.advice[0]}")
        else:
            part.movements += gemm_traffic(loop)
            part.replicas += gemm_replicas(loop)
            if not item.simulate and len(items) <= 3:
                part.headlines.append(
                    f"{item.name}: {cycles.interval:g} cycles a product, bound by {cycles.bound}"
                )
            if item.simulate:
                run = _run(loop.program(), chip, loaded.place("tmem", "gemm", index))
                add_run(part, run, item.name, chip)
                ideal = cycles.interval * loop.products
                row |= {
                    "cycles": round(run.cycles),
                    "products": run.products,
                    "peak": round(ideal / run.cycles, 3),
                }
                values |= {"cycles": run.cycles, "hazards": len(run.hazards), "busy": run.critical}
        if item.stages > loop.most_stages:
            part.violations.append(
                f"{place}: {item.name}: {item.stages} stages of {loop.stage_bytes:,} bytes do not fit the shared "
                f"memory of a block; {loop.most_stages} do"
            )
        part.loops.append(row)
        part.violations += _check(item.expect, values, item.name, place)
        if item.simulate and found.fits and item.expect.hazards is None and values["hazards"]:
            part.violations.append(f"{place}: {item.name}: {values['hazards']} hazards")

    loops = [row for row in part.loops if row["interval"] is not None]
    if len(items) > 3 and not any(item.simulate for item in items):
        intervals = [row["interval"] for row in loops]
        bound = sum(row["bound"] != "tensor datapath" for row in loops)
        part.headlines.insert(
            0,
            f"{len(loops)} main loops: {min(intervals):g} to {max(intervals):g} cycles a product, {bound} bound by "
            "shared-memory operands",
        )


def evaluate_roles(loaded: LoadedScenario, placed: PlacedTmem, chip: Chip, part: TimePart) -> None:
    """Simulates the roles of the section."""
    section = loaded.scenario.tmem
    assert section is not None, "called for a section"
    assert section.roles is not None, "called for sections with roles"
    item = section.roles
    place = str(loaded.place("tmem", "roles"))
    program = roles_program(loaded, item, placed, chip)
    run = _run(program, chip, loaded.place("tmem", "roles"))
    add_run(part, run, item.name, chip)
    part.violations += [
        f"{place}: {item.name}: {line}" for line in _allocation_problems(program, placed, chip)
    ]
    if item.hazards is not None and len(run.hazards) != item.hazards:
        part.violations.append(f"{place}: {item.name}: {len(run.hazards)} hazards, expected {item.hazards}")
    if item.hazards is None and run.hazards:
        part.violations.append(f"{place}: {item.name}: {run.hazards[0]}")
    if item.max_cycles is not None and run.cycles > item.max_cycles:
        part.violations.append(
            f"{place}: {item.name}: {run.cycles:,.0f} cycles, at most {item.max_cycles:,.0f}"
        )


def _allocation_problems(program: Program, placed: PlacedTmem, chip: Chip) -> list[str]:
    """What the roles allocate by the rules of one block; nothing when they allocate nothing.

    Each role in its own order, those that allocate before those that only free.
    """
    moves = {
        role.name: [step for step in role.steps if step.op in ("alloc", "dealloc", "relinquish")]
        for role in program.roles
    }
    first = [role for role in program.roles if any(step.op == "alloc" for step in moves[role.name])]
    if not first:
        return []
    freed_by = {role.name for role in program.roles if any(step.op == "dealloc" for step in moves[role.name])}
    block, found, most = Allocator(chip), list[str](), 0
    for role in [*first, *(role for role in program.roles if role not in first)]:
        for step in moves[role.name]:
            outcome = block.step(AllocationStep(step.op, int(step.amount), warp=role.warp))
            alone = outcome.text.startswith("blocks for ever") and freed_by <= {role.name}
            if outcome.verdict == "illegal" or alone:
                found.append(f"{role.name}: {step}: {outcome.text}")
            most = max(most, block.shape.columns - block.free_columns())
    outcome = block.step(AllocationStep("exit", warp=-1))
    if outcome.verdict == "illegal":
        found.append(outcome.text)
    if most < placed.plan.columns:
        found.append(f"the roles allocate {most} columns, the buffers need {placed.plan.columns}")
    return found


def _run(program: Program, chip: Chip, place: Place) -> Simulation:
    try:
        return simulate(program, chip)
    except (TmemError, EngineError) as error:
        raise ScenarioError(str(error), place=place, key="tmem") from None


def add_run(part: TimePart, run: Simulation, name: str, chip: Chip) -> None:
    """Sentences and the timeline of a simulated program, which from here on has its name in the scenario."""
    run = replace(run, program=name)
    part.runs.append(run)
    share = run.share(run.critical)
    text = f"{name}: {run.cycles:,.0f} cycles, {run.critical} busy {share:.0%}"
    if run.hazards:
        text += f", {len(run.hazards)} hazard{'s' if len(run.hazards) > 1 else ''}"
    part.headlines.append(text)
    part.reasons += [f"{name}: {hazard}" for hazard in run.hazards[:5]]
    idle = sorted(run.idle.items(), key=lambda item: -item[1])
    if idle and sum(run.idle.values()) > 0.02 * run.cycles:
        causes = ", ".join(f"{cycles:,.0f} for {cause}" for cause, cycles in idle[:3])
        part.reasons.append(
            f"{name}: the tensor pipe stands still for {sum(run.idle.values()):,.0f} cycles between products: {causes}"
        )
    part.rests_on += run.rests_on
    part.pictures.append(timeline_picture(run, name))


def _wait_sums(runs: Sequence[Simulation]) -> dict[tuple[str, str, str], float]:
    """Cycles by (program, role, cause), the slots of a ring added up."""
    sums: dict[tuple[str, str, str], float] = {}
    for run in runs:
        for (role, cause), cycles in run.waits.items():
            key = (run.program, role, cause.split("[")[0])
            sums[key] = sums.get(key, 0.0) + cycles
    return sums


def _check(expect: GemmExpect, values: dict[str, Any], name: str, place: str) -> list[str]:
    broken: list[str] = []
    for key, wanted in expect.model_dump(exclude_none=True).items():
        found = values[key.removeprefix("max_")]
        if key == "max_cycles":
            if found is None or found > wanted:
                broken.append(f"{place}: {name}: cycles {found}, at most {wanted}")
        elif isinstance(wanted, float) and isinstance(found, float):
            if abs(found - wanted) > 0.5:
                broken.append(f"{place}: {name}: {key} {found:g}, expected {wanted:g}")
        elif found != wanted:
            broken.append(f"{place}: {name}: {key} {found}, expected {wanted}")
    return broken


def loop_table(rows: Sequence[dict[str, Any]]) -> Table:
    """One row a main loop."""
    columns = (
        Column("loop", "", "name in the scenario"),
        Column("product", "", "shape of a product and where its operands lie"),
        Column("columns", "", "tensor-memory columns"),
        Column("fits", "", "whether they are there"),
        Column("interval", "", "cycles between products"),
        Column("bound", "", "what bounds the interval"),
        Column("products", "", "executed"),
        Column("cycles", "", "of the whole loop, simulated"),
        Column("peak", "", "time that the products need at their interval, over the time taken"),
    )
    return row_table("tmem_loops", "Main loops", columns, rows)


def busy_table(runs: Sequence[Simulation]) -> Table:
    """Busy cycles of every resource."""
    columns = (
        Column("program", "", "what was simulated"),
        Column("resource", "", "pipe, copy path or port"),
        Column("busy", "cycles", "in which it worked"),
        Column("share", "", "of the time of the program"),
    )
    rows = [(run.program, name, cycles, run.share(name)) for run in runs for name, cycles in run.busy.items()]
    return row_table("tmem_resources", "Busy resources", columns, rows)


def wait_table(runs: Sequence[Simulation]) -> Table:
    """What the roles waited for."""
    columns = (
        Column("program", "", "what was simulated"),
        Column("role", "", "who waited"),
        Column("cause", "", "barrier or wait instruction, slots of a ring added up"),
        Column("cycles", "cycles", "waited"),
    )
    sums = _wait_sums(runs)
    rows = [(*key, cycles) for key, cycles in sums.items()]
    return row_table("tmem_waits", "What the roles waited for", columns, rows)


def hazard_table(runs: Sequence[Simulation]) -> Table:
    """Pairs of instructions without an order."""
    columns = (
        Column("program", "", "what was simulated"),
        Column("kind", "", "what can go wrong"),
        Column("first", "", "the earlier instruction"),
        Column("first_role", "", "who issues it"),
        Column("second", "", "the later instruction"),
        Column("second_role", "", "who issues it"),
        Column("region", "", "what both touch"),
        Column("advice", "", "what would order them"),
        Column("count", "", "how often it was seen"),
    )
    rows = [
        (run.program, h.kind, h.first, h.first_role, h.second, h.second_role, h.region, h.advice, h.count)
        for run in runs
        for h in run.hazards
    ]
    return row_table("tmem_hazards", "Hazards: instructions that nothing orders", columns, rows)


def timeline_picture(run: Simulation, name: str) -> Picture:
    """A stretch of the program, resources and roles over time: around its first load, or its beginning."""
    loads = [span.start for span in run.spans if span.row.startswith("tmem ld")]
    first = max(0.0, min(loads[0] - 0.6 * _TIMELINE_CYCLES, run.cycles - _TIMELINE_CYCLES)) if loads else 0.0
    inside = [span for span in run.spans if span.end > first and span.start < first + _TIMELINE_CYCLES]
    shown = inside[:_TIMELINE_SPANS]
    end = min(max((span.end for span in shown), default=1.0), first + _TIMELINE_CYCLES)
    seen = dict.fromkeys(span.row for span in shown)
    rows = [*(row for row in run.busy if row in seen), *(role for role in run.ends if role in seen)]
    return Picture(
        kind="tmem_timeline",
        title=f"{name}: cycles {first:,.0f} to {end:,.0f} of {run.cycles:,.0f}",
        alt=f"Timeline of {', '.join(rows)}; {run.critical} is busy for {run.share(run.critical):.0%} of the time",
        data={
            "rows": rows,
            "row": [span.row for span in shown],
            "text": [span.text for span in shown],
            "start": [max(span.start, first) for span in shown],
            "end": [min(span.end, end) for span in shown],
            "waiting": [span.waiting for span in shown],
            "from": first,
            "until": end,
        },
    )
