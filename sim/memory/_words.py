"""Counting loads, stores and matrix operations of one kind, a block of accesses at a time.

An aligned access of `unit` bytes lies in one column of the banks, so one key a lane is enough: column above, row
below. Sorted keys show different words as steps and banks as steps of the upper bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._block import KeyPlan, Scratch, fill_inactive, load_active, load_keys, occupied_groups
from ._network import comparators, different, merge_halves, most_in_a_bank, sort_wires
from .rules import Rule


@dataclass(frozen=True, slots=True)
class WordCounts:
    """(n,) arrays of a block: sum and largest of n(G), groups served, different units, the pair rule's decision."""

    wavefronts: NDArray[Any]
    groups: NDArray[Any]
    ways: NDArray[Any]
    units: NDArray[Any]
    merged: NDArray[np.bool_]


def count_words(
    offsets: NDArray[np.int32],
    rows: NDArray[np.intp],
    mask: NDArray[np.uint32] | None,
    rule: Rule,
    plan: KeyPlan,
    scratch: Scratch,
) -> WordCounts:
    """Counts of the picked rows, all counted by `rule`.

    `mask` holds the masks of the picked rows, less lanes whose address is not used; None when all of the
    operation's lanes are active in every row.
    """
    lanes, count = rule.operation.lanes, len(rows)
    size = min(rule.group, lanes)
    shape = (size, lanes // size, count)
    keys, active, work, spare, differs = scratch.keys(plan.dtype)
    keys = keys[: lanes * count].reshape(shape)
    load_keys(offsets, rows, plan, keys, scratch)
    occupied = None
    if mask is not None:
        active = active[: lanes * count].reshape(shape)
        load_active(mask, active)
        occupied = occupied_groups(mask, size, shape[1])
        fill_inactive(keys, active, occupied)
    merged = _pairs_equal(keys, None if mask is None else active, rule.distances, work)
    wires = list(keys.reshape(size, -1))
    spare = sort_wires(wires, spare[: len(wires[0])], comparators(size))

    def groups(occupied: NDArray[np.bool_] | None) -> tuple[NDArray[Any], ...]:
        ways = most_in_a_bank(wires, 1 << plan.row_bits, differs, scratch.small).reshape(-1, count)
        return _over_groups(ways, occupied)

    plain = chosen = groups(occupied)
    while len(wires) < lanes:
        wires, spare = merge_halves(wires, spare)
        if occupied is not None:
            occupied = occupied[: len(occupied) // 2] | occupied[len(occupied) // 2 :]
        if len(wires) == rule.merged_group and merged.any():
            joined = groups(occupied)
            chosen = tuple(np.where(merged, one, other) for one, other in zip(joined, plain, strict=True))
    units = different(wires, scratch.small)
    wavefronts, served, ways = chosen
    return WordCounts(wavefronts, served, ways, units if occupied is None else units * occupied[0], merged)


def _over_groups(ways: NDArray[Any], occupied: NDArray[np.bool_] | None) -> tuple[NDArray[Any], ...]:
    """Sum of n(G), groups served and largest n(G) of each row, from n(G) of shape (group, row)."""
    if occupied is None:
        served = np.full(ways.shape[1], len(ways), dtype=np.uint8)
    else:
        ways = ways * occupied
        served = np.add.reduce(occupied, axis=0, dtype=np.uint8)
    return np.add.reduce(ways, axis=0, dtype=np.uint8), served, np.maximum.reduce(ways, axis=0)


def _pairs_equal(
    keys: NDArray[Any], active: NDArray[Any] | None, distances: tuple[int, ...], work: NDArray[Any]
) -> NDArray[np.bool_]:
    """Whether every active lane has the address of its partner, over one of the distances; (n,) bool.

    Groups that may merge have at least 8 lanes and distances below that, so partners share a group.
    """
    size, groups, count = keys.shape
    equal = np.zeros(count, dtype=np.bool_)
    for distance in distances:
        shape = (size // (2 * distance), 2, distance, groups, count)
        pair = keys.reshape(shape)
        half = pair[:, 0]
        differs = np.bitwise_xor(half, pair[:, 1], out=work[: half.size].reshape(half.shape))
        if active is not None:
            both = active.reshape(shape)
            differs &= both[:, 0]
            differs &= both[:, 1]
        equal |= np.bitwise_or.reduce(differs.reshape(-1, count), axis=0) == 0
    return equal
