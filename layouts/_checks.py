"""Small checks of what callers hand in; each raises LayoutError with what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex, cast

import numpy as np

from .protocol import LayoutError


def axis_name(axis: object) -> str:
    if not isinstance(axis, str):
        raise LayoutError(f"an axis is named by a string here, not {axis!r}")
    return axis


def as_number(value: object, what: str) -> int:
    """An extent, stride or offset as it is written; NumPy integers become plain ones, floats and booleans stay."""
    if isinstance(value, (int, float)):
        return cast("int", value)
    if hasattr(value, "__index__"):
        return int(cast("SupportsIndex", value))
    raise LayoutError(f"{what} must be an integer, not {value!r}")


def check_integral(value: float) -> None:
    if not isinstance(value, int):
        raise LayoutError(f"extents, strides and offsets must be integers to be evaluated, not {value!r}")


def check_plain_integers(coord: Iterable[object]) -> None:
    for value in coord:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise LayoutError(f"a coordinate must be an integer, not {value!r}")
