"""A trace: many accesses as columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._inputs import LANES, bits, checked_rows, masks_of, offset_table, one_each, operation_codes, place
from .errors import AccessError
from .ops import OPERATIONS, Operation

__all__ = ["LANES", "Trace"]

_WIDTH = np.array([kind.width for kind in OPERATIONS], dtype=np.int64)
_DEFAULT_MASK = np.array([kind.default_mask for kind in OPERATIONS], dtype=np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Accesses of warps, one a row: what, which lanes, where.

    kind    (n,) uint8   code of the operation (`OPERATIONS[code]`)
    offsets (n, 32) int32  byte offset of each lane in the shared memory of its block
    mask    (n,) uint32  active lanes, bit l for lane l; for matrix operations the lanes that supply rows
    warp, pc (n,) or None  which warp, which instruction of the program
    name    text of each row, or None
    highest a number that no offset exceeds (the smaller, the faster the rows are counted)

    Build one with `Trace.of`, which checks every row; a row that the hardware would not execute raises AccessError.
    """

    kind: NDArray[np.uint8]
    offsets: NDArray[np.int32]
    mask: NDArray[np.uint32]
    warp: NDArray[np.int32] | None = None
    pc: NDArray[np.int64] | None = None
    name: tuple[str, ...] | None = None
    highest: int = 2**31 - 1

    @classmethod
    def of(
        cls,
        offsets: ArrayLike,
        op: str | Operation | Sequence[str | Operation] | NDArray[np.uint8] = "lds",
        width: int | Sequence[int] | None = None,
        mask: ArrayLike | None = None,
        variant: str | Sequence[str | None] | None = None,
        warp: ArrayLike | None = None,
        pc: ArrayLike | None = None,
        name: Sequence[str] | None = None,
    ) -> Trace:
        """A checked trace.

        `offsets` has shape (n, lanes), or (lanes,) for one access, with up to 32 lanes; lanes that are not given
        are inactive. `op`, `width` and `variant` are one value for all rows or one for each (`parse_op` lists
        the spellings; an integer array is taken as codes). `mask` is an integer or an array of n integers, or an
        array of bool of shape (32,) or (n, 32); without it all given lanes are active.

        Raises AccessError with row and lane for negative and misaligned offsets of active lanes.

        >>> len(Trace.of([[0, 4, 8, 12], [0, 8, 16, 24]], op=["lds", "lds.64"]))
        2
        """
        table, lanes = offset_table(offsets)
        count = len(table)
        kind = operation_codes(op, width, variant, count)
        masks = masks_of(mask, count, lanes, kind)
        table, highest = checked_rows(table, kind, masks)
        return cls(
            kind,
            table,
            masks,
            None if warp is None else one_each(warp, count, "warp").astype(np.int32),
            None if pc is None else one_each(pc, count, "pc").astype(np.int64),
            None if name is None else _texts(name, count),
            highest,
        )

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, rows: slice | NDArray[Any]) -> Trace:
        """Some rows, by slice or index array."""
        picked: list[int] = np.arange(len(self))[rows].tolist()
        return Trace(
            self.kind[rows],
            self.offsets[rows],
            self.mask[rows],
            None if self.warp is None else self.warp[rows],
            None if self.pc is None else self.pc[rows],
            None if self.name is None else tuple(self.name[index] for index in picked),
            self.highest,
        )

    def operation(self, row: int) -> Operation:
        """What row `row` executes."""
        return OPERATIONS[int(self.kind[row])]

    @property
    def width(self) -> NDArray[np.int64]:
        """(n,) bytes a lane."""
        return _WIDTH[self.kind]

    def active(self) -> NDArray[np.bool_]:
        """(n, 32) which lanes' addresses are used: the mask, less the lanes beyond x1 and x2 of matrix operations."""
        return bits(self.mask & _DEFAULT_MASK[self.kind])

    def check_capacity(self, capacity: int, where: str) -> None:
        """Refuse accesses beyond `capacity` bytes of the memory called `where`. Raises AccessError."""
        ends = self.offsets + self.width[:, None].astype(np.int32)
        beyond = np.argwhere((ends > capacity) & self.active())
        if len(beyond):
            row, lane = (int(index) for index in beyond[0])
            raise AccessError(
                f"{place(len(self), row, lane)}: offset {self.offsets[row, lane]} with {self.width[row]} bytes"
                f" ends beyond the {capacity} bytes of {where}"
            )


def _texts(name: Sequence[str], count: int) -> tuple[str, ...]:
    texts: list[Any] = one_each(name, count, "name").tolist()
    return tuple(str(text) for text in texts)
