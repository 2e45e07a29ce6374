"""Cycles that follow from wavefronts: the formulas with their figures, and silence where nothing is known."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from bankbench.sim import count, load_chip
from bankbench.sim.memory import issue_cycles, latency_cycles, parse_op, throughput_cycles

H200 = load_chip("h200")
DENSE = [16 * lane for lane in range(32)]


@pytest.mark.parametrize(
    ("op", "offsets", "chain", "chase"),
    [
        ("lds", [4 * lane for lane in range(32)], 28, 23),
        ("lds", [128 * lane for lane in range(32)], 90, 85),
        ("lds.64", [8 * lane for lane in range(32)], 31, 26),
        ("lds.64", [0] * 32, 28, 23),
        ("lds.128", DENSE, 37, 32),
        ("lds.128", [0] * 32, 31, 26),
        ("ldmatrix.x4", DENSE, 34, None),
        ("atom.add.u32", [0] * 32, 93, None),
        ("atom.cas.b32", [0] * 32, 159, None),
        ("sts", [0] * 32, None, None),
        ("red.add.u32", [0] * 32, None, None),
    ],
)
def test_dependent_chains(op, offsets, chain, chase):
    counts = count(offsets, op)
    for found, known in ((counts.latency_cycles, chain), (counts.pointer_chase_cycles, chase)):
        assert np.isnan(found[0]) if known is None else found[0] == known


@pytest.mark.parametrize(
    ("op", "wavefronts", "one", "two", "four", "many"),
    [
        ("lds", 1, 4, 2, 1, 1),
        ("lds", 16, 32, 16, 16, 16),
        ("sts.64", 2, 6, 3, 2, 2),
        ("sts.128", 4, 10, 5, 4, 4),
        ("stmatrix.x4", 4, 10, 5, 4, 4),
    ],
)
def test_one_warp_and_several(op, wavefronts, one, two, four, many):
    code = parse_op(op).code
    found = [float(throughput_cycles(code, wavefronts, warps, H200)) for warps in (1, 2, 4, 32)]
    assert found == [one, two, four, many]
    assert float(issue_cycles(code, wavefronts, H200)) == one


def test_nothing_is_known_about_other_chips():
    counts = count([0] * 32, chip="a100")
    assert np.isnan(counts.latency_cycles[0])
    assert np.isnan(counts.issue_cycles[0])
    assert next(counts.rows())["latency_cycles"] is None
    assert np.isnan(latency_cycles(parse_op("lds").code, 0, False, H200))
    assert np.isnan(issue_cycles(parse_op("red.add.f32").code, 3, H200))


def test_set_figures_are_named():
    chip = H200.override({"shared_memory.latency.chain.load_narrow": 30})
    counts = count([0] * 32, chip=chip)
    assert counts.latency_cycles[0] == 32
    assert counts.assumptions == (
        "shared_memory.latency.chain.load_narrow = 30 cycles (set by the user; the file of h200 says 26)",
    )


def test_ideal_of_the_float_add_loop():
    """One round of load and swap at best; equal addresses cost a round each without any conflict."""
    best, worst = count([4 * lane for lane in range(32)], "red.add.f32"), count([0] * 32, "red.add.f32")
    assert [int(best.wavefronts[0]), int(best.ideal_wavefronts[0])] == [3, 3]
    assert [int(worst.wavefronts[0]), int(worst.bank_conflicts[0]), int(worst.excess_wavefronts[0])] == [
        96,
        0,
        93,
    ]


def test_counting_loads_nothing_heavy():
    code = (
        "import sys; from bankbench.sim import count, explain; count([0] * 32); explain([0] * 32);"
        "print([name for name in ('pandas', 'simpy', 'matplotlib', 'pydantic', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
