"""How fast accesses are counted: `pytest tests/benchmarks/test_counting.py --benchmark-enable`.

`extra_info` holds accesses a second. The traces mix loads and stores of 1 to 16 bytes, ldmatrix and stmatrix, some
atomics, full and partial masks; offsets are random, so no two accesses are alike.
"""

from __future__ import annotations

import numpy as np
import pytest
from bankbench.sim import Trace, bank_words, count, count_trace
from bankbench.sim.memory import OPERATIONS

COUNT = 400_000


def mixed(count=COUNT, atomics=0.05, partial=0.5, highest=48 << 10, seed=1):
    rng = np.random.default_rng(seed)
    plain = [kind.code for kind in OPERATIONS if kind.serves == "words"]
    others = [
        kind.code for kind in OPERATIONS if kind.serves != "words" and "minmax" not in str(kind.variant)
    ]
    code = np.where(rng.random(count) < atomics, rng.choice(others, count), rng.choice(plain, count)).astype(
        np.uint8
    )
    width = np.array([kind.width for kind in OPERATIONS])[code][:, None]
    offsets = rng.integers(0, highest, (count, 32)) // width * width
    mask = np.where(rng.random(count) < partial, rng.integers(1, 2**32, count), 2**32 - 1)
    return offsets, code, mask


def per_second(benchmark, count, goal=3e6):
    if benchmark.stats is not None:
        rate = count / benchmark.stats.stats.median
        benchmark.extra_info["accesses_per_second"] = round(rate)
        benchmark.extra_info["of_3_million_per_second"] = round(rate / goal, 2)


@pytest.mark.parametrize("highest", [48 << 10, 227 << 10], ids=["48KiB", "227KiB"])
def test_mixed_trace(benchmark, highest):
    offsets, code, mask = mixed(highest=highest)
    trace = Trace.of(offsets, code, mask=mask)
    counts = benchmark.pedantic(count_trace, (trace,), rounds=7, warmup_rounds=1)
    per_second(benchmark, COUNT)
    assert (counts.wavefronts >= counts.ideal_wavefronts).all()


def test_from_offsets_to_counts(benchmark):
    """Checking the offsets included."""
    offsets, code, mask = mixed()
    counts = benchmark.pedantic(count, (offsets, code), {"mask": mask}, rounds=7, warmup_rounds=1)
    per_second(benchmark, COUNT)
    assert len(counts) == COUNT


@pytest.mark.parametrize(
    "op", ["lds.32", "lds.64", "lds.128", "sts.128", "ldmatrix.x4", "atom.add.u32", "red.add.f32"]
)
def test_one_operation(benchmark, op):
    width = next(kind.width for kind in OPERATIONS if kind.name == op)
    offsets = np.random.default_rng(1).integers(0, 2048, (COUNT // 8, 32)) * width
    trace = Trace.of(offsets, op)
    counts = benchmark.pedantic(count_trace, (trace,), rounds=5, warmup_rounds=1)
    per_second(benchmark, COUNT // 8)
    assert counts.status == "measured"


def test_by_words_one_by_one(benchmark):
    """The slow way that the keys replace, on a tenth of the accesses, to compare with."""
    offsets, code, mask = mixed(COUNT // 10)
    trace = Trace.of(offsets, code, mask=mask)
    words = benchmark.pedantic(bank_words, (trace,), rounds=3, warmup_rounds=1)
    per_second(benchmark, COUNT // 10)
    assert words.shape == (COUNT // 10, 32)
