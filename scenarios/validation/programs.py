"""Measured programs against the engine: files of the format of `h200_programs.jsonl.gz`.

A row whose groups include idle warps is compared with the busy warps' own time, since idle warps read their clock about
250 cycles before the busy ones (they miss the instruction cache later). A row with clock stamps is started as it was
measured and compared at its last stamp.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...sim.chip import Chip
from ...sim.engine import simulate
from ...sim.program import Program, parse_program, read_rows
from ..errors import ScenarioError
from .row import Row

TOLERANCE = 0.05
_TWO_WORDS = ("random", "placement", "rivals", "multi", "two", "drain")


def rows(chip: Chip, file: Path) -> Iterator[Row]:
    """One row a program. Raises ProgramError for a bad program, ScenarioError for a row without a measurement."""
    for place, fields in read_rows(file):
        program = parse_program(fields, place)
        if "cycles" not in fields:
            raise ScenarioError(f"{place}: {program.name}: no measured `cycles`")
        kind = kind_of(str(fields.get("name", "")))
        if "stamps" in fields:
            yield Row(
                program.name, f"stamps: {kind}", fields["cycles"], _last_stamp(program, fields, chip), 0.05
            )
        else:
            predicted = simulate(program, chip, fast=True).cycles
            yield Row(program.name, kind, measured(program, fields), predicted, TOLERANCE)


def kind_of(name: str) -> str:
    """The kind of a program from its name.

    >>> kind_of("stream lds.32"), kind_of("random mixed"), kind_of("queue sts.32 x1 then 64 ffma")
    ('stream', 'random mixed', 'queue sts')
    """
    words = name.split() or ["program"]
    if words[0] == "queue" and len(words) > 1:
        return f"queue {words[1].split('.')[0]}"
    return " ".join(words[:2]) if words[0] in _TWO_WORDS else words[0]


def measured(program: Program, fields: dict[str, Any]) -> float:
    """The cycles to compare with: those of the block, or of its busy warps where others are idle."""
    own = fields.get("warp_cycles")
    return max(own) if own and any(group.idle for group in program.groups) else fields["cycles"]


def _last_stamp(program: Program, fields: dict[str, Any], chip: Chip) -> float:
    """The cycle of the last clock read of any warp, from the start of the first."""
    starts: list[int] = fields["starts"]
    # the first clock read is outside of the program: the first instruction issues one cycle after it
    run = simulate(program, chip, starts=[start + 1 for start in starts], timeline=True)
    assert run.timeline is not None
    stamped = {
        entry.warp: entry.issue for entry in run.timeline if entry.op.text.startswith("CS2R")
    }  # entries come in order of issue: the last one of a warp stays
    return float(max(stamped.values(), default=0))
