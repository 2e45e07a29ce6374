"""An access lowered once for many points: lanes as rows and columns of the buffer before padding and swizzle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...sim.memory.ops import find_operation
from ..lowered import LoweredAccess
from ..skeleton import Skeleton, offsets_at
from ..specs import AccessSpec

IntArray = NDArray[np.int64]
_PAIRS = 64


@dataclass(frozen=True)
class Pattern:
    """Warp instructions of an access on a skeleton.

    `rows` and `columns` (m, 32) int32 in bytes, `mask` (m,), `width` the widest access that the layout without
    padding allows; `fixed` when the scenario states it, so that no other may be taken. `pairs` are places of pieces
    that a wider access would join: (rows, columns) of the first and of the second of each. `least` is the width of an
    element, below which no access can be split.
    """

    op: str
    variant: str | None
    width: int
    fixed: bool
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    active: NDArray[np.bool_]
    mask: NDArray[np.uint32]
    pairs: tuple[NDArray[np.int32], ...] | None
    odd: bool
    base: int
    repeat: int
    least: int

    def code(self, width: int) -> int:
        """The code of the operation at a width."""
        found = find_operation(self.op, width, self.variant)
        assert found is not None
        return found.code

    def widths(self, pitch: IntArray) -> IntArray:
        """The widest access for each pitch (bytes between rows): what every active lane's alignment allows."""
        found = np.empty(len(pitch), np.int64)
        for number in np.unique(pitch).tolist():
            offsets = self.rows * np.int32(number) + self.columns
            together = int(np.bitwise_or.reduce(offsets[self.active])) | self.base | self.width
            found[pitch == number] = together & -together
        return found

    def may_join(self, pitch: NDArray[np.int32], swizzle: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Where pieces could be joined to a wider access after all: none of the looked-at pairs forbids it."""
        if self.fixed or self.odd or self.width >= 16:
            return np.zeros(len(pitch), np.bool_)
        if self.pairs is None:
            return np.ones(len(pitch), np.bool_)
        first = offsets_at(self.pairs[0], self.pairs[1], pitch, swizzle) + np.int32(self.base)
        second = offsets_at(self.pairs[2], self.pairs[3], pitch, swizzle) + np.int32(self.base)
        return ((second - first == self.width) & (first % (2 * self.width) == 0)).all(axis=1)

    def pieces(self, width: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint32]]:
        """Rows, columns and masks when every access is split into pieces of `width` bytes."""
        parts = self.width // width
        if parts == 1:
            return self.rows, self.columns, self.mask
        steps = (np.arange(parts, dtype=np.int32) * np.int32(width))[:, None, None]
        columns = (self.columns[None] + steps).reshape(-1, 32)
        return np.tile(self.rows, (parts, 1)), columns, np.tile(self.mask, parts)


def pattern_of(spec: AccessSpec, found: LoweredAccess, frame: Skeleton, base: int, stated: bool) -> Pattern:
    """The pattern of an access that was lowered on a skeleton; `stated` when its width is written down."""
    rows, columns = frame.split(found.offsets)
    fixed = stated or found.op not in ("lds", "sts")
    odd, pairs = True, None
    if not fixed and found.width < 16:
        odd, chosen = _joinable(found)
        if chosen is not None:
            lanes = found.active[chosen] & found.active[chosen + 1]
            first = (rows[chosen][lanes][:_PAIRS], columns[chosen][lanes][:_PAIRS])
            second = (rows[chosen + 1][lanes][:_PAIRS], columns[chosen + 1][lanes][:_PAIRS])
            pairs = (*first, *second) if len(first[0]) else None
    return Pattern(
        found.op,
        found.variant,
        found.width,
        fixed,
        rows,
        columns,
        found.active,
        found.mask,
        pairs,
        odd,
        base,
        found.repeat,
        frame.buffer.itemsize,
    )


def _joinable(found: LoweredAccess) -> tuple[bool, IntArray | None]:
    """(whether no wider access is possible for want of a second piece, instructions whose next one is the second).

    Pieces of one lane follow each other within an iteration and warp. Where runs differ in length some piece was
    left out, and nothing is known.
    """
    same = np.ones(max(len(found) - 1, 0), np.bool_)
    for values in (found.warp, *found.loops.values()):
        same &= values[1:] == values[:-1]
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    lengths = np.diff(np.append(starts, len(found)))
    if len(np.unique(lengths)) > 1:
        return False, None
    if lengths[0] % 2:
        return True, None
    return False, starts[:8]
