"""A lowered access: warp instructions as columns of numbers, ready to be counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .buffers import PlacedBuffer


@dataclass(frozen=True, slots=True)
class LoweredAccess:
    """The warp instructions of one access of a scenario.

    `offsets` (n, 32) are byte addresses in shared memory, `active` (n, 32) says which lanes take part,
    `warp` (n,) which warp executes each instruction, `loops` the value of every loop variable, (n,) each.
    `op`, `width` (bytes) and `variant` are those of the counting model.
    All of it happens `repeat` times, in the kernel whose name contains `kernel` ("": any).
    """

    name: str
    buffer: PlacedBuffer | None
    op: str
    width: int
    variant: str | None
    offsets: NDArray[np.int64]
    active: NDArray[np.bool_]
    warp: NDArray[np.int64]
    loops: Mapping[str, NDArray[np.int64]]
    repeat: int = 1
    kernel: str = ""

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def mask(self) -> NDArray[np.uint32]:
        """Active lanes as one 32-bit integer an instruction, bit l for lane l."""
        weights = (np.uint64(1) << np.arange(32, dtype=np.uint64)).astype(np.uint64)
        return (self.active.astype(np.uint64) @ weights).astype(np.uint32)

    def label(self, index: int) -> str:
        """`warp 1, step 3`: what tells this instruction from the others of the access."""
        parts = [f"warp {int(self.warp[index])}"] if len(np.unique(self.warp)) > 1 else []
        parts += [f"{name} {int(values[index])}" for name, values in self.loops.items()]
        rest = int(np.count_nonzero(self._same_place(index)[:index]))
        if np.count_nonzero(self._same_place(index)) > 1:
            parts.append(f"instruction {rest}")
        return ", ".join(parts) or "instruction 0"

    def _same_place(self, index: int) -> NDArray[np.bool_]:
        same = self.warp == self.warp[index]
        for values in self.loops.values():
            same &= values == values[index]
        return same
