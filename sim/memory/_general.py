"""Counting by words and banks one by one: slower, and without any condition on the banks of the chip.

It serves chips whose row of banks is no whole number of accesses (33 banks), and whoever wants to see the words of
every bank. Everything is expanded: each lane to its words, each word to its bank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rules import Rule


@dataclass(frozen=True, slots=True)
class GeneralCounts:
    """(n,) int64 arrays, as in `Counts`, and the pair rule's decision."""

    wavefronts: NDArray[np.int64]
    conflicts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    ways: NDArray[np.int64]
    words: NDArray[np.int64]
    merged: NDArray[np.bool_]


def count_general(offsets: NDArray[Any], active: NDArray[np.bool_], rule: Rule) -> GeneralCounts:
    """Counts of (n, 32) offsets and active lanes, all of the operation of `rule`."""
    kind = rule.operation
    merged = pairs_equal(offsets, active, rule.distances)
    words = words_of(offsets, active, rule)
    total = _different(words.reshape(len(words), -1))
    if kind.serves == "words":
        plain = by_bank(words, rule.group, rule)
        wide = by_bank(words, rule.merged_group, rule) if merged.any() else plain
        ways_plain: NDArray[np.int64] = plain.max(axis=2)
        ways_wide: NDArray[np.int64] = wide.max(axis=2)
        wavefronts = _either(merged, ways_wide.sum(axis=1), ways_plain.sum(axis=1))
        groups = _either(merged, (ways_wide > 0).sum(axis=1), (ways_plain > 0).sum(axis=1))
        ways = _either(merged, ways_wide.max(axis=1), ways_plain.max(axis=1))
        return GeneralCounts(wavefronts, wavefronts - groups, groups, ways, total, merged)
    lanes = lanes_by_bank(offsets, active, rule)
    turns, used = lanes.max(axis=2), lanes.sum(axis=2)
    fewest = -(-used // (rule.banks // min(rule.unit_words, rule.banks)))
    if kind.serves == "loop":
        return _loop(offsets, active, rule, fewest, total, merged)
    wavefronts = rule.passes * turns.sum(axis=1)
    conflicts = (turns - (used > 0)).sum(axis=1)
    return GeneralCounts(
        wavefronts, conflicts, rule.passes * fewest.sum(axis=1), turns.max(axis=1), total, merged
    )


def words_of(offsets: NDArray[Any], active: NDArray[np.bool_], rule: Rule) -> NDArray[np.int64]:
    """(n, 32, words a lane) word numbers, -1 for inactive lanes."""
    parts = np.arange(rule.unit_words, dtype=np.int64)
    words = (offsets.astype(np.int64) // rule.unit * rule.unit_words)[:, :, None] + parts
    return np.where(active[:, :, None], words, -1)


def by_bank(words: NDArray[np.int64], group: int, rule: Rule) -> NDArray[np.int64]:
    """(n, groups, banks) how many different words of each bank each group touches."""
    count = len(words)
    flat = np.sort(words.reshape(count, 32 // group, -1), axis=2)
    new = np.ones(flat.shape, dtype=np.bool_)
    new[:, :, 1:] = flat[:, :, 1:] != flat[:, :, :-1]
    return _histogram(flat % rule.banks, new & (flat >= 0), rule.banks)


def lanes_by_bank(offsets: NDArray[Any], active: NDArray[np.bool_], rule: Rule) -> NDArray[np.int64]:
    """(n, groups, banks) how many active lanes of each group have the first word of their access in each bank."""
    shape = (len(offsets), 32 // rule.group, rule.group)
    banks = offsets.astype(np.int64) // rule.unit * rule.unit_words % rule.banks
    return _histogram(banks.reshape(shape), active.reshape(shape), rule.banks)


def pairs_equal(
    offsets: NDArray[Any], active: NDArray[np.bool_], distances: tuple[int, ...]
) -> NDArray[np.bool_]:
    """(n,) whether every active lane has the address of its active partner, over one of the distances."""
    equal = np.zeros(len(offsets), dtype=np.bool_)
    for distance in distances:
        partner = np.arange(32) ^ distance
        differs = (offsets != offsets[:, partner]) & active & active[:, partner]
        equal |= ~differs.any(axis=1)
    return equal


def _loop(
    offsets: NDArray[Any],
    active: NDArray[np.bool_],
    rule: Rule,
    fewest: NDArray[np.int64],
    total: NDArray[np.int64],
    merged: NDArray[np.bool_],
) -> GeneralCounts:
    parts = loop_rounds(offsets, active, rule)
    # Each round loads at least once, and a group swaps as often as its fullest bank has lanes.
    ideal = rule.passes * fewest.sum(axis=1) + parts.first + np.maximum(fewest.max(axis=1) - 1, 0)
    wavefronts, conflicts = parts.loads + rule.passes * parts.swaps, parts.loads - parts.groups
    return GeneralCounts(wavefronts, conflicts, ideal, parts.rounds, total, merged)


@dataclass(frozen=True, slots=True)
class LoopRounds:
    """(n,) int64 arrays, what a loop of load and swap does until no lane is left: its rounds, wavefronts and groups of
    its loads, groups served by its first load, and groups that swap (each takes the passes of the rule)."""

    rounds: NDArray[np.int64]
    loads: NDArray[np.int64]
    groups: NDArray[np.int64]
    first: NDArray[np.int64]
    swaps: NDArray[np.int64]


def loop_rounds(offsets: NDArray[Any], active: NDArray[np.bool_], rule: Rule) -> LoopRounds:
    """A loop of load, operation and compare-and-swap, round by round as the hardware does it; (n, 32) arrays."""
    count, size, lanes = len(offsets), rule.group, np.arange(32)
    left = active.copy()
    banks = offsets.astype(np.int64) // rule.unit * rule.unit_words % rule.banks
    earlier = np.tri(32, k=-1, dtype=np.bool_) & (lanes[:, None] // size == lanes // size)
    rounds, loads, groups, first, swaps = (np.zeros(count, dtype=np.int64) for _ in range(5))
    while left.any():
        words = words_of(offsets, left, rule)
        paired = pairs_equal(offsets, left, rule.distances)
        plain = by_bank(words, size, rule).max(axis=2)
        wide = by_bank(words, rule.merged_group, rule).max(axis=2) if paired.any() else plain
        served = _either(paired, (wide > 0).sum(axis=1), (plain > 0).sum(axis=1))
        loads += _either(paired, wide.sum(axis=1), plain.sum(axis=1))
        groups += served
        first = np.where(rounds == 0, served, first)
        swaps += left.reshape(count, -1, size).any(axis=2).sum(axis=1)
        rounds += left.any(axis=1)
        left &= ((banks[:, :, None] == banks[:, None, :]) & left[:, None, :] & earlier).any(axis=2)
    return LoopRounds(rounds, loads, groups, first, swaps)


def _either(merged: NDArray[np.bool_], wide: NDArray[Any], plain: NDArray[Any]) -> NDArray[np.int64]:
    return np.where(merged, wide, plain).astype(np.int64)


def _histogram(banks: NDArray[np.int64], counted: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    count, groups, _ = banks.shape
    place = np.arange(count * groups, dtype=np.int64).reshape(count, groups, 1) * size
    found = np.bincount((banks + place)[counted], minlength=count * groups * size)
    return found.reshape(count, groups, size)


def _different(words: NDArray[np.int64]) -> NDArray[np.int64]:
    flat = np.sort(words, axis=1)
    return (flat[:, :1] >= 0).sum(axis=1) + ((flat[:, 1:] != flat[:, :-1]) & (flat[:, 1:] >= 0)).sum(axis=1)
