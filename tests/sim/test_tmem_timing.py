"""Measured times of tcgen05 against the model, with the tolerances that the measurements support."""

from __future__ import annotations

import pytest
from bankbench.scenarios.validation import b200
from bankbench.sim import load_chip
from bankbench.sim.tmem import (
    Barrier,
    GemmLoop,
    LoadStore,
    MmaShape,
    Program,
    Region,
    Role,
    burst_cycles,
    load_loop_cycles,
    load_store_cycles,
    mma_cycles,
    simulate,
)
from bankbench.sim.tmem.program import Step


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


@pytest.mark.parametrize(
    ("shape", "path"),
    [
        (MmaShape("f16", 128, 56), "tcgen05.interval.narrow_floor"),
        (MmaShape("f16", 128, 128, sparse=True), "tcgen05.interval.sparse"),
        (MmaShape("f16", 64, 128, ws=True), "tcgen05.interval.ws"),
    ],
)
def test_what_nobody_measured_rests_on_assumptions_that_can_be_varied(shape, path):
    chip = load_chip("b200")
    assert chip.constant(path).confidence == "assumed"
    found = mma_cycles(shape, "TS")
    assert path in found.rests_on
    varied = chip.override({path: 100 if path.endswith("floor") else 2})
    assert mma_cycles(shape, "TS", varied).interval > found.interval
    plain = mma_cycles(MmaShape("f16", 128, 64))
    assert not {"narrow_floor", "sparse", "ws"} & {name.rsplit(".", 1)[1] for name in plain.rests_on}


def test_sparse_products_read_twice_the_columns_of_b():
    """M128 N128 K32: 4096 bytes of A, 128 x 64 of B, 96 cycles at 128 bytes a cycle."""
    found = mma_cycles(MmaShape("f16", 128, 128, sparse=True), "SS")
    assert (found.operand_bytes, found.interval, found.bound) == (12288, 96, "shared-memory operands")


@pytest.mark.parametrize(
    ("path", "value", "more"), [("tcgen05.commit_cycles", 7, 7), ("mbarrier.wait_cycles", 20, 20)]
)
def test_costs_of_commit_and_wait_reach_the_time(path, value, more):
    steps = [
        Step("mma", item=MmaShape("f16", 128, 128), text="mma"),
        Step("commit", "done"),
        Step("wait", "done"),
    ]
    program = Program("p", (Barrier("done"),), (Role("r", steps),))
    plain, slow = simulate(program), simulate(program, load_chip("b200").override({path: value}))
    assert path in plain.rests_on
    assert slow.cycles - plain.cycles == more


def test_no_figure_of_time_is_without_effect(monkeypatch, find_data):
    """Every measured, fitted or assumed constant of tensor memory and tcgen05 is read by some prediction."""
    chip = load_chip("b200")
    read: set[str] = set()
    plain = type(chip).constant

    def recorded(self, path):
        read.add(path)
        return plain(self, path)

    monkeypatch.setattr(type(chip), "constant", recorded)
    for kind, m, group in (
        ("f16", 128, 1),
        ("i8", 128, 1),
        ("i8", 256, 2),
        ("mxf8f6f4", 128, 1),
        ("f16", 256, 2),
    ):
        for operands in ("SS", "TS"):
            mma_cycles(MmaShape(kind, m, 256, group), operands)
    for n in (64, 128):
        for operands in ("SS", "TS"):
            for m in (128, 256):
                mma_cycles(MmaShape("mxf8f6f4", m, n, 2), operands)
    for options in ({"sparse": True}, {"ws": True}):
        mma_cycles(MmaShape("f16", 128, 64, **options))
    mma_cycles(MmaShape("f16", 128, 8))
    simulate(GemmLoop("mxf8f6f4", 128, 128, k_per_stage=128, k_steps=4).program())
    region = (Region("tmem", 0, 8),)
    words = ("shift", "wait_st", "fence_before", "relinquish")
    steps = [Step(word, reads=region if word == "shift" else ()) for word in words]
    stores = [Step("st", writes=region, item=LoadStore("st", ".32x32b", 8)), Step("wait_st")]
    meeting = [
        Step("mma", item=MmaShape("f16", 128, 256)),
        Step("ld", reads=(Region("tmem", 256, 264),), item=LoadStore("ld", ".32x32b", 8, column=256)),
    ]
    simulate(Program("p", (), (Role("r", [*steps, *stores, *meeting]),)))
    load_loop_cycles(LoadStore("ld", ".32x32b", 4))
    for place in find_data("tmem*.jsonl*"):
        list(b200.rows(chip, place))
    groups = ("tmem", "tcgen05", "tma", "mbarrier")
    weak = [c.path for group in groups for c in chip.under(group) if not c.confidence.startswith("vendor")]
    assert len(weak) > 35
    unread = {path for path in weak if path not in read and not path.startswith("tmem.alloc.")}
    assert unread == set()
