"""Measured programs against the engine: files of the format of `h200_programs.jsonl.gz`.

A row whose groups include idle warps is compared with the busy warps' own time, since idle warps read their clock about
250 cycles before the busy ones (they miss the instruction cache later). A row with clock stamps is started as it was
measured and compared at its last stamp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ...sim.chip import Chip
from ...sim.engine import simulate
from ...sim.program import Program, parse_program, read_rows
from ..errors import ScenarioError
from .fields import blamed, number
from .row import Row

TOLERANCE = 0.05
_TWO_WORDS = ("random", "placement", "rivals", "multi", "two", "drain")


def rows(chip: Chip, file: Path) -> Iterator[Row]:
    """One row a program. Raises ProgramError for a bad program, ScenarioError for a row without a measurement."""
    for place, fields in read_rows(file):
        program = parse_program(fields, place)
        if fields.get("cycles") is None:
            raise ScenarioError(f"{place}: {program.name}: no measured `cycles`")
        try:
            yield _row(program, fields, chip)
        except ValueError as error:
            raise blamed(place, fields, error) from None


def _row(program: Program, fields: Mapping[str, Any], chip: Chip) -> Row:
    name = fields.get("name")
    kind = kind_of(name if isinstance(name, str) else "")
    cycles = number(fields, "cycles")
    if fields.get("stamps") is not None:
        return Row(program.name, f"stamps: {kind}", cycles, _last_stamp(program, fields, chip), TOLERANCE)
    predicted = simulate(program, chip, fast=True).cycles
    return Row(program.name, kind, measured(program, fields), predicted, TOLERANCE)


def kind_of(name: str) -> str:
    """The kind of a program from its name.

    >>> kind_of("stream lds.32"), kind_of("random mixed"), kind_of("queue sts.32 x1 then 64 ffma")
    ('stream', 'random mixed', 'queue sts')
    """
    words = name.split() or ["program"]
    if words[0] == "queue" and len(words) > 1:
        return f"queue {words[1].split('.')[0]}"
    return " ".join(words[:2]) if words[0] in _TWO_WORDS else words[0]


def measured(program: Program, fields: Mapping[str, Any]) -> float:
    """The cycles to compare with: those of the block, or of its busy warps where others are idle."""
    if fields.get("warp_cycles") is None or not any(group.idle for group in program.groups):
        return number(fields, "cycles")
    return max(_cycles(fields, "warp_cycles"), default=0)


def _cycles(fields: Mapping[str, Any], name: str) -> list[int]:
    """A list of cycles, one a warp."""
    found = fields.get(name)
    values = cast("list[int]", found) if isinstance(found, list) else [-1]
    if not all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in values):
        raise ScenarioError(f"{name}: a list of cycles, one a warp, is needed")
    return values


def _last_stamp(program: Program, fields: Mapping[str, Any], chip: Chip) -> float:
    """The cycle of the last clock read of any warp, from the start of the first."""
    starts = _cycles(fields, "starts")
    if len(starts) != program.warps:
        raise ScenarioError(f"starts: {len(starts)} cycles for {program.warps} warps")
    # the first clock read is outside of the program: the first instruction issues one cycle after it
    run = simulate(program, chip, starts=[start + 1 for start in starts], timeline=True)
    assert run.timeline is not None
    stamped = {
        entry.warp: entry.issue for entry in run.timeline if entry.op.text.startswith("CS2R")
    }  # entries come in order of issue: the last one of a warp stays
    return float(max(stamped.values(), default=0))
