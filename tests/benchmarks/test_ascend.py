"""Speed of the Ascend model: figures to look at, and ratios that hold on any machine."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest
from bankbench.scenarios.ascend_lower import Lowered, lower
from bankbench.scenarios.ascend_places import make_places
from bankbench.scenarios.load import load
from bankbench.sim.ascend import count_cycles, read_core, schedule, simulate
from bankbench.sim.chip import load_chip


@pytest.fixture(scope="module")
def large() -> Lowered:
    loaded = load("ascend-matmul-8192")
    chip = load_chip("a2")
    section = loaded.scenario.ascend
    assert section is not None
    return lower(section, make_places(section, chip), read_core(chip), lambda loc: loaded.place(*loc))


def test_arithmetic_is_quicker_than_agents(large: Lowered) -> None:
    core = read_core(load_chip("a2"))
    started = perf_counter()
    slow = simulate(large.program, core)
    between = perf_counter()
    fast = schedule(large.program, core)
    assert fast.cycles == slow.cycles
    assert perf_counter() - between < between - started


def test_schedule_speed(benchmark, large: Lowered) -> None:
    assert benchmark(schedule, large.program, read_core(load_chip("a2"))).cycles == 7_718_079


def test_counting_speed(benchmark) -> None:
    rng = np.random.default_rng(1)
    reads = rng.integers(0, 6144, (100_000, 16)) * 32
    writes = rng.integers(0, 6144, (100_000, 8)) * 32
    found = benchmark(count_cycles, reads, writes, load_chip("a2"), 2)
    assert found.cycles.shape == (100_000,)
