"""One access in detail: which lanes meet on which bank with which words, phase by phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _html
from ..chip import Chip, load_chip
from .batch import count_trace
from .counts import Counts
from .errors import AccessError
from .ops import Operation
from .rules import Rule, rule_for
from .trace import Trace

__all__ = ["BankUse", "Merge", "Phase", "Witness", "WordUse", "explain"]


@dataclass(frozen=True, slots=True)
class WordUse:
    """One word of a bank: its byte offset in shared memory and the lanes that touch it in this phase."""

    offset: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BankUse:
    """One bank in one phase: its words, lowest offset first, and the wavefronts that it needs (`ways`).

    `ways` is the number of words, for atomics the number of lanes.
    """

    bank: int
    words: tuple[WordUse, ...]
    ways: int

    @property
    def lanes(self) -> tuple[int, ...]:
        """The lanes that use the bank, ascending."""
        return tuple(sorted({lane for word in self.words for lane in word.lanes}))


@dataclass(frozen=True, slots=True)
class Phase:
    """A group of lanes that is served together (of a loop: one round of the lanes that are left).

    `wavefronts` is what it takes, `banks` what it touches in the order of the banks (where groups take turns in one
    round of a loop, those of the group that lasts longest), `broadcast` the lanes that get or set a word together with
    another lane, `done` the lanes that succeed (loops only).
    """

    number: int
    lanes: tuple[int, ...]
    wavefronts: int
    banks: tuple[BankUse, ...]
    broadcast: tuple[int, ...]
    done: tuple[int, ...] = ()

    @property
    def worst(self) -> tuple[BankUse, ...]:
        """The banks that decide how long the phase takes."""
        most = max((bank.ways for bank in self.banks), default=0)
        return tuple(bank for bank in self.banks if bank.ways == most)

    @property
    def conflicts(self) -> tuple[BankUse, ...]:
        """The banks that need more than one wavefront."""
        return tuple(bank for bank in self.banks if bank.ways > 1)


@dataclass(frozen=True, slots=True)
class Merge:
    """The decision of the pair rule on a wide load.

    `distance` is the one that holds, None when none does. `breaks` says for each distance that fails the first
    lane that breaks it: (distance, lane, its offset, partner, the partner's offset).
    """

    merged: bool
    distance: int | None
    breaks: tuple[tuple[int, int, int, int, int], ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Witness:
    """How one access is served: the counts, and the phases that they come from.

    `offsets` and `active` cover 32 lanes. `merge` is None where the pair rule has no say (stores, narrow loads, matrix
    operations, atomics). With status unknown there are no phases and `counts.reasons` says why.
    """

    operation: Operation
    chip: Chip
    offsets: tuple[int, ...]
    active: tuple[int, ...]
    counts: Counts
    merge: Merge | None
    phases: tuple[Phase, ...]

    @property
    def status(self) -> str:
        """measured, documented, assumed or unknown."""
        return self.counts.status

    def _repr_html_(self) -> str:
        """The sentences of the witness, for notebooks."""
        first, *others = self.lines()
        return _html.fragment(first, others)

    def lines(self) -> Iterator[str]:
        """The witness in plain sentences, one a line."""
        row = next(self.counts.rows())
        if self.status == "unknown":
            yield f"{self.operation.name} on {self.chip.title}: unknown"
            yield from self.counts.reasons
            return
        yield (
            f"{self.operation.name} on {self.chip.title}: {row['wavefronts']} wavefronts,"
            f" ideal {row['ideal_wavefronts']}, worst bank {row['worst_ways']}-way"
        )
        if self.merge:
            yield self.merge.reason
        what = "words" if self.operation.serves == "words" else "lanes"
        for phase in self.phases:
            many = "wavefront" if phase.wavefronts == 1 else "wavefronts"
            yield f"phase {phase.number}: {_lanes(phase.lanes)}, {phase.wavefronts} {many}"
            for bank in phase.conflicts:
                words = "; ".join(f"offset {word.offset}: {_lanes(word.lanes)}" for word in bank.words)
                yield f"  bank {bank.bank}: {bank.ways} {what} ({words})"


def explain(
    offsets: ArrayLike,
    op: str | Operation = "lds",
    width: int | None = None,
    mask: ArrayLike | None = None,
    variant: str | None = None,
    chip: str | Path | Chip = "h200",
) -> Witness:
    """The witness of one access; arguments as `count` takes them, for a single access.

    Raises AccessError for a wrong access or more than one, ChipError for an unknown chip.

    >>> from bankbench.sim import explain
    >>> witness = explain([128 * lane for lane in range(4)])
    >>> witness.phases[0].worst[0].bank, witness.phases[0].worst[0].lanes
    (0, (0, 1, 2, 3))
    """
    machine = load_chip(chip)
    trace = Trace.of(offsets, op, width, mask, variant)
    if len(trace) != 1:
        raise AccessError(f"explain takes one access, found {len(trace)}")
    counts = count_trace(trace, machine)
    kind = trace.operation(0)
    rule = rule_for(machine, kind.code)
    table = trace.offsets[0].astype(np.int64)
    active = np.flatnonzero(trace.active()[0])
    merge: Merge | None = None
    phases: tuple[Phase, ...] = ()
    if rule.status != "unknown":
        merge = _merge(table, active, rule) if rule.distances else None
        phases = tuple(_phases(table, active, rule, bool(merge and merge.merged)))
    return Witness(kind, machine, tuple(table.tolist()), tuple(active.tolist()), counts, merge, phases)


def ranges(lanes: tuple[int, ...]) -> str:
    """Lanes as people write them: `0-7, 12`.

    >>> ranges((0, 1, 2, 5, 8, 9))
    '0-2, 5, 8-9'
    """
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs) or "none"


def _lanes(lanes: tuple[int, ...]) -> str:
    return f"lane{'' if len(lanes) == 1 else 's'} {ranges(lanes)}"


def _merge(offsets: NDArray[np.int64], active: NDArray[Any], rule: Rule) -> Merge:
    breaks: list[tuple[int, int, int, int, int]] = []
    lanes: set[int] = set(active.tolist())
    for distance in rule.distances:
        first = next(
            (n for n in sorted(lanes) if n ^ distance in lanes and offsets[n] != offsets[n ^ distance]), None
        )
        if first is None:
            paired = sum(lane ^ distance in lanes for lane in lanes)
            how = (
                f"all {paired} active lanes with an active partner share its address"
                if paired
                else "no partner is active"
            )
            reason = (
                f"merged: over lane xor {distance} {how}, so {rule.merged_group} lanes are served together"
            )
            return Merge(True, distance, tuple(breaks), reason)
        partner = first ^ distance
        breaks.append((distance, first, int(offsets[first]), partner, int(offsets[partner])))
    failures = "; ".join(
        f"over lane xor {distance} lane {lane} (offset {own}) and lane {partner} (offset {other}) differ"
        for distance, lane, own, partner, other in breaks
    )
    return Merge(
        False, None, tuple(breaks), f"not merged: {failures}; groups of {rule.group} lanes are served"
    )


def _phases(offsets: NDArray[np.int64], active: NDArray[Any], rule: Rule, merged: bool) -> Iterator[Phase]:
    if rule.operation.serves == "loop":
        yield from _rounds(offsets, active, rule)
        return
    size = rule.merged_group if merged else rule.group
    number = 0
    for start in range(0, 32, size):
        lanes = active[(active >= start) & (active < start + size)]
        if len(lanes):
            number += 1
            banks = _banks(offsets, lanes, rule, by_lane=rule.operation.serves == "lanes")
            wavefronts = rule.passes * max(bank.ways for bank in banks)
            yield Phase(number, tuple(lanes.tolist()), wavefronts, banks, _broadcast(banks))


def _rounds(offsets: NDArray[np.int64], active: NDArray[Any], rule: Rule) -> Iterator[Phase]:
    left, number = active, 0
    while len(left):
        number += 1
        merged = bool(rule.distances) and _merge(offsets, left, rule).merged
        loads = _groups(left, rule.merged_group if merged else rule.group)
        loaded = [max(bank.ways for bank in _banks(offsets, group, rule, by_lane=False)) for group in loads]
        swaps = [_banks(offsets, group, rule, by_lane=True) for group in _groups(left, rule.group)]
        done = tuple(sorted(bank.lanes[0] for banks in swaps for bank in banks))
        wavefronts = sum(loaded) + rule.passes * len(swaps)
        # The lanes of a bank take turns, whatever their words: the banks of the group that lasts longest.
        banks = max(swaps, key=lambda banks: max(bank.ways for bank in banks))
        yield Phase(number, tuple(left.tolist()), wavefronts, banks, _broadcast(banks), done)
        left = left[~np.isin(left, done)]


def _groups(lanes: NDArray[Any], size: int) -> list[NDArray[Any]]:
    """The lanes by the groups of `size` that they lie in."""
    return [lanes[lanes // size == group] for group in np.unique(lanes // size)]


def _banks(offsets: NDArray[np.int64], lanes: NDArray[Any], rule: Rule, by_lane: bool) -> tuple[BankUse, ...]:
    found: dict[int, dict[int, list[int]]] = {}
    # Atomics wait for the bank of their first word only.
    parts = 1 if by_lane else rule.unit_words
    for lane in lanes.tolist():
        first = int(offsets[lane]) // rule.unit * rule.unit_words
        for word in range(first, first + parts):
            found.setdefault(word % rule.banks, {}).setdefault(word, []).append(lane)
    banks: list[BankUse] = []
    for bank, words in sorted(found.items()):
        uses = tuple(WordUse(word * rule.bank_bytes, tuple(who)) for word, who in sorted(words.items()))
        banks.append(BankUse(bank, uses, sum(len(use.lanes) for use in uses) if by_lane else len(uses)))
    return tuple(banks)


def _broadcast(banks: tuple[BankUse, ...]) -> tuple[int, ...]:
    return tuple(
        sorted({n for bank in banks for word in bank.words if len(word.lanes) > 1 for n in word.lanes})
    )
