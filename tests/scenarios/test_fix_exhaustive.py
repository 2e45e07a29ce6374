"""The search of `fix` against an exhaustive one that shares nothing with it but the counter of single accesses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from bankbench.scenarios.fix import fix_scenario
from bankbench.scenarios.load import loads
from bankbench.sim import count

SIZES = {"f32": 4, "f16": 2, "e4m3": 1}


def problem(seed: int) -> dict:
    """A tile and two or three accesses: row stores, column loads, strides, ldmatrix; every shape that fits."""
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(list(SIZES), p=[0.5, 0.4, 0.1]))
    rows = int(rng.choice([8, 12, 16, 32], p=[0.3, 0.2, 0.4, 0.1]))
    columns = int(rng.choice([8, 12, 16, 32, 64], p=[0.2, 0.2, 0.3, 0.2, 0.1]))
    vectors = [v for v in (1, 2, 4, 8, 16) if columns % v == 0 and v * SIZES[dtype] <= 16]
    accesses = []
    for _ in range(int(rng.integers(2, 4))):
        vector = int(rng.choice(vectors))
        across = columns // vector
        kind = rng.integers(4)
        if kind == 0:
            lanes = f"[(s * 4 + lane // {across}) % {rows}, {vector} * (lane % {across})]"
        elif kind == 1:
            lanes = f"[lane % {rows}, {vector} * ((s + lane // {rows}) % {across})]"
        elif kind == 2:
            a, b = int(rng.integers(1, 8)), int(rng.integers(0, 8))
            lanes = f"[({a} * lane + s) % {rows}, {vector} * (({b} * lane + s) % {across})]"
        else:
            lanes = f"[(lane // 2 + 3 * s) % {rows}, {vector} * ((lane + s) % {across})]"
        op = str(rng.choice(["load", "store"]))
        accesses.append({"lanes": lanes, "vector": vector, "op": op, "steps": int(rng.integers(1, 4))})
    return {"dtype": dtype, "rows": rows, "columns": columns, "accesses": accesses}


def exhaustive(given: dict) -> tuple[int, int, int]:
    """(excess, bytes, layouts) of the best of all paddings within a bank row times all XOR swizzles, and all masks."""
    size, rows, columns = SIZES[given["dtype"]], given["rows"], given["columns"]
    lane = np.arange(32)
    keep = max(a["vector"] for a in given["accesses"]) * size
    keep = max(keep, size)
    wheres = []
    for access in given["accesses"]:
        steps = [eval(access["lanes"], {"lane": lane, "s": s}) for s in range(access["steps"])]
        r = np.array([np.broadcast_to(x[0], 32) for x in steps])
        c = np.array([np.broadcast_to(x[1], 32) for x in steps])
        op = ("lds" if access["op"] == "load" else "sts", access["vector"] * size)
        wheres.append((r, c * size, op))
    best, tried = None, 0
    for pad in range(0, 128, size):
        pitch = columns * size + pad
        if any(((r * pitch + c) % op[1]).any() for r, c, op in wheres):
            continue
        whole = (np.arange(rows)[:, None] * pitch + np.arange(0, columns * size, size)).ravel()
        top = int((rows - 1) * pitch + columns * size - 1).bit_length()
        swizzles = [(0, 0, 0)] + [
            (bits, base, sign * shift)
            for base, bits, shift, sign in itertools.product(
                range(top), range(1, top), range(1, top), (1, -1)
            )
            if 2**base >= keep and shift >= bits and base + shift + bits <= top
        ]
        if pad == 0 and (rows * columns * size).bit_count() == 1:
            masks = [
                (mask, 0, shift)
                for shift in range(1, top)
                for mask in range(keep << shift, 1 << top, keep << shift)
                if mask.bit_length() <= top
            ]
            swizzles += [(-mask, 0, s) for mask, _, s in masks]
            swizzles += [(-(mask >> s), 0, -s) for mask, _, s in masks]
        totals = np.zeros(len(swizzles), int)
        for r, c, op in wheres:
            plain = r * pitch + c
            table = np.array([swizzled(plain, *s) for s in swizzles])
            found = count(table.reshape(-1, 32), op=op[0], width=op[1])
            totals += found.excess_wavefronts.reshape(len(swizzles), -1).sum(axis=1)
        tried += len(swizzles)
        for total in np.unique(totals)[:1]:
            for index in np.flatnonzero(totals == total):
                image = swizzled(whole, *swizzles[index])
                assert len(np.unique(image)) == len(image)
                key = (int(total), int(image.max()) + size)
                best = key if best is None or key < best else best
    assert best is not None
    return (*best, tried)


def swizzled(x, bits, base, shift):
    if bits < 0:
        return x ^ ((x & -bits) >> shift) if shift >= 0 else x ^ ((x & -bits) << -shift)
    field = ((1 << bits) - 1) << base
    return x ^ ((x >> shift) & field) if shift >= 0 else x ^ ((x & field) << -shift)


# The last ones are best served by a mask that is no Sw<B,M,S>.
SEEDS = [*range(50), 140, 189, 193, 219, 262, 263]


@pytest.mark.parametrize("seed", SEEDS)
def test_as_good_as_exhaustive_search(seed: int) -> None:
    given = problem(seed)
    lines = [f"name: p{seed}", "buffers:"]
    lines += [
        f"  tile: {{dtype: {given['dtype']}, shape: [{given['rows']}, {given['columns']}]}}",
        "accesses:",
    ]
    for access in given["accesses"]:
        width = access["vector"] * SIZES[given["dtype"]]
        lines += [
            f'  - {{buffer: tile, op: {access["op"]}, lanes: "{access["lanes"]}", vector: {access["vector"]}, '
            f"width: {width}, for: {{s: {access['steps']}}}}}"
        ]
    result = fix_scenario(loads("\n".join(lines)))
    table = result.table("layouts")
    excess, size, _ = exhaustive(given)
    assert (table.data["excess"][0], table.data["bytes"][0]) == (excess, size)
