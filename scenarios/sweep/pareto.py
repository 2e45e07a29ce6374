"""Points that no other point beats in every objective, and how much each parameter moves an objective."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pareto_front(costs: Floats) -> NDArray[np.int64]:
    """Row numbers of (n, k) costs that no other row beats: at most as much everywhere, less somewhere.

    Rows with equal costs stand for each other: the first of them is taken. Rows with nan are left out. Sorted by the
    costs, first objective first.

    >>> pareto_front(np.array([[1.0, 5.0], [2.0, 2.0], [2.0, 3.0], [0.0, 9.0], [2.0, 2.0]])).tolist()
    [3, 0, 1]
    """
    valid = np.flatnonzero(~np.isnan(costs).any(axis=1))
    if not len(valid):
        return valid
    # Sorted by the first objective, then the second and so on, so that whatever beats a row stands before it.
    first = np.lexsort(costs[valid].T[::-1])
    different = costs[valid[first]]
    new = np.append(True, (different[1:] != different[:-1]).any(axis=1))
    first, different = first[new], different[new]
    if different.shape[1] == 1:
        return valid[first[:1]]
    if different.shape[1] == 2:
        best = np.minimum.accumulate(different[:, 1])
        keep = np.ones(len(different), np.bool_)
        keep[1:] = different[1:, 1] < best[:-1]
        return valid[first[keep]]
    left = np.arange(len(different))
    front: list[int] = []
    while len(left):
        head = left[0]
        front.append(int(head))
        left = left[(different[left] < different[head]).any(axis=1)]
    return valid[first[np.array(front)]]


def effects(values: Sequence[int] | NDArray[np.int64], objective: Floats) -> tuple[float, int, Floats]:
    """(share of the variance, most extreme first?, means) of an objective by the values of one parameter.

    `values` (n,) are the numbers 0.. of the parameter's values. The share is the variance of the means over the whole
    variance (0: the parameter does not matter on its own, 1: nothing else matters); means are nan without a point.
    """
    which = np.asarray(values)
    fine = ~np.isnan(objective)
    which, objective = which[fine], objective[fine]
    size = int(which.max()) + 1 if len(which) else 0
    count = np.bincount(which, minlength=size)
    with np.errstate(invalid="ignore"):
        means = np.bincount(which, weights=objective, minlength=size) / np.where(count, count, np.nan)
    whole = float(objective.var()) if len(objective) else 0.0
    if not whole:
        return 0.0, 0, means
    between = float(np.nansum(count * (means - objective.mean()) ** 2) / len(objective))
    return min(between / whole, 1.0), int(np.nanargmin(means)), means
