"""Random accesses with their right answers, for people who count bank conflicts themselves and want to check it.

The rows have the format of measured ones (`bankbench count --file` reads them), so one loop runs a formula of one's own
over these, over the measured rows of `tests/data` and over the public cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sim.memory import OPERATIONS, Operation, Trace, count_trace, parse_op

IntArray = NDArray[np.int64]
_LANES = np.arange(32)
_MASKS = (0xFFFFFFFF, 0x0000FFFF, 0xFFFF0000, 0x55555555, 0x0F0F0F0F, 0xFF, 0x1)


def oracle_rows(
    count: int, seed: int = 0, *, operations: Sequence[str] = (), chip: str = "h200", highest: int = 49152
) -> list[dict[str, Any]]:
    """`count` random accesses of the named operations (all that the chip's rules know, when none is named).

    Each row has `id`, `op`, `width_bytes`, `variant`, `mask` (bit l for lane l), 32 `offsets` below `highest` bytes,
    and the answers `wavefronts`, `bank_conflicts`, `ideal_wavefronts` and `status`. The same arguments give the same
    rows. Patterns: strides, few words, equal pairs at a distance, permutations, chance. Raises AccessError for an
    unknown operation.

    >>> row = oracle_rows(1, seed=3, operations=["lds.32"])[0]
    >>> row["op"], row["width_bytes"], len(row["offsets"])
    ('lds', 4, 32)
    """
    rng = np.random.default_rng(seed)
    kinds = [parse_op(name) for name in operations] or _known(chip)
    chosen = [kinds[number] for number in rng.integers(len(kinds), size=count)]
    offsets = np.empty((count, 32), np.int64)
    masks = np.empty(count, np.uint32)
    for row, kind in enumerate(chosen):
        pattern = _PATTERNS[int(rng.integers(len(_PATTERNS)))]
        offsets[row] = pattern(rng, highest // kind.width) % (highest // kind.width) * kind.width
        masks[row] = _mask(rng, kind)
    counts = count_trace(Trace.of(offsets, op=chosen, mask=masks), chip)
    statuses = counts.statuses
    return [
        {
            "id": row,
            "op": kind.op,
            "width_bytes": kind.width,
            "variant": kind.variant,
            "mask": int(masks[row]),
            "offsets": offsets[row].tolist(),
            "wavefronts": int(counts.wavefronts[row]),
            "bank_conflicts": int(counts.bank_conflicts[row]),
            "ideal_wavefronts": int(counts.ideal_wavefronts[row]),
            "status": statuses[row],
        }
        for row, kind in enumerate(chosen)
    ]


def _known(chip: str) -> list[Operation]:
    """The operations whose rule is known on the chip."""
    counts = count_trace(Trace.of(np.zeros((len(OPERATIONS), 32), np.int64), op=OPERATIONS), chip)
    return [kind for kind, status in zip(OPERATIONS, counts.statuses, strict=True) if status != "unknown"]


def _mask(rng: np.random.Generator, kind: Operation) -> int:
    if kind.op.endswith("matrix"):
        return kind.default_mask
    if rng.random() < 0.3:
        return int(rng.integers(1, 1 << 32))
    return int(rng.choice(_MASKS))


def _stride(rng: np.random.Generator, units: int) -> IntArray:
    return int(rng.integers(units)) + _LANES * int(rng.integers(66))


def _crowd(rng: np.random.Generator, units: int) -> IntArray:
    return rng.choice(rng.integers(units, size=int(rng.integers(1, 9))), size=32)


def _pairs(rng: np.random.Generator, units: int) -> IntArray:
    found = rng.integers(units, size=32)[np.minimum(_LANES, _LANES ^ int(rng.choice([1, 2, 4, 16])))]
    if rng.random() < 0.5:  # one lane breaks the pairs
        found[int(rng.integers(32))] = rng.integers(units)
    return found


def _permutation(rng: np.random.Generator, units: int) -> IntArray:
    return int(rng.integers(units)) + rng.permutation(32)


def _chance(rng: np.random.Generator, units: int) -> IntArray:
    return rng.integers(min(units, int(rng.choice([64, 1024, 1 << 20]))), size=32)


_PATTERNS: tuple[Callable[[np.random.Generator, int], IntArray], ...] = (
    _stride,
    _crowd,
    _pairs,
    _permutation,
    _chance,
)
