"""CuTe algebra against the independent `tensor-layouts` package on random layouts.

Where both give a layout, the forms are compared, or, where only strides of unit modes differ, the functions. Where we
refuse and it does not, its answer must really not be one (it does not check injectivity); both refusing agrees.
"""

from __future__ import annotations

import random
from collections import Counter
from math import prod

import numpy as np
import pytest
from bankbench.layouts import CuteLayout, LayoutError, Swizzle, cute_algebra

tl = pytest.importorskip("tensor_layouts")
LAYOUTS = 2100


def random_pair(rng, cap):
    """Shape and stride: mostly dense in a random order with gaps, else arbitrary strides."""
    while True:
        shape = []
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.3:
                shape.append(tuple(rng.choice([1, 2, 2, 3, 4, 6, 8]) for _ in range(rng.randint(1, 3))))
            else:
                shape.append(rng.choice([1, 2, 3, 4, 4, 6, 8]))
        shape = shape[0] if len(shape) == 1 and rng.random() < 0.5 else tuple(shape)
        flat = flatten(shape)
        if prod(flat) <= cap:
            break
    if rng.random() < 0.6:
        order = list(range(len(flat)))
        rng.shuffle(order)
        steps, step = [0] * len(flat), rng.choice([1, 1, 1, 2])
        for i in order:
            steps[i] = step
            step *= flat[i] * (rng.choice([2, 3]) if rng.random() < 0.2 else 1)
    else:
        steps = [rng.choice([0, 1, 2, 3, 4, 5, 8, 16, 32]) for _ in flat]
    values = iter(steps)
    return shape, unflatten(shape, values)


def flatten(shape):
    return [n for s in shape for n in flatten(s)] if isinstance(shape, tuple) else [shape]


def unflatten(shape, values):
    return tuple(unflatten(s, values) for s in shape) if isinstance(shape, tuple) else next(values)


def outcome(call):
    try:
        return call()
    except (LayoutError, tl.LayoutError, ValueError, AssertionError, ZeroDivisionError) as error:
        return error


def function_of(layout):
    if isinstance(layout, CuteLayout):
        return layout.evaluate(np.arange(layout.size()))["m"]
    return np.array([layout(i) for i in range(tl.size(layout))])


def same(theirs, ours):
    if isinstance(ours, int):
        return theirs == ours
    if (theirs.shape, theirs.stride) == (ours.shape, ours.stride):
        return True
    return tl.size(theirs) == ours.size() and np.array_equal(function_of(theirs), function_of(ours))


def is_wrong(name, theirs, left, right, bound):
    """Whether an answer that we refuse breaks the property that defines it."""
    a = function_of(left)
    if name == "left_inverse":
        return not np.array_equal([theirs(int(v)) for v in a], np.arange(len(a)))
    if name == "complement":
        rest = function_of(theirs)
        return len(np.unique((a[:, None] + rest).reshape(-1))) < len(a) * len(rest)
    if name == "compose":
        b = function_of(right)
        inside = b < left.size()
        expected = left.evaluate(b)["m"]
        return not np.array_equal(function_of(theirs)[inside], expected[inside])
    # divide and product rest on a complement: it must have been refused
    part = right if name == "logical_divide" else left
    return isinstance(outcome(lambda: cute_algebra.complement(part, bound)), Exception) or len(
        np.unique(function_of(theirs))
    ) < tl.size(theirs)


def operations(a, b, bound):
    """Name -> (theirs, ours) as calls."""
    big, other = tl.Layout(*a), tl.Layout(*b)
    left, right = CuteLayout(*a), CuteLayout(*b)
    return (
        left,
        right,
        {
            "size": (lambda: tl.size(big), left.size),
            "cosize": (lambda: tl.cosize(big), left.cosize),
            "coalesce": (lambda: tl.coalesce(big), lambda: cute_algebra.coalesce(left)),
            "compose": (lambda: tl.compose(big, other), lambda: cute_algebra.compose(left, right)),
            "complement": (lambda: tl.complement(big, bound), lambda: cute_algebra.complement(left, bound)),
            "logical_divide": (
                lambda: tl.logical_divide(big, other),
                lambda: cute_algebra.logical_divide(left, right),
            ),
            "logical_product": (
                lambda: tl.logical_product(big, other),
                lambda: cute_algebra.logical_product(left, right),
            ),
            "right_inverse": (lambda: tl.right_inverse(big), lambda: cute_algebra.right_inverse(left)),
            "left_inverse": (lambda: tl.left_inverse(big), lambda: cute_algebra.left_inverse(left)),
        },
    )


def test_equal_to_tensor_layouts(row_report):
    rng = random.Random(20261130)
    compared: Counter[str] = Counter()
    for number in range(LAYOUTS):
        a, b = random_pair(rng, 96), random_pair(rng, 24)
        bound = rng.choice([1, 16, 48, 64])
        left, right, calls = operations(a, b, bound)
        for name, (theirs, ours) in calls.items():
            p, q = outcome(theirs), outcome(ours)
            if isinstance(p, Exception):
                continue  # it refuses; whether we do is our own property test
            if isinstance(q, Exception):
                row_report.check(
                    is_wrong(name, p, left, right, bound), number, f"{name} of {a} {b}: {p}, {q}"
                )
                continue
            compared[name] += 1
            row_report.check(same(p, q), number, f"{name} of {a} {b} {bound}: {p} != {q}")
    print(dict(compared))
    assert compared["coalesce"] == LAYOUTS
    assert min(compared.values()) > LAYOUTS // 3


def test_offsets_equal_to_tensor_layouts(row_report):
    rng = random.Random(7)
    for number in range(LAYOUTS):
        pair = random_pair(rng, 96)
        row_report.check(
            np.array_equal(function_of(tl.Layout(*pair)), function_of(CuteLayout(*pair))), number, pair
        )


def test_swizzles_equal_to_tensor_layouts():
    for bits in range(4):
        for base in range(4):
            for shift in range(bits, bits + 3):
                theirs, ours = tl.Swizzle(bits, base, shift), Swizzle(bits, base, shift)
                every = np.arange(1 << (bits + base + shift + 1))
                assert np.array_equal([theirs(int(n)) for n in every], ours.evaluate(every))
