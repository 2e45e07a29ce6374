"""Real exports of kernels with atomics, loops of load and swap, and matrix operations: every counter is explained."""

from __future__ import annotations

from pathlib import Path

import pytest
from bankbench.scenarios.load import load
from bankbench.scenarios.profiles import compare_profile
from bankbench.scenarios.run import run_scenario

DATA = Path(__file__).parents[1] / "data" / "profiles"
PAGES = ("raw", "raw_metrics", "details", "source")
# What the scenario leaves out: the loop of a 64-bit maximum, which finds nothing to change and only loads (32 warps,
# two wavefronts each); and warps of a store whose lanes are all inactive, where the counter has them.
MAXIMUM = {
    "instructions": 32,
    "wavefronts": 64,
    "ideal_wavefronts": 64,
    "excess_wavefronts": 0,
    "bank_conflicts": 0,
}
INACTIVE = {"histogram": 48, "float_sum": 24, "count64": 24}


@pytest.fixture(scope="module")
def run():
    return run_scenario(load(DATA / "operations.yaml"))


@pytest.mark.parametrize("page", PAGES)
def test_every_counter_by_operation_is_explained(run, page: str) -> None:
    result = compare_profile(run, DATA / f"operations_{page}.csv.gz")
    rows = [row for row in result.table("counters").rows() if row["operation"] in ("load", "store", "atomic")]
    assert len(rows) >= (3 if page == "details" else 30)
    for row in rows:
        quantity, left = row["quantity"].replace(" ", "_"), row["left_over"]
        if row["kernel"] == "count64" and row["operation"] == "load":
            assert left == MAXIMUM[quantity], row
        elif (row["operation"], quantity) == ("store", "instructions"):
            assert left in (0, INACTIVE.get(row["kernel"], 0)), row
        else:
            assert left == 0, row


def test_instructions_without_a_wavefront_are_said_to_be_inactive(run) -> None:
    reasons = compare_profile(run, DATA / "operations_source.csv.gz").reasons
    assert any("48 are left over, all of their lanes inactive" in reason for reason in reasons)


def test_a_loop_is_loads_and_atomics(run) -> None:
    (row,) = [row for row in run.table("loops").rows() if row["access"] == "add floats"]
    # 32 warps of two rounds; every round a load of one wavefront and a swap of two.
    assert row == {
        "access": "add floats",
        "rounds": 64,
        "load_wavefronts": 64,
        "load_ideal": 64,
        "swap_wavefronts": 128,
    }


@pytest.mark.parametrize("page", ["raw", "raw_metrics"])
def test_matrix_operations_have_instruction_counters_of_their_own(run, page: str) -> None:
    result = compare_profile(run, DATA / f"operations_{page}.csv.gz")
    found = {
        row["operation"]: (row["measured"], row["modelled"])
        for row in result.table("counters").rows()
        if row["kernel"] == "matrices" and row["quantity"] == "instructions"
    }
    assert found["store"] == (192, 192)  # 128 stores and 64 stmatrix
    assert found["load"] == (
        (64, 64) if page == "raw" else (0, 0)
    )  # the short list of metrics has no ldmatrix
