"""wgmma, copies and barriers in the engine: against the formulas, which the measurements bear out, and by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from bankbench.sim.engine import EngineError
from bankbench.sim.hopper import (
    BulkCopy,
    ClusterCopy,
    Commit,
    Copy,
    CopyWait,
    CpAsync,
    NamedArrive,
    NamedWait,
    copy_latency,
    cp_async_cycles,
    wgmma_interval,
    wgmma_latency,
)
from bankbench.sim.program import Pattern


@pytest.mark.parametrize("operands", ["SS", "RS"])
@pytest.mark.parametrize("n", [8, 16, 32, 64, 96, 128, 192, 256])
def test_two_warpgroups_reach_the_interval(hopper, n, operands):
    codes = [hopper.wgmma(n, 8, registers=operands == "RS") for _ in range(2)]
    _, sm = hopper.run(*(hopper.group(code, 4, trips=40) for code in codes))
    began = sorted(entry[0] for entry in sm.tensor.log)
    interval = (began[-20] - began[100]) / (len(began) - 120)
    assert sm.tensor.products == 640
    assert interval == pytest.approx(wgmma_interval(n, operands, hopper.chip), rel=0.02, abs=0.3)


@pytest.mark.parametrize("operands", ["SS", "RS"])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("n", [8, 32, 64, 128, 256])
def test_latency_of_one_group(hopper, n, count, operands):
    code = [*hopper.wgmma(n, count, registers=operands == "RS"), hopper.wait_wgmma()]
    run, _ = hopper.run(hopper.group(code, 4), timeline=True)
    issued = {entry.op.text: entry.issue for entry in run.timeline if entry.warp == 0}
    first = min(entry.issue for entry in run.timeline if entry.op.text == "HGMMA")
    latency = issued["WARPGROUP.DEPBAR"] - first
    assert latency == pytest.approx(wgmma_latency(n, operands, count, hopper.chip), rel=0.05, abs=4)


def test_b_takes_its_frames_and_a_eight(hopper):
    _, sm = hopper.run(hopper.group(hopper.wgmma(128, 4), 4))
    assert (sm.path.b_frames, sm.path.a_frames) == (4 * 16, 4 * 8)
    _, sm = hopper.run(hopper.group(hopper.wgmma(128, 4, registers=True), 4))
    assert (sm.path.b_frames, sm.path.a_frames) == (4 * 16, 0)


def test_a_warpgroup_is_four_warps(hopper):
    with pytest.raises(EngineError, match="warps 0 to 3 all need it"):
        hopper.run(hopper.group(hopper.wgmma(64), 2))


@pytest.mark.parametrize(("size", "rows"), [(128, 0), (4096, 0), (32768, 0), (8192, 64), (16384, 128)])
def test_load_to_the_return_of_the_wait(hopper, size, rows):
    code = [hopper.arrive("full", size), hopper.load(size, "full", rows=rows), hopper.wait("full")]
    run, _ = hopper.run(hopper.group(code), barriers={"full": 1}, timeline=True)
    at = {entry.op.text: entry.issue for entry in run.timeline}
    formula = copy_latency(Copy(size, False, rows, size // rows if rows else 0), hopper.chip)
    assert at["SYNCS.PHASECHK"] - at["UTMALDG"] == pytest.approx(formula, rel=0.05)


@pytest.mark.parametrize("size", [256, 1024, 8192, 32768])
def test_store_to_the_read_of_its_source_and_to_its_end(hopper, size):
    for read in (True, False):
        code = [
            hopper.ins("UTMASTG", BulkCopy(size, 0, True)),
            hopper.ins("UTMACMDFLUSH", Commit()),
            hopper.ins("UTMACMDFLUSH.WAIT", CopyWait(0, read)),
        ]
        run, _ = hopper.run(hopper.group(code), timeline=True)
        at = {entry.op.text: entry.issue for entry in run.timeline}
        formula = copy_latency(Copy(size, True), hopper.chip, source_read=read)
        assert at["UTMACMDFLUSH.WAIT"] - at["UTMASTG"] == pytest.approx(formula, abs=3)


def test_copies_move_their_data_one_after_the_other(hopper):
    code = [hopper.arrive("full", 8 * 32768), *[hopper.load(32768, "full")] * 8, hopper.wait("full")]
    _, sm = hopper.run(hopper.group(code), barriers={"full": 1})
    first, last = sm.copies.log[0], sm.copies.log[-1]
    assert 8 * 32768 / (last.ended - first.began) == pytest.approx(107, rel=0.02)
    assert all(one.ended <= two.began for one, two in zip(sm.copies.log, sm.copies.log[1:], strict=False))


def test_a_store_beside_wgmma_depends_on_the_half(hopper):
    def ended(at: int) -> int:
        code = [
            hopper.ins("UTMASTG", BulkCopy(4096, at, True)),
            hopper.ins("UTMACMDFLUSH", Commit()),
            hopper.ins("UTMACMDFLUSH.WAIT", CopyWait()),
        ]
        math = hopper.group(hopper.wgmma(64, 8), 4, trips=60)
        _, sm = hopper.run(math, hopper.group(code))
        (job,) = sm.copies.log
        return job.ended - job.began

    same, other, straddling = ended(65536), ended(131072), ended(130048 - 3072)
    assert other == pytest.approx(128, abs=4)
    assert same > 15 * other
    assert other < straddling < same


def test_a_load_and_stores_of_warps_meet_in_one_half_only(hopper):
    def ended(at: int) -> int:
        pattern = Pattern("sts.128", tuple(at + 16 * lane for lane in range(32)))
        stores = hopper.group([hopper.ins("STS.128", slot="x", stall=1)] * 8, 4, 40, patterns={"x": pattern})
        code = [hopper.arrive("full", 32768), hopper.load(32768, "full"), hopper.wait("full")]
        _, sm = hopper.run(stores, hopper.group(code), barriers={"full": 1})
        return sm.copies.log[0].ended - sm.copies.log[0].began

    assert ended(160 * 1024) == pytest.approx(307, abs=3)
    assert ended(64 * 1024) > 1.3 * 307


def test_starved_loads_get_a_frame_every_72_cycles(hopper):
    pattern = Pattern("lds.32", tuple(128 * (lane % 32) for lane in range(32)))
    code = [hopper.ins("MOV", stall=2)] * 200 + [
        hopper.ins("LDS", slot="x", sets=0),
        hopper.ins("MOV", waits=(0,)),
    ]
    reader = hopper.group(code, 1, patterns={"x": pattern})
    _, sm = hopper.run(hopper.group(hopper.wgmma(64, 8), 4, trips=20), reader, timeline=True)
    run, _ = hopper.run(hopper.group(hopper.wgmma(64, 8), 4, trips=20), reader, timeline=True)
    access = next(entry.access for entry in run.timeline if entry.access)
    assert (access.served - access.started) / 31 == pytest.approx(72, rel=0.1)
    assert sm.path.starved_frames >= 28


def test_hand_off_by_mbarriers(hopper):
    ping = hopper.group([hopper.arrive("a"), hopper.wait("b")], trips=20)
    pong = hopper.group([hopper.wait("a"), hopper.arrive("b")], trips=20)
    run, _ = hopper.run(ping, pong, barriers={"a": 1, "b": 1})
    assert run.cycles / 20 == pytest.approx(105, rel=0.15)


def test_named_barriers_of_two_warps(hopper):
    code = []
    for number in ("2", "3"):
        code += [
            hopper.ins("SYNCS.BAR.ARV", NamedArrive(number, 2), 1),
            hopper.ins("SYNCS.BAR.SYNC", NamedWait(number, 2), 1),
        ]
    run, _ = hopper.run(hopper.group(code * 20, 2))
    assert run.cycles / 20 == pytest.approx(42, rel=0.1)


def test_cluster_round_trip(hopper):
    one = hopper.group([hopper.ins("UBLKCP", ClusterCopy(8192, "there")), hopper.wait("here")], trips=5)
    remote = hopper.arrive("here")
    from dataclasses import replace

    remote = replace(remote, detail=replace(remote.detail, remote=True))
    two = hopper.group([hopper.arrive("there", 8192), hopper.wait("there"), remote], trips=5)
    run, _ = hopper.run(one, two, barriers={"here": 1, "there": 1})
    assert run.cycles / 5 == pytest.approx(1035, rel=0.05)


def cp_async_stream(hopper, op: str, warps: int, in_l1: bool, trips: int) -> int:
    """Groups of 8 with three groups under way, as the streams were measured."""
    code = [hopper.ins("LDGSTS", CpAsync(op, "", in_l1), 2)] * 8
    code += [
        hopper.ins("LDGDEPBAR", Commit(False)),
        hopper.ins("LDGDEPBAR.WAIT", CopyWait(2, False, False)),
    ]
    return hopper.run(hopper.group(code, warps, trips))[0].cycles


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize("in_l1", [True, False])
@pytest.mark.parametrize("op", ["ca4", "ca8", "ca16", "cg16"])
def test_cp_async_streams_take_what_was_measured(hopper, op, in_l1, warps):
    """The simulated stream against the formula, which is within 4 % of the measured ones."""
    cycles = cp_async_stream(hopper, op, warps, in_l1, 40) - cp_async_stream(hopper, op, warps, in_l1, 20)
    formula = cp_async_cycles(op, warps, hopper.chip, in_l1=in_l1)
    assert cycles / (20 * 8 * warps) == pytest.approx(formula, rel=0.15)


@pytest.mark.parametrize(("store", "apart"), [(False, 81), (True, 60)])
def test_one_warp_issues_its_copies_apart_and_two_do_not_wait_for_each_other(hopper, store, apart):
    """Eight small copies in straight-line code were measured at 647.5 cycles a round: 81 each."""
    copy = hopper.ins("UTMASTG", BulkCopy(128, 0, True)) if store else hopper.load(128, "full")
    code = [*([] if store else [hopper.arrive("full", 8 * 128)]), *[copy] * 8, hopper.ins("MOV")]
    for warps, barriers in ((1, {"full": 1}), (2, {"full": 2})):
        _, sm = hopper.run(hopper.group(code, warps), barriers=barriers)
        issued: dict[int, list[int]] = {}
        for job in sorted(sm.copies.log, key=lambda item: item.issued):
            issued.setdefault(job.warp, []).append(job.issued)
        assert len(issued) == warps
        for cycles in issued.values():
            assert [two - one for one, two in pairwise(cycles)] == [apart] * 7


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16])
def test_the_barrier_of_the_block_beside_engines(hopper, warps):
    """__syncthreads back to back: 13.25 + 2 W cycles."""
    code = [
        hopper.ins("SYNCS.BAR.ARV", NamedArrive("block", warps, True), 1),
        hopper.ins("SYNCS.BAR.SYNC", NamedWait("block", warps, True), 1),
    ]
    long, short = (hopper.run(hopper.group(code * rounds, warps))[0].cycles for rounds in (20, 10))
    assert (long - short) / 10 == pytest.approx(13.25 + 2 * warps, abs=1)


def test_a_late_warp_at_a_named_barrier_costs_no_more_than_its_own_arrival(hopper):
    """The others were processed before it came: 6 + 2 + 6 for it, and 5 that a named barrier adds."""
    arrive, wait = NamedArrive("1", 16), NamedWait("1", 16)
    both = [hopper.ins("SYNCS.BAR.ARV", arrive, 1), hopper.ins("SYNCS.BAR.SYNC", wait, 1)]
    late = [hopper.ins("MOV", stall=200), *both]
    run, _ = hopper.run(hopper.group(both, 15), hopper.group(late, 1), timeline=True, starts=[0] * 16)
    arrived = max(entry.issue for entry in run.timeline if entry.op.text == "SYNCS.BAR.ARV")
    assert arrived == 200
    assert {entry.issue for entry in run.timeline if entry.op.text == "SYNCS.BAR.SYNC"} == {
        219,
        220,
        221,
        222,
    }


def test_a_named_barrier_has_one_number_of_warps(hopper):
    code = [
        hopper.ins("SYNCS.BAR.ARV", NamedArrive("3", 2), 1),
        hopper.ins("SYNCS.BAR.SYNC", NamedWait("3", 4), 1),
    ]
    with pytest.raises(EngineError, match="named barrier 3 of 2 warps is used with 4 as well"):
        hopper.run(hopper.group(code, 2))


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_gemm_loop_is_bound_by_the_tensor_core_and_fast_is_the_same(hopper, stages):
    groups, barriers = hopper.gemm(stages, 12 * stages)
    run, sm = hopper.run(*groups, barriers=barriers)
    fast, quick = hopper.run(*groups, barriers=barriers, fast=True)
    ideal = 12 * stages * 2 * 4 * 128
    assert ideal <= run.cycles <= ideal + 1_500
    assert fast.cycles == run.cycles
    assert fast.skipped_trips > 0
    assert quick.totals() == sm.totals()
    assert sm.hazards.found == ()


@pytest.mark.parametrize(("load", "store", "accesses"), [(2048, 512, 1), (2048, 4096, 3), (4096, 0, 1)])
def test_extrapolated_loops_beside_copies_of_the_same_half(hopper, load, store, accesses):
    """Whose turn the write port is and which frame takes banks outlive a copy: a state without them is another."""
    offsets = tuple(4 * lane for lane in range(32))
    code = [hopper.ins("STS", stall=3, slot="x", sets_read=0)] * accesses
    code += [hopper.ins("MOV", stall=5, waits=(0,))]
    code += [hopper.ins("LDS", slot="y", sets=1)] * accesses
    code += [hopper.ins("MOV", stall=7, waits=(1,))]
    patterns = {"x": Pattern("sts.32", offsets), "y": Pattern("lds.32", offsets)}
    groups = [
        hopper.group(code, 1, 200, patterns=patterns),
        hopper.group([hopper.arrive("full", load), hopper.load(load, "full"), hopper.wait("full")], 1, 40),
    ]
    if store:
        copy = [
            hopper.ins("UTMASTG", BulkCopy(store, 0, True)),
            hopper.ins("UTMACMDFLUSH", Commit()),
            hopper.ins("UTMACMDFLUSH.WAIT", CopyWait()),
        ]
        groups.append(hopper.group(copy, 1, 60))
    full, sm = hopper.run(*groups, barriers={"full": 1})
    fast, quick = hopper.run(*groups, barriers={"full": 1}, fast=True)
    assert (fast.cycles, fast.ends, fast.stalls) == (full.cycles, full.ends, full.stalls)
    assert quick.totals() == sm.totals()
