"""Counting loads, stores and matrix operations of one kind, a block of accesses at a time.

An aligned access of `unit` bytes lies in one column of the banks, so one key a lane is enough: column above, row
below. Sorted keys show different words as steps and banks as steps of the upper bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._block import Scratch, fill_inactive, load_active, load_units, to_keys
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
    mask: NDArray[np.uint32],
    full: bool,
    rule: Rule,
    row_bits: int,
    scratch: Scratch,
) -> WordCounts:
    """Counts of the picked rows, all of the operation of `rule`.

    `mask` holds the masks of the picked rows, less lanes whose address is not used; `full` says that all of the
    operation's lanes are active in every one of them.
    """
    lanes, count = rule.operation.lanes, len(rows)
    size = min(rule.group, lanes)
    shape = (size, lanes // size, count)
    keys = scratch.keys[: lanes * count].reshape(shape)
    active = None if full else scratch.active[: lanes * count].reshape(shape)
    load_units(offsets, rows, rule.unit, keys, scratch)
    to_keys(keys, rule.columns, row_bits)
    occupied = None
    if active is not None:
        load_active(mask, active)
        occupied = fill_inactive(keys, active)
    merged = _pairs_equal(keys, active, rule.distances)
    wires = list(keys.reshape(size, -1))
    spare = sort_wires(wires, scratch.spare[: len(wires[0])], comparators(size))
    plain = _groups(wires, count, row_bits, occupied, scratch)
    chosen = plain
    target = min(rule.merged_group, lanes)
    while len(wires) < lanes:
        wires, spare = merge_halves(wires, spare)
        if occupied is not None:
            occupied = occupied[: len(occupied) // 2] | occupied[len(occupied) // 2 :]
        if len(wires) == target and merged.any():
            joined = _groups(wires, count, row_bits, occupied, scratch)
            chosen = tuple(np.where(merged, one, other) for one, other in zip(joined, plain, strict=True))
    units = different(wires, scratch.vectors)
    if occupied is not None:
        units = units * occupied[0]
    wavefronts, groups, ways = chosen
    return WordCounts(wavefronts, groups, ways, units, merged)


def _groups(
    wires: list[NDArray[Any]], count: int, row_bits: int, occupied: NDArray[np.uint8] | None, scratch: Scratch
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Sum of n(G), groups served, largest n(G) of each row."""
    ways = most_in_a_bank(wires, 1 << row_bits, scratch.vectors).reshape(-1, count)
    if occupied is None:
        groups = np.full(count, len(ways), dtype=np.uint8)
    else:
        ways = ways * occupied
        groups = np.add.reduce(occupied, axis=0, dtype=np.uint8)
    if len(ways) == 1:
        return ways[0].copy(), groups, ways[0].copy()
    return np.add.reduce(ways, axis=0, dtype=np.uint8), groups, np.maximum.reduce(ways, axis=0)


def _pairs_equal(
    keys: NDArray[Any], active: NDArray[Any] | None, distances: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Whether every active lane has the address of its partner, over one of the distances; (n,) bool.

    Groups that may merge have at least 8 lanes and distances below that, so partners share a group.
    """
    size, groups, count = keys.shape
    equal = np.zeros(count, dtype=np.bool_)
    for distance in distances:
        shape = (size // (2 * distance), 2, distance, groups, count)
        pair = keys.reshape(shape)
        differs = pair[:, 0] ^ pair[:, 1]
        if active is not None:
            both = active.reshape(shape)
            differs &= both[:, 0]
            differs &= both[:, 1]
        equal |= np.bitwise_or.reduce(differs.reshape(-1, count), axis=0) == 0
    return equal
