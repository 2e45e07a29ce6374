"""A trace: many accesses as columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import AccessError
from .ops import OPERATIONS, Operation
from .spelling import parse_op

__all__ = ["LANES", "Trace"]

LANES = 32
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

    Build one with `Trace.of`, which checks every row; a row that the hardware would not execute raises AccessError.
    """

    kind: NDArray[np.uint8]
    offsets: NDArray[np.int32]
    mask: NDArray[np.uint32]
    warp: NDArray[np.int32] | None = None
    pc: NDArray[np.int64] | None = None
    name: tuple[str, ...] | None = None

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
        table, lanes = _offset_table(offsets)
        count = len(table)
        kind = _kinds(op, width, variant, count)
        masks = _masks(mask, count, lanes, kind)
        table = _checked_rows(table, kind, masks)
        return cls(
            kind,
            np.ascontiguousarray(table, dtype=np.int32),
            masks,
            None if warp is None else _column(warp, count, "warp").astype(np.int32),
            None if pc is None else _column(pc, count, "pc").astype(np.int64),
            None if name is None else _names(name, count),
        )

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, rows: slice | NDArray[Any]) -> Trace:
        """Some rows, by slice or index array."""
        picked = np.arange(len(self))[rows]
        return Trace(
            self.kind[rows],
            self.offsets[rows],
            self.mask[rows],
            None if self.warp is None else self.warp[rows],
            None if self.pc is None else self.pc[rows],
            None if self.name is None else tuple(self.name[index] for index in picked.tolist()),
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
                f"{_place(len(self), row, lane)}: offset {self.offsets[row, lane]} with {self.width[row]} bytes"
                f" ends beyond the {capacity} bytes of {where}"
            )


def bits(mask: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """(n, 32) bool of (n,) masks, lane l from bit l."""
    octets = np.ascontiguousarray(mask, dtype="<u4").view(np.uint8).reshape(len(mask), 4)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)


def _offset_table(offsets: ArrayLike) -> tuple[NDArray[Any], int]:
    try:
        table = np.asarray(offsets)
    except ValueError as error:
        raise AccessError("offsets: rows of different length; (n, 32) integers are needed") from error
    if table.ndim == 1:
        table = table[None, :]
    if table.ndim != 2 or not 1 <= table.shape[1] <= LANES:
        raise AccessError(
            f"offsets: shape {np.shape(table)} is neither (lanes,) nor (n, lanes) with 1 to {LANES} lanes"
        )
    if table.dtype.kind not in "iu":
        raise AccessError(f"offsets: {table.dtype} is no integer type; byte offsets are whole numbers")
    lanes = table.shape[1]
    if lanes < LANES:
        table = np.pad(table, ((0, 0), (0, LANES - lanes)))
    return table, lanes


def _kinds(op: Any, width: Any, variant: Any, count: int) -> NDArray[np.uint8]:
    if isinstance(op, np.ndarray) and op.dtype.kind in "iu":
        codes = _column(op, count, "op")
        if count and not (0 <= codes.min() and codes.max() < len(OPERATIONS)):
            raise AccessError(f"op: codes lie between 0 and {len(OPERATIONS) - 1}")
        return codes.astype(np.uint8, copy=False)
    if (
        not isinstance(op, (list, tuple, np.ndarray))
        and np.ndim(width) == 0
        and not isinstance(variant, (list, tuple))
    ):
        return np.full(count, _one_kind(op, width, variant).code, dtype=np.uint8)
    columns = [
        _spread(value, count, what) for value, what in ((op, "op"), (width, "width"), (variant, "variant"))
    ]
    return np.fromiter((_one_kind(*parts).code for parts in zip(*columns, strict=True)), np.uint8, count)


def _one_kind(op: Any, width: Any, variant: Any) -> Operation:
    if isinstance(op, Operation):
        return op
    if not isinstance(op, str):
        raise AccessError(f"op: {op!r} is no name of an operation")
    if width is not None and (isinstance(width, bool) or not isinstance(width, (int, np.integer))):
        raise AccessError(f"width: {width!r} is no number of bytes (1, 2, 4, 8 or 16)")
    return parse_op(str(op), None if width is None else int(width), None if variant is None else str(variant))


def _spread(value: Any, count: int, what: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple, np.ndarray)):
        return [value] * count
    if len(value) != count:
        raise AccessError(f"{what}: {len(value)} values for {count} accesses")
    return value.tolist() if isinstance(value, np.ndarray) else value


def _masks(mask: Any, count: int, lanes: int, kind: NDArray[np.uint8]) -> NDArray[np.uint32]:
    given = np.uint32((1 << lanes) - 1)
    if mask is None:
        return _DEFAULT_MASK[kind] & given
    values = np.asarray(mask)
    if values.dtype == np.bool_ and values.ndim and values.shape[-1] == lanes:
        padded = np.zeros((*values.shape[:-1], LANES), dtype=np.uint32)
        padded[..., :lanes] = values
        values = np.bitwise_or.reduce(padded << np.arange(LANES, dtype=np.uint32), axis=-1)
    if values.dtype.kind not in "iu" and values.size and not all(isinstance(v, int) for v in values.flat):
        raise AccessError("mask: integers (bit l for lane l) or an array of bool over the lanes are needed")
    if values.size and (values.min() < 0 or values.max() > 0xFFFFFFFF):
        raise AccessError(f"mask: a mask has 32 bits, found {int(values.max())}")
    return _column(values.astype(np.uint32), count, "mask") & given


def _column(values: Any, count: int, what: str) -> NDArray[Any]:
    column = np.asarray(values)
    if column.ndim == 0:
        return np.full(count, column)
    if column.shape != (count,):
        raise AccessError(f"{what}: shape {column.shape} for {count} accesses")
    return column


def _names(name: Sequence[str], count: int) -> tuple[str, ...]:
    if len(name) != count:
        raise AccessError(f"name: {len(name)} values for {count} accesses")
    return tuple(name)


def _checked_rows(table: NDArray[Any], kind: NDArray[np.uint8], mask: NDArray[np.uint32]) -> NDArray[Any]:
    """The same offsets, checked: from 0 to 2**31 - 1 and multiples of the width.

    Inactive lanes may hold anything; where they would not pass they become 0, so that later code need not care.
    """
    if not len(table):
        return table
    # One OR over a row shows a sign, a bit beyond 31 and a low bit at once; only rows that show one are looked at.
    together = np.bitwise_or.reduce(table, axis=1).astype(np.int64)
    width = _WIDTH[kind]
    suspicious = np.flatnonzero((together & ~(0x7FFFFFFF & -width)) != 0)
    if not len(suspicious):
        return table
    lanes = table[suspicious].astype(np.int64)
    active = bits(mask[suspicious] & _DEFAULT_MASK[kind[suspicious]])
    wrong = (lanes & ~(0x7FFFFFFF & -width[suspicious, None])) != 0
    for place in np.argwhere(wrong & active)[:1]:
        row, lane = int(suspicious[place[0]]), int(place[1])
        offset, name = int(lanes[place[0], lane]), OPERATIONS[int(kind[row])].name
        need = f"a multiple of {width[row]} bytes is needed"
        if offset < 0:
            need = "byte offsets start at 0"
        elif offset >> 31:
            need = "no shared memory is that large"
        raise AccessError(f"{_place(len(table), row, lane)}: {name} at offset {offset}: {need}")
    table = table.copy()
    table[suspicious] = np.where(wrong, 0, lanes).astype(table.dtype)
    return table


def _place(count: int, row: int, lane: int) -> str:
    return f"lane {lane}" if count == 1 else f"access {row}, lane {lane}"
