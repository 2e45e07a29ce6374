"""Nested integer tuples: the shapes, strides and coordinates of TLA and CuTe.

A leaf is a run-time integer or a compile-time one (`Static(16)`, written `_16` in TLA); a node is a tuple.
Coordinates are split colexicographically: the first mode runs fastest and the last one takes the rest without
a modulo.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from ._arrays import divide
from ._text import Scanner
from .protocol import IntArray, LayoutError


@dataclass(frozen=True, slots=True)
class Static:
    """A compile-time integer of TLA (`Int<N>`, printed `_N`).

    Arithmetic of two of them stays compile-time, any mix with a run-time integer is run-time; division and
    remainder truncate towards zero, as in C++.

    >>> Static(7) // Static(2), Static(7) + 1
    (_3, 8)
    """

    value: int

    def __repr__(self) -> str:
        return f"_{self.value}"

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __add__(self, other: Leaf) -> Leaf:
        return static_op(lambda a, b: a + b, self, other)

    def __radd__(self, other: int) -> int:
        return other + self.value

    def __sub__(self, other: Leaf) -> Leaf:
        return static_op(lambda a, b: a - b, self, other)

    def __rsub__(self, other: int) -> int:
        return other - self.value

    def __mul__(self, other: Leaf) -> Leaf:
        return static_op(lambda a, b: a * b, self, other)

    def __rmul__(self, other: int) -> int:
        return other * self.value

    def __floordiv__(self, other: Leaf) -> Leaf:
        return static_op(truncated_quotient, self, other)

    def __rfloordiv__(self, other: int) -> int:
        return truncated_quotient(other, self.value)

    def __mod__(self, other: Leaf) -> Leaf:
        return static_op(truncated_remainder, self, other)

    def __rmod__(self, other: int) -> int:
        return truncated_remainder(other, self.value)

    def __and__(self, other: Leaf) -> Leaf:
        return static_op(lambda a, b: a & b, self, other)

    def __or__(self, other: Leaf) -> Leaf:
        return static_op(lambda a, b: a | b, self, other)

    def __xor__(self, other: Leaf) -> Leaf:
        return static_op(lambda a, b: a ^ b, self, other)

    def __lshift__(self, other: Leaf) -> Leaf:
        return static_op(lambda a, b: a << b, self, other)

    def __rshift__(self, other: Leaf) -> Leaf:
        return static_op(lambda a, b: a >> b, self, other)


Leaf: TypeAlias = int | Static
IntTuple: TypeAlias = "Leaf | tuple[IntTuple, ...]"


def static_op(operation: Callable[[int, int], int], left: Leaf, right: Leaf) -> Leaf:
    """An integer operation whose result is compile-time when both sides are."""
    value = operation(int(left), int(right))
    return Static(value) if isinstance(left, Static) and isinstance(right, Static) else value


def truncated_quotient(a: int, b: int) -> int:
    """C++ division: towards zero; LayoutError for a divisor of 0."""
    if b == 0:
        raise LayoutError("division by 0")
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def truncated_remainder(a: int, b: int) -> int:
    """C++ remainder: takes the sign of the dividend."""
    return a - b * truncated_quotient(a, b)


def ceil_quotient(a: int, b: int) -> int:
    """Smallest integer not below a/b; LayoutError for b = 0."""
    if b == 0:
        raise LayoutError("cannot divide by a block of 0")
    return -(-a // b)


def normalise(value: object, what: str = "a shape") -> IntTuple:
    """Lists to tuples, NumPy integers to int, `"_16"` to Static(16); LayoutError for anything else."""
    if isinstance(value, Static):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(normalise(item, what) for item in cast("Sequence[object]", value))
    if isinstance(value, str) and value.startswith("_"):
        try:
            return Static(int(value[1:]))
        except ValueError:
            pass
    elif not isinstance(value, (bool, str)) and hasattr(value, "__index__"):
        return int(cast("int", value))
    raise LayoutError(
        f"{what} is made of integers, compile-time integers such as _16, and tuples, not {value!r}"
    )


def rank(value: IntTuple, *path: int) -> int:
    """Number of entries of a tuple (an integer has rank 1), at a path of indices."""
    found = get(value, *path)
    return len(found) if isinstance(found, tuple) else 1


def depth(value: IntTuple, *path: int) -> int:
    """0 for an integer, 1 + the deepest entry for a tuple; LayoutError for the empty tuple (ill-formed in
    C++).
    """
    found = get(value, *path)
    if not isinstance(found, tuple):
        return 0
    if not found:
        raise LayoutError("the empty tuple has no depth")
    return 1 + max(depth(item) for item in found)


def get(value: IntTuple, *path: int) -> IntTuple:
    """The entry at a path of indices; index 0 of an integer is the integer itself, as in the headers.

    >>> get(((16, 2), 5), 0, 1), get(7, 0, 0)
    (2, 7)
    """
    for index in path:
        if isinstance(value, tuple):
            if not 0 <= index < len(value):
                raise LayoutError(f"{show(value)} has no entry {index}")
            value = value[index]
        elif index != 0:
            raise LayoutError(f"the integer {value} has no entry {index}")
    return value


def product(value: IntTuple) -> Leaf:
    """Product of all leaves, compile-time only if every leaf is; `_1` for the empty tuple."""
    total: Leaf = Static(1)
    for leaf in leaves(value):
        total = total * leaf
    return total


def largest(value: IntTuple) -> Leaf:
    """The largest leaf, compile-time only if every leaf is."""
    found = leaves(value)
    if not found:
        raise LayoutError("the empty tuple has no largest entry")
    best = max(int(leaf) for leaf in found)
    return Static(best) if all(isinstance(leaf, Static) for leaf in found) else best


def add(left: IntTuple, right: IntTuple) -> IntTuple:
    """Element-wise sum of two tuples of one form; a sum is compile-time when both leaves are.

    >>> add((2, Static(3)), (2, Static(3)))
    (4, _6)
    """
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            raise LayoutError(f"{show(left)} and {show(right)} have different ranks")
        return tuple(add(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, tuple) or isinstance(right, tuple):
        raise LayoutError("a tuple and an integer cannot be added")
    return left + right


def leaves(value: IntTuple) -> tuple[Leaf, ...]:
    """All leaves, left to right."""
    if isinstance(value, tuple):
        return tuple(leaf for item in value for leaf in leaves(item))
    return (value,)


def integers(value: IntTuple) -> tuple[int, ...]:
    """All leaves as plain integers."""
    return tuple(int(leaf) for leaf in leaves(value))


def modes(value: IntTuple) -> tuple[IntTuple, ...]:
    """The top-level entries; an integer is its own only mode."""
    return value if isinstance(value, tuple) else (value,)


def size(value: IntTuple) -> int:
    """Product of all leaves, 1 for the empty tuple."""
    return prod(integers(value))


def congruent(left: IntTuple, right: IntTuple) -> bool:
    """Whether two tuples nest in the same way."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(congruent(a, b) for a, b in zip(left, right, strict=True))
    return not isinstance(left, tuple) and not isinstance(right, tuple)


def show(value: IntTuple, comma: str = ", ") -> str:
    """Text of a tuple; a one-element tuple has no trailing comma.

    >>> show(((Static(16), 2), 3))
    '((_16, 2), 3)'
    """
    if isinstance(value, tuple):
        return f"({comma.join(show(item, comma) for item in value)})"
    return repr(value)


def read(scan: Scanner, static: bool, what: str) -> IntTuple:
    """A nested tuple of integers at the cursor; `_16` leaves only where `static` allows them."""
    if scan.open("("):
        found: list[IntTuple] = []
        while not scan.peek(")"):
            found.append(read(scan, static, what))
            if not scan.accept(","):
                break
        scan.shut(")", f"in {what}")
        return tuple(found)
    place = scan.at
    value = scan.static() if static else None
    if value is not None:
        return Static(value)
    if scan.peek("_"):
        raise scan.error(f"expected an integer in {what}, found {scan.name()!r}", place)
    return scan.signed(f"an integer in {what}")


def colex_terms(coord: IntArray, shape: Sequence[int], stride: Sequence[int]) -> list[IntArray]:
    """Contributions of one coordinate to a list of flat (shape, stride) leaves, first leaf fastest.

    Neighbours that continue each other (stride[k+1] == shape[k]*stride[k]) are taken as one, which changes no
    value: the last leaf is unbounded and a merged pair splits the same range.
    """
    merged: list[tuple[int, int]] = []
    for extent, step in zip(shape, stride, strict=True):
        if merged and merged[-1][0] * merged[-1][1] == step:
            merged[-1] = (merged[-1][0] * extent, merged[-1][1])
        else:
            merged.append((extent, step))
    terms: list[IntArray] = []
    for extent, step in merged[:-1]:
        coord, part = divide(coord, extent)
        if step:
            terms.append(part if step == 1 else part * step)
    if merged and merged[-1][1]:
        step = merged[-1][1]
        terms.append(coord if step == 1 else coord * step)
    return terms
