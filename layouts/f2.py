"""Linear algebra over bits: matrices over F2 as lists of columns, each column an integer bit mask.

Column k is the image of input bit k; a vector is an integer. Everything here is exact and small (tens of
bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .protocol import LayoutError


def apply(columns: Sequence[int], vector: int) -> int:
    """The image of a vector: the xor of the columns at its set bits.

    >>> apply([0b01, 0b11], 0b11)
    2
    """
    result = 0
    for k, column in enumerate(columns):
        if vector >> k & 1:
            result ^= column
    return result


def compose(outer: Sequence[int], inner: Sequence[int]) -> list[int]:
    """The matrix of outer after inner."""
    return [apply(outer, column) for column in inner]


@dataclass(frozen=True, slots=True)
class Elimination:
    """A matrix reduced once: `pivots` maps a leading bit to (reduced image, the inputs that give it), `kernel` spans
    the inputs that map to 0."""

    pivots: dict[int, tuple[int, int]]
    kernel: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def solve(self, image: int) -> int | None:
        """An input with this image, None when there is none; earlier columns are preferred."""
        combination = 0
        while image:
            found = self.pivots.get(image.bit_length() - 1)
            if found is None:
                return None
            image ^= found[0]
            combination ^= found[1]
        return combination


def eliminate(columns: Sequence[int]) -> Elimination:
    """Gaussian elimination, columns in order."""
    pivots: dict[int, tuple[int, int]] = {}
    kernel: list[int] = []
    for k, column in enumerate(columns):
        image, combination = column, 1 << k
        while image:
            found = pivots.get(image.bit_length() - 1)
            if found is None:
                pivots[image.bit_length() - 1] = (image, combination)
                break
            image ^= found[0]
            combination ^= found[1]
        else:
            kernel.append(combination)
    return Elimination(pivots, tuple(kernel))


def rank(columns: Sequence[int]) -> int:
    """Number of independent columns.

    >>> rank([1, 2, 3])
    2
    """
    return eliminate(columns).rank


def right_inverse(columns: Sequence[int], bits: int) -> list[int]:
    """One input for every output bit below `bits`; LayoutError when an output bit cannot be reached."""
    reduced = eliminate(columns)
    found: list[int] = []
    for bit in range(bits):
        solution = reduced.solve(1 << bit)
        if solution is None:
            raise LayoutError(f"the bit matrix has rank {reduced.rank} and does not reach output bit {bit}")
        found.append(solution)
    return found


def span(vectors: Sequence[int]) -> list[int]:
    """All sums of independent vectors, 0 first.

    >>> span([1, 4])
    [0, 1, 4, 5]
    """
    found = [0]
    for vector in vectors:
        found += [value ^ vector for value in found]
    return found
