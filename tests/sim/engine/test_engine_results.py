"""Tables, tracks and the trace file of a simulation."""

from __future__ import annotations

import json

import pytest
from bankbench.sim import load_chip
from bankbench.sim.engine import (
    instruction_table,
    latency_table,
    perfetto_trace,
    simulate,
    stall_table,
    timing_of,
    tracks_of,
    usage_over_time,
    usage_table,
)

TIMING = timing_of(load_chip("h200"))


@pytest.fixture
def run(make):
    code = [
        *[make.ins("LDS", 1, slot=0, sets=0)] * 4,
        make.ins("FFMA", 4, src=["R1", "R2"], waits=[0]),
        make.ins("STS.128", 1, slot=1, sets_read=1),
        make.ins("BAR.SYNC", 1, waits=[1]),
        make.branch,
    ]
    patterns = {"0": make.access("lds.32", 8), "1": make.access("sts.128")}
    return simulate(make.program(make.group(code, warps=6, patterns=patterns), trips=5), timeline=True)


def test_instruction_table_holds_every_instruction_and_consistent_times(run):
    table = instruction_table(run, TIMING)
    assert len(table) == run.instructions == 6 * 5 * 8
    for row in table.rows():
        assert row["ready"] <= row["issue"] <= row["start"] <= row["finish"]
        assert row["issue"] - row["ready"] == row["stall"]
        assert bool(row["reason"]) == bool(row["stall"])
    loads = [row for row in table.rows() if row["op"] == "LDS"]
    assert {row["wavefronts"] for row in loads} == {8}


def test_stalls_of_the_table_sum_to_those_of_the_run(run):
    assert sum(row["stall"] for row in instruction_table(run, TIMING).rows()) == sum(run.stalls.values())
    assert {row["reason"] for row in stall_table(run).rows()} >= {"scoreboard", "barrier"}


def test_a_stall_names_who_caused_it(make):
    first = make.ins("LDS", 2, slot=0, sets=0)
    code = [first, make.ins("MOV", 1), make.ins("FFMA", 1, waits=[0])]
    run = simulate(make.program(make.group(code, patterns={"0": make.access("lds.32", 4)})), timeline=True)
    last = list(instruction_table(run, TIMING).rows())[-1]
    assert (last["reason"], last["by"]) == ("scoreboard", "warp 0 loop[0] LDS")


def test_a_full_queue_and_a_busy_port_are_named(make):
    code = [make.ins("STS.128", 1, slot=0)] * 20
    run = simulate(make.program(make.group(code, patterns={"0": make.access("sts.128")})), timeline=True)
    rows = list(instruction_table(run, TIMING).rows())
    assert rows[-1]["reason"] == "queue full"
    assert rows[3]["port busy by"] == "warp 0 loop[2] STS.128"
    assert "memory port of partition 0 sets the pace" in run.critical


def test_latencies_are_those_of_the_timeline(run):
    rows = {row["op"]: row for row in latency_table(run).rows()}
    assert rows["LDS"]["accesses"] == 120
    assert (
        23 + 14 <= rows["LDS"]["least"] <= rows["LDS"]["median"] <= rows["LDS"]["p95"] <= rows["LDS"]["most"]
    )


def test_usage_over_time_adds_up_to_the_usage(run):
    over_time = usage_over_time(run, TIMING, bins=7)
    total = {row["part"]: row["busy"] for row in usage_table(run).rows()}
    starts = list(over_time.data["from"])
    spans = [end - start for start, end in zip(starts, [*starts[1:], run.cycles], strict=True)]
    path = sum(
        share * span / 100
        for share, span in zip(over_time.data["shared-memory data path"], spans, strict=True)
    )
    assert path == pytest.approx(total["shared-memory data path"], rel=0.01)
    assert total["shared-memory data path"] == 6 * 5 * (4 * 8 + 4)


def test_slices_of_a_track_do_not_overlap(run):
    tracks = tracks_of(run, TIMING)
    assert [track.name for track in tracks if track.group == "warps"] == [f"warp {warp}" for warp in range(6)]
    for track in tracks:
        for earlier, later in zip(track.slices, track.slices[1:], strict=False):
            assert earlier.end <= later.start, (track.name, earlier, later)


def test_the_trace_file_is_what_perfetto_reads(run):
    trace = json.loads(json.dumps(perfetto_trace(tracks_of(run, TIMING))))
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X", "s", "t", "f"}
    threads = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    assert len(threads) == 6 + 4 + 2 + 4
    assert {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"} <= threads
    begins = {event["id"] for event in events if event["ph"] == "s"}
    ends = {event["id"] for event in events if event["ph"] == "f"}
    assert begins == ends
    assert len(begins) == 6 * 5 * 5
    slices = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    assert all((e["pid"], e["tid"], e["ts"]) in slices for e in events if e["ph"] in "stf")


def test_a_timeline_has_to_be_asked_for(make):
    run = simulate(make.program(make.group([make.ins("MOV")])))
    with pytest.raises(ValueError, match="timeline=True"):
        tracks_of(run, TIMING)


@pytest.mark.parametrize(
    ("op", "access", "warps", "resource"),
    [
        ("LDS", "lds.32", 8, "shared-memory data path sets the pace"),
        ("LDS", "lds.32", 1, "lane of warp 0 sets the pace"),
    ],
)
def test_the_critical_resource_is_named(make, op, access, warps, resource):
    code = [*[make.ins(op, 1, slot=0, sets=0)] * 16, make.branch]
    block = make.group(code, warps=warps, patterns={"0": make.access(access, 16)})
    assert resource in simulate(make.program(block, trips=20)).critical


def test_arithmetic_names_the_issue_slot(make):
    block = make.group([*[make.ins("FFMA", 1, src=["R1"])] * 60, make.branch], warps=8)
    assert "issue slot of partition" in simulate(make.program(block, trips=20)).critical
