"""Details of many accesses on request: the words of every bank, and the lanes that are served by broadcast."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..chip import Chip, load_chip
from ._general import by_bank, lanes_by_bank, loop_rounds, pairs_equal, words_of
from .errors import AccessError
from .rules import Rule, rule_for
from .trace import Trace

__all__ = ["LoopParts", "bank_words", "broadcast_lanes", "dense_phases", "loop_parts"]

_BLOCK = 2048


def bank_words(trace: Trace, chip: str | Path | Chip = "h200") -> NDArray[np.int64]:
    """(n, banks) wavefronts that each bank works: its different words summed over the groups of the access.

    For atomics it is lanes instead of words, for a loop the words of its first round. The largest entry
    of a row is at most `wavefronts`. Raises AccessError when a rule is unknown on the chip.

    >>> from bankbench.sim import Trace, bank_words
    >>> bank_words(Trace.of([64 * lane for lane in range(8)]))[0, [0, 16]].tolist()
    [4, 4]
    """
    machine = load_chip(chip)
    banks = machine.integer("shared_memory.banks")
    found = np.zeros((len(trace), banks), dtype=np.int64)
    for rule, rows, offsets, active in _blocks(trace, machine):
        if rule.operation.serves == "lanes":
            found[rows] = lanes_by_bank(offsets, active, rule).sum(axis=1)
            continue
        words = words_of(offsets, active, rule)
        found[rows] = by_bank(words, rule.group, rule).sum(axis=1)
        merged = pairs_equal(offsets, active, rule.distances)
        if merged.any():
            found[rows[merged]] = by_bank(words[merged], rule.merged_group, rule).sum(axis=1)
    return found


def broadcast_lanes(trace: Trace, chip: str | Path | Chip = "h200") -> NDArray[np.bool_]:
    """(n, 32) lanes that touch a word together with another active lane of their group, at no cost.

    Lanes of atomics that share a word are marked too, but they pay for it. Raises AccessError when a rule is unknown.

    >>> from bankbench.sim import Trace, broadcast_lanes
    >>> broadcast_lanes(Trace.of([0, 0, 4, 8]))[0, :4].tolist()
    [True, True, False, False]
    """
    found = np.zeros((len(trace), 32), dtype=np.bool_)
    lane = np.arange(32)
    for rule, rows, offsets, active in _blocks(trace, load_chip(chip)):
        units = offsets // rule.unit
        merged = pairs_equal(offsets, active, rule.distances)
        size = np.where(merged, rule.merged_group or 32, rule.group)[:, None]
        group = lane // size
        equal = (units[:, :, None] == units[:, None, :]) & (group[:, :, None] == group[:, None, :])
        equal &= active[:, :, None] & active[:, None, :] & (lane[:, None] != lane)
        found[rows] = equal.any(axis=2)
    return found


@dataclass(frozen=True, slots=True)
class LoopParts:
    """What loops of load and swap consist of; (n,) int64 arrays, 0 for other instructions.

    `rounds` (each is one load and one compare-and-swap instruction), `load_wavefronts` and their `load_ideal` (groups
    served), `swap_wavefronts`. A profiler counts the loads as loads and the swaps as atomics.
    """

    rounds: NDArray[np.int64]
    load_wavefronts: NDArray[np.int64]
    load_ideal: NDArray[np.int64]
    swap_wavefronts: NDArray[np.int64]


def loop_parts(trace: Trace, chip: str | Path | Chip = "h200") -> LoopParts:
    """The rounds, loads and swaps of the atomics that are loops; load and swap wavefronts add up to `wavefronts`.

    Raises AccessError when a rule is unknown on the chip. Source: an H200's counters of adds of f32 and u64.

    >>> from bankbench.sim import Trace
    >>> parts = loop_parts(Trace.of([0, 0, 0, 4], op="red.add.f32"))
    >>> int(parts.rounds[0]), int(parts.load_wavefronts[0]), int(parts.swap_wavefronts[0])
    (3, 3, 6)
    """
    found = [np.zeros(len(trace), dtype=np.int64) for _ in range(4)]
    for rule, rows, offsets, active in _blocks(trace, load_chip(chip)):
        if rule.operation.serves == "loop":
            parts = loop_rounds(offsets, active, rule)
            values = (parts.rounds, parts.loads, parts.groups, rule.passes * parts.swaps)
            for column, value in zip(found, values, strict=True):
                column[rows] = value
    return LoopParts(*found)


def dense_phases(chip: str | Path | Chip, width: int) -> int:
    """Phases of a load in which all lanes of a warp touch different words of `width` bytes: what must take turns
    because the banks together are narrower than the warp.

    Raises ChipError when the chip's banks or its lanes are unknown.

    >>> dense_phases("h200", 8)
    2
    """
    machine = load_chip(chip)
    row = machine.integer("shared_memory.banks") * machine.integer("shared_memory.bank_bytes")
    return max(1, machine.integer("sm.warp_lanes") * width // row)


def _blocks(
    trace: Trace, chip: Chip
) -> Iterator[tuple[Rule, NDArray[np.intp], NDArray[Any], NDArray[np.bool_]]]:
    for code in np.unique(trace.kind).tolist():
        rule = rule_for(chip, code)
        if rule.status == "unknown":
            raise AccessError(f"{rule.operation.name}: unknown on {chip.title} ({'; '.join(rule.reasons)})")
        rows = np.flatnonzero(trace.kind == code)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            part = trace[block]
            yield rule, block, part.offsets, part.active()
