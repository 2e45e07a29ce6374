"""How fast tensor memory is mapped and simulated: `pytest tests/benchmarks/test_tmem.py --benchmark-enable`.

`extra_info` holds elements or instructions a second. A GEMM tile loop (4 stages, 64 k-steps, 8 warps) is one program;
an instruction of it is a step of a role: a product, a copy, a wait, a fence.
"""

from __future__ import annotations

import pytest
from bankbench.sim.tmem import AccumulatorWant, GemmLoop, gemm_traffic, plan, simulate


def rate(benchmark, count: float, name: str) -> None:
    if benchmark.stats is not None:
        benchmark.extra_info[name] = round(count / benchmark.stats.stats.median)


def test_full_map(benchmark):
    """Lane, column and bit of all 128 x 512 cells."""

    def cells():
        found = plan([AccumulatorWant("acc", 2, M=128, N=256)])
        return sum(p.operand.cells().column.size for p in found.placements)

    assert benchmark(cells) == 128 * 512
    rate(benchmark, 128 * 512, "elements_per_second")


def test_traffic_of_a_thousand_steps(benchmark):
    def traffic():
        return gemm_traffic(GemmLoop("mxf8f6f4", 128, 128, k_per_stage=128, k_steps=1000))

    assert sum(m.instructions for m in benchmark(traffic)) > 10_000
    rate(benchmark, 1000, "steps_per_second")


@pytest.mark.parametrize("check", [True, False], ids=["hazards", "time_only"])
@pytest.mark.parametrize("steps", [64, 640])
def test_tile_loop(benchmark, steps, check):
    loop = GemmLoop(N=256, k_steps=steps, stages=4, acc_stages=1)
    found = benchmark(lambda: simulate(loop.program(), record=False, check=check))
    assert found.products == 4 * steps
    rate(benchmark, found.steps, "instructions_per_second")
    rate(benchmark, found.cycles, "cycles_per_second")
