"""Different combinations of several fields over many points, without a loop over the points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def combined(
    fields: Sequence[tuple[list[Any], IntArray]], count: int
) -> tuple[list[tuple[Any, ...]], IntArray]:
    """(different combinations of the fields' values, which one each of `count` points has).

    >>> combined([(["a", "b"], np.array([0, 1, 1])), ([5], np.array([0, 0, 0]))], 3)
    ([('a', 5), ('b', 5)], array([0, 1, 1]))
    """
    if not fields:
        return [()], np.zeros(count, np.int64)
    code, sizes = coded([which for _, which in fields], [len(values) for values, _ in fields])
    found, which = np.unique(code, return_inverse=True)
    rows: list[tuple[Any, ...]] = []
    for number in found.tolist():
        parts: list[Any] = []
        for (values, _), size in zip(reversed(fields), reversed(sizes), strict=True):
            number, digit = divmod(number, size)  # noqa: PLW2901
            parts.append(values[digit])
        rows.append(tuple(reversed(parts)))
    return rows, which.reshape(-1)


def coded(columns: Sequence[IntArray], sizes: Sequence[int]) -> tuple[IntArray, list[int]]:
    """One number for every combination of digits below `sizes`; sizes of one are as good as any."""
    total = 1.0
    for size in sizes:
        total *= size
    if total >= 1 << 62:
        raise OverflowError("more combinations of fields than fit into a number")
    code = np.zeros(len(columns[0]) if columns else 0, np.int64)
    for column, size in zip(columns, sizes, strict=True):
        code = code * size + column
    return code, list(sizes)
