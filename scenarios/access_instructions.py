"""Tables over all warp instructions of the accesses; from 20,000 on, alike instructions share a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sim.memory import parse_op
from ..sim.results import Column, Table
from .counted import CountedAccess

IntArray = NDArray[np.int64]

# A page and a spreadsheet with more rows than this serve nobody; the rows of one kind say the same.
MOST_ROWS = 20_000
_BLOCK = 1 << 15

_COUNTS = {
    "wavefronts": "wavefronts",
    "ideal": "ideal_wavefronts",
    "excess": "excess_wavefronts",
    "bank_conflicts": "bank_conflicts",
    "floor": "floor_wavefronts",
    "ways": "worst_ways",
}


def instruction_table(counted: Sequence[CountedAccess], columns: Mapping[str, Column]) -> Table:
    """One row a warp instruction, or, from 20,000 instructions on, one row for all alike ones of an access.

    Alike are instructions with equal lanes and counts; `count` says how many they are, `index` names the first, and
    `latency` is that of the slowest. `columns` are the columns that other tables have too, by name.
    """
    total = sum(len(item.access) for item in counted)
    grouped = total > MOST_ROWS
    parts = [_grouped(item) if grouped else _single(item) for item in counted]
    own = (
        Column("index", "", "number of the instruction within its access; the first of alike ones"),
        Column("count", "", "alike instructions: equal in lanes and counts")
        if grouped
        else Column("warp", "", "which warp executes it"),
    )
    described = (
        columns["access"],
        *own,
        columns["instruction"],
        Column("lanes", "", "active lanes"),
        *(columns[name] for name in (*_COUNTS, "latency", "status")),
    )
    title = f"Warp instructions ({total:,}; alike ones share a row)" if grouped else "Warp instructions"
    data = {column.name: [value for part in parts for value in part[column.name]] for column in described}
    return Table("instructions", title, described, data)


def _single(item: CountedAccess) -> dict[str, Sequence[Any]]:
    n = len(item.access)
    return _rows(item, np.arange(n)) | {"warp": item.access.warp.tolist()}


def _grouped(item: CountedAccess) -> dict[str, Sequence[Any]]:
    """Rows of the first instruction of each kind, in the order in which they come."""
    lanes = item.access.active.sum(axis=1)
    values = (
        [lanes, *(getattr(item.counts, source) for source in _COUNTS.values())] if item.known else [lanes]
    )
    key = np.zeros(len(lanes), dtype=np.int64)
    for column in values:  # counts of 32 lanes are small numbers: seven of them fit one key
        key = key * (int(column.max()) + 1) + column
    _, first, kind, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    rows = _rows(item, first[order])
    if item.known:
        slowest = np.full(len(first), -np.inf)
        np.fmax.at(slowest, kind, item.counts.latency_cycles)
        rows["latency"] = [float(v) if np.isfinite(v) else None for v in slowest[order]]
    return rows | {"count": count[order].tolist()}


def _rows(item: CountedAccess, at: NDArray[np.intp]) -> dict[str, Sequence[Any]]:
    n = len(at)
    found: dict[str, Sequence[Any]] = {
        "access": [item.access.name] * n,
        "index": at.tolist(),
        "instruction": [parse_op(item.access.op, item.access.width, item.access.variant).name] * n,
        "lanes": item.access.active[at].sum(axis=1).tolist(),
        "status": [item.status] * n,
    }
    for name, source in _COUNTS.items():
        found[name] = getattr(item.counts, source)[at].tolist() if item.known else [None] * n
    latency = item.counts.latency_cycles[at].tolist() if item.known else [None] * n
    found["latency"] = [None if value is None or value != value else value for value in latency]  # noqa: PLR0124
    return found


def words_by_bank(item: CountedAccess, banks: int, bank_bytes: int) -> IntArray:
    """Distinct words of every instruction and repetition, added up by bank; shape (banks,)."""
    access = item.access
    pieces = np.arange(0, access.width, min(bank_bytes, access.width))
    total = np.zeros(banks, dtype=np.int64)
    for start in range(0, len(access), _BLOCK):  # blocks that stay in the cache sort several times faster
        active = access.active[start : start + _BLOCK]
        offsets = access.offsets[start : start + _BLOCK]
        first = np.take_along_axis(offsets, active.argmax(axis=1)[:, None], axis=1)
        # A lane that is off repeats the first one that is on: no word of its own.
        words = (np.where(active, offsets, first)[:, :, None] + pieces) // bank_bytes
        words = words.reshape(len(active), -1).astype(np.int32 if words.max() < 1 << 31 else np.int64)
        words.sort(axis=1)
        fresh = np.ones(words.shape, dtype=np.bool_)
        np.not_equal(words[:, 1:], words[:, :-1], out=fresh[:, 1:])
        total += np.bincount(words[fresh] % banks, minlength=banks)
    return total * access.repeat
