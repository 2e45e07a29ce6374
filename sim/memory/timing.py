"""Cycles that follow from wavefronts alone: dependent chains, one busy warp, a busy SM.

Measured on an H200 (SM clock around chains and streams): a dependent chain takes a constant plus 2 cycles a
wavefront, whatever the width, within 0.1 cycle over all patterns; one warp issues at max(2 + 2 registers,
2 wavefronts) cycles; the SM serves one wavefront a cycle. What several warps do to each other is the engine's part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..chip import Chip
from .ops import OPERATIONS

__all__ = ["issue_cycles", "latency_cycles", "throughput_cycles"]

_LATENCY = "shared_memory.latency."
_ISSUE = "shared_memory.issue."


def latency_cycles(
    kind: ArrayLike, wavefronts: ArrayLike, merged: ArrayLike, chip: Chip, chase: bool = False
) -> NDArray[np.float64]:
    """Cycles from one access of a dependent chain to the next, (n,) float64, nan where unknown.

    `kind` operation codes, `wavefronts` and `merged` (whether the pair rule held) as `Counts` gives them. The
    chain contains one integer add unless `chase` is true. Instructions that return nothing have no chain.

    >>> from bankbench.sim import count, load_chip
    >>> float(count([4 * lane for lane in range(32)]).latency_cycles[0])
    28.0
    """
    codes, waves, paired = (np.asarray(column) for column in np.broadcast_arrays(kind, wavefronts, merged))
    present: list[int] = np.unique(codes).tolist()
    group = _LATENCY + ("chase" if chase else "chain")
    base = np.full((len(OPERATIONS), 2), np.nan)
    for code in present:
        name = OPERATIONS[code].latency
        if name is not None:
            base[code, 0] = _known(chip, f"{group}.{name}")
            base[code, 1] = (
                _known(chip, f"{group}.{name}_merged") if OPERATIONS[code].merged else base[code, 0]
            )
    step = _known(chip, _LATENCY + "cycles_per_wavefront")
    cycles = base[codes, paired.astype(np.int64)] + step * waves
    return np.where(waves > 0, cycles, np.nan)


def issue_cycles(kind: ArrayLike, wavefronts: ArrayLike, chip: Chip) -> NDArray[np.float64]:
    """Cycles an instruction of one warp that issues independent accesses back to back, (n,); nan where unknown.

    max(2 + 2 r, 2 w) with r data registers and w wavefronts on an H200.
    """
    codes, waves = np.broadcast_arrays(kind, wavefronts)
    cycles = np.maximum(_front(codes, chip), _known(chip, _ISSUE + "cycles_per_wavefront") * waves)
    return np.where(waves > 0, cycles, np.nan)


def throughput_cycles(kind: ArrayLike, wavefronts: ArrayLike, warps: int, chip: Chip) -> NDArray[np.float64]:
    """Cycles a warp instruction of the SM when `warps` warps, spread over the partitions, do the same, (n,).

    max(w, (2 + 2 r) / min(warps, partitions)) on an H200, and `issue_cycles` for a single warp. nan where unknown.
    """
    if warps <= 1:
        return issue_cycles(kind, wavefronts, chip)
    codes, waves = np.broadcast_arrays(kind, wavefronts)
    spread = min(float(warps), _known(chip, "sm.partitions"))
    service = waves / _known(chip, "shared_memory.wavefronts_per_cycle")
    return np.where(waves > 0, np.maximum(service, _front(codes, chip) / spread), np.nan)


def _front(codes: NDArray[Any], chip: Chip) -> NDArray[np.float64]:
    """Cycles that the registers of an instruction take to leave, whatever its wavefronts."""
    registers = np.array([np.nan if kind.registers is None else kind.registers for kind in OPERATIONS])
    step = _known(chip, _ISSUE + "cycles_per_register")
    return (_known(chip, _ISSUE + "base") + step * registers)[codes]


def _known(chip: Chip, path: str) -> float:
    """The figure, or nan when the chip's file does not have it: no number is better than a guessed one."""
    return chip.number(path) if chip.has(path) and chip[path] is not None else float("nan")
