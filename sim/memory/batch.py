"""Counting traces and single accesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..chip import Chip, load_chip
from ._block import BLOCK, KeyPlan, Scratch
from ._general import count_general
from ._inputs import bits
from ._lanes import count_lanes
from ._words import count_words
from .counts import Counts
from .ops import OPERATIONS, Operation
from .rules import Rule, rule_for
from .trace import Trace

__all__ = ["CAPACITY", "count", "count_trace"]

CAPACITY = "shared_memory.max_bytes_per_block"
_PART = 1 << 18
_GENERAL_BLOCK = 1024
# Lanes that have to be active for the short way through a block; none for atomics, which have only one way.
_FULL = np.array([kind.default_mask if kind.serves == "words" else 0 for kind in OPERATIONS], dtype=np.uint32)
_SCRATCH = Scratch()
_COLUMNS = ("wavefronts", "bank_conflicts", "ideal_wavefronts", "floor_wavefronts", "worst_ways")


def count(
    offsets: ArrayLike,
    op: str | Operation | Sequence[str] = "lds",
    width: int | Sequence[int] | None = None,
    mask: ArrayLike | None = None,
    variant: str | Sequence[str | None] | None = None,
    chip: str | Path | Chip = "h200",
    check_capacity: bool = False,
) -> Counts:
    """Wavefronts and bank conflicts of accesses to shared memory.

    Arguments as in `Trace.of`: `offsets` (lanes,) for one access or (n, lanes) byte offsets, `op` a spelling such
    as "lds", "sts.64", "ldmatrix.x4", `width` bytes a lane (4 when neither it nor `op` says), `mask` active lanes.
    `check_capacity` also refuses offsets beyond the shared memory that a block of the chip can have.

    Raises AccessError for accesses that the hardware would not execute, ChipError for an unknown chip. An access
    whose rule is not known on the chip is no error: its `status` is "unknown" and says why.

    >>> from bankbench.sim import count
    >>> column = count([256 * row for row in range(8)], "lds", width=2)      # fp16 column of an (8, 128) tile
    >>> int(column.wavefronts[0]), int(column.excess_wavefronts[0]), column.status
    (8, 7, 'measured')
    """
    machine = load_chip(chip)
    trace = Trace.of(offsets, op, width, mask, variant)
    if check_capacity:
        trace.check_capacity(machine.integer(CAPACITY), f"a block's shared memory on {machine.title}")
    return count_trace(trace, machine)


def count_trace(trace: Trace, chip: str | Path | Chip = "h200") -> Counts:
    """Counts of every access of a trace, in its order; operations, widths and masks may be mixed.

    Accesses are taken kind by kind in blocks that stay in the cache: millions a second on one core. Raises
    ChipError for an unknown chip or impossible figures in it.

    >>> from bankbench.sim import Trace, count_trace
    >>> trace = Trace.of([[0] * 32, [128 * lane for lane in range(32)]], op=["lds.128", "lds"])
    >>> count_trace(trace).wavefronts.tolist()
    [2, 32]
    """
    machine = load_chip(chip)
    columns = _columns(len(trace))
    parts = -(-len(trace) // _PART)
    found = _Found(-(-len(trace) // max(1, parts)))
    for number in range(parts):
        part = slice(number * found.size, min(len(trace), (number + 1) * found.size))
        order, segments = _by_rule(trace.kind[part], trace.mask[part], machine)
        rows = order + part.start
        for rule, segment, full in segments:
            if rule.status == "unknown":
                found.unknown(segment)
            elif not _is_fast(rule):
                _general(trace, rows, rule, segment, found)
            else:
                _fast(trace, rows, rule, segment, full, found)
        found.into(columns, part, order)
    return Counts(machine, trace.kind, *columns.values())


class _Found:
    """Results of a part of a trace in the order in which it is counted, rule after rule.

    A trace is taken in parts of at most _PART accesses that use this memory one after the other.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.columns = _columns(size)
        self._place = np.empty(size, dtype=np.intp)
        self._numbers = np.arange(size, dtype=np.intp)

    def unknown(self, segment: slice) -> None:
        for name in _COLUMNS:
            self.columns[name][segment] = -1
        self.columns["merged"][segment] = False

    def put(self, segment: slice, *values: Any) -> None:
        for column, value in zip(self.columns.values(), values, strict=True):
            column[segment] = value

    def into(self, columns: dict[str, NDArray[Any]], part: slice, order: NDArray[np.intp]) -> None:
        """Bring the results into the order of the trace."""
        # Gathered, not scattered: reading a few ascending streams is what a cache is good at.
        count = len(order)
        place = self._place[:count]
        place[order] = self._numbers[:count]
        for name, column in columns.items():
            np.take(self.columns[name][:count], place, out=column[part], mode="clip")


def _columns(count: int) -> dict[str, NDArray[Any]]:
    """The fields of `Counts` in their order, yet to be filled."""
    columns: dict[str, NDArray[Any]] = {name: np.empty(count, np.int32) for name in _COLUMNS}
    return columns | {"merged": np.empty(count, np.bool_)}


def _by_rule(
    kind: NDArray[np.uint8], mask: NDArray[np.uint32], chip: Chip
) -> tuple[NDArray[np.intp], list[tuple[Rule, slice, bool]]]:
    """An order by the rule that counts a row; for each rule its segment, and whether all lanes are active in it."""
    present = np.flatnonzero(np.bincount(kind, minlength=len(OPERATIONS))).tolist()
    rules = {rule.alike: rule for rule in (rule_for(chip, code) for code in present)}
    number = {alike: index for index, alike in enumerate(rules)}
    table = np.zeros(len(OPERATIONS), dtype=np.uint8)
    for code in present:
        table[code] = 2 * number[rule_for(chip, code).alike]
    lanes = _FULL[kind]
    partial = (mask & lanes) != lanes
    # Rule and partial fit into a byte, which NumPy sorts by counting.
    label = table[kind] + partial
    order = np.argsort(label, kind="stable")
    segments: list[tuple[Rule, slice, bool]] = []
    start = 0
    for index, size in enumerate(np.bincount(label, minlength=2 * len(rules)).tolist()):
        if size:
            segments.append((list(rules.values())[index // 2], slice(start, start + size), index % 2 == 0))
        start += size
    return order, segments


def _blocks(segment: slice, size: int) -> Iterator[slice]:
    for start in range(segment.start, segment.stop, size):
        yield slice(start, min(segment.stop, start + size))


def _is_fast(rule: Rule) -> bool:
    """Whether keys a lane suffice: whole rows of banks, and partners that stay within a group."""
    return rule.columns > 0 and all(
        distance & (distance - 1) == 0 and distance < rule.group for distance in rule.distances
    )


def _fast(
    trace: Trace,
    rows: NDArray[np.intp],
    rule: Rule,
    segment: slice,
    full: bool,
    found: _Found,
) -> None:
    plan = KeyPlan.of(rule, trace.highest)
    used = np.uint32(rule.operation.default_mask)
    for block in _blocks(segment, BLOCK):
        picked = rows[block]
        mask = trace.mask[picked] & used
        if rule.operation.serves == "words":
            counts = count_words(trace.offsets, picked, None if full else mask, rule, plan, _SCRATCH)
            conflicts, ideal, merged = counts.wavefronts - counts.groups, counts.groups, counts.merged
        else:
            counts = count_lanes(trace.offsets, picked, mask, rule, plan, _SCRATCH)
            conflicts, ideal, merged = counts.conflicts, counts.ideal, counts.merged
        floor = -(-(counts.units.astype(np.int32) * rule.unit_words) // rule.banks)
        found.put(block, counts.wavefronts, conflicts, ideal, floor, counts.ways, merged)


def _general(trace: Trace, rows: NDArray[np.intp], rule: Rule, segment: slice, found: _Found) -> None:
    used = np.uint32(rule.operation.default_mask)
    for block in _blocks(segment, _GENERAL_BLOCK):
        picked = rows[block]
        counts = count_general(trace.offsets[picked], bits(trace.mask[picked] & used), rule)
        floor = -(-counts.words // rule.banks)
        found.put(block, counts.wavefronts, counts.conflicts, counts.ideal, floor, counts.ways, counts.merged)
