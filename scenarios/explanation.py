"""`bankbench explain`: the witness of one instruction in sentences or as JSON."""

from __future__ import annotations

from typing import Any

from ..sim.chip import Chip
from .accesses import lower_all
from .counted import CountedAccess, count_access
from .errors import ScenarioError
from .load import catalogue, load
from .run import choose_chip


def is_scenario(target: str) -> bool:
    """Whether a text names a scenario file (`-`: standard input) or a catalogue scenario, not a layout or offsets."""
    return (
        target == "-"
        or target.endswith((".yaml", ".yml", ".json"))
        or any(path.stem == target for path in catalogue())
    )


def explain_scenario(
    target: str, access: str | None, instruction: int | None, chip: str | None
) -> tuple[CountedAccess, Chip]:
    """The access of that name (default: the one with the most excess) with the witness of one instruction."""
    loaded = load(target)
    machine = choose_chip(loaded, chip, ())
    _, lowered = lower_all(loaded, machine)
    if not lowered:
        raise ScenarioError("has no accesses to explain", place=loaded.place())
    if access is not None:
        chosen = [item for item in lowered if item.name == access]
        if not chosen:
            names = ", ".join(item.name for item in lowered)
            raise ScenarioError(
                f"no access '{access}'; there are: {names}", key="--access", place=loaded.place()
            )
        return count_access(chosen[0], machine, instruction), machine
    counted = [count_access(item, machine) for item in lowered]
    worst = max(counted, key=lambda item: item.total("excess_wavefronts"))
    return (worst if instruction is None else count_access(worst.access, machine, instruction)), machine


def explanation_lines(item: CountedAccess, chip: Chip) -> list[str]:
    """Sentences: the access, then the witness phase by phase."""
    name = " ".join(item.access.name.split())  # a name may have lines, a sentence has one
    head = f"{name}, {item.access.label(item.worst)} ({len(item.access)} in all)"
    if item.witness is None:
        return [f"{head}: unknown", *item.counts.reasons]
    lines = [head, *item.witness.lines()]
    lines += [f"assumed: {line}" for line in item.counts.assumptions]
    return lines


def explanation_json(item: CountedAccess, chip: Chip) -> dict[str, Any]:
    """The same as plain JSON values."""
    row = list(item.counts.rows())[item.worst]
    answer: dict[str, Any] = {
        "access": item.access.name,
        "instruction": item.worst,
        "chip": chip.name,
        "op": item.access.op,
        "width_bytes": item.access.width,
        "variant": item.access.variant,
        **row,
        "reasons": list(item.counts.reasons),
        "assumptions": list(item.counts.assumptions),
        "merge": None,
        "phases": [],
    }
    if item.witness is not None:
        merge = item.witness.merge
        answer["merge"] = None if merge is None else {"merged": merge.merged, "reason": merge.reason}
        answer["phases"] = [
            {
                "number": phase.number,
                "lanes": list(phase.lanes),
                "wavefronts": phase.wavefronts,
                "broadcast": list(phase.broadcast),
                "banks": [
                    {
                        "bank": use.bank,
                        "ways": use.ways,
                        "words": [{"offset": word.offset, "lanes": list(word.lanes)} for word in use.words],
                    }
                    for use in phase.banks
                ],
            }
            for phase in item.witness.phases
        ]
    return answer
