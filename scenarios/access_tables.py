"""Tables of counted accesses: by access, by instruction, by collision, by bank, and the buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..sim.chip import Chip
from ..sim.memory import Trace, loop_parts, parse_op
from ..sim.results import Column, Table
from .access_instructions import instruction_table, words_by_bank
from .buffers import PlacedBuffer, constant
from .counted import CountedAccess
from .row_table import row_table

_WAVEFRONTS = Column("wavefronts", "", "passes through shared memory, as the hardware counter shows them")
_IDEAL = Column(
    "ideal", "", "the fewest wavefronts that this width, mask and pairing can take with any addresses"
)
_EXCESS = Column("excess", "", "wavefronts above the ideal")
_CONFLICTS = Column("bank_conflicts", "", "what the hardware's bank-conflict counter shows")
_FLOOR = Column("floor", "", "max(1, distinct words / banks rounded up): what no layout can beat")
_WAYS = Column("ways", "", "the most distinct words (atomics: lanes) in one bank of one group of lanes")
_STATUS = Column("status", "", "how the rule is known: measured, documented, assumed, unknown")
_ACCESS = Column("access", "", "name of the access in the scenario")
_INSTRUCTION = Column("instruction", "", "operation with its width in bits, or its variant")
_LATENCY = Column(
    "latency", "cycles", "of one warp, dependent chain with an integer add; the slowest instruction"
)
_SHARED = {
    column.name: column
    for column in (
        _ACCESS,
        _INSTRUCTION,
        _WAVEFRONTS,
        _IDEAL,
        _EXCESS,
        _CONFLICTS,
        _FLOOR,
        _WAYS,
        _LATENCY,
        _STATUS,
    )
}

_LOOP_COLUMNS = {
    "rounds": "loads executed, and as many compare-and-swaps",
    "load_wavefronts": "wavefronts of the loads, which a profiler counts as loads",
    "load_ideal": "groups that the loads serve: the fewest wavefronts of these loads",
    "swap_wavefronts": "wavefronts of the compare-and-swaps, which a profiler counts as atomics",
}


def access_tables(
    counted: Sequence[CountedAccess], buffers: Sequence[PlacedBuffer], chip: Chip
) -> tuple[Table, ...]:
    """All tables of the section, summary first."""
    tables = [
        _accesses(counted),
        _kernels(counted),
        _loops(counted, chip),
        _collisions(counted),
        _buffers(buffers),
        _banks(counted, chip),
        instruction_table(counted, _SHARED),
    ]
    return tuple(table for table in tables if len(table))


def _accesses(counted: Sequence[CountedAccess]) -> Table:
    rows = [
        {
            "access": item.access.name,
            "instruction": _name(item),
            "count": item.executed,
            "wavefronts": item.total("wavefronts") if item.known else None,
            "ideal": item.total("ideal_wavefronts") if item.known else None,
            "excess": item.total("excess_wavefronts") if item.known else None,
            "bank_conflicts": item.total("bank_conflicts") if item.known else None,
            "ways": item.worst_ways if item.known else None,
            "status": item.status,
        }
        for item in counted
    ]
    columns = (
        _ACCESS,
        _INSTRUCTION,
        Column("count", "", "warp instructions of the access, with its repetitions"),
        _WAVEFRONTS,
        _IDEAL,
        _EXCESS,
        _CONFLICTS,
        _WAYS,
        _STATUS,
    )
    return row_table("accesses", "Accesses", columns, rows)


def _kernels(counted: Sequence[CountedAccess]) -> Table:
    """Which kernel of a profile an access belongs to, and how often it happens in a launch."""
    named = [item.access for item in counted if item.access.kernel or item.access.repeat > 1]
    columns = (
        _ACCESS,
        Column("kernel", "", "part of the kernel's name; empty: any kernel"),
        Column("repeat", "", "how often the access happens in a launch"),
    )
    rows = [{"access": item.name, "kernel": item.kernel, "repeat": item.repeat} for item in named]
    return row_table("kernels", "Kernels", columns, rows)


def _loops(counted: Sequence[CountedAccess], chip: Chip) -> Table:
    """What atomics that are loops of load and swap consist of: a profiler counts the two apart."""
    rows = []
    for item in counted:
        kind = parse_op(item.access.op, item.access.width, item.access.variant)
        if kind.serves != "loop" or not item.known:
            continue
        parts = loop_parts(Trace.of(item.access.offsets, op=kind, mask=item.access.active), chip)
        sums = {name: int(getattr(parts, name).sum()) * item.access.repeat for name in _LOOP_COLUMNS}
        rows.append({"access": item.access.name, **sums})
    columns = (_ACCESS, *(Column(name, "", doc) for name, doc in _LOOP_COLUMNS.items()))
    return row_table("loops", "Atomics that are loops of load and swap", columns, rows)


def _collisions(counted: Sequence[CountedAccess]) -> Table:
    """Where lanes meet in the worst instruction of each access: the fullest bank of every phase that has one."""
    rows = []
    for item in counted:
        if item.witness is None:
            continue
        for meeting in item.meetings():
            rows.append(
                {
                    "access": item.access.name,
                    "where": item.access.label(item.worst),
                    "phase": meeting.phase,
                    "bank": meeting.bank,
                    "ways": meeting.ways,
                    "lanes": _short(meeting.lanes),
                    "words": _short(meeting.words),
                }
            )
    columns = (
        _ACCESS,
        Column("where", "", "the instruction of the access that has the most excess wavefronts"),
        Column("phase", "", "which group of lanes that are served together"),
        Column("bank", "", "the fullest bank of the phase"),
        _WAYS,
        Column("lanes", "", "lanes that meet on the bank, one for each word"),
        Column("words", "byte", "where those words start, from the start of the buffer"),
    )
    return row_table("conflicts", "Who meets where (worst instruction of each access)", columns, rows)


def _short(values: Sequence[int], most: int = 8) -> str:
    shown = " ".join(map(str, values[:most]))
    return shown + (f" ... ({len(values)})" if len(values) > most else "")


def _buffers(buffers: Sequence[PlacedBuffer]) -> Table:
    rows = [
        {
            "buffer": buffer.name,
            "dtype": buffer.dtype,
            "shape": "x".join(map(str, buffer.shape)),
            "start": buffer.base,
            "bytes": buffer.footprint,
            "padding": buffer.footprint - buffer.valid,
            "layout": str(buffer.layout),
        }
        for buffer in buffers
    ]
    columns = (
        Column("buffer", "", "name of the buffer in the scenario"),
        Column("dtype", "", "element type"),
        Column("shape", "", "logical shape"),
        Column("start", "byte", "first byte in shared memory"),
        Column("bytes", "", "from the first to the last byte that an element uses"),
        Column("padding", "bytes", "bytes of the footprint that hold no element"),
        Column("layout", "", "element offsets, in the notation that it was written in"),
    )
    return row_table("buffers", "Buffers", columns, rows)


def _banks(counted: Sequence[CountedAccess], chip: Chip) -> Table:
    """How many (instruction, word) pairs each bank serves, by access."""
    columns = (
        _ACCESS,
        Column("bank", "", "bank of shared memory"),
        Column("words", "", "distinct words asked of the bank, summed over the instructions"),
    )
    banks, bank_bytes = (constant(chip, f"shared_memory.{name}") for name in ("banks", "bank_bytes"))
    data: dict[str, list[Any]] = {"access": [], "bank": [], "words": []}
    if not banks or not bank_bytes:
        return Table("banks", "Words by bank", columns, data)
    for item in counted:
        words = words_by_bank(item, int(banks), int(bank_bytes))
        data["access"] += [item.access.name] * int(banks)
        data["bank"] += range(int(banks))
        data["words"] += words.tolist()
    return Table("banks", "Words by bank", columns, data)


def _name(item: CountedAccess) -> str:
    return parse_op(item.access.op, item.access.width, item.access.variant).name
