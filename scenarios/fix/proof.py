"""Why nothing better exists: bounds that are reached, the rank argument for bit-linear layouts, or the search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...sim.chip import Chip
from ...sim.memory import OPERATIONS
from ...sim.memory.rules import rule_for
from ..skeleton import offsets_at
from .family import Family
from .problem import Problem
from .search import Choice, Found


def proof(problem: Problem, family: Family, found: Found, chip: Chip) -> list[str]:
    """Sentences: what is proved about the best choice, and by which argument."""
    best, valid = found.best, problem.base.buffer.valid
    lines: list[str] = []
    if best.excess == 0:
        lines.append("no excess wavefronts: the lower bound of every layout is reached")
        ranks = rank_argument(problem, best, chip)
        lines += [ranks] if ranks else []
    if best.bytes <= valid:
        lines.append(f"{best.bytes:,} bytes hold the elements and nothing else: no layout takes fewer")
    if best.excess or best.bytes > valid:
        what = "fewer excess wavefronts" if best.excess else "no excess in fewer bytes"
        lines.append(
            f"none with {what} among the {found.judged:,} layouts searched: {family.words(found.masks)}"
        )
    return lines


def rank_argument(problem: Problem, choice: Choice, chip: Chip) -> str:
    """The proof by rank over the field of two elements, "" where a group's addresses are no linear space.

    The units (words, or 8 or 16 bytes) that a group of lanes touches differ from the first by a linear space of
    exclusive ors. Its image in the bank bits has the same rank exactly when no two different units share a bank.
    """
    banks = chip["shared_memory.banks"]
    if not isinstance(banks, int) or banks & (banks - 1):
        return ""
    ranks: set[tuple[int, int]] = set()
    for pattern in problem.patterns:
        rule = rule_for(chip, pattern.code)
        if (
            OPERATIONS[pattern.code].serves != "words"
            or not rule.columns
            or rule.columns & (rule.columns - 1)
        ):
            return ""
        pitch = np.array([problem.base.row + choice.pad], np.int32)
        offsets = offsets_at(pattern.rows, pattern.columns, pitch, np.array([choice.swizzle], np.int32))[0]
        lanes = OPERATIONS[pattern.code].lanes
        size = min(rule.group, lanes)
        units = (offsets[:, :lanes] // rule.unit).reshape(-1, size)
        active = pattern.active[:, :lanes].reshape(-1, size)
        for key in _different_groups(units, active):
            space = np.unique(key[key >= 0])
            dimension, rank = _rank(space), _rank(space & (rule.columns - 1))
            if len(space) != 1 << dimension or rank != dimension:
                return ""
            ranks.add((size, dimension))
    words = ", ".join(f"{rank} bits in groups of {size} lanes" for size, rank in sorted(ranks))
    return f"rank argument: the bank bits keep the full rank of the address bits that vary ({words})"


def _different_groups(units: NDArray[np.int32], active: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Differences (exclusive or) to the first active lane of each group, -1 where inactive; without repetitions."""
    some = active.any(axis=1)
    units, active = units[some], active[some]
    first = units[np.arange(len(units)), active.argmax(axis=1)]
    return np.unique(np.where(active, units ^ first[:, None], -1), axis=0)


def _rank(vectors: NDArray[np.int32]) -> int:
    """Rank over the field of two elements of integers read as bit vectors."""
    basis: list[int] = []
    for value in vectors.tolist():
        for pivot in basis:
            value = min(value, value ^ pivot)  # noqa: PLW2901
        if value:
            basis.append(value)
    return len(basis)
