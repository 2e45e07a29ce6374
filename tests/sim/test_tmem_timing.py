"""Measured times of tcgen05 against the model, with the tolerances that the measurements support."""

from __future__ import annotations

import re

import pytest

from bankbench.sim import load_chip
from bankbench.sim.tmem import LoadStore, MmaShape
from bankbench.sim.tmem.timing import burst_cycles, load_loop_cycles, mma_cycles

KIND = {
    "BF16": "f16",
    "FP16": "f16",
    "F16": "f16",
    "TF32": "tf32",
    "E4M3": "f8f6f4",
    "E5M2": "f8f6f4",
    "F8": "f8f6f4",
    "F6": "f8f6f4",
    "F4": "f8f6f4",
    "S8": "i8",
    "U8": "i8",
    "MXF8": "mxf8f6f4",
    "MXF6": "mxf8f6f4",
    "MXF4": "mxf8f6f4",
}


@pytest.fixture(scope="module")
def rows(find_data, rows_of):
    return [row for path in find_data("tmem*.jsonl*") for row in rows_of(path)]


def test_products(rows, row_report):
    """Intervals: 0.5 cycle alone, 2 cycles in a pair. Latencies: BF16 to the cycle, others 2.5 %."""
    for row in rows:
        if row["kind"] != "mma_timing_reference":
            continue
        given, want = row["input"], row["expected"]
        # the two 4-bit rows carry a K of 64 while the instruction's is 32; cycles do not depend on it
        shape = MmaShape(KIND[given["format"]], given["M"], given["N"], given["cta_group"])
        found = mma_cycles(shape, given["operands"], given["chip"].lower())
        interval, latency = want["initiation_interval_cycles"], want["latency_cycles_issue_to_mbarrier"]
        allowed = 0.5 if given["cta_group"] == 1 else 2
        exact = given["format"] == "BF16"
        late = abs(found.latency - latency)
        ok = abs(found.interval - interval) <= allowed and (late < 0.5 if exact else late <= 0.025 * latency)
        row_report.check(
            ok, row["id"], f"interval {found.interval} for {interval}, latency {found.latency} for {latency}"
        )


def predicted(given) -> tuple[float, float] | None:
    """(cycles, tolerance) for a row about a mover; None for what no model predicts."""
    chip = load_chip(given["chip"].lower()) if given["chip"] in ("B200", "B300") else None
    if chip is None:
        return None
    op = given["op"]
    if "shape" in given:
        # the loop's own consumers are part of the figure; .x32 is unexplained in the source itself
        item = LoadStore(op.removeprefix("tcgen05."), given["shape"], given["num"])
        return load_loop_cycles(item, chip), 0.3 if given["num"] == 32 or item.op == "ld" else 0.1
    copies = re.match(r"(\d+) back-to-back tcgen05.cp", op)
    if copies:
        latency, step = chip.number("tcgen05.cp.latency"), chip.number("tcgen05.cp.cycles_per_copy")
        return latency + (int(copies[1]) - 1) * step, 0.25
    if op.startswith("tcgen05.alloc"):
        return chip.number(f"tmem.alloc.{'contended_cycles' if 'contention' in op else 'cycles'}"), 0.05
    if op.startswith("tcgen05.fence"):
        return chip.number("tmem.fence_cycles"), 0.05
    if op.startswith("tcgen05.wait::"):
        return chip.number(f"tmem.wait_{op[14:16]}_cycles"), 0.05
    return None


def test_movers(rows, row_report):
    """Loads, stores, copies, allocation: compared where a model exists; rows of other chips are left out."""
    for row in rows:
        if row["kind"] != "tmem_time_reference":
            continue
        expected = predicted(row["input"])
        cycles = row["expected"].get("cycles_per_instruction", row["expected"].get("cycles"))
        if expected is None or cycles is None:
            row_report.skip()
            continue
        found, tolerance = expected
        row_report.check(abs(found - cycles) <= tolerance * cycles, row["id"], f"{found:.2f} for {cycles}")


@pytest.mark.parametrize(("n", "ss", "ts"), [(64, 48, 32), (80, 52, 40), (128, 64, 64), (256, 128, 128)])
def test_shared_memory_binds_narrow_products(n, ss, ts):
    shape = MmaShape("f16", 128, n)
    assert mma_cycles(shape, "SS").interval == ss
    assert mma_cycles(shape, "TS").interval == ts
    assert (mma_cycles(shape, "SS").bound == "shared-memory operands") == (n < 128)


def test_a_wider_port_frees_the_product():
    chip = load_chip("b200").override({"tcgen05.operand_bytes_per_cycle": 256})
    assert mma_cycles(MmaShape("f16", 128, 64), "SS", chip).interval == 32


def test_bursts_grow_by_the_interval():
    shape = MmaShape("f16", 128, 256)
    assert burst_cycles(shape, 1) == 264
    assert burst_cycles(shape, 5) - burst_cycles(shape, 4) == 128
