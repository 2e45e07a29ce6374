"""Replica traffic: bytes once, bytes with copies, and where the copies come from."""

from __future__ import annotations

import pytest
from bankbench.layouts import parse
from bankbench.sim.tmem import Copy, GemmLoop, copy_replicas, gemm_replicas, gemm_traffic
from bankbench.sim.traffic import ReplicaTraffic, fragment_traffic, layout_traffic, replica_table


def test_a_replica_in_tensor_memory_is_written_four_times():
    layout = parse("S[(32,4):(1@TLane,1@TCol)] + R[4:32@TLane]")
    found = layout_traffic(layout, 8, name="sf", memory="TMEM", mover="cp")
    assert (found.unique_bytes, found.read_bytes, found.written_bytes) == (128, 128, 512)
    assert (found.factor, found.extra_writes, found.saved_reads, found.repeated_reads) == (4, 384, 384, 0)
    assert found.axes == (("TLane", 4),)


def test_a_replica_in_registers_is_read_again():
    layout = parse("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid")
    found = fragment_traffic(layout, 16, name="tile")
    assert (found.unique_bytes, found.read_bytes, found.repeated_reads) == (256, 512, 256)


def test_copies_by_several_axes_multiply():
    layout = parse("S[8:1@laneid] + R[(2,4):(8@laneid,1@warpid)]")
    found = fragment_traffic(layout, 32, name="x")
    assert dict(found.axes) == {"laneid": 2, "warpid": 4}
    assert found.factor == 8


def test_copies_on_one_place_are_one():
    layout = parse("S[8:1@laneid] + R[4:0@warpid]")
    assert fragment_traffic(layout, 32, name="x").factor == 1


@pytest.mark.parametrize(
    ("name", "factor"),
    [(".128x256b", 1), (".64x128b.warpx2::02_13", 2), (".64x128b.warpx2::01_23", 2), (".32x128b.warpx4", 4)],
)
def test_multicast_copies(name, factor):
    copy = Copy.parse(f"tcgen05.cp{name}")
    found = copy_replicas(copy, "x", times=10)
    assert found.factor == factor
    assert found.read_bytes == 10 * copy.source_bytes
    assert found.saved_reads == 10 * (factor - 1) * copy.source_bytes


def test_the_table_has_every_figure():
    table = replica_table([ReplicaTraffic("a", "TMEM", "cp", 10, 10, 40, (("TLane", 4),))])
    (row,) = table.rows()
    assert (row["unique"], row["physical"], row["factor"], row["cost"], row["saved"]) == (10, 40, 4, 30, 30)
    assert row["axis"] == "TLane x4"


def test_a_main_loop_adds_up():
    """1,000 k-steps of a block-scaled product, by hand."""
    loop = GemmLoop("mxf8f6f4", 128, 128, k_per_stage=128, k_steps=1000)
    moved = {(m.mover, m.what): m for m in gemm_traffic(loop)}
    assert moved["TMA", "A"].written_bytes == 1000 * 128 * 128
    assert moved["tcgen05.mma", "A"].read_bytes == 4000 * 128 * 32
    assert moved["tcgen05.mma", "D"].written_bytes == 4000 * 128 * 128 * 4
    assert moved["tcgen05.mma", "D"].read_bytes == 3999 * 128 * 128 * 4
    assert moved["tcgen05.ld.32x32b", "D"].read_bytes == 128 * 128 * 4
    sfa = next(item for item in gemm_replicas(loop) if item.name == "sfa")
    assert (sfa.read_bytes, sfa.written_bytes) == (512_000, 2_048_000)


def test_a_on_layout_b_lies_twice():
    loop = GemmLoop("f16", 128, 128, cta_group=2, operands="TS", acc_stages=1)
    a = next(item for item in gemm_replicas(loop) if item.name == "a")
    assert a.factor == 2
