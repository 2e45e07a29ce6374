"""How fast a GEMM main loop of 64 steps is simulated, and what the extrapolation of loops saves."""

from __future__ import annotations

import pytest
from bankbench.scenarios.load import load
from bankbench.scenarios.program import lower_section
from bankbench.sim import load_chip
from bankbench.sim.engine import simulate


@pytest.mark.parametrize("fast", [False, True])
def test_gemm_loop(benchmark, fast):
    chip = load_chip("h200")
    lowered = lower_section(load("hopper-gemm-main-loop"), chip)

    def run():
        agent = lowered.engines.agent(chip)
        return simulate(lowered.program, chip, starts=lowered.starts, fast=fast, agents=[agent])

    found = benchmark(run)
    assert 65_536 < found.cycles < 67_500
    assert (found.skipped_trips > 0) == fast
