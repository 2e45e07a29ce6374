"""Counting traces and single accesses."""

from __future__ import annotations

from collections.abc import Sequence
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
_PART = 1 << 20
_GENERAL_BLOCK = 1024
_DEFAULTS = np.array([kind.default_mask for kind in OPERATIONS], dtype=np.uint32)
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
    found, scratch = _Found.empty(len(trace)), Scratch()
    # In parts, so that row numbers and labels of a long trace take no more memory than of a million.
    for start in range(0, len(trace), _PART):
        part = slice(start, start + _PART)
        for rule, places, full in _by_rule(trace.kind[part], trace.mask[part], machine):
            rows = places + start
            if rule.status == "unknown":
                found.unknown(rows)
            elif not _is_fast(rule):
                _general(trace, rule, rows, found)
            else:
                _fast(trace, rule, rows, full, scratch, found)
    return found.counts(trace, machine)


class _Found:
    """The result columns while they are being filled."""

    def __init__(self, columns: dict[str, NDArray[np.int32]], merged: NDArray[np.bool_]) -> None:
        self.columns = columns
        self.merged = merged

    @classmethod
    def empty(cls, count: int) -> _Found:
        return cls({name: np.zeros(count, np.int32) for name in _COLUMNS}, np.zeros(count, np.bool_))

    def counts(self, trace: Trace, chip: Chip) -> Counts:
        waves, conflicts, ideal, floor, ways = self.columns.values()
        return Counts(chip, trace.kind, waves, conflicts, ideal, floor, ways, self.merged)

    def unknown(self, rows: NDArray[np.intp]) -> None:
        for column in self.columns.values():
            column[rows] = -1

    def put(self, rows: NDArray[np.intp], *values: NDArray[Any]) -> None:
        for column, value in zip(self.columns.values(), values, strict=True):
            column[rows] = value.astype(np.int32, copy=False)


def _by_rule(
    kind: NDArray[np.uint8], mask: NDArray[np.uint32], chip: Chip
) -> list[tuple[Rule, NDArray[np.intp], bool]]:
    """Row numbers by the rule that counts them, and whether all lanes of those rows are active."""
    present = np.flatnonzero(np.bincount(kind, minlength=len(OPERATIONS))).tolist()
    rules = {rule.alike: rule for rule in (rule_for(chip, code) for code in present)}
    number = {alike: index for index, alike in enumerate(rules)}
    table = np.zeros(len(OPERATIONS), dtype=np.uint8)
    for code in present:
        table[code] = 2 * number[rule_for(chip, code).alike]
    defaults = _DEFAULTS[kind]
    partial = (mask & defaults) != defaults
    # Rule and partial fit into a byte, which NumPy sorts by counting.
    label = table[kind] + partial
    order = np.argsort(label, kind="stable")
    found: list[tuple[Rule, NDArray[np.intp], bool]] = []
    start = 0
    for index, size in enumerate(np.bincount(label, minlength=2 * len(rules)).tolist()):
        if size:
            found.append((list(rules.values())[index // 2], order[start : start + size], index % 2 == 0))
        start += size
    return found


def _is_fast(rule: Rule) -> bool:
    """Whether keys a lane suffice: whole rows of banks, and partners that stay within a group."""
    return rule.columns > 0 and all(
        distance & (distance - 1) == 0 and distance < rule.group for distance in rule.distances
    )


def _fast(
    trace: Trace,
    rule: Rule,
    rows: NDArray[np.intp],
    full: bool,
    scratch: Scratch,
    found: _Found,
) -> None:
    plan = KeyPlan.of(rule, trace.highest)
    used = np.uint32(rule.operation.default_mask)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        mask = trace.mask[block] & used
        if rule.operation.serves == "words":
            counts = count_words(trace.offsets, block, None if full else mask, rule, plan, scratch)
            ideal = counts.groups
            conflicts = counts.wavefronts - ideal
            if rule.distances:
                found.merged[block] = counts.merged
        else:
            counts = count_lanes(trace.offsets, block, mask, rule, plan, scratch)
            ideal, conflicts = counts.ideal, counts.conflicts
        floor = -(-(counts.units.astype(np.int32) * rule.unit_words) // rule.banks)
        found.put(block, counts.wavefronts, conflicts, ideal, floor, counts.ways)


def _general(trace: Trace, rule: Rule, rows: NDArray[np.intp], found: _Found) -> None:
    used = np.uint32(rule.operation.default_mask)
    for start in range(0, len(rows), _GENERAL_BLOCK):
        block = rows[start : start + _GENERAL_BLOCK]
        counts = count_general(trace.offsets[block], bits(trace.mask[block] & used), rule)
        floor = -(-counts.words // rule.banks)
        found.put(block, counts.wavefronts, counts.conflicts, counts.ideal, floor, counts.ways)
        found.merged[block] = counts.merged
