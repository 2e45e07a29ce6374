"""Vector instructions and SIMT patterns that are judged alone: conflicts by the rules, cycles, and who meets whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..sim.ascend import (
    AscendError,
    Operand,
    UbCounts,
    UbWitness,
    VectorOp,
    VectorTime,
    count_lanes,
    count_vector,
    explain_vector,
    ub_geometry,
    vector_time,
)
from ..sim.chip import Chip, ChipError
from ..sim.results import Column, Picture, Table
from .ascend_model import Lanes, Vector
from .ascend_moves import vector_ops
from .ascend_places import Places
from .errors import ScenarioError
from .expressions import evaluate
from .row_table import row_table

_VECTORS = (
    Column("vector", "", "the instruction"),
    Column("repeats", "", "repeats of all its parts"),
    Column("r-r", "", "extra cycles by reads that meet in a bank group"),
    Column("w-w", "", "extra cycles by writes that meet in a bank group"),
    Column("r-w", "", "extra cycles by a read and a write that meet in a bank"),
    Column("static", "", "cycles of all repeats by the documented rules alone"),
    Column(
        "cycles", "", "cycles of one execution, delayed writes and overhead included; empty where unknown"
    ),
    Column("per repeat", "", "cycles of a repeat without the fixed overhead"),
    Column("times", "", "executions"),
)
_LANES = (
    Column("pattern", "", "its name"),
    Column("lanes", "", "active lanes"),
    Column("ways", "", "rows that meet in the busiest sub-bank: cycles of the access"),
    Column("group", "", "its bank group"),
    Column("sub-bank", "", "its sub-bank"),
)


@dataclass(frozen=True, slots=True)
class Judged:
    """One vector instruction: its parts of at most 255 repeats, counts, times (None where unknown), worst witness."""

    name: str
    times: int
    parts: tuple[VectorOp, ...]
    counts: tuple[UbCounts, ...]
    time: tuple[VectorTime, ...] | None
    witness: UbWitness
    expected: int | None = None

    @property
    def static(self) -> int:
        """Cycles of all repeats by the static rules."""
        return sum(count.cycles for count in self.counts)

    @property
    def repeats(self) -> int:
        """Repeats of all parts."""
        return sum(part.repeats for part in self.parts)

    @property
    def cycles(self) -> int | None:
        """Cycles of one execution."""
        return sum(time.cycles for time in self.time) if self.time is not None else None

    @property
    def conflict(self) -> int | None:
        """Extra cycles of one execution."""
        return sum(time.conflict for time in self.time) if self.time is not None else None

    def kinds(self) -> tuple[int, int, int]:
        """Extra cycles by reads, by writes, by reads and writes."""
        columns = ("read_read", "write_write", "read_write")
        return tuple(sum(int(getattr(c.counts, name).sum()) for c in self.counts) for name in columns)  # pyright: ignore[reportReturnType]


def judge_vector(step: Vector, places: Places, chip: Chip, index: int) -> Judged:
    """Counts and times one vector instruction. Raises ScenarioError, AscendError, ChipError."""
    sides: list[list[Operand]] = []
    for items in (step.reads, step.writes):
        side: list[Operand] = []
        for item in items:
            if isinstance(item, str):
                raise ScenarioError("an operand of vectors: is {at: ADDRESS} or {tile: NAME}")
            base = item.at or 0
            if item.tile is not None:
                if item.tile not in places.tiles:
                    raise ScenarioError(
                        f"no tile '{item.tile}'; there are: {', '.join(places.tiles) or 'none'}"
                    )
                base = places.tiles[item.tile].buffer.addresses[0]
            side.append(Operand(base + item.offset, item.block_stride, item.repeat_stride, item.tile or ""))
        sides.append(side)
    if not sides[0] and not sides[1]:
        raise ScenarioError("a vector instruction reads or writes something")
    name = step.name or f"vector {index + 1}"
    parts = vector_ops(sides[0], sides[1], step.repeats or 1, step.blocks, name)
    witnesses = [explain_vector(part, chip) for part in parts]
    time: tuple[VectorTime, ...] | None
    try:
        time = tuple(vector_time(part, chip) for part in parts)
    except ChipError:
        time = None
    return Judged(
        name,
        step.times,
        tuple(parts),
        tuple(count_vector(part, chip) for part in parts),
        time,
        max(witnesses, key=lambda witness: witness.cycles),
        step.cycles,
    )


def vector_table(judged: list[Judged]) -> Table:
    """One row an instruction."""
    rows: list[tuple[Any, ...]] = []
    for item in judged:
        read, write, mixed = item.kinds()
        per = round((item.repeats + (item.conflict or 0)) / item.repeats, 3)
        cycles = item.cycles if item.cycles is not None else float("nan")
        rows.append((item.name, item.repeats, read, write, mixed, item.static, cycles, per, item.times))
    return row_table("vectors", "Vector instructions on the Unified Buffer", _VECTORS, rows)


def same_bank_note(item: Judged, chip: Chip) -> str:
    """Why a source and a destination that start in one bank may still not meet: the write comes a repeat later."""
    geometry, part = ub_geometry(chip), item.parts[0]
    if not geometry.delayed_write or item.kinds()[2]:
        return ""
    for read in part.reads:
        for write in part.writes:
            if int(geometry.bank(read.base)) == int(geometry.bank(write.base)):
                bank = int(geometry.bank(read.base))
                return (
                    f" (source and destination start in bank {bank}, but a write reaches it one repeat later)"
                )
    return ""


def lanes_table(patterns: list[Lanes], chip: Chip) -> tuple[Table, list[str]]:
    """One row a pattern, and the expectations that do not hold."""
    rows: list[tuple[Any, ...]] = []
    broken: list[str] = []
    for pattern in patterns:
        lanes = np.arange(pattern.lanes)
        addresses = np.broadcast_to(evaluate(pattern.bytes, {"lane": lanes}), lanes.shape)
        if (addresses < 0).any():
            raise AscendError(f"{pattern.name}: a lane's address is negative")
        found = count_lanes(addresses[None], chip, pattern.width)
        ways = int(found.ways[0])
        rows.append((pattern.name, pattern.lanes, ways, int(found.group[0]), int(found.sub_bank[0])))
        if pattern.ways is not None and ways != pattern.ways:
            broken.append(f"{pattern.name}: {ways} ways, expected {pattern.ways}")
    return row_table("lanes", "SIMT and gather patterns on the Unified Buffer", _LANES, rows), broken


def group_picture(item: Judged, chip: Chip) -> Picture:
    """The bank-group map of the worst repeat: which operand touches which bank of which group."""
    geometry = ub_geometry(chip)
    part = next(
        p
        for p, c in zip(item.parts, item.counts, strict=True)
        if c.counts.cycles.max() == item.witness.cycles
    )
    repeat = min(item.witness.repeat, part.repeats - 1)
    delayed = geometry.delayed_write and part.reads and part.writes
    cells: list[list[Any]] = []
    for what, operands, row in (
        ("R", part.reads, repeat),
        ("W", part.writes, repeat - 1 if delayed else repeat),
    ):
        if not 0 <= row < part.repeats:
            continue
        for number, operand in enumerate(operands):
            label = operand.name or (f"src{number}" if what == "R" else "dst")
            for block, address in enumerate(operand.blocks(part.repeats, part.blocks)[row].tolist()):
                bank = int(geometry.bank(address))
                cells.append(
                    [what, label, block, int(geometry.group(address)), bank // geometry.groups, address]
                )
    data = {
        "groups": geometry.groups,
        "banks": geometry.per_group,
        "cells": cells,
        "busiest": item.witness.group,
        "cycles": item.witness.cycles,
        "note": "reads of one repeat and the delayed write of the one before" if delayed else "one repeat",
    }
    title = (
        f"{item.name}: repeat {repeat}, {item.witness.cycles} cycle{'s' if item.witness.cycles > 1 else ''}"
    )
    return Picture("ub_groups", title, f"{title}. {item.witness.sentence()}", data)
