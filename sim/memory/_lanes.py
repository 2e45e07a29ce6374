"""Counting shared atomics, a block of accesses at a time.

Here lanes of one bank take turns even when their addresses are equal, so what counts is a lane's place among the
active lanes of its bank: found by comparing every lane with every later one, a distance at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._block import KeyPlan, Scratch, fill_inactive, group_order, load_active, load_keys, occupied_groups
from ._network import different, sort_all
from ._words import count_words
from .rules import Rule


@dataclass(frozen=True, slots=True)
class LaneCounts:
    """(n,) arrays of a block: wavefronts, conflicts as the counter has them, ideal, largest c(G), different units, and
    the pair rule's decision on the first load of a loop."""

    wavefronts: NDArray[Any]
    conflicts: NDArray[Any]
    ideal: NDArray[Any]
    ways: NDArray[Any]
    units: NDArray[Any]
    merged: NDArray[np.bool_] | bool = False


def count_lanes(
    offsets: NDArray[np.int32],
    rows: NDArray[np.intp],
    mask: NDArray[np.uint32],
    rule: Rule,
    plan: KeyPlan,
    scratch: Scratch,
) -> LaneCounts:
    """Counts of the picked rows, all counted by `rule`; `mask` holds the masks of the picked rows."""
    lanes, count = rule.operation.lanes, len(rows)
    size = min(rule.group, lanes)
    shape = (size, lanes // size, count)
    keys, active, _, spare, _ = scratch.keys(plan.dtype)
    keys, active = keys[: lanes * count].reshape(shape), active[: lanes * count].reshape(shape)
    load_keys(offsets, rows, plan, keys, scratch)
    load_active(mask, active)
    occupied = occupied_groups(mask, size, shape[1])
    fill_inactive(keys, active, occupied)
    is_active = (active != 0).view(np.uint8)
    # Inactive lanes get banks that do not exist, above all others.
    small = np.uint8 if rule.columns <= 128 else np.uint16
    banks = (keys >> plan.dtype.type(plan.row_bits)).astype(small)
    banks |= ~active.astype(small) & small(1 << 8 * small().itemsize - 1)
    place = _place_in_bank(banks)
    turns = ((place + np.uint8(1)) * is_active).max(axis=0)
    groups = occupied.sum(axis=0, dtype=np.int32)
    # With fewer banks than active lanes even the best addresses share banks.
    fewest = -(-np.add.reduce(is_active, axis=0, dtype=np.uint8).astype(np.int32) // rule.columns)
    rounds = turns.sum(axis=0, dtype=np.int32)
    loads: _Loads | None = None
    if rule.operation.serves == "loop" and not rule.merged_group:
        loads = _Loads(_loads_of_the_loop(keys, banks, place, is_active), rounds, groups, False)
    wires = sort_all(list(keys.reshape(size, -1)), spare, lanes)
    units = different(wires, scratch.small) * (groups > 0)
    if rule.operation.serves == "loop" and rule.merged_group:  # counts words in the same scratch memory
        loads = _loads_in_rounds(offsets, rows, place, is_active, rule, plan, scratch)
    wavefronts, ideal = rule.passes * rounds, rule.passes * fewest.sum(axis=0)
    if loads is None:
        return LaneCounts(wavefronts, rounds - groups, ideal, turns.max(axis=0), units)
    # The best addresses still need as many rounds as the fullest bank has lanes, with one load at least in each.
    ideal = ideal + loads.first + np.maximum(fewest.max(axis=0) - 1, 0)
    conflicts = loads.wavefronts - loads.groups
    return LaneCounts(loads.wavefronts + wavefronts, conflicts, ideal, turns.max(axis=0), units, loads.merged)


@dataclass(frozen=True, slots=True)
class _Loads:
    """(n,) arrays, the loads of a compare-and-swap loop: wavefronts and groups served in all rounds; groups served in
    the first round, and whether the pair rule merged them."""

    wavefronts: NDArray[np.int32]
    groups: NDArray[np.int32]
    first: NDArray[np.int32]
    merged: NDArray[np.bool_] | bool


def _loads_in_rounds(
    offsets: NDArray[np.int32],
    rows: NDArray[np.intp],
    place: NDArray[np.uint8],
    active: NDArray[np.uint8],
    rule: Rule,
    plan: KeyPlan,
    scratch: Scratch,
) -> _Loads:
    """Loads whose groups may merge, round by round: of each bank the lowest lane succeeds in a round, so before round r
    the lanes with `place` >= r are left, and the pair rule is asked about these."""
    size, groups, count = place.shape
    wavefronts, served, first = (np.zeros(count, np.int32) for _ in range(3))
    merged = np.ones(count, np.bool_)  # no lane breaks the rule where none is active
    for number in range(size):
        left = (place >= np.uint8(number)) & active.view(np.bool_)
        mask = np.zeros(count, np.uint32)
        for slot, group in enumerate(group_order(groups)):
            for lane in range(size):
                mask |= left[lane, slot].astype(np.uint32) << np.uint32(group * size + lane)
        some = np.flatnonzero(mask)
        if not len(some):
            break
        found = count_words(offsets, rows[some], mask[some], rule, plan, scratch)
        wavefronts[some] += found.wavefronts
        served[some] += found.groups
        if number == 0:
            first[some], merged[some] = found.groups, found.merged
    return _Loads(wavefronts, served, first, merged)


def _place_in_bank(banks: NDArray[Any]) -> NDArray[np.uint8]:
    """How many earlier lanes of its group have the same bank, for each lane; shape (lane, group, row)."""
    place = np.zeros(banks.shape, dtype=np.uint8)
    same = np.empty(banks.shape, dtype=np.bool_)
    for distance in range(1, len(banks)):
        found = same[distance:]
        np.equal(banks[distance:], banks[:-distance], out=found)
        place[distance:] += found.view(np.uint8)
    return place


def _loads_of_the_loop(
    keys: NDArray[Any], banks: NDArray[Any], place: NDArray[np.uint8], active: NDArray[np.uint8]
) -> NDArray[np.int32]:
    """Wavefronts of the narrow loads of a compare-and-swap loop: the sum over the rounds of n(lanes that are left).

    Of each bank the lowest lane succeeds in a round, so before round r the lanes with `place` >= r are left. A word
    counts in a round when its last lane is left, so a lane sees as many words in its bank as there are last
    lanes from itself on; n of round r is the largest such number over the lanes with place r.
    """
    lanes = len(keys)
    scratch, other = np.empty(banks.shape, dtype=np.bool_), np.empty(banks.shape, dtype=np.bool_)
    last = active.view(np.bool_).copy()
    for distance in range(1, lanes):
        same, same_bank = scratch[distance:], other[distance:]
        np.equal(keys[distance:], keys[:-distance], out=same)
        np.equal(banks[distance:], banks[:-distance], out=same_bank)
        np.logical_and(same, same_bank, out=same)
        np.greater(last[:-distance], same, out=last[:-distance])
    words = last.astype(np.uint8)
    for distance in range(1, lanes):
        seen = scratch[distance:]
        np.equal(banks[distance:], banks[:-distance], out=seen)
        np.logical_and(seen, last[distance:], out=seen)
        np.add(words[:-distance], seen.view(np.uint8), out=words[:-distance])
    words *= active
    loads = np.zeros(keys.shape[1:], dtype=np.int32)
    for round_ in range(lanes):
        np.equal(place, np.uint8(round_), out=scratch)
        np.multiply(scratch.view(np.uint8), words, out=other.view(np.uint8))
        # Place r needs r lanes before it.
        loads += other.view(np.uint8)[round_:].max(axis=0)
    return loads.sum(axis=0, dtype=np.int32)
