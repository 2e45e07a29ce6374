"""The mechanism, one rule at a time, against the single figures that were read off the hardware."""

from __future__ import annotations

import itertools

import pytest
from bankbench.sim import load_chip
from bankbench.sim.engine import simulate


def issues(run, text: str) -> list[int]:
    return [entry.issue for entry in run.timeline if entry.op.text == text]


@pytest.mark.parametrize("ways", [1, 2, 8, 32])
def test_latency_of_a_load_is_21_plus_two_cycles_a_wavefront(make, ways):
    code = [make.ins("LDS", 2, slot=0, sets=0), make.ins("MOV", 2, waits=[0])]
    run = simulate(make.program(make.group(code, patterns={"0": make.access("lds.32", ways)})), timeline=True)
    assert issues(run, "MOV")[0] - issues(run, "LDS")[0] == 21 + 2 * ways


@pytest.mark.parametrize(("access", "op", "latency"), [("lds.64", "LDS.64", 26), ("lds.128", "LDS.128", 32)])
def test_wide_loads_come_back_later(make, access, op, latency):
    code = [make.ins(op, 2, slot=0, sets=0), make.ins("MOV", 2, waits=[0])]
    run = simulate(make.program(make.group(code, patterns={"0": make.access(access)})), timeline=True)
    assert issues(run, "MOV")[0] - issues(run, op)[0] == latency


@pytest.mark.parametrize("warps", [1, 2, 4])
def test_barrier_of_warps_that_arrive_together_takes_12_and_2_a_warp(make, warps):
    code = [make.ins("BAR.SYNC.DEFER_BLOCKING"), make.ins("NOP")]
    run = simulate(make.program(make.group(code, warps=warps)), starts=[0] * warps, timeline=True)
    assert set(issues(run, "NOP")) == {12 + 2 * warps}


def test_barrier_of_32_warps_releases_76_cycles_after_the_first_arrival(make):
    code = [make.ins("BAR.SYNC.DEFER_BLOCKING"), make.ins("NOP")]
    run = simulate(make.program(make.group(code, warps=32)), starts=[0] * 32, timeline=True)
    assert min(issues(run, "NOP")) == 76


def test_a_warp_that_ends_with_the_barrier_releases_the_others_of_its_partition(make):
    first = make.group([make.ins("BAR.SYNC"), make.ins("NOP")])
    idle = [make.group() for _ in range(3)]
    last = make.group([make.ins("FFMA", 4)] * 20 + [make.ins("BAR.SYNC")])
    run = simulate(make.program(first, *idle, last), starts=[0] * 5, timeline=True)
    assert issues(run, "NOP")[0] == issues(run, "BAR.SYNC")[1] + 14


def test_barrier_does_not_stop_arithmetic(make):
    late = make.group([make.ins("FFMA", 4)] * 50 + [make.ins("BAR.SYNC")])
    first = make.group([make.ins("BAR.SYNC"), make.ins("MOV"), make.ins("NOP")])
    run = simulate(make.program(first, late), starts=[0, 0], timeline=True)
    barriers = issues(run, "BAR.SYNC")
    assert issues(run, "MOV")[0] < 5 < barriers[1] < issues(run, "NOP")[0]


@pytest.mark.parametrize(
    ("op", "access", "period"), [("STS", "sts.32", 4), ("STS.64", "sts.64", 6), ("STS.128", "sts.128", 10)]
)
def test_stores_leave_a_partition_at_2_and_2_cycles_a_register(make, op, access, period):
    code = [make.ins(op, 1, slot=0)] * 40
    run = simulate(make.program(make.group(code, patterns={"0": make.access(access)})), timeline=True)
    sent = [entry.access.sent for entry in run.timeline]
    assert {later - earlier for earlier, later in itertools.pairwise(sent)} == {period}


def test_one_warp_stalls_when_the_queue_and_the_slots_are_full(make):
    # 10 entries of the queue, 19 slots, and those that have started service by then
    code = [make.ins("LDS", 1, slot=0)] * 40
    run = simulate(make.program(make.group(code, patterns={"0": make.access("lds.32", 16)})), timeline=True)
    at = issues(run, "LDS")
    waited = next(index for index in range(1, 40) if at[index] - at[index - 1] > 10)
    started = sum(entry.access.started < at[waited - 1] for entry in run.timeline)
    assert waited == 10 + 19 + started


def test_a_taken_branch_costs_10_cycles_whatever_its_stall_count(make):
    for stall in (5, 15):
        code = [make.ins("MOV"), make.ins("BRA", stall)]
        run = simulate(make.program(make.group(code), trips=5), timeline=True)
        moves = issues(run, "MOV")
        assert {later - earlier for earlier, later in itertools.pairwise(moves)} == {11}


def test_one_warp_moves_a_wavefront_every_two_cycles_and_two_warps_every_cycle(make):
    def cycles(warps: int) -> float:
        code = [make.ins("LDS", 1, slot=0, sets=0)] * 16
        block = make.group([*code, make.branch], warps=warps, patterns={"0": make.access("lds.32", 16)})
        return simulate(make.program(block, trips=40)).cycles / (40 * 16 * 16 * warps)

    assert cycles(1) == pytest.approx(2.0, rel=0.02)
    assert cycles(4) == pytest.approx(1.0, rel=0.02)


def test_arithmetic_of_other_warps_keeps_the_port_from_the_registers(make):
    store = make.group([make.ins("STS", 4, slot=0)], patterns={"0": make.access("sts.32")})
    idle = [make.group(), make.group(), make.group()]
    busy = make.group([make.ins("FFMA", 1, src=["R1", "R2"])] * 200)
    alone = simulate(make.program(store, *idle), timeline=True)
    beside = simulate(make.program(store, *idle, busy), starts=[0] * 5, timeline=True)
    assert alone.timeline[0].access.sent < 20
    assert next(e for e in beside.timeline if e.access).access.sent > 200


def test_partitions_are_served_in_turn(make):
    code = [make.ins("LDS", 1, slot=0)] * 12
    block = make.group(code, warps=4, patterns={"0": make.access("lds.32")})
    run = simulate(make.program(block), starts=[0] * 4, timeline=True)
    granted = sorted((entry.access.granted, entry.warp) for entry in run.timeline)
    assert [warp for _, warp in granted[:8]] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_a_constant_of_the_chip_changes_the_result_and_the_status(make):
    code = [make.ins("LDS", 2, slot=0, sets=0), make.ins("MOV", 2, waits=[0])]
    program = make.program(make.group(code, patterns={"0": make.access("lds.32")}))
    normal = simulate(program)
    slower = simulate(program, load_chip("h200").override({"timing.returns.result": 23}))
    assert slower.cycles == normal.cycles + 10
    assert (normal.status, slower.status) == ("measured", "assumed")
    assert "timing.returns.result" in slower.assumptions[0]


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_a_conflict_costs_no_more_events(make, warps):
    def events(ways: int) -> int:
        code = [make.ins("LDS", 2, slot=0, sets=0)] * 8 + [make.ins("MOV", 1, waits=[0]), make.branch]
        block = make.group(code, warps=warps, patterns={"0": make.access("lds.32", ways)})
        return simulate(make.program(block, trips=50)).events

    assert events(32) <= 1.1 * events(1)


def test_a_run_is_reproducible_to_the_bit(make):
    code = [
        make.ins("LDS", 1, slot=0, sets=0),
        make.ins("STS", 1, slot=1),
        make.ins("MOV", 1, waits=[0]),
        make.branch,
    ]
    patterns = {"0": make.access("lds.32", 4), "1": make.access("sts.32", 2)}
    program = make.program(make.group(code, warps=8, patterns=patterns), trips=20)

    def trace():
        run = simulate(program, timeline=True)
        return run.cycles, run.ends, run.stalls, [(e.warp, e.issue, e.op.text) for e in run.timeline]

    assert trace() == trace()


def test_a_chip_that_inherits_its_constants_says_so(make):
    program = make.program(make.group([make.ins("FFMA", 4)] * 3))
    run = simulate(program, "b200")
    assert run.status == "assumed"
    assert "assumed for NVIDIA B200" in run.assumptions[0]
    assert run.cycles == simulate(program, "h200").cycles
