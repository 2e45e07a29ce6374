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


# group, M, N: latency and interval with A in shared memory, then with A in tensor memory, operand bytes
BF16 = """
1  64  64  152  32.0 136  32.0  4096
1  64  80  160  40.0 144  40.0  4608
1  64  96  168  48.0 152  48.0  5120
1  64 112  176  56.0 160  56.0  5632
1  64 128  184  64.0 168  64.0  6144
1  64 256  248 128.0 232 128.0 10240
1 128  64  168  48.0 136  32.0  6144
1 128  80  176  52.0 144  40.0  6656
1 128  96  184  56.0 152  48.0  7168
1 128 112  192  60.0 160  56.0  7680
1 128 128  200  64.0 168  64.0  8192
1 128 256  264 128.0 232 128.0 12288
2 128  64  173  25.0 162  18.0  3072
2 128  80  179  27.0 166  20.0  3328
2 128  96  185  29.0 170  24.0  3584
2 128 112  191  30.0 174  28.0  3840
2 128 128  197  32.0 178  32.0  4096
2 128 256  229  64.0 210  64.0  6144
2 256  64  202  43.0 170  32.0  5120
2 256  80  210  45.3 178  40.0  5376
2 256  96  218  49.4 186  48.0  5632
2 256 112  226  56.0 194  56.0  5888
2 256 128  234  64.0 202  64.0  6144
2 256 256  298 128.0 266 128.0  8192
"""


@pytest.mark.parametrize("row", BF16.strip().splitlines())
def test_the_published_table_of_bf16(row):
    """All 24 rows of the public measurement: latencies to the cycle, intervals within half a cycle, of pairs two."""
    group, m, n, ss_latency, ss, ts_latency, ts, size = map(float, row.split())
    shape = MmaShape("f16", int(m), int(n), int(group))
    near = 0.5 if group == 1 else 2
    for mode, latency, interval in (("SS", ss_latency, ss), ("TS", ts_latency, ts)):
        found = mma_cycles(shape, mode)
        assert found.latency == latency
        assert found.interval == pytest.approx(interval, abs=near)
    assert mma_cycles(shape, "SS").operand_bytes == size


SHAPES = (
    ("SS", 1, 128),
    ("SS", 1, 256),
    ("TS", 1, 128),
    ("TS", 1, 256),
    ("SS", 2, 128),
    ("SS", 2, 256),
    ("TS", 2, 256),
)


@pytest.mark.parametrize(
    ("kind", "latencies"),
    [
        ("f16", (200, 264, 168, 232, 234, 298, 266)),
        ("f8f6f4", (200, 264, 168, 232, 234, 298, 266)),
        ("i8", (199, 263, 167, 231, 231, 295, 263)),
        ("mxf8f6f4", (201, 265, 171, 237, 237, 301, 271)),
    ],
)
def test_the_published_table_of_other_formats(kind, latencies):
    for (mode, group, n), latency in zip(SHAPES, latencies, strict=True):
        found = mma_cycles(MmaShape(kind, 128 * group, n, group), mode)
        assert (found.latency, found.interval) == (latency, n / 2)


def test_figures_of_a_b300_are_measured_there_and_assumed_on_a_b200():
    b200_, b300 = load_chip("b200"), load_chip("b300")
    own = [
        c for group in ("tmem", "tma") for c in b300.under(group) if c.confidence in ("measured", "fitted")
    ]
    assert len(own) == 12
    for constant in own:
        other = b200_.constant(constant.path)
        assert (other.value, other.confidence) == (constant.value, "assumed")
        assert other.note.startswith("measured on a B300")
    for path in ("tmem.lanes", "tmem.columns", "tmem.alloc.unit", "tmem.window_lanes"):
        assert b300.constant(path).confidence == b200_.constant(path).confidence == "vendor document"
    for path in (
        "tcgen05.latency.single",
        "tcgen05.operand_bytes_per_cycle",
        "tmem.ld.latency",
        "tcgen05.cp.latency",
    ):
        assert b300.constant(path).confidence == "assumed"


# path: value on a B200, as the public sources print it
PRINTED = {
    "tmem.lanes": 128,
    "tmem.columns": 512,
    "tmem.cell_bytes": 4,
    "tmem.window_lanes": 32,
    "tmem.slab_lanes": 16,
    "tmem.alloc.unit": 32,
    "tmem.alloc.cycles": 253,
    "tmem.alloc.contended_cycles": 1030,
    "tmem.alloc.dealloc_cycles": 8,
    "tmem.wait_ld_cycles": 1.9,
    "tmem.wait_st_cycles": 12,
    "tmem.ld.loop_floor": 7.47,
    "tmem.st.issue_floor": 1.80,
    "tcgen05.operand_bytes_per_cycle": 128,
    "tcgen05.cp.latency": 168.3,
    "tcgen05.latency.burst_overhead": 12,
    "tma.issue_cycles": 48,
    "tma.bytes_per_cycle": 125,
    "sm.count": 148,
    "sm.clock_mhz": 1845,
}


@pytest.mark.parametrize("path", PRINTED)
def test_constants_are_those_that_are_printed(path):
    assert load_chip("b200")[path] == PRINTED[path]


@pytest.mark.parametrize(("num", "cycles"), [(1, 7.47), (2, 7.47), (4, 12.96), (8, 21.46), (16, 38.47)])
def test_the_published_sweep_of_loads(num, cycles):
    assert load_loop_cycles(LoadStore("ld", ".32x32b", num)) == pytest.approx(cycles, rel=0.17)


@pytest.mark.parametrize(("copies", "cycles"), [(1, 168.3), (2, 194.5), (4, 379.5), (8, 688.4), (16, 1191.7)])
def test_the_published_bursts_of_copies(copies, cycles):
    chip = load_chip("b200")
    found = chip["tcgen05.cp.latency"] + (copies - 1) * chip["tcgen05.cp.cycles_per_copy"]
    assert found == pytest.approx(cycles, rel=0.25)
    assert chip["tmem.st.bytes_per_cycle"] == pytest.approx(512 / 4.18, abs=0.05)
