"""Programs of scenarios: steps, registers, lowering, and the run from file to report."""

from __future__ import annotations

import json

import pytest
from bankbench.reports.pictures import draw
from bankbench.scenarios.cli.app import COMMANDS, build
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.load import loads
from bankbench.scenarios.program import lower_section, trace_of
from bankbench.scenarios.run import run_scenario
from bankbench.sim import load_chip
from typer.testing import CliRunner

CHIP = load_chip("h200")
APP = build(*COMMANDS)


def scenario(steps: str, *, warps: int = 1, more: str = "", buffer: str = "{dtype: f32, shape: [32, 32]}"):
    body = "\n".join("        " + line for line in steps.strip("\n").splitlines())
    return loads(
        f"name: t\nbuffers:\n  tile: {buffer}\nprogram:\n  groups:\n    - warps: {warps}\n      steps:\n{body}\n{more}"
    )


def code(loaded):
    program = lower_section(loaded, CHIP).program
    return [
        (segment.name, segment.trips, [item.op for item in segment.code])
        for segment in program.groups[0].segments
    ]


def cycles(loaded) -> int:
    return int(run_scenario(loaded).table("program").data["cycles"][0])


def test_a_load_and_its_use_take_the_latency_of_the_load():
    loaded = scenario('- load: {buffer: tile, lanes: "[0, lane]", to: x}\n- wait: x')
    assert code(loaded) == [("part0", 1, ["LDS", "NOP"])]
    # 23 to the result, 1 to issue what waited for it, 8 of the clock reads around the program
    assert cycles(loaded) == 23 + 1 + 8


def test_a_column_takes_62_cycles_longer_than_a_row():
    row = scenario('- load: {buffer: tile, lanes: "[0, lane]", to: x}\n- wait: x')
    column = scenario('- load: {buffer: tile, lanes: "[lane, 0]", to: x}\n- wait: x')
    assert cycles(column) - cycles(row) == 2 * 31


def test_every_warp_has_its_own_addresses():
    loaded = scenario('- load: {buffer: tile, lanes: "[warp, lane]"}', warps=3)
    lowered = lower_section(loaded, CHIP)
    firsts = [group.patterns["0"].offsets[0] for group in lowered.program.groups for _ in range(group.warps)]
    assert firsts == [0, 128, 256]
    assert lowered.starts == (0, 0, 0)


def test_warps_with_equal_code_are_one_group():
    loaded = scenario('- load: {buffer: tile, lanes: "[0, lane]"}', warps=8)
    lowered = lower_section(loaded, CHIP)
    assert [group.warps for group in lowered.program.groups] == [8]
    assert lowered.starts == (18, 18, 18, 18, 0, 0, 0, 0)


def test_a_copy_becomes_the_instructions_that_the_fragment_needs():
    copy = "- copy: {buffer: tile, fragment: mma.m16n8k16.A, tile: [16, 16], with: ldmatrix.x4, to: a}"
    steps = copy + "\n- mma: {reads: [a]}"
    loaded = scenario(steps, buffer="{dtype: f16, shape: [16, 16]}")
    assert code(loaded) == [("part0", 1, ["LDSM.16.M88.4", "HMMA.16816.F32"])]
    (group,) = lower_section(loaded, CHIP).program.groups
    load, mma = group.segments[0].code
    assert mma.waits == (load.sets,)


def test_loads_of_one_fragment_do_not_wait_for_each_other():
    loaded = scenario('- load: {buffer: tile, lanes: "[i, lane]", for: {i: 8}, to: x}\n- alu: {reads: [x]}')
    (group,) = lower_section(loaded, CHIP).program.groups
    *loads_, use = group.segments[0].code
    assert all(item.waits == () for item in loads_)
    assert len(use.waits) == 8


def test_loops_stay_loops_and_inner_ones_are_unrolled():
    steps = """
- alu: {}
- loop:
    trips: 5
    steps:
      - loop: {trips: 2, steps: [alu: {count: 3, chained: true}]}
- alu: {op: MOV}
"""
    assert code(scenario(steps)) == [
        ("part0", 1, ["FFMA"]),
        ("loop1", 5, ["FFMA"] * 6 + ["IADD3", "ISETP.NE.AND", "BRA"]),
        ("part2", 1, ["MOV"]),
    ]


def test_the_trip_number_of_an_unrolled_loop_is_a_name_in_accesses():
    steps = '- loop: {trips: 3, var: k, steps: [load: {buffer: tile, lanes: "[k, lane]"}]}'
    (group,) = lower_section(scenario(steps), CHIP).program.groups
    assert [group.patterns[item.slot].offsets[0] for item in group.segments[0].code] == [0, 128, 256]


def test_masked_lanes_do_not_count():
    half = scenario('- load: {buffer: tile, lanes: "[lane, 0]", mask: lane < 4, to: x}\n- wait: x')
    assert cycles(half) == 21 + 2 * 4 + 1 + 8


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            "- wait: x",
            r"program.groups.0: part0\[0\] \(NOP\): register x is never written; name it in `inputs:`",
        ),
        ("- loda: {}", "unknown key 'loda'; did you mean 'load'"),
        ('- load: {buffer: nope, lanes: "[0, lane]"}', "no buffer 'nope'"),
        ('- load: {buffer: tile, lanes: "[0, lane]", with: sts.32}', "sts.32 does not load"),
        ('- load: {buffer: tile, lanes: "[0, lane]", repeat: 3}', "repeat is not for a step"),
        ("- alu: {op: FROB}", "steps.0.alu.op: 'FROB' is no arithmetic"),
        ("- copy: {buffer: tile, lanes: '[0, lane]'}", "copy fills a fragment"),
        ("- alu: {}\n  mma: {}", "a step has exactly one key"),
        ('- store: {buffer: tile, op: atom.add.u32, lanes: "[0, lane]"}', "the time of atomics is not known"),
    ],
)
def test_errors_name_the_step(steps, message):
    with pytest.raises(ScenarioError, match=message):
        lower_section(scenario(steps), CHIP)


def test_a_deadlock_is_an_error_of_the_scenario():
    loaded = loads(
        "name: hang\nprogram:\n  groups:\n    - steps: [barrier, alu: {op: NOP}]\n    - steps: [alu: {}]\n".replace(
            "alu: {op: NOP}", "wait: y"
        ).replace("steps: [barrier", "inputs: [y]\n      steps: [barrier")
    )
    with pytest.raises(ScenarioError, match=r"deadlock at cycle .*warp 0 .* which warp 1 has not reached"):
        run_scenario(loaded)


def test_the_cycle_limit_of_the_scenario():
    loaded = scenario(
        "- loop: {trips: 100000, steps: [alu: {count: 10, chained: true}]}", more="  limit: 1000\n"
    )
    with pytest.raises(ScenarioError, match="not finished after 1000 cycles"):
        run_scenario(loaded)


def test_fast_gives_the_same_cycles_and_says_what_it_skipped():
    steps = (
        '- loop: {trips: 500, steps: [load: {buffer: tile, lanes: "[lane, 0]", to: x}, alu: {reads: [x]}]}'
    )
    slow = run_scenario(scenario(steps, warps=4))
    fast = run_scenario(scenario(steps, warps=4, more="  fast: true\n"))
    assert slow.table("program").data["cycles"] == fast.table("program").data["cycles"]
    assert fast.table("program").data["trips skipped"][0] > 1500
    assert any("extrapolated" in line for line in fast.reasons)


def test_a_chip_without_timing_constants_is_unknown_with_the_reason(tmp_path):
    chip = tmp_path / "bare.yaml"
    chip.write_text(
        "name: bare\ntitle: Bare\narch: sm_1\naliases: []\nconstants:\n  sm:\n"
        "    partitions: {value: 4, unit: p, source: s, confidence: assumed}\n"
    )
    result = run_scenario(scenario("- alu: {}"), chip=str(chip))
    assert result.exit_code == 3
    assert "no timing constants" in result.unknowns[0]


def test_max_cycles_is_a_limit():
    loaded = scenario("- alu: {count: 50, chained: true}", more="expect: {max_cycles: 100}\n")
    result = run_scenario(loaded)
    assert result.exit_code == 1
    assert "cycles" in result.violations[0]


@pytest.mark.parametrize("name", ["gemm-fragments-time", "transpose-time", "producer-consumer-time"])
def test_ready_scenarios_run_and_fast_agrees(name):
    slow, fast = (CliRunner().invoke(APP, ["run", name, "--json", *options]) for options in ([], ["--fast"]))
    assert slow.exit_code == fast.exit_code == 0
    cycles_of = [json.loads(out.stdout)["headline"] for out in (slow, fast)]
    assert cycles_of[0] == cycles_of[1]


def test_the_timeline_is_a_picture():
    (picture,) = run_scenario("transpose-time").pictures
    assert picture.data["end"] == 600 < picture.data["cycles"]
    figure = draw(picture)
    assert len(figure.axes[0].get_yticks()) == len(picture.data["tracks"]) == 8 + 4 + 4 + 2


def test_run_writes_a_trace(tmp_path):
    target = tmp_path / "trace.json"
    done = CliRunner().invoke(APP, ["run", "transpose-time", "--trace", str(target), "--plain"])
    assert done.exit_code == 0, done.output
    events = json.loads(target.read_text())["traceEvents"]
    names = {
        event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"
    }
    assert {"warp 7", "service lane 0", "memory port 3"} <= names


def test_a_trace_needs_a_program():
    loaded = loads(
        "name: t\nbuffers: {b: {dtype: f32, shape: [32]}}\naccesses: [{buffer: b, lanes: '[lane]'}]"
    )
    with pytest.raises(ScenarioError, match="needs a section program"):
        trace_of(loaded, CHIP)
