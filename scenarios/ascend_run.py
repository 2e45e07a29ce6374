"""Running the schedule of the section `ascend:`: program, times, hazards, and what the tables need of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..layouts import LayoutError
from ..sim.ascend import (
    AscendUnknown,
    CapacityError,
    Core,
    FlagError,
    Hazard,
    PipeTimes,
    Program,
    VectorOp,
    find_hazards,
    read_core,
    schedule,
    simulate,
)
from ..sim.chip import Chip, ChipError
from .ascend_lower import lower
from .ascend_model import Ascend
from .ascend_places import Places, make_places
from .errors import ScenarioError

if TYPE_CHECKING:
    from .load import LoadedScenario

MOST_RECORDED = 400_000


@dataclass(slots=True)
class AscendRun:
    """One run of a schedule.

    `error` is the message of a flag error that the scenario expects, `unknown` says why there is no time,
    `searched` whether hazards were looked for.
    """

    ascend: Ascend
    chip: Chip
    places: Places
    core: Core | None = None
    program: Program = field(default_factory=Program)
    times: PipeTimes = field(default_factory=PipeTimes)
    hazards: list[Hazard] = field(default_factory=list)
    vectors: dict[VectorOp, int] = field(default_factory=dict)
    error: str = ""
    unknown: str = ""
    searched: bool = True

    @property
    def cycles(self) -> int:
        """Cycles of the schedule."""
        return self.times.cycles


def run_schedule(loaded: LoadedScenario, chip: Chip, timeline: bool | None = None) -> AscendRun:
    """Lays out the tiles and runs the schedule. Raises ScenarioError with the place."""
    ascend = loaded.scenario.ascend
    assert ascend is not None
    try:
        places = make_places(ascend, chip)
    except ScenarioError as error:
        raise error.at(loaded.place("ascend"), "") from None
    except CapacityError as error:
        key = f"ascend.tiles.{error.buffer}"
        raise ScenarioError(str(error), place=loaded.place(*key.split(".")), key=key) from None
    except LayoutError as error:
        raise ScenarioError(
            str(error), place=loaded.place("ascend", "matrices"), key="ascend.matrices"
        ) from None
    run = AscendRun(ascend, chip, places)
    if not ascend.schedule:
        return run
    try:
        run.core = core = read_core(chip)
    except ChipError as error:
        run.unknown = str(error)
        return run
    try:
        lowered = lower(ascend, places, core, lambda loc: loaded.place(*loc))
        run.program, run.vectors = lowered.program, lowered.vectors
        _check_cores(run, loaded)
        keep = ascend.timeline if timeline is None else timeline
        keep = keep and len(run.program) <= MOST_RECORDED
        run.times = (schedule if ascend.fast else simulate)(run.program, core, keep)
    except AscendUnknown as error:
        run.unknown = str(error)
        return run
    except FlagError as error:
        if ascend.expect.flag_error and ascend.expect.flag_error in str(error):
            run.error = str(error)
            return run
        also = [hazard.sentence(run.program) for hazard in find_hazards(run.program, core, 1)]
        message = "; ".join([str(error), *also])
        raise ScenarioError(
            message, place=loaded.place("ascend", "schedule"), key="ascend.schedule"
        ) from None
    # Flags that the tool placed cover every slot; the quick way does not prove it once more.
    run.searched = ascend.sync == "manual" or not ascend.fast
    if run.searched:
        run.hazards = find_hazards(run.program, core)
    return run


def _check_cores(run: AscendRun, loaded: LoadedScenario) -> None:
    """No more cores share the chip than it has of the kind that the schedule needs."""
    if run.ascend.cores <= run.chip.integer("core.cubes"):
        return
    cube = any(op.path == "cube" for op in run.program.ops)
    kind = "cubes" if cube or not run.chip.has("core.vectors") else "vectors"
    there = run.chip.integer(f"core.{kind}")
    if run.ascend.cores > there:
        word = "cube" if kind == "cubes" else "vector"
        raise ScenarioError(
            f"{run.ascend.cores} cores; {run.chip.title} has {there} {word} cores, so 1 to {there}",
            place=loaded.place("ascend", "cores"),
            key="ascend.cores",
        )
