"""A counted access: the numbers of its instructions, and who meets where in the worst one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..sim.chip import Chip
from ..sim.memory import Counts, Trace, count_trace, parse_op
from ..sim.memory.witness import Witness, explain
from .errors import ScenarioError
from .lowered import LoweredAccess


@dataclass(frozen=True, slots=True)
class Meeting:
    """The fullest bank of one phase: which lanes meet there (one for each word; atomics: all), on which words.

    `phase` counts from 1 to `phases`; `words` are byte offsets from the start of the access's buffer.
    """

    phase: int
    phases: int
    bank: int
    ways: int
    lanes: tuple[int, ...]
    words: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """The meeting as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CountedAccess:
    """A lowered access with the counts of its instructions and the witness of its worst one.

    `worst` is the instruction with the most excess wavefronts (the first of them); `witness` explains it,
    None when the chip's answer is unknown.
    """

    access: LoweredAccess
    counts: Counts
    worst: int
    witness: Witness | None

    @property
    def status(self) -> str:
        """The weakest status of its instructions."""
        return self.counts.status

    def total(self, column: str) -> int:
        """The sum of a column of the counts over the instructions and their repetitions; 0 where unknown."""
        if not self.known:
            return 0
        return int(np.maximum(getattr(self.counts, column), 0).sum(dtype=np.int64)) * self.access.repeat

    @property
    def executed(self) -> int:
        """Warp instructions with their repetitions."""
        return len(self.access) * self.access.repeat

    @property
    def known(self) -> bool:
        """Whether every instruction has an answer."""
        return self.status != "unknown"

    @property
    def worst_ways(self) -> int:
        """The largest number of distinct words in one bank of one group, over the instructions."""
        return int(self.counts.worst_ways.max()) if self.known else 0

    def meetings(self) -> list[Meeting]:
        """Where lanes meet in the worst instruction: the fullest bank of each phase that has a conflict."""
        if self.witness is None:
            return []
        base = self.access.buffer.base if self.access.buffer else 0
        found: list[Meeting] = []
        for phase in self.witness.phases:
            for use in phase.worst[:1]:
                if use.ways < 2:
                    continue
                atomic = self.witness.operation.serves != "words"
                lanes = use.lanes if atomic else tuple(word.lanes[0] for word in use.words)
                words = tuple(word.offset - base for word in use.words)
                found.append(
                    Meeting(phase.number, len(self.witness.phases), use.bank, use.ways, lanes, words)
                )
        return found


def count_access(item: LoweredAccess, chip: Chip, instruction: int | None = None) -> CountedAccess:
    """Counts one access: all of its instructions in one vectorised call.

    `instruction` chooses the one that the witness explains; default: the one with the most excess.
    """
    kind = parse_op(item.op, item.width, item.variant)
    counts = count_trace(Trace.of(item.offsets, op=kind, mask=item.active), chip)
    if instruction is not None and not 0 <= instruction < len(item):
        raise ScenarioError(
            f"instruction {instruction}; '{item.name}' has 0 to {len(item) - 1}", key="--instruction"
        )
    worst = int(np.argmax(counts.excess_wavefronts)) if instruction is None else instruction
    witness = explain(item.offsets[worst], op=kind, mask=item.active[worst], chip=chip)
    return CountedAccess(item, counts, worst, witness if witness.phases else None)
