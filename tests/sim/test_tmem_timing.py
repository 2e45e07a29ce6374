"""Measured times of tcgen05 against the model, with the tolerances that the measurements support."""

from __future__ import annotations

import pytest
from bankbench.scenarios.validation import b200
from bankbench.sim import load_chip
from bankbench.sim.tmem import LoadStore, MmaShape, burst_cycles, load_store_cycles, mma_cycles


def test_measured_rows(find_data, row_report):
    """Intervals within half a cycle, of pairs 2; BF16 latencies to the cycle, others 2.5 %; movers wider."""
    chip = load_chip("b200")
    for path in find_data("tmem*.jsonl*"):
        for row in b200.rows(chip, path):
            if row.left_out:
                row_report.skip()
            else:
                row_report.check(row.right, row.id, f"{row.kind}: {row.predicted:.2f} for {row.measured}")


@pytest.mark.parametrize(("n", "ss", "ts"), [(64, 48, 32), (80, 52, 40), (128, 64, 64), (256, 128, 128)])
def test_shared_memory_binds_narrow_products(n, ss, ts):
    shape = MmaShape("f16", 128, n)
    assert mma_cycles(shape, "SS").interval == ss
    assert mma_cycles(shape, "TS").interval == ts
    assert (mma_cycles(shape, "SS").bound == "shared-memory operands") == (n < 128)


@pytest.mark.parametrize("n", [64, 80])
def test_pairs_with_256_rows_take_35_and_an_eighth(n):
    assert mma_cycles(MmaShape("f16", 256, n, 2), "SS").interval == 35 + n / 8


@pytest.mark.parametrize("n", [64, 80, 96, 112])
def test_pairs_with_128_rows_overlap_the_fetch_of_a(n):
    assert mma_cycles(MmaShape("f16", 128, n, 2), "SS").latency == 149 + 3 * n / 8


def test_a_wider_port_frees_the_product():
    chip = load_chip("b200").override({"tcgen05.operand_bytes_per_cycle": 256})
    assert mma_cycles(MmaShape("f16", 128, 64), "SS", chip).interval == 32


def test_bursts_grow_by_the_interval():
    shape = MmaShape("f16", 128, 256)
    assert burst_cycles(shape, 1) == 264
    assert burst_cycles(shape, 5) - burst_cycles(shape, 4) == 128


def test_a_tile_of_four_warps_takes_what_was_measured():
    assert load_store_cycles(LoadStore("ld", ".32x32b", 128))[1] == 282
    assert load_store_cycles(LoadStore("st", ".32x32b", 128))[1] == pytest.approx(283, abs=1)
