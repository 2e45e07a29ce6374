"""Sorting many short rows at once: a sorting network whose wires are vectors.

Rows of 8, 16 or 32 numbers lie lane-major, lane j of all rows in one vector. A comparator then is one minimum and
one maximum of two vectors, which the CPU does 16 rows at a time; a sort of single rows would be four times slower.
The network is Batcher's odd-even merge sort: sorted runs of 8, then 16, then 32 appear on the way, and the groups
of a warp are exactly these runs.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[Any]


@lru_cache(maxsize=64)
def comparators(size: int, sorted_runs: int = 1) -> tuple[tuple[int, int], ...]:
    """Wire pairs (lower gets the minimum) that sort `size` wires whose aligned runs are sorted already.

    Sizes are powers of two. 19 pairs sort 8, 63 sort 16, 191 sort 32.

    >>> len(comparators(32)), len(comparators(32, 16))
    (191, 65)
    """
    pairs: list[tuple[int, int]] = []
    run = sorted_runs
    while run < size:
        step = run
        while step >= 1:
            for start in range(step % run, size - step, 2 * step):
                for wire in range(start, start + min(step, size - start - step)):
                    if wire // (2 * run) == (wire + step) // (2 * run):
                        pairs.append((wire, wire + step))
            step //= 2
        run *= 2
    return tuple(pairs)


def sort_wires(wires: list[Vector], spare: Vector, pairs: tuple[tuple[int, int], ...]) -> Vector:
    """Run comparators over the vectors in `wires`, in place; returns the vector that is spare afterwards.

    The minimum goes to the spare vector and changes places with it, so that nothing is copied.
    """
    minimum, maximum = np.minimum, np.maximum
    for low, high in pairs:
        first, second = wires[low], wires[high]
        minimum(first, second, out=spare)
        maximum(first, second, out=second)
        wires[low], spare = spare, first
    return spare


def merge_halves(wires: list[Vector], spare: Vector) -> tuple[list[Vector], Vector]:
    """Sorted groups joined in pairs: the rows in the first half of the vectors with those in the second."""
    half = len(wires[0]) // 2
    joined = [wire[:half] for wire in wires] + [wire[half:] for wire in wires]
    return joined, sort_wires(joined, spare[:half], comparators(len(joined), len(wires)))


def sort_all(wires: list[Vector], spare: Vector, lanes: int) -> list[Vector]:
    """The wires of all groups sorted into one run of `lanes`; returns the new wires."""
    spare = sort_wires(wires, spare[: len(wires[0])], comparators(len(wires)))
    while len(wires) < lanes:
        wires, spare = merge_halves(wires, spare)
    return wires


def most_in_a_bank(
    wires: list[Vector], bank_step: int, differs: Vector, small: dict[str, Vector]
) -> NDArray[np.uint8]:
    """The largest number of different keys of one bank in each row; keys are sorted and bank-major.

    Two keys are of one bank when they differ below `bank_step`, a power of two, only. `differs` and `small` are
    scratch memory, and so is the result.
    """
    size = len(wires[0])
    differs = differs[:size]
    new, same, run, most = (small[name][:size] for name in ("new", "same", "run", "most"))
    new_count, same_count = new.view(np.uint8), same.view(np.uint8)
    run.fill(1)
    most.fill(1)
    for previous, wire in pairwise(wires):
        np.bitwise_xor(wire, previous, out=differs)
        np.not_equal(differs, 0, out=new)
        np.less(differs, bank_step, out=same)
        np.multiply(run, same_count, out=run)
        np.add(run, new_count, out=run)
        np.maximum(most, run, out=most)
    return most


def different(wires: list[Vector], small: dict[str, Vector]) -> NDArray[np.uint8]:
    """How many different keys each row holds; keys are sorted. The result is scratch memory."""
    size = len(wires[0])
    new, total = small["new"][:size], small["total"][:size]
    total.fill(1)
    for previous, wire in pairwise(wires):
        np.not_equal(wire, previous, out=new)
        np.add(total, new.view(np.uint8), out=total)
    return total
