"""The section `tmem:`: ready scenarios, refusals with their place, broken expectations, what is shown."""

from __future__ import annotations

import pytest
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.load import catalogue, load, loads
from bankbench.scenarios.run import run_scenario

READY = sorted(path.stem for path in catalogue() if path.stem.startswith("tmem-"))


def answer(text: str):
    return run_scenario(loads(f"name: x\nchip: b200\n{text}", "x.yaml"))


@pytest.mark.parametrize("name", READY)
def test_ready_scenarios_meet_their_numbers(name):
    result = run_scenario(name)
    assert result.violations == ()
    assert result.exit_code == 0
    assert result.tables
    for picture in result.pictures:
        assert picture.alt


def test_the_ready_scenarios_cover_the_subject():
    assert len(READY) >= 12


def test_what_does_not_fit_breaks_the_limit():
    result = answer("tmem: {buffers: [{name: acc, accumulator: {N: 256}, stages: 3}]}")
    assert result.exit_code == 1
    assert "768 columns requested, 512 exist: 256 too many" in result.violations[0]
    assert any("2 stages of acc instead of 3 needs 512" in reason for reason in result.reasons)


def test_a_foreign_window_breaks_the_limit_and_names_the_warp():
    result = answer(
        "tmem:\n  buffers: [{name: acc, accumulator: {N: 64}}]\n"
        "  moves: [{ld: .32x32b.x32, buffer: acc, warps: [1], lane: 0}]"
    )
    assert result.exit_code == 1
    assert "warp 1 may touch lanes 32 to 63 only" in result.violations[0]
    assert "these need warp 0" in result.violations[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tmem: {buffers: [{name: a}]}", "one of accumulator, operand"),
        ("tmem: {buffers: [{name: a, accumulator: {M: 96}}]}", "M = 96"),
        ("tmem: {buffers: [{name: a, layout: 'S[(4,4):(4,1)]'}]}", "TLane and TCol"),
        (
            "tmem: {buffers: [{name: a, accumulator: {N: 64}, at: 0}, {name: b, columns: 8, at: 4}]}",
            "overlaps a",
        ),
        ("tmem: {buffers: [{name: a, columns: 8}], elements: [{buffer: b, at: [0]}]}", "no buffer 'b'"),
        ("tmem: {buffers: [{name: a, tile: {}}], elements: [{buffer: a, at: [0, 99]}]}", "shape"),
        ("tmem: {gemm: [{kind: f16, M: 128, N: 12}]}", "no N = 12"),
        ("tmem: {}", "nothing to answer"),
        ("tmem: {roles: {roles: [{name: r, steps: [{wait: full}]}]}}", "no barrier 'full'"),
        ("tmem: {roles: {roles: [{name: r, steps: [jump]}]}}", "step 'jump'"),
        ("tmem: {allocations: [{step: [cta0, allocate, 4]}]}", "unknown step"),
        ("tmem: {descriptors: [{layout: 'S[(8,64):(64,1)]', descriptor: {sbo: 17}}]}", "multiple of 16"),
        ("tmem: {pair_events: [cta0.sleep]}", "unknown event"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(text, message):
    with pytest.raises(ScenarioError, match=message) as error:
        answer(text)
    assert "\n" not in str(error.value)
    assert "x.yaml" in str(error.value)


def test_a_chip_without_tensor_memory_is_refused():
    with pytest.raises(ScenarioError, match="has no tensor memory"):
        run_scenario("tmem-accumulator-224", chip="h200")


def test_a_wrong_expectation_is_a_violation():
    result = answer(
        "tmem:\n  buffers: [{name: acc, accumulator: {N: 64}}]\n"
        "  elements: [{buffer: acc, at: [3, 4], lanes: [4], column: 4}]\n  expect: {columns: 65}"
    )
    assert result.exit_code == 1
    assert len(result.violations) == 2


def test_the_assumptions_behind_a_time_are_listed():
    result = run_scenario("tmem-gemm-roles")
    assert result.status == "assumed"
    assert any(line.startswith("tmem.ld.latency") for line in result.assumptions)
    assert any(line.startswith("tcgen05.cp.replica_share") for line in result.assumptions)


def test_a_swept_assumption_changes_the_time():
    slow = run_scenario("tmem-gemm-roles", overrides=["tcgen05.cp.replica_share=1"])
    fast = run_scenario("tmem-gemm-roles")
    cycles = [next(iter(r.table("tmem_loops").rows()))["cycles"] for r in (fast, slow)]
    assert cycles[1] > cycles[0]


def test_roles_run_loops_and_find_what_is_missing():
    text = """tmem:
  buffers: [{name: acc, accumulator: {N: 64}}]
  roles:
    barriers: [{name: full}, {name: empty, initial: 1}, {name: done}]
    roles:
      - name: tma warp
        steps: [{repeat: 8, steps: [{wait: empty}, {expect: full, bytes: 4096}, {tma: a, bytes: 4096, barrier: full}]}]
      - name: mma warp
        steps:
          - {repeat: 8, steps: [{wait: full}, fence_after, {mma: {N: 64}, d: acc, smem: [a]}, {commit: empty}]}
          - {commit: done}
      - name: epilogue
        warp: 4
        steps: [{wait: done}, fence_after, {ld: .32x32b.x64, buffer: acc}, wait_ld]
"""
    assert answer(text).exit_code == 0
    broken = answer(text.replace("{wait: done}, fence_after, ", ""))
    assert broken.exit_code == 1
    # nothing orders the two, so either may come first
    assert "mma acc (mma warp)" in broken.violations[0]
    assert "ld acc (epilogue)" in broken.violations[0]
    with pytest.raises(ScenarioError, match="more arrivals than the 1 of a phase"):
        answer(text.replace("{wait: full}, fence_after, ", ""))
    with pytest.raises(ScenarioError, match="deadlock at cycle"):
        answer(text.replace(", {commit: empty}", ""))


def test_a_full_map_and_the_traffic_of_a_thousand_steps():
    """A full map of 128 x 512 elements, and the traffic of 1,000 k-steps."""
    text = """tmem:
  buffers: [{name: acc, accumulator: {N: 256}, stages: 2}]
  elements: [{buffer: "acc[1]", at: [127, 255], lanes: [127], column: 511}]
  gemm: [{N: 256, k_steps: 1000, simulate: false}]
"""
    result = answer(text)
    assert result.exit_code == 0
    moved = {row["mover"]: row for row in result.table("tmem_traffic").rows() if row["what"] == "B"}
    assert moved["tcgen05.mma"]["read"] == 1000 * 4 * 256 * 32


ROLES = (
    "tmem:\n  buffers:\n    - {name: d, accumulator: {N: 64}}\n    - {name: p, columns: 32}\n"
    "    - {name: f, accumulator: {M: 64, N: 64}}\n"
    "  roles:\n    barriers: [{name: b}]\n    roles: [{name: r, steps: [STEP]}]\n"
)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{mma: {N: 64}, d: d, reads: 5}", "reads: a name or a list of names is needed, found 5"),
        ("{mma: {N: 64}, d: d, smem: {a: 1}}", "shared memory: a name or a list of names"),
        ("{mma: {N: 64, operands: TS}, d: d}", "name its buffer in reads:"),
        ("{mma: {N: 256}, d: d}", "the product writes 256 columns, d has 64"),
        ("{mma: {N: 64}, d: p}", "the product writes 64 columns, p has 32"),
        ("{mma: {N: 64}, d: f}", "f is 64 x 64 in layout F; the product writes 128 x 64 in layout D"),
        ("{tma: a, bytes: 64}", "tma: barrier: names the mbarrier"),
        ("{tma: a, bytes: .inf, barrier: b}", "bytes: a number from 0 to"),
        ("{work: .nan}", "work: a number from 0 to"),
        ("{ld: .32x32b.x32, buffer: d, column: 0.5}", "column: a whole number is needed, found 0.5"),
        ("{alloc: 96}", "tcgen05.alloc of 96 columns: 32, 64, 128, 256 or 512; ask for 128"),
        ("{dealloc: 1024}", "512 columns too many"),
        ("{repeat: true, steps: [{work: 1}]}", "repeat needs a whole number"),
        ("{repeat: 100000000000, steps: [{work: 1}]}", "repeat needs a whole number up to 2,000,000"),
        ("{repeat: 2000000, steps: [{work: 1}, {work: 1}]}", "more than 2,000,000 steps"),
        ("{repeat: 2, steps: [{work: 1}], wait: b}", "step repeat: unknown key 'wait'"),
    ],
)
def test_steps_of_roles_that_cannot_be_read(step, message):
    with pytest.raises(ScenarioError) as error:
        answer(ROLES.replace("STEP", step))
    assert message in str(error.value)
    assert str(error.value).startswith("x.yaml:")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("operand", "columns"),
    [
        ("dtype: e2m1, kind: mxf4", 8),
        ("dtype: e2m1, kind: f8f6f4", 16),
        ("dtype: e2m3", 16),
        ("dtype: e3m2, kind: mxf8f6f4", 16),
        ("dtype: f16, kind: f16", 32),
    ],
)
def test_narrow_codes_lie_in_bytes_unless_the_kind_packs_them(operand, columns):
    found = answer(
        f"tmem: {{buffers: [{{name: a, operand: {{K: 64, {operand}}}}}], expect: {{columns: {columns}}}}}"
    )
    assert found.violations == ()


@pytest.mark.parametrize(
    ("operand", "message"),
    [
        ("dtype: e2m1", "say kind:"),
        ("dtype: f16, kind: f8f6f4", ".kind::f8f6f4 takes elements of 8 bits, f16 has 16"),
        ("dtype: e4m3, kind: f16", "takes elements of 16 bits, e4m3 has 8"),
        ("dtype: f16, kind: f17", "unknown kind 'f17'"),
    ],
)
def test_operands_whose_width_is_not_clear(operand, message):
    with pytest.raises(ScenarioError, match=message):
        answer(f"tmem: {{buffers: [{{name: a, operand: {{K: 64, {operand}}}}}]}}")


def test_an_accumulator_has_a_bounded_number_of_columns():
    with pytest.raises(ScenarioError, match="4096"):
        answer("tmem: {buffers: [{name: a, accumulator: {N: 1099511627776}}]}")


WS = "buffers: [{name: d, accumulator: {M: 64, ws: true, N: 64}}, {name: a, operand: {M: 64}}]"
OFFSET = "layout: 'S[(64,64):(64,1)]', descriptor: {bits: 0x4002404000010000}"  # 128B, base offset 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f"tmem: {{{WS}, moves: [{{mma: {{M: 64, N: 64, ws: true, operands: TS}}, d: d, a: a}}]}}",
            "in layout E: unknown",
        ),
        (
            f"tmem: {{descriptors: [{{{OFFSET}}}]}}",
            "how a non-zero base offset enters the swizzle is not documented",
        ),
    ],
)
def test_what_is_not_documented_is_unknown_and_not_illegal(text, reason):
    result = answer(text)
    assert (result.exit_code, result.status) == (3, "unknown")
    assert reason in result.unknowns[0]
    expecting = text.replace("a: a}", "a: a, expect: {legal: false}}").replace(
        ", descriptor:", ", matches: false, descriptor:"
    )
    broken = answer(expecting)
    assert broken.exit_code == 1
    assert reason in broken.violations[0]


@pytest.mark.parametrize("value", [".nan", ".inf"])
@pytest.mark.parametrize(
    "text",
    [
        "tmem: {moves: [{mma: {N: 64}, expect: {interval: VALUE}}]}",
        "tmem: {gemm: [{k_steps: 1, expect: {max_cycles: VALUE}}]}",
        "tmem: {gemm: [{k_steps: 1, epilogue_cycles: VALUE}]}",
        "tmem: {roles: {roles: [{name: r, steps: [{work: 1}]}], max_cycles: VALUE}}",
    ],
)
def test_numbers_are_finite(text, value):
    with pytest.raises(ScenarioError, match="finite"):
        answer(text.replace("VALUE", value))


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ("[{name: r, steps: [{alloc: 128}, {dealloc: 128}]}]", ""),
        ("[{name: r, steps: [{alloc: 128}, {dealloc: 128}, {alloc: 128}, {dealloc: 128}]}]", ""),
        ("[{name: r, steps: [{alloc: 128}, relinquish]}, {name: e, warp: 4, steps: [{dealloc: 128}]}]", ""),
        ("[{name: r, steps: [{work: 1}]}]", ""),  # another kernel allocates
        (
            "[{name: r, steps: [{alloc: 64}, {dealloc: 64}]}]",
            "the roles allocate 64 columns, the buffers need 72",
        ),
        ("[{name: r, steps: [{alloc: 128}]}]", "must be freed before exit: 128 columns are held"),
        (
            "[{name: r, steps: [{alloc: 128}, {dealloc: 64}]}]",
            "dealloc of 64 columns that cta0 does not hold",
        ),
        ("[{name: r, steps: [{alloc: 64}, {alloc: 128}]}]", "size increases from 64 to 128"),
        ("[{name: r, steps: [relinquish, {alloc: 128}]}]", "alloc after relinquish"),
        ("[{name: r, steps: [{alloc: 512}, {alloc: 32}, {dealloc: 512}]}]", "blocks for ever"),
    ],
)
def test_roles_allocate_by_the_rules(roles, message):
    found = answer(f"tmem: {{buffers: [{{name: p, columns: 72}}], roles: {{roles: {roles}}}}}")
    if message:
        assert found.exit_code == 1
        assert any(message in line for line in found.violations)
    else:
        assert found.violations == ()


def test_tiles_keep_the_lane_that_the_file_says():
    both = "{{buffers: [{{name: a, tile: {{rows: 64}}, lane: 16}}, {{name: b, operand: {{M: 64, K: 64}}, lane: {}}}]"
    stacked = answer(f"tmem: {both.format(0)}, expect: {{columns: 32}}}}")
    side_by_side = answer(f"tmem: {both.format(16)}, expect: {{columns: 64}}}}")
    assert stacked.violations == side_by_side.violations == ()
    assert list(stacked.table("tmem_buffers").data["lanes"]) == ["16-31 of 32", "0-15 of 32"]
    apart = "{name: a, tile: {rows: 64}, together: x}, {name: b, tile: {rows: 64}, together: x}"
    assert answer(f"tmem: {{buffers: [{apart}], expect: {{columns: 64}}}}").violations == ()


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        ("scales: {}, lane: 16", "lane goes with accumulator or operand or tile, not with scales"),
        ("columns: 8, together: x", "together goes with"),
        ("accumulator: {}, dtype: f16", "dtype goes with layout, not with accumulator"),
        ("tile: {rows: 128}, lane: 16", "begins at lane 0, not 16"),
    ],
)
def test_fields_that_a_buffer_does_not_have(buffer, message):
    with pytest.raises(ScenarioError, match=message):
        answer(f"tmem: {{buffers: [{{name: a, {buffer}}}]}}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".32x32b.x4.red.max.abs.NaN.f32", ""),
        (".32x32b.x4.red.min.s32", ""),
        (".16x32bx2.x2.red.max", ""),
        (".32x32b.x4.red.min.abs.u32", ".abs goes with .f32, not with .u32"),
        (".32x32b.x4.red.min.foo", "for example"),
        (".16x64b.x4.red.min", "has the shapes"),
        (".32x32b.x1.red.min", "at least twice"),
    ],
)
def test_reductions_in_words(text, message):
    found = run_scenario(loads(f"name: x\nchip: b300\ntmem: {{moves: [{{ld: {text}}}]}}"))
    assert [line for line in found.violations if message in line] == list(found.violations)
    assert bool(found.violations) == bool(message)


def test_a_ring_that_shared_memory_does_not_hold():
    """128 x 256 halves, 64 deep: 16 + 32 KiB a stage, four in 227 KiB."""
    assert answer("tmem: {gemm: [{stages: 4, acc_stages: 1, k_steps: 4}]}").violations == ()
    [line] = answer("tmem: {gemm: [{stages: 5, acc_stages: 1, k_steps: 4}]}").violations
    assert line.endswith("gemm: 5 stages of 49,152 bytes do not fit the shared memory of a block; 4 do")


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("kind: mxf8f6f4, N: 128, vector: 4X, k_per_stage: 128", "has the scale vector 1X, not 4X"),
        ("kind: f16, N: 128, vector: 1X", "has no scale factors, not 1X"),
    ],
)
def test_scale_vectors_of_main_loops_belong_to_the_kind(loop, message):
    with pytest.raises(ScenarioError, match=message):
        answer(f"tmem: {{gemm: [{{{loop}}}]}}")


def test_two_loops_keep_their_waits_and_busy_times_apart() -> None:
    result = run_scenario(load("tmem-gemm-buffering"))
    assert result.table("tmem_loops").data["fits"] == [True, True]
    cycles = dict(zip(*(result.table("tmem_loops").data[name] for name in ("loop", "cycles")), strict=True))
    for table, column in (("tmem_waits", "cycles"), ("tmem_resources", "busy")):
        rows = list(result.table(table).rows())
        assert {row["program"] for row in rows} == set(cycles)
        assert all(row[column] <= cycles[row["program"]] for row in rows)
