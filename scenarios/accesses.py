"""The section `accesses:`: counts of every access, witnesses, expectations, tables and pictures.

Everything is counted in one vectorised call; the witness is asked for the worst instruction of an access only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sim.chip import Chip
from ..sim.memory import AccessError
from .access_pictures import access_pictures
from .access_replicas import replica_tables
from .access_tables import access_tables
from .buffers import PlacedBuffer, place_buffers
from .counted import CountedAccess, count_access
from .errors import ScenarioError
from .expect import check_access, check_totals
from .lower import lower
from .lowered import LoweredAccess
from .part import Part, unique, weakest
from .sentences import headline, reasons

if TYPE_CHECKING:
    from .load import LoadedScenario


def evaluate_accesses(loaded: LoadedScenario, chip: Chip) -> Part:
    """Counts the accesses of a scenario on a chip and compares them with what the scenario expects."""
    buffers, lowered = lower_all(loaded, chip)
    counted = _counted(loaded, lowered, chip)
    unknowns: list[str] = []
    for item in counted:
        if not item.known:
            unknowns += [f"{item.access.name}: {reason}" for reason in item.counts.reasons]
    violations = [
        line
        for index, (item, access) in enumerate(zip(counted, loaded.scenario.accesses, strict=True))
        for line in check_access(item, access.expect, chip, str(loaded.place("accesses", index, "expect")))
    ]
    sums = {
        name: sum(item.total(name) for item in counted)
        for name in ("wavefronts", "ideal_wavefronts", "excess_wavefronts", "bank_conflicts")
    }
    if not unknowns:
        violations += check_totals(sums, loaded.scenario.expect, str(loaded.place("expect")))
    return Part(
        headline=headline(counted, chip),
        status=weakest([item.status for item in counted]),
        reasons=tuple(reasons(counted)),
        tables=(
            *access_tables(counted, list(buffers.values()), chip),
            *replica_tables(lowered, loaded.scenario.accesses),
        ),
        pictures=access_pictures(counted, chip),
        assumptions=unique([line for item in counted for line in item.counts.assumptions]),
        violations=tuple(violations),
        unknowns=unique(unknowns),
        # A sum with an unknown part is unknown: 0 would read as an answer.
        totals=dict.fromkeys(sums) if unknowns else sums,
        extra={"terminal": ["replicas"]},
    )


def _counted(loaded: LoadedScenario, lowered: list[LoweredAccess], chip: Chip) -> list[CountedAccess]:
    """Every access counted; an instruction that the chip does not have is an error at its place in the file."""
    counted: list[CountedAccess] = []
    for index, item in enumerate(lowered):
        try:
            counted.append(count_access(item, chip))
        except AccessError as error:
            raise ScenarioError(
                str(error), place=loaded.place("accesses", index), key=f"accesses[{index}]"
            ) from None
    return counted


def lower_all(loaded: LoadedScenario, chip: Chip) -> tuple[dict[str, PlacedBuffer], list[LoweredAccess]]:
    """Buffers and accesses of a scenario as numbers; errors name the place in the file."""
    try:
        buffers = place_buffers({name: item.spec() for name, item in loaded.scenario.buffers.items()}, chip)
    except ScenarioError as error:
        raise error.at(loaded.place(*error.key.split("."))) from None
    lowered: list[LoweredAccess] = []
    for index, access in enumerate(loaded.scenario.accesses):
        try:
            lowered.append(lower(access.spec(), buffers, loaded.folder))
        except ScenarioError as error:
            place = loaded.place("accesses", index, *error.key.split("."))
            found = ScenarioError(error.message, place=error.place, caret=error.caret)
            raise found.at(place, f"accesses[{index}].{error.key}") from None
    return buffers, lowered
