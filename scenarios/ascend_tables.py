"""Tables of a schedule: pipes, paths, cube, buffers, L1 halves, occupancy, hazards, instructions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..sim.ascend import PIPES, l1_bank
from ..sim.results import Column, Table
from .ascend_run import AscendRun
from .row_table import row_table

MOST_LISTED = 20_000
_SUMMARY = (
    Column("cycles", "cycles", "from the first dispatch to the last completion"),
    Column("time", "us", "at the core clock of the chip"),
    Column("instructions", "", "dispatched, flags and barriers included"),
    Column("cube share", "", "part of the cycles in which the cube works, start-up of a stream included"),
    Column("cube utilisation", "", "valid multiply-accumulates against what the cube could do in all cycles"),
    Column("computed on padding", "", "part of the multiply-accumulates that only padding asked for"),
)
_PIPES = (
    Column("pipe", "", "the pipe"),
    Column("instructions", "", "executed, flags and barriers not counted"),
    Column("busy", "cycles", "in which it worked"),
    Column("busy share", "", "of all cycles"),
    Column("waits", "cycles", "in which it had an instruction but stood still"),
    Column("waits for", "", "what it waited for most"),
)
_PATHS = (
    Column("path", "", "from memory to memory"),
    Column("instructions", "", "moves"),
    Column("valid", "bytes", "that the tiles asked for"),
    Column("moved", "bytes", "that went over the path, padding and misalignment included"),
    Column("waste", "", "part of the moved bytes that is padding"),
)
_BUFFERS = (
    Column("memory", "", "where it lies"),
    Column("tile", "", "its name"),
    Column("layout", "", "layout tag"),
    Column("slots", "", "copies that take turns"),
    Column("address", "", "first byte of every slot"),
    Column("bytes", "bytes", "footprint of a slot, padding to whole fractals included"),
    Column("valid", "bytes", "of a slot"),
    Column("memory left", "bytes", "of the memory behind all tiles, reserved parts excluded"),
)
_HALVES = (
    Column("half", "", "bank of every L1 group: 0 is the lower half, 1 the upper"),
    Column("MTE2 writes", "cycles", "MTE2 writes into this half"),
    Column("MTE1 reads", "cycles", "MTE1 reads from this half"),
    Column("both", "cycles", "both at once: they share one bank; the cost is not public"),
)
_OCCUPANCY = (
    Column("memory", "", "the memory"),
    Column("cycle", "cycles", "from here on"),
    Column("bytes", "bytes", "in slots that are being filled or not yet read for the last time"),
)
_HAZARDS = (
    Column("kind", "", "what meets what"),
    Column("buffer", "", "where"),
    Column("hazard", "", "in words"),
)
_INSTRUCTIONS = (
    Column("start", "cycle", "when it starts"),
    Column("end", "cycle", "when its result is complete"),
    Column("pipe", "", "the pipe"),
    Column("instruction", "", "what it is"),
    Column("where", "", "loop variables"),
)


def schedule_tables(run: AscendRun) -> tuple[Table, ...]:
    """All tables of a run, the short ones first."""
    tables = [_summary(run), _pipes(run), _paths(run)]
    if run.hazards:
        tables.append(_hazards(run))
    record = run.times.record
    if record is not None:
        if any(use == "L1" for use in run.places.memories) and run.chip.has("l1.bank_shift"):
            tables.append(_halves(run))
        tables.append(row_table("occupancy", "Buffer occupancy over time", _OCCUPANCY, list(occupancy(run))))
        if len(record.index) <= MOST_LISTED:
            tables.append(_instructions(run))
    return tuple(tables)


def buffer_table(run: AscendRun) -> Table:
    """Every tile with its footprint, and what is left of its memory."""
    rows: list[tuple[Any, ...]] = []
    for use in run.places.memories.values():
        for buffer in use.buffers:
            addresses = " ".join(f"{address:#x}" for address in buffer.addresses)
            tag = run.places.tiles[buffer.name].tag
            rows.append(
                (
                    use.memory,
                    buffer.name,
                    tag,
                    buffer.slots,
                    addresses,
                    buffer.bytes,
                    buffer.valid_bytes,
                    use.free,
                )
            )
    return row_table("tiles", "Tiles in the buffers", _BUFFERS, rows)


def macs(run: AscendRun) -> tuple[int, int, float]:
    """(valid, computed) multiply-accumulates, and cycles of the cube at full rate for the valid ones."""
    valid = moved = 0
    work = 0.0
    for op in run.program.ops:
        if op.path == "cube":
            valid, moved, work = valid + op.valid, moved + op.moved, work + op.work
    return valid, moved, work


def _summary(run: AscendRun) -> Table:
    assert run.core is not None
    valid, moved, work = macs(run)
    cycles = max(run.cycles, 1)
    row = (
        run.cycles,
        round(run.core.microseconds(run.cycles), 3),
        len(run.program),
        round(run.times.busy[PIPES.index("M")] / cycles, 4),
        round(work / cycles, 4),
        round(1 - valid / moved, 4) if moved else 0.0,
    )
    return row_table("ascend", "The schedule", _SUMMARY, [row])


def _pipes(run: AscendRun) -> Table:
    rows: list[tuple[Any, ...]] = []
    for index, name in enumerate(PIPES):
        if run.times.executed[index]:
            waits = run.times.waits[index]
            most = max(waits, key=lambda cause: waits[cause], default="")
            busy = run.times.busy[index]
            share = round(busy / max(run.cycles, 1), 4)
            rows.append((name, run.times.executed[index], busy, share, sum(waits.values()), most))
    return row_table("pipes", "The pipes", _PIPES, rows)


def _paths(run: AscendRun) -> Table:
    sums: dict[str, list[int]] = {}
    for op in run.program.ops:
        if op.path and op.path != "cube":
            entry = sums.setdefault(op.path, [0, 0, 0])
            entry[0] += 1
            entry[1] += op.valid
            entry[2] += op.moved
    rows = [
        (path, number, valid, max(moved, valid), round(1 - valid / max(moved, valid, 1), 4))
        for path, (number, valid, moved) in sums.items()
    ]
    return row_table("paths", "Bytes on each path", _PATHS, rows)


def _hazards(run: AscendRun) -> Table:
    rows = [(hazard.kind, hazard.buffer, hazard.sentence(run.program)) for hazard in run.hazards]
    return row_table("hazards", "Missing synchronisation", _HAZARDS, rows)


def _halves(run: AscendRun) -> Table:
    assert run.times.record is not None
    rows: list[tuple[Any, ...]] = []
    for half in (0, 1):
        spans: dict[str, list[tuple[int, int]]] = {"MTE2": [], "MTE1": []}
        for index, start, end in zip(
            run.times.record.index, run.times.record.start, run.times.record.end, strict=True
        ):
            op = run.program.ops[index]
            name = PIPES[op.pipe]
            touched = op.writes if name == "MTE2" else op.reads if name == "MTE1" else ()
            for piece in touched:
                if piece.memory == "L1":
                    first, last = int(l1_bank(piece.start, run.chip)), int(l1_bank(piece.end - 1, run.chip))
                    if first <= half <= last:
                        spans[name].append((start, end))
        both = _overlap(spans["MTE2"], spans["MTE1"])
        rows.append((half, _length(spans["MTE2"]), _length(spans["MTE1"]), both))
    return row_table("l1_halves", "L1 halves: MTE2 writes against MTE1 reads", _HALVES, rows)


def _length(spans: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in spans)


def _overlap(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> int:
    """Cycles in which an interval of each list runs; the intervals of a list are in order and do not overlap."""
    total = i = j = 0
    while i < len(first) and j < len(second):
        total += max(0, min(first[i][1], second[j][1]) - max(first[i][0], second[j][0]))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return total


def occupancy(run: AscendRun) -> Iterator[tuple[str, int, int]]:
    """(memory, cycle, bytes) steps: a slot is occupied from the start of its fill to the end of its last read."""
    assert run.times.record is not None
    lives: dict[str, list[tuple[int, int]]] = {}
    open_slots: dict[tuple[str, int], list[int]] = {}
    sizes: dict[tuple[str, int], int] = {}
    record = run.times.record
    in_order = sorted(zip(record.index, record.start, record.end, strict=True))
    for index, start, end in in_order:
        op = run.program.ops[index]
        for piece in op.reads:
            slot = open_slots.get((piece.memory, piece.start))
            if slot is not None:
                slot[1] = max(slot[1], end)
        for piece in op.writes:
            key = (piece.memory, piece.start)
            sizes[key] = piece.end - piece.start
            if PIPES[op.pipe] == "M" and not op.opens and key in open_slots:  # accumulates
                open_slots[key][1] = max(open_slots[key][1], end)
                continue
            if key in open_slots:
                open_slots[key][1] = min(
                    open_slots[key][1], start
                )  # handed over by unit flags before it is read
                lives.setdefault(key[0], []).extend(_steps(open_slots[key], sizes[key]))
            open_slots[key] = [start, end]
    for key, life in open_slots.items():
        lives.setdefault(key[0], []).extend(_steps(life, sizes[key]))
    for memory in sorted(lives):
        used = 0
        changes: dict[int, int] = {}
        for cycle, change in lives[memory]:
            changes[cycle] = changes.get(cycle, 0) + change
        for cycle in sorted(changes):
            if changes[cycle]:
                used += changes[cycle]
                yield memory, cycle, used


def _steps(life: list[int], size: int) -> list[tuple[int, int]]:
    return [(life[0], size), (max(life[1], life[0]), -size)]


def _instructions(run: AscendRun) -> Table:
    assert run.times.record is not None
    record = run.times.record
    rows: list[tuple[Any, ...]] = []
    for index, start, end in sorted(
        zip(record.index, record.start, record.end, strict=True), key=lambda item: (item[1], item[0])
    ):
        op = run.program.ops[index]
        names, values = run.program.where[index]
        where = " ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        rows.append((start, end, PIPES[op.pipe], op.name, where))
    return row_table("instructions", "Instructions in order of their start", _INSTRUCTIONS, rows)
