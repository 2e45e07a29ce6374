"""The section `ascend:` evaluated: a kernel's pipes, buffers and hazards; vector instructions and SIMT patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..sim.ascend import PIPES, TIMING_PATHS, AscendError, unknown_mapping
from ..sim.chip import Chip, ChipError
from ..sim.results import Picture, Table
from .ascend_pictures import schedule_pictures, tracks
from .ascend_run import AscendRun, run_schedule
from .ascend_tables import buffer_table, macs, schedule_tables
from .ascend_vectors import Judged, group_picture, judge_vector, lanes_table, same_bank_note, vector_table
from .errors import ScenarioError
from .part import Part, unique, weakest

if TYPE_CHECKING:
    from .load import LoadedScenario

_MOST_MAPS = 4


def evaluate_ascend(loaded: LoadedScenario, chip: Chip) -> Part:
    """Runs the section on a chip. Raises ScenarioError with the place, ChipError where nothing is known."""
    section = loaded.scenario.ascend
    assert section is not None
    run = run_schedule(loaded, chip)
    parts: list[Part] = []
    if section.schedule:
        parts.append(_schedule_part(run, loaded))
    if section.vectors:
        parts.append(_vectors_part(loaded, run, chip))
    if section.lanes:
        parts.append(_lanes_part(loaded, chip))
    tables = (buffer_table(run),) if section.tiles else ()
    if not parts:
        used = "; ".join(
            f"{use.memory} {use.used:,} of {use.usable:,} bytes" for use in run.places.memories.values()
        )
        parts.append(Part(headline=f"the tiles fit: {used}", status="documented"))
    return _join(parts, tables)


def ascend_trace(loaded: LoadedScenario, chip: Chip) -> dict[str, Any]:
    """The timeline of the schedule as JSON data that Perfetto opens."""
    from ..sim.engine import perfetto_trace

    section = loaded.scenario.ascend
    if section is None or not section.schedule:
        raise ScenarioError("a timeline needs ascend: with a schedule:", place=loaded.place())
    run = run_schedule(loaded, chip, timeline=True)
    if run.unknown or run.error or run.times.record is None:
        reason = run.unknown or run.error or "the schedule is too long for a timeline"
        raise ScenarioError(f"no timeline: {reason}", place=loaded.place("ascend"), key="ascend")
    return perfetto_trace(tracks(run))


def critical_sentence(run: AscendRun) -> str:
    """Which pipe bounds the schedule, in one sentence."""
    assert run.core is not None
    cycles = max(run.cycles, 1)
    shares = [busy / cycles for busy in run.times.busy]
    top = max(range(len(PIPES)), key=lambda index: shares[index])
    waits = run.times.waits[top]
    if shares[top] >= 0.8:
        return f"{PIPES[top]} is the critical pipe: it works in {shares[top]:.1%} of the cycles."
    cause = max(waits, key=lambda name: waits[name], default="")
    stands = (
        f"; it stands still for {waits[cause] / cycles:.1%} of them, waiting for a {cause}" if cause else ""
    )
    cause_pipe = cause.removeprefix("flag from ")
    behind = (
        f", so {cause_pipe} and {PIPES[top]} take turns instead of overlapping" if cause_pipe in PIPES else ""
    )
    return (
        f"No pipe is busy throughout: {PIPES[top]} most, in {shares[top]:.1%} of the cycles{stands}{behind}."
    )


def _schedule_part(run: AscendRun, loaded: LoadedScenario) -> Part:
    if run.unknown:
        return Part(
            headline=f"the tiles fit ({_used(run)}), time unknown", status="unknown", unknowns=(run.unknown,)
        )
    if run.error:
        return Part(headline="flag error, as expected", status="documented", reasons=(run.error,))
    assert run.core is not None
    sentence = critical_sentence(run)
    lines = [sentence]
    valid, moved, work = macs(run)
    cycles = max(run.cycles, 1)
    cube = ""
    if moved:
        share = run.times.busy[PIPES.index("M")] / cycles
        cube = f", cube busy {share:.1%}"
        lines.append(
            f"The cube computes {valid:,} valid multiply-accumulates ({work / cycles:.1%} of its peak); "
            f"{1 - valid / moved:.1%} of what it computes is padding."
        )
    lines += [f"Hazard: {hazard.sentence(run.program)}" for hazard in run.hazards[:3]]
    left = [run.program.describe(index) for index in run.times.left.values()]
    if left and run.ascend.sync == "manual":
        lines.append(f"Set and never waited for: {', '.join(left[:4])}{' ...' if len(left) > 4 else ''}.")
    micros = run.core.microseconds(run.cycles)
    return Part(
        headline=f"{run.cycles:,} cycles, {micros:,.2f} us{cube}",
        status="assumed",
        reasons=tuple(lines),
        tables=schedule_tables(run),
        pictures=schedule_pictures(run, sentence),
        assumptions=_assumptions(run),
        violations=tuple(_broken(run, str(loaded.place("ascend", "expect")))),
        totals={
            "cycles": float(run.cycles),
            "microseconds": micros,
            "cube_share": run.times.busy[PIPES.index("M")] / cycles,
            "cube_utilisation": work / cycles,
            "hazards": float(len(run.hazards)),
        },
    )


def _used(run: AscendRun) -> str:
    memories = run.places.memories.values()
    return "; ".join(f"{use.memory} {use.used:,} of {use.usable:,} bytes" for use in memories)


def _assumptions(run: AscendRun) -> tuple[str, ...]:
    """One line for each kind of weak constant that the time rests on."""
    used = {PIPES[index].lower() for index, number in enumerate(run.times.executed) if number}
    used |= {"core", "pipes"} | ({"cube"} if "m" in used else set())
    far_only = not any(matrix.l2_hit for matrix in run.places.matrices.values())
    paths = [*TIMING_PATHS, *(("ub.overhead", "ub.write_delay") if "v" in used else ())]
    weak: dict[str, list[str]] = {}
    for path in paths:
        constant = run.chip.constant(path)
        if path.split(".")[0] not in {*used, "ub"} or (far_only and "l2" in path):
            continue
        if constant.confidence in ("fitted", "assumed", "derived"):
            weak.setdefault(constant.confidence, []).append(f"{path} = {constant.value}")
    lines = [f"time rests on {kind} constants: {', '.join(items)}" for kind, items in weak.items()]
    if not run.searched:
        lines.append(
            "flags placed by the tool are taken for complete; without --fast hazards are searched as well"
        )
    hits = [f"{m.name} {m.l2_hit:.1%}" for m in run.places.matrices.values() if m.l2_hit]
    if hits:
        lines.append(f"part of the copied bytes that L2 answers: {', '.join(hits)}")
    if any(matrix.l2_hit == "auto" for matrix in run.ascend.matrices.values()):
        lines.append(
            "l2_hit: auto is an estimate that the published matrix multiplications support; of a sweep over more than "
            "L2 holds nothing was found there when it was read again"
        )
    if run.vectors:
        lines.append(
            "vector instructions meet their own accesses in the banks; meetings with MTE2 and MTE3 are not counted"
        )
    return tuple(lines)


def _broken(run: AscendRun, place: str) -> list[str]:
    expect, broken = run.ascend.expect, list[str]()
    share = run.times.busy[PIPES.index("M")] / max(run.cycles, 1)
    if expect.flag_error:
        broken.append(f"{place}: no flag error, expected one with {expect.flag_error!r}")
    if expect.cycles is not None and run.cycles != expect.cycles:
        broken.append(f"{place}: {run.cycles:,} cycles, expected {expect.cycles:,}")
    if expect.max_cycles is not None and run.cycles > expect.max_cycles:
        broken.append(f"{place}: {run.cycles:,} cycles, at most {expect.max_cycles:,}")
    if expect.min_cube_share is not None and share < expect.min_cube_share:
        broken.append(f"{place}: cube busy {share:.1%}, at least {expect.min_cube_share:.1%}")
    if len(run.hazards) != (expect.hazards or 0):
        broken.append(f"{place}: {len(run.hazards)} hazards, expected {expect.hazards or 0}")
    return broken


def _vectors_part(loaded: LoadedScenario, run: AscendRun, chip: Chip) -> Part:
    section = loaded.scenario.ascend
    assert section is not None
    reason = unknown_mapping(chip)
    if reason:
        names = [step.name or f"vector {index + 1}" for index, step in enumerate(section.vectors)]
        return Part(
            headline=f"conflicts of {', '.join(names)} unknown",
            status="unknown",
            unknowns=(f"{chip.title}: {reason}",),
        )
    judged: list[Judged] = []
    for index, step in enumerate(section.vectors):
        try:
            judged.append(judge_vector(step, run.places, chip, index))
        except (ScenarioError, AscendError, ChipError) as error:
            key = f"ascend.vectors[{index}]"
            raise ScenarioError(str(error), place=loaded.place("ascend", "vectors", index), key=key) from None
    place = str(loaded.place("ascend", "expect"))
    broken = [
        f"{loaded.place('ascend', 'vectors', index)}: {item.name}: {item.cycles} cycles, expected {item.expected}"
        for index, item in enumerate(judged)
        if item.expected is not None and item.cycles != item.expected
    ]
    conflict = sum((item.conflict or 0) * item.times for item in judged)
    wanted = section.expect.conflict_cycles
    if wanted is not None and conflict != wanted:
        broken.append(f"{place}: {conflict:,} conflict cycles, expected {wanted:,}")
    unknown = [f"{item.name}: cycles are not known for {chip.title}" for item in judged if item.time is None]
    worst = max(judged, key=lambda item: item.conflict or item.static - item.repeats)
    overhead = worst.time[0].overhead if worst.time else 0
    tail = f" + {overhead} overhead" if worst.time else ""
    extra = worst.conflict if worst.conflict is not None else worst.static - worst.repeats
    maps = [item for item in judged if item.witness.cycles > 1][:_MOST_MAPS] or judged[:1]
    return Part(
        headline=(
            f"{worst.name}: {worst.repeats + extra:,} cycle{_s(worst.repeats + extra)} "
            f"for {worst.repeats:,} repeat{_s(worst.repeats)}{tail}, "
            f"{extra:,} by conflicts"
        ),
        status="documented" if all(item.time is None for item in judged) else "assumed",
        reasons=unique(
            [f"{item.name}: {item.witness.sentence()}{same_bank_note(item, chip)}." for item in judged]
        ),
        tables=(vector_table(judged),),
        pictures=tuple(group_picture(item, chip) for item in maps),
        assumptions=_vector_assumptions(chip),
        violations=tuple(broken),
        unknowns=tuple(unknown),
        totals={"conflict_cycles": float(conflict)},
    )


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def _vector_assumptions(chip: Chip) -> tuple[str, ...]:
    lines: list[str] = []
    for path in ("ub.overhead", "ub.write_delay"):
        constant = chip.constant(path) if chip.has(path) else None
        if constant is not None and constant.confidence in ("derived", "fitted", "assumed"):
            lines.append(
                f"{path} = {constant.value} {constant.unit} is {constant.confidence} ({constant.source})"
            )
    if chip["ub.delayed_write"] is False:
        lines.append("on this chip reads and writes of different iterations are not timed against each other")
    return tuple(lines)


def _lanes_part(loaded: LoadedScenario, chip: Chip) -> Part:
    section = loaded.scenario.ascend
    assert section is not None
    try:
        table, broken = lanes_table(section.lanes, chip)
    except (AscendError, ScenarioError) as error:
        raise ScenarioError(str(error), place=loaded.place("ascend", "lanes"), key="ascend.lanes") from None
    ways = [int(way) for way in table.data["ways"]]
    names = list(table.data["pattern"])
    worst = ways.index(max(ways))
    return Part(
        headline=f"{names[worst]}: {ways[worst]} way{'s' if ways[worst] > 1 else ''}",
        status="documented",
        tables=(table,),
        violations=tuple(broken),
    )


def _join(parts: list[Part], tables: tuple[Table, ...]) -> Part:
    pictures: tuple[Picture, ...] = tuple(picture for part in parts for picture in part.pictures)
    return Part(
        headline="; ".join(part.headline for part in parts),
        status=weakest([part.status for part in parts]),
        reasons=unique([line for part in parts for line in part.reasons]),
        tables=(*(table for part in parts for table in part.tables), *tables),
        pictures=pictures,
        assumptions=unique([line for part in parts for line in part.assumptions]),
        violations=unique([line for part in parts for line in part.violations]),
        unknowns=unique([line for part in parts for line in part.unknowns]),
        totals={key: value for part in parts for key, value in part.totals.items()},
        extra={"terminal": ["ascend", "pipes", "paths", "hazards", "tiles", "vectors", "lanes"]},
    )
