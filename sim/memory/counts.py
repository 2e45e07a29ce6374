"""The numbers that come out of counting, with one meaning each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _html
from ..chip import Chip
from . import timing
from .ops import OPERATIONS
from .rules import assumption, rule_for, weakest

__all__ = ["Counts"]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What the hardware does with each access; arrays of shape (n,), one entry an access.

    wavefronts        what the hardware counter shows (l1tex__data_pipe_lsu_wavefronts_mem_shared)
    bank_conflicts    what its conflict counter shows (l1tex__data_bank_conflicts_pipe_lsu_mem_shared)
    ideal_wavefronts  groups served: the fewest that this width, mask and pairing can take with any addresses
                      (atomics 1, compare-and-swap 2 for each group, a loop of load and swap 3 for each group)
    floor_wavefronts  max(1, different words touched / banks, rounded up): no layout beats it
    worst_ways        the largest number of different words (atomics: of lanes) in one bank of one group
    merged            whether the pair rule merged groups of this load

    An access without an active lane is 0 in everything. Where the chip's rule is unknown the entries are -1, and
    None in `rows()`. `status` is the weakest of all accesses, `statuses` one for each.
    """

    chip: Chip
    kind: NDArray[np.uint8]
    wavefronts: NDArray[np.int32]
    bank_conflicts: NDArray[np.int32]
    ideal_wavefronts: NDArray[np.int32]
    floor_wavefronts: NDArray[np.int32]
    worst_ways: NDArray[np.int32]
    merged: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,) False where the chip's rule is unknown."""
        return self.wavefronts >= 0

    @property
    def excess_wavefronts(self) -> NDArray[np.int32]:
        """wavefronts - ideal_wavefronts, never negative; -1 where unknown."""
        return np.where(self.known, self.wavefronts - self.ideal_wavefronts, -1)

    @property
    def latency_cycles(self) -> NDArray[np.float64]:
        """Period of a dependent chain of one warp, its integer add included; nan when unknown or no result."""
        return timing.latency_cycles(self.kind, self.wavefronts, self.merged, self.chip)

    @property
    def pointer_chase_cycles(self) -> NDArray[np.float64]:
        """The same without the add; nan where it was not measured."""
        return timing.latency_cycles(self.kind, self.wavefronts, self.merged, self.chip, chase=True)

    @property
    def issue_cycles(self) -> NDArray[np.float64]:
        """Cycles an instruction of one warp with independent accesses; nan where unknown."""
        return timing.issue_cycles(self.kind, self.wavefronts, self.chip)

    @property
    def status(self) -> str:
        """measured, documented, assumed or unknown: the weakest of all accesses."""
        return weakest([rule_for(self.chip, code).status for code in self._codes()])

    @property
    def statuses(self) -> list[str]:
        """The status of each access."""
        table = {code: rule_for(self.chip, code).status for code in self._codes()}
        return [table[code] for code in self.kind.tolist()]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed, one sentence each; figures of the cycle rules only when the user has set them."""
        timed = [*self.chip.under("shared_memory.latency"), *self.chip.under("shared_memory.issue")]
        mine = tuple(assumption(self.chip, constant) for constant in timed if constant.overridden)
        return self._sentences("assumptions") + mine

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why something is unknown, one sentence each."""
        return self._sentences("reasons")

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dictionary of plain values an access; None where unknown."""
        names = ("wavefronts", "bank_conflicts", "ideal_wavefronts", "excess_wavefronts", "floor_wavefronts")
        columns: dict[str, list[Any]] = {
            name: getattr(self, name).tolist() for name in (*names, "worst_ways")
        }
        cycles: list[float] = self.latency_cycles.tolist()
        for index, status in enumerate(self.statuses):
            row = {name: None if status == "unknown" else column[index] for name, column in columns.items()}
            latency = cycles[index]
            yield row | {"latency_cycles": None if latency != latency else latency, "status": status}  # noqa: PLR0124

    def _repr_html_(self) -> str:
        """The first accesses as a table, for notebooks."""
        rows = list(islice(self.rows(), _html.MOST_ROWS))
        names = list(rows[0]) if rows else ["wavefronts"]
        shown = _html.table("", names, (list(row.values()) for row in rows), len(self))
        head = f"{len(self):,} accesses on {self.chip.title}, {self.status}"
        return _html.fragment(head, [*self.reasons, *self.assumptions], [shown])

    def _codes(self) -> list[int]:
        return np.flatnonzero(np.bincount(self.kind, minlength=len(OPERATIONS))).tolist()

    def _sentences(self, what: str) -> tuple[str, ...]:
        found: list[str] = []
        for code in self._codes():
            found += getattr(rule_for(self.chip, code), what)
        return tuple(dict.fromkeys(found))
