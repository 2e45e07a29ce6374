"""Instructions, elements and descriptors of the section `tmem:`: legality, places, bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..sim.chip import Chip
from ..sim.results import Column, Table
from ..sim.tmem import (
    Copy,
    LoadStore,
    MmaInstruction,
    MmaShape,
    Movement,
    Shift,
    TmemError,
    TmemUnknown,
    copy_replicas,
    mma_cycles,
    movement_of,
    window_of,
)
from ..sim.traffic import ReplicaTraffic
from .errors import ScenarioError
from .load import LoadedScenario
from .row_table import row_table
from .tmem_buffers import PlacedTmem
from .tmem_model import Product, Tmem, TmemMove

_LDST = re.compile(
    r"(\.\d+x\d+bx?2?)\.x(\d+)((?:\.pack|\.unpack)::16b)?(?:\.red\.(min|max)((?:\.abs)?(?:\.NaN)?)(\.f32|\.u32|\.s32)?)?"
)


@dataclass(slots=True)
class MovesPart:
    """What the instructions of a section contribute."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    movements: list[Movement] = field(default_factory=list)
    replicas: list[ReplicaTraffic] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    unknowns: list[str] = field(default_factory=list)
    rests_on: list[str] = field(default_factory=list)


def product_shape(item: Product, chip: Chip) -> MmaShape:
    """The product of the file. Raises TmemError when it does not exist on the chip."""
    return MmaShape(item.kind, item.M, item.N, item.cta_group, item.ws, item.sparse, item.K, chip.arch)


def load_store(
    op: str, text: str, warp: int, lane: int, column: int, split: int | None, chip: Chip
) -> LoadStore:
    """A tcgen05.ld or st from its text. Raises TmemError."""
    found = _LDST.fullmatch(text if text.startswith(".") else f".{text}")
    if found is None:
        raise TmemError(f"{op} {text!r}: for example .32x32b.x32, .16x256b.x4.pack::16b")
    if found[5] and found[6] in (".u32", ".s32"):
        raise TmemError(f"tcgen05.{op}.red: {found[5]} goes with .f32, not with {found[6]}")
    pack = found[3] or ""
    if pack and pack != (".pack::16b" if op == "ld" else ".unpack::16b"):
        raise TmemError(f"tcgen05.{op} has no {pack}")
    return LoadStore(op, found[1], int(found[2]), warp, lane, column, bool(pack), split, found[4], chip)


def evaluate_moves(loaded: LoadedScenario, section: Tmem, placed: PlacedTmem, chip: Chip) -> MovesPart:
    """Checks every instruction, and adds up what it moves."""
    part = MovesPart()
    for index, move in enumerate(section.moves):
        place = str(loaded.place("tmem", "moves", index))
        name = move.name or f"{move.op} {move.buffer or ''}".strip()
        try:
            found = _one(move, placed, chip)
        except ScenarioError as error:
            raise error.at(loaded.place("tmem", "moves", index)) from None
        except TmemUnknown as error:
            part.unknowns.append(f"{name}: {error}")
            part.rows.append(_without_numbers(name, move, None))
            if move.expect.legal is not None:
                part.violations.append(f"{place}: {name}: {error}")
            continue
        except TmemError as error:
            part.refusals.append(f"{name}: {error}")
            part.rows.append(_without_numbers(name, move, False))
            if move.expect.legal is not False:
                part.violations.append(f"{place}: {name}: {error}")
            elif move.expect.error is not None and move.expect.error not in str(error):
                part.violations.append(
                    f"{place}: {name}: refused with {error!s}, expected {move.expect.error!r}"
                )
            continue
        if move.expect.legal is False:
            part.violations.append(f"{place}: {name}: is legal, expected a refusal")
        part.violations += _compare(found, move, name, place)
        part.rows.append({"move": name, **{key: found.get(key) for key in _KEYS}, "legal": True})
        part.movements += found["movements"]
        part.replicas += found["replica_rows"]
        part.rests_on += found["rests_on"]
    return part


_KEYS = ("instruction", "warps", "lanes", "columns", "registers", "bytes_read", "bytes_written", "replicas")


def _without_numbers(name: str, move: TmemMove, legal: bool | None) -> dict[str, Any]:
    return {"move": name, **dict.fromkeys(_KEYS), "instruction": _instruction(move), "legal": legal}


def _instruction(move: TmemMove) -> str:
    if move.mma is not None:
        p = move.mma
        flags = f"{'.ws' if p.ws else ''}{'.sp' if p.sparse else ''}"
        return f"mma{flags}.{p.kind} {p.M}x{p.N} {p.operands}"
    if move.op == "shift":
        return "shift.down"
    return f"{move.op}{getattr(move, move.op)}"


def _one(move: TmemMove, placed: PlacedTmem, chip: Chip) -> dict[str, Any]:
    base, lane = 0, 0
    if move.buffer is not None:
        item = placed.placement(move.buffer, "tmem.moves.buffer")
        base, lane = item.column, item.lane
    if move.mma is not None:
        return _product(move.mma, move, placed, chip)
    column = base + move.column
    if move.cp is not None:
        name = move.cp if move.cp.startswith(".") else f".{move.cp}"
        copy = Copy.parse(f"tcgen05.cp.cta_group::{move.cta_group}{name}", column, move.lane or 0, chip)
        lanes = copy.lanes_written()
        return {
            "instruction": _instruction(move),
            "warps": "one",
            "lanes": [int(lanes[0]), int(lanes[-1])],
            "columns": [column, column + copy.columns - 1],
            "bytes_read": copy.source_bytes,
            "bytes_written": copy.written_bytes,
            "replicas": copy.replicas,
            "movements": [movement_of(copy, move.times)],
            "replica_rows": [copy_replicas(copy, move.buffer or move.cp, move.times)]
            if copy.replicas > 1
            else [],
            "rests_on": [],
        }
    if move.shift is not None:
        shift = Shift(move.lane or 0, column, chip)
        size = shift.bytes_per_lane * len(shift.sources())
        return _plain(move, [shift.lane, 127], [column, column + 7], size, [movement_of(shift, move.times)])
    op, text = ("ld", move.ld) if move.ld is not None else ("st", move.st)
    items = [
        load_store(op, text or "", w, _lane(move, w, lane, chip), column, move.split, chip)
        for w in move.warps
    ]
    total = sum(item.bytes_moved for item in items)
    first, last = min(i.lanes[0] for i in items), max(i.lanes[1] for i in items)
    found = _plain(
        move, [first, last], list(items[0].column_range), total, [movement_of(i, move.times) for i in items]
    )
    return found | {"registers": items[0].registers, "warps": ", ".join(map(str, move.warps))}


def _lane(move: TmemMove, warp: int, offset: int, chip: Chip) -> int:
    """The lane of the address: as written, or the warp's own window at the buffer's lane offset."""
    return window_of(warp, chip).first + offset if move.lane is None else move.lane


def _plain(
    move: TmemMove, lanes: list[int], columns: list[int], size: int, movements: list[Movement]
) -> dict[str, Any]:
    return {
        "instruction": _instruction(move),
        "warps": "one",
        "lanes": lanes,
        "columns": columns,
        "bytes_read": size,
        "bytes_written": size,
        "replicas": 1,
        "movements": movements,
        "replica_rows": [],
        "rests_on": [],
    }


def _product(item: Product, move: TmemMove, placed: PlacedTmem, chip: Chip) -> dict[str, Any]:
    shape = product_shape(item, chip)
    cycles = mma_cycles(shape, item.operands, chip)
    a = "shared memory" if item.operands == "SS" else "TMEM"
    read = shape.a_bytes + shape.b_bytes
    movements = [
        Movement("tcgen05.mma", "A", a, "tensor core", move.times, shape.a_bytes * move.times, 0),
        Movement(
            "tcgen05.mma", "B", "shared memory", "tensor core", move.times, shape.b_bytes * move.times, 0
        ),
    ]
    found = _plain(move, [0, 127], [], read, movements)
    return found | {
        **_in_place(shape, move, placed, chip),
        "interval": cycles.interval,
        "latency": cycles.latency,
        "rests_on": list(cycles.rests_on),
    }


def _in_place(shape: MmaShape, move: TmemMove, placed: PlacedTmem, chip: Chip) -> dict[str, Any]:
    """Checks a product against its buffers, when they are named; lanes, columns and bytes of its accumulator."""
    named = {
        key: placed.placement(name, f"tmem.moves.{key}").operand
        for key in ("d", "a", "sfa", "sfb", "metadata")
        if (name := getattr(move, key)) is not None
    }
    missing = [key for key, operand in named.items() if operand is None]
    if missing:
        raise TmemError(f"{missing[0]}: {getattr(move, missing[0])} is plain columns, which no product reads")
    d = named.get("d")
    if d is None:
        if named or move.vector is not None:
            raise TmemError("a product with buffers names its accumulator with d:")
        return {"columns": None, "lanes": None, "bytes_written": None}
    one = MmaInstruction(
        shape,
        d,
        named.get("a"),
        named.get("sfa"),
        named.get("sfb"),
        named.get("metadata"),
        move.vector,
        chip=chip,
    )
    lanes = d.cells().lanes
    return {
        "columns": list(one.columns),
        "lanes": [int(lanes.min()), int(lanes.max())],
        "bytes_read": one.shared_bytes + one.tmem_read_bytes,
        "bytes_written": one.tmem_written_bytes,
    }


def _compare(found: dict[str, Any], move: TmemMove, name: str, place: str) -> list[str]:
    expected = move.expect.model_dump(exclude={"legal", "error"}, exclude_none=True)
    return [
        f"{place}: {name}: {key.replace('_', ' ')} {found.get(key)}, expected {wanted}"
        for key, wanted in expected.items()
        if found.get(key) != wanted
    ]


def move_table(rows: Sequence[dict[str, Any]]) -> Table:
    """One row an instruction."""
    docs = {
        "move": "name in the scenario",
        "instruction": "what is executed",
        "legal": "whether the hardware accepts it; empty where that is unknown",
        "warps": "who issues it",
        "lanes": "first and last lane over all warps",
        "columns": "first and last column",
        "regs": "32-bit registers a thread",
        "read": "bytes of a single execution by all its warps",
        "written": "bytes of a single execution, with all copies",
        "copies": "places of every byte written",
    }
    columns = tuple(Column(name, "", doc) for name, doc in docs.items())
    short = {"regs": "registers", "read": "bytes_read", "written": "bytes_written", "copies": "replicas"}
    shown = [
        {**row, "lanes": _range(row["lanes"]), "columns": _range(row["columns"])}
        | {name: row[long] for name, long in short.items()}
        for row in rows
    ]
    return row_table("tmem_moves", "Instructions on tensor memory, sizes in bytes", columns, shown)


def _range(pair: list[int] | None) -> str:
    return "" if not pair else f"{pair[0]}-{pair[1]}"


def traffic_table(movements: Sequence[Movement]) -> Table:
    """Bytes by mover, added up over equal movers."""
    columns = (
        Column("mover", "", "instruction or engine"),
        Column("what", "", "what it moves"),
        Column("source", "", "memory that is read"),
        Column("destination", "", "memory that is written"),
        Column("instructions", "", "executed altogether"),
        Column("read", "bytes", "from the source"),
        Column("written", "bytes", "into the destination"),
    )
    sums: dict[tuple[str, str, str, str], list[int]] = {}
    for m in movements:
        total = sums.setdefault((m.mover, m.what, m.source, m.destination), [0, 0, 0])
        for n, value in enumerate((m.instructions, m.read_bytes, m.written_bytes)):
            total[n] += value
    rows = [(*key, *total) for key, total in sums.items()]
    return row_table("tmem_traffic", "Bytes by mover", columns, rows)
