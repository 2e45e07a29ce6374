"""Array helpers: coordinates in, integer arrays out, with as few passes over the data as possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from .protocol import ArrayLike, IntArray, LayoutError


def as_coordinate(value: ArrayLike) -> IntArray:
    """An integer array of a coordinate; LayoutError for anything that is not made of integers."""
    array = cast("NDArray[np.generic]", np.asarray(value))
    if array.dtype.kind not in "iu":
        if array.size == 0 and array.dtype.kind == "f":
            return array.astype(np.int64)
        raise LayoutError(f"a coordinate must be integers, not {array.dtype.name} ({value!r})")
    return array.astype(np.int64, copy=False)


def as_coordinates(values: Iterable[ArrayLike]) -> list[IntArray]:
    return [as_coordinate(value) for value in values]


def divide(value: IntArray, by: int) -> tuple[IntArray, IntArray]:
    """(floor quotient, remainder in [0, by)); shifts where `by` is a power of two (floor semantics hold too)."""
    if by == 1:
        return value, np.zeros_like(value)
    if by > 0 and by & (by - 1) == 0:
        bits = by.bit_length() - 1
        return value >> bits, value & (by - 1)
    if by == 0:
        raise LayoutError("an extent of 0 cannot split a coordinate")
    quotient = np.floor_divide(value, by)
    return quotient, value - quotient * by


def flatten_row_major(coords: Sequence[IntArray], shape: Sequence[int]) -> IntArray:
    """Horner's rule, last dimension fastest."""
    total: IntArray = np.zeros((), np.int64)
    for coord, extent in zip(coords, shape, strict=True):
        total = total * extent + coord
    return total


def flatten_column_major(coords: Sequence[IntArray], shape: Sequence[int]) -> IntArray:
    """Horner's rule, first dimension fastest (CuTe's colexicographic order)."""
    return flatten_row_major(list(reversed(coords)), list(reversed(shape)))


def split_row_major(value: IntArray, extents: Sequence[int]) -> list[IntArray]:
    """Components of a flat index, last extent fastest; the first component takes the rest without a modulo."""
    parts: list[IntArray] = []
    for extent in reversed(extents[1:]):
        value, part = divide(value, extent)
        parts.append(part)
    if extents:
        parts.append(value)
    return parts[::-1]


def sum_terms(terms: Iterable[IntArray], shape: tuple[int, ...]) -> IntArray:
    """Sum of terms that broadcast to `shape`; equal shapes are added first, so few passes run over the full
    size.
    """
    by_shape: dict[tuple[int, ...], IntArray] = {}
    own: set[tuple[int, ...]] = set()  # shapes whose array was made here, so that it may be added to in place
    for term in terms:
        known = by_shape.get(term.shape)
        if known is None:
            by_shape[term.shape] = term
        elif term.shape in own:
            known += term
        else:
            by_shape[term.shape] = np.asarray(known + term)
            own.add(term.shape)
    result: IntArray = np.zeros((), np.int64)
    for term in sorted(by_shape.values(), key=lambda array: array.size):
        result = result + term if result.ndim or result else term
    return result if result.shape == shape else np.broadcast_to(result, shape)


def cartesian_sums(steps: Sequence[tuple[int, int]]) -> IntArray:
    """All sums of digit*stride over (extent, stride) pairs, first pair slowest: shape (product of extents,)."""
    result: IntArray = np.zeros(1, np.int64)
    for extent, stride in steps:
        result = (result[:, None] + np.arange(max(extent, 0), dtype=np.int64) * stride).reshape(-1)
    return result


def add_replicas(values: Mapping[str, IntArray], copies: Mapping[str, IntArray]) -> dict[str, IntArray]:
    """Base coordinates plus copies: every array gets a new first dimension of length (copies,)."""
    count = next((array.size for array in copies.values()), 1)
    found: dict[str, IntArray] = {}
    for axis, base in values.items():
        shift = copies.get(axis, np.zeros(count, np.int64))
        found[axis] = base[None] + shift.reshape(-1, *([1] * base.ndim))
    return found
