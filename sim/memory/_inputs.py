"""What users pass for a trace, brought into columns and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import AccessError
from .ops import OPERATIONS, Operation
from .spelling import parse_op

LANES = 32
_ROWS = 4096
# The bits that no offset of an operation may have: the sign, those from 31 on, and those below its width.
_WRONG_BITS = ~(0x7FFFFFFF & -np.array([kind.width for kind in OPERATIONS], dtype=np.int64))
_DEFAULT_MASK = np.array([kind.default_mask for kind in OPERATIONS], dtype=np.uint32)


def bits(mask: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """(n, 32) bool of (n,) masks, lane l from bit l."""
    octets = np.ascontiguousarray(mask, dtype="<u4").view(np.uint8).reshape(len(mask), 4)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)


def place(count: int, row: int, lane: int) -> str:
    """Where something is, as errors say it."""
    return f"lane {lane}" if count == 1 else f"access {row}, lane {lane}"


def offset_table(offsets: ArrayLike) -> tuple[NDArray[Any], int]:
    """(n, 32) integers and the number of lanes that were given."""
    try:
        table: NDArray[Any] = np.asarray(offsets)
    except (ValueError, OverflowError) as error:
        raise AccessError(f"offsets: (n, 32) integers are needed ({error})") from error
    if table.ndim == 1:
        table = table[None, :]
    if table.ndim != 2 or not 1 <= table.shape[1] <= LANES:
        raise AccessError(
            f"offsets: shape {np.shape(offsets)} is neither (lanes,) nor (n, lanes) with 1 to {LANES} lanes"
        )
    if table.dtype.kind not in "iu":
        raise AccessError(f"offsets: {table.dtype} is no integer type; byte offsets are whole numbers")
    lanes = table.shape[1]
    if lanes < LANES:
        table = np.pad(table, ((0, 0), (0, LANES - lanes)))
    return table, lanes


def operation_codes(op: Any, width: Any, variant: Any, count: int) -> NDArray[np.uint8]:
    """(n,) codes of one operation for all, of one for each, or of an integer array of codes."""
    if isinstance(op, np.ndarray) and cast("NDArray[Any]", op).dtype.kind in "iu":
        codes = one_each(cast("NDArray[Any]", op), count, "op")
        if count and (codes.min() < 0 or codes.max() >= len(OPERATIONS)):
            raise AccessError(f"op: codes lie between 0 and {len(OPERATIONS) - 1}")
        return codes.astype(np.uint8, copy=False)
    if not any(isinstance(value, (list, tuple, np.ndarray)) for value in (op, width, variant)):  # pyright: ignore[reportUnknownVariableType]
        return np.full(count, _operation(op, width, variant).code, dtype=np.uint8)
    ops, widths, variants = (
        _spread(op, count, "op"),
        _spread(width, count, "width"),
        _spread(variant, count, "variant"),
    )
    known: dict[Any, int] = {}
    codes = np.empty(count, dtype=np.uint8)
    for index, parts in enumerate(zip(ops, widths, variants, strict=True)):
        code = known.get(parts)
        if code is None:
            code = known[parts] = _operation(*parts).code
        codes[index] = code
    return codes


def masks_of(mask: Any, count: int, lanes: int, kind: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """(n,) masks; lanes that were not given are inactive."""
    given = np.uint32((1 << lanes) - 1)
    if mask is None:
        return _DEFAULT_MASK[kind] & given
    values: NDArray[Any] = np.asarray(mask)
    if values.dtype == np.bool_ and values.ndim and values.shape[-1] == lanes:
        padded = np.zeros((*values.shape[:-1], LANES), dtype=np.uint32)
        padded[..., :lanes] = values
        values = np.bitwise_or.reduce(padded << np.arange(LANES, dtype=np.uint32), axis=-1)
    if values.dtype.kind not in "iu":
        raise AccessError(
            "mask: integers of 32 bits (bit l for lane l) or an array of bool over the lanes are needed"
        )
    if values.size and (values.min() < 0 or values.max() > 0xFFFFFFFF):
        raise AccessError(
            f"mask: a mask has 32 bits, found {values.min() if values.min() < 0 else values.max()}"
        )
    return one_each(values.astype(np.uint32), count, "mask") & given


def one_each(values: Any, count: int, what: str) -> NDArray[Any]:
    """(n,) of one value for all or one for each access."""
    column: NDArray[Any] = np.asarray(values)
    if column.ndim == 0:
        return np.full(count, column)
    if column.shape != (count,):
        raise AccessError(f"{what}: shape {column.shape} for {count} accesses")
    return column


def checked_rows(
    table: NDArray[Any], kind: NDArray[np.uint8], mask: NDArray[np.uint32]
) -> tuple[NDArray[np.int32], int]:
    """The same offsets as int32, checked: from 0 to 2**31 - 1 and multiples of the width; a number none exceeds.

    Inactive lanes may hold anything; where they would not pass they become 0, so that later code need not care.
    """
    checked = (
        np.ascontiguousarray(table) if table.dtype == np.int32 else np.empty(table.shape, dtype=np.int32)
    )
    highest = 0
    for start in range(0, len(table), _ROWS):
        part = slice(start, start + _ROWS)
        rows = table[part]
        # One OR over a row shows a sign, a bit beyond 31 and a low bit at once; few rows have to be looked at.
        together = np.bitwise_or.reduce(rows, axis=1).astype(np.int64)
        suspicious = np.flatnonzero(together & _WRONG_BITS[kind[part]])
        if len(suspicious):
            fixed = _without_wrong_lanes(table, kind, mask, start + suspicious)
            if checked is table:
                checked = table.copy()
            checked[part] = rows
            checked[start + suspicious] = fixed
            together = np.bitwise_or.reduce(checked[part], axis=1).astype(np.int64)
        elif checked is not table:
            np.copyto(checked[part], rows, casting="unsafe")
        highest |= int(np.bitwise_or.reduce(together))
    return checked, highest


def _without_wrong_lanes(
    table: NDArray[Any], kind: NDArray[np.uint8], mask: NDArray[np.uint32], rows: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Rows with 0 in inactive lanes that would not pass. Raises AccessError for the first active one."""
    lanes = table[rows].astype(np.int64)
    active = bits(mask[rows] & _DEFAULT_MASK[kind[rows]])
    wrong = (lanes & _WRONG_BITS[kind[rows], None]) != 0
    for first in np.argwhere(wrong & active)[:1]:
        row, lane = int(rows[first[0]]), int(first[1])
        offset, operation = int(lanes[first[0], lane]), OPERATIONS[int(kind[row])]
        need = f"a multiple of {operation.width} bytes is needed"
        if offset < 0:
            need = "byte offsets start at 0"
        elif offset >> 31:
            need = "no shared memory is that large"
        raise AccessError(f"{place(len(table), row, lane)}: {operation.name} at offset {offset}: {need}")
    return np.where(wrong, 0, lanes)


def _operation(op: Any, width: Any, variant: Any) -> Operation:
    if isinstance(op, Operation):
        return op
    if not isinstance(op, str):
        raise AccessError(f"op: {op!r} is no name of an operation")
    if width is not None and (isinstance(width, bool) or not isinstance(width, (int, np.integer))):
        raise AccessError(f"width: {width!r} is no number of bytes (1, 2, 4, 8 or 16)")
    size = None if width is None else int(cast("Any", width))
    return parse_op(op, size, None if variant is None else str(variant))


def _spread(value: Any, count: int, what: str) -> Sequence[Any]:
    if isinstance(value, np.ndarray):
        values: Sequence[Any] = cast("NDArray[Any]", value).tolist()
    elif isinstance(value, (list, tuple)):
        values = cast("Sequence[Any]", value)
    else:
        return [value] * count
    if len(values) != count:
        raise AccessError(f"{what}: {len(values)} values for {count} accesses")
    return values
