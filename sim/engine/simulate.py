"""Simulating a program: the cycles of the block, who waited for what, and on request every instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..chip import Chip, load_chip
from ..program import Program
from .agent import Agent
from .code import compile_program
from .errors import CycleLimitError
from .machine import Machine
from .record import Issued, Recorder
from .state import STALL_REASONS
from .steady import Steady
from .timing import timing_of
from .usage import Usage, critical_resource, usage_of

__all__ = ["Simulation", "simulate"]


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a run of the engine found; all times in SM cycles.

    `cycles` is what a clock around the program would read, `ends` the end of each warp (-1 for idle ones), `stalls`
    the warp cycles waited by reason, `usage` how busy each part was. `skipped_trips` is the number of loop trips,
    summed over the warps, that were extrapolated (`fast`), `skipped_cycles` the time that they took. `timeline` has
    one entry an issued instruction, None unless asked for. `events` is the number of SimPy events.
    """

    program: Program
    chip: str
    cycles: int
    ends: tuple[int, ...]
    instructions: int
    stalls: Mapping[str, int]
    usage: tuple[Usage, ...]
    critical: str
    skipped_trips: int
    skipped_cycles: int
    events: int
    status: str
    assumptions: tuple[str, ...]
    timeline: tuple[Issued, ...] | None


def simulate(
    program: Program,
    chip: str | Chip = "h200",
    *,
    starts: Sequence[int] | None = None,
    limit: int | None = None,
    fast: bool = False,
    timeline: bool = False,
    agents: Sequence[Agent] = (),
) -> Simulation:
    """Runs a program of one thread block on one SM and returns its times.

    `starts` are the cycles at which the warps begin (default: as they leave the barrier before a measured program),
    `limit` cuts the run off, `fast` extrapolates loops from their steady state (the same cycles, sooner), `timeline`
    keeps every instruction. Raises DeadlockError and CycleLimitError with who waits for what; AccessError and
    ChipError for addresses or a chip that cannot be counted. The mechanism was found on one H200.

    >>> from bankbench.sim.program import parse_program
    >>> program = parse_program({"id": "chain", "trips": 4, "groups": [{"warps": 1, "loop": [
    ...     {"op": "FFMA", "dst": ["R1"], "src": ["R1"], "stall": 4}]}]})
    >>> simulate(program).cycles
    24
    """
    machine_chip = load_chip(chip)
    timing = timing_of(machine_chip)
    machine = Machine(program, compile_program(program, machine_chip, timing, agents), timing, starts, agents)
    recorder = Recorder() if timeline else None
    machine.issue.recorder = recorder
    # a timeline has to hold every trip
    steady = Steady(machine) if fast and not timeline else None
    machine.run(limit)
    skipped = steady.skipped_cycles if steady else 0
    ends = machine.ends(skipped)
    cycles = max(ends) + timing.overhead if max(ends) >= 0 else 0
    if limit is not None and max(ends) > limit:
        ended = next(warp for warp, end in enumerate(ends) if end > limit)
        raise CycleLimitError(program.name, limit, (f"warp {ended} ends at cycle {ends[ended]}",))
    stalls = {name: machine.issue.stalls[reason] for reason, name in STALL_REASONS.items()}
    usage = usage_of(machine, cycles)
    status, assumptions = _standing(machine_chip)
    return Simulation(
        program=program,
        chip=machine_chip.name,
        cycles=cycles,
        ends=ends,
        instructions=program.instructions,
        stalls=stalls,
        usage=usage,
        critical=critical_resource(usage, stalls),
        skipped_trips=steady.skipped_trips if steady else 0,
        skipped_cycles=skipped,
        events=machine.events,
        status=status,
        assumptions=assumptions,
        timeline=tuple(recorder.entries) if recorder else None,
    )


def _standing(chip: Chip) -> tuple[str, tuple[str, ...]]:
    """How sure the times are: a constant that is assumed makes them assumed, and is named."""
    by_hand = [path for path, _ in chip.overrides if path.startswith(("timing.", "shared_memory."))]
    if by_hand:
        return "assumed", (f"Times rest on constants that were set by hand: {', '.join(by_hand)}.",)
    assumed = [constant for constant in chip.under("timing") if constant.confidence == "assumed"]
    if assumed:
        line = f"Times rest on {len(assumed)} timing constants that are assumed for {chip.title}"
        return "assumed", (f"{line} ({assumed[0].note or assumed[0].source}).",)
    return "measured", (
        "Times come from a model of one H200 whose constants were measured or fitted there; "
        "`bankbench validate` shows its errors.",
    )
