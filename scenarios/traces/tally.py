"""Counts of a trace summed by place in the program; grows with the places, not with the trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...sim.chip import Chip
from ...sim.memory import OPERATIONS, Trace, count_trace
from .batch import Batch, TraceProblem

_MOST_PROBLEMS = 1000
_KINDS = len(OPERATIONS)


@dataclass(slots=True)
class Place:
    """Sums of one operation at one place, and its worst instruction.

    `count` is executed instructions; where the rule of the operation is unknown, `known` is False and all sums are 0.
    """

    place: int
    kind: int
    known: bool = True
    count: int = 0
    wavefronts: int = 0
    ideal: int = 0
    excess: int = 0
    bank_conflicts: int = 0
    ways: int = 0
    gap: int = 0
    worst_excess: int = -1
    worst_offsets: NDArray[np.int64] | None = None
    worst_mask: int = 0


@dataclass(slots=True)
class Tally:
    """All that is kept of a trace.

    `places` by (place, operation); `others` instructions that do not touch shared memory, by opcode; `problems` the
    first thousand rows that could not be used, `wrong` all of them; `statuses` how the rules in use are known.
    """

    chip: Chip
    places: dict[int, Place] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)
    problems: list[TraceProblem] = field(default_factory=list)
    wrong: int = 0
    statuses: set[str] = field(default_factory=set)
    reasons: dict[str, None] = field(default_factory=dict)
    assumptions: dict[str, None] = field(default_factory=dict)
    unknown: int = 0

    @property
    def count(self) -> int:
        """Instructions on shared memory, those of an unknown rule included."""
        return sum(place.count for place in self.places.values())

    def add(self, batch: Batch) -> None:
        """Counts a batch and adds it to the sums."""
        self.others.update(batch.others)
        self.wrong += len(batch.problems)
        batch.problems.sort(key=lambda problem: problem.line)
        self.problems += batch.problems[: _MOST_PROBLEMS - len(self.problems)]
        if not len(batch):
            return
        trace = Trace(batch.kind, np.ascontiguousarray(batch.offsets, dtype=np.int32), batch.mask)
        counts = count_trace(trace, self.chip)
        self.statuses.update(set(counts.statuses))
        self.reasons.update(dict.fromkeys(counts.reasons))
        self.assumptions.update(dict.fromkeys(counts.assumptions))
        known = counts.wavefronts >= 0
        self.unknown += int((~known).sum())
        key = batch.place * _KINDS + batch.kind
        present, index = np.unique(key, return_inverse=True)
        size = len(present)
        excess = np.where(known, counts.excess_wavefronts, 0)
        sums = [
            np.bincount(index, weights=column, minlength=size).astype(np.int64).tolist()
            for column in (
                np.ones(len(batch), np.int64),
                np.where(known, counts.wavefronts, 0),
                np.where(known, counts.ideal_wavefronts, 0),
                excess,
                np.where(known, counts.bank_conflicts, 0),
                batch.gap,
            )
        ]
        # The worst row of each place: the first one with the most excess.
        order = np.lexsort((-np.arange(len(batch)), excess, index))
        last = np.r_[np.flatnonzero(np.diff(index[order])), len(order) - 1]
        worst = order[last]
        ways = np.zeros(size, dtype=np.int64)
        np.maximum.at(ways, index, np.where(known, counts.worst_ways, 0))
        for at, number in enumerate(present.tolist()):
            item = self.places.get(number)
            if item is None:
                item = self.places[number] = Place(*divmod(number, _KINDS))
            row = int(worst[at])
            item.known = bool(known[row])  # a rule is known or not: all rows of an operation alike
            item.count += sums[0][at]
            item.wavefronts += sums[1][at]
            item.ideal += sums[2][at]
            item.excess += sums[3][at]
            item.bank_conflicts += sums[4][at]
            item.gap += sums[5][at]
            item.ways = max(item.ways, int(ways[at]))
            if int(excess[row]) > item.worst_excess:
                item.worst_excess = int(excess[row])
                item.worst_offsets = batch.offsets[row].astype(np.int32)
                item.worst_mask = int(batch.mask[row])

    def worst_first(self) -> list[Place]:
        """Places by excess wavefronts, the most first; then by wavefronts; unknown ones last."""
        return sorted(
            self.places.values(), key=lambda p: (not p.known, -p.excess, -p.wavefronts, p.place, p.kind)
        )
