"""How many other instructions of a warp lie between its accesses to shared memory: what is kept of the rest as time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_WARPS = 1 << 20


class Gaps:
    """Counts, warp by warp, the instructions since the last access; goes on from block to block.

    >>> import numpy as np
    >>> Gaps().of(np.array([0, 0, 1, 0]), np.array([False, True, True, True])).tolist()
    [0, 1, 0, 0]
    """

    def __init__(self) -> None:
        self._since: dict[int, int] = {}

    def one(self, warp: int, shared: bool) -> int:
        """The gap before one instruction."""
        if len(self._since) > _MOST_WARPS:
            self._since.clear()
        since = self._since.get(warp, 0)
        self._since[warp] = 0 if shared else since + 1
        return since

    def of(self, warp: NDArray[np.int64], shared: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The gaps before all instructions of a block, in their order."""
        if shared.all() and not self._since:
            return np.zeros(len(warp), dtype=np.int64)
        order = np.argsort(warp, kind="stable")
        by_warp, marks = warp[order], shared[order]
        count = len(order)
        index = np.arange(count)
        starts = np.r_[True, by_warp[1:] != by_warp[:-1]] if count else np.zeros(0, np.bool_)
        # Position of the last access (or of the warp's start) before each instruction.
        after = np.r_[0, index[:-1] + 1] * np.r_[False, marks[:-1]] if count else index
        last = np.maximum.accumulate(np.where(starts, index, after))
        found = index - last
        first = np.maximum.accumulate(np.where(starts, index, 0))
        if self._since:
            # Before the first access of its warp in this block, the instructions of earlier blocks count too.
            carried = np.array([self._since.get(w, 0) for w in by_warp[starts].tolist()], dtype=np.int64)
            found = found + np.where(last == first, carried[np.cumsum(starts) - 1], 0)
        ends = np.flatnonzero(np.r_[starts[1:], True]) if count else index
        if len(self._since) > _MOST_WARPS:
            self._since.clear()
        for end in ends.tolist():
            self._since[int(by_warp[end])] = 0 if marks[end] else int(found[end]) + 1
        result = np.empty(count, dtype=np.int64)
        result[order] = found
        return result
