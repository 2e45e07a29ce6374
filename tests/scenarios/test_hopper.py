"""Scenarios with wgmma, TMA and mbarriers: the ready ones, what is refused, and the rows of the validation sets."""

from __future__ import annotations

import gzip
import json
import random
from statistics import median

import pytest
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.load import load, loads
from bankbench.scenarios.program import trace_of
from bankbench.scenarios.program_trace import as_fast
from bankbench.scenarios.run import run_scenario
from bankbench.scenarios.validation import find_sets
from bankbench.scenarios.validation.hopper import contention, kept_out, rows
from bankbench.scenarios.validation.hopper_alone import stream_cycles
from bankbench.scenarios.validation.hopper_contention import Copies
from bankbench.scenarios.validation.sets import DATA
from bankbench.sim import load_chip
from bankbench.sim.hopper import Copy

CHIP = load_chip("h200")
ASYNC = DATA / "h200_async.jsonl.gz"


def table(result, name: str, key: str) -> dict[str, dict]:
    return {row[key]: row for row in result.table(name).rows()}


def changed(name: str, *changes: tuple[str, str]):
    text = load(name).source.text
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return loads(text, "t.yaml")


def test_the_half_of_the_store_buffer_makes_the_difference():
    same = run_scenario(load("hopper-epilogue-same-half"))
    other = run_scenario(load("hopper-epilogue-other-half"))
    slow, quick = (table(result, "engines", "agent")["TMA store"] for result in (same, other))
    assert slow["bytes"] == quick["bytes"] == 4 * 8192
    assert slow["busy"] > 10 * quick["busy"]
    assert quick["denied"] == 0
    advice = [line for line in same.reasons if "Put it at byte 130048 or above" in line]
    assert advice
    assert "lower half" in advice[0]
    assert not [line for line in other.reasons if "Put it" in line]


def test_the_gemm_loop_says_that_the_tensor_core_sets_the_pace():
    result = run_scenario(load("hopper-gemm-main-loop"))
    cycles = table(result, "program", "warps")[9]["cycles"]
    assert 65_536 < cycles < 67_500
    assert any("tensor core sets the pace" in line for line in result.reasons)
    waits = {(row["who"], row["waits for"]) for row in result.table("engine_waits").rows()}
    assert ("producer", "mbarrier empty") in waits
    engines = table(result, "engines", "agent")
    assert engines["TMA load"]["bytes"] == 64 * 49152
    assert engines["wgmma operand B"]["wavefronts"] == 512 * 64
    fast = run_scenario(as_fast(load("hopper-gemm-main-loop")))
    assert table(fast, "program", "warps")[9]["cycles"] == cycles
    assert table(fast, "engines", "agent") == engines


@pytest.mark.parametrize("stages", [2, 3, 6])
def test_other_numbers_of_stages(stages):
    n = "128" if stages > 4 else "256"
    size = 16384 + int(n) * 128
    loaded = changed(
        "hopper-gemm-main-loop",
        ("[4, 128, 64]", f"[{stages}, 128, 64]"),
        ("[4, 256, 64]", f"[{stages}, {n}, 64]"),
        ("stages: 4", f"stages: {stages}"),
        ("trips: 4\n", f"trips: {stages}\n"),
        ("n: 256", f"n: {n}"),
        ("[256, 64]", f"[{n}, 64]"),
        ("49152", str(size)),
    )
    result = run_scenario(loaded)
    assert result.violations == ()
    ideal = 16 * stages * 8 * int(n) // 2
    assert ideal < table(result, "program", "warps")[9]["cycles"] < ideal * 1.25


def test_the_timeline_has_a_track_for_each_agent():
    trace = trace_of(load("hopper-epilogue-same-half"), CHIP)
    names = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert {"TMA store, read port", "wgmma of warpgroup 0, operand B"} <= names


def test_a_descriptor_that_does_not_describe_the_buffer():
    with pytest.raises(ScenarioError) as caught:
        run_scenario(
            changed(
                "hopper-gemm-main-loop",
                (
                    "B: {dtype: f16, shape: [4, 256, 64], swizzle: 128B}",
                    "B: {dtype: f16, shape: [4, 256, 64]}",
                ),
            )
        )
    assert "element (mn 1, k 0) lies at byte" in str(caught.value)
    assert "t.yaml:" in str(caught.value)


def test_a_box_whose_swizzle_is_another():
    with pytest.raises(
        ScenarioError, match=r"element \[0, 1, 0\] lies at byte \d+, the copy puts it at byte"
    ):
        run_scenario(
            changed(
                "hopper-gemm-main-loop",
                ("box: [128, 64], barrier", "box: [128, 64], swizzle: none, barrier"),
            )
        )


def test_a_box_that_the_hardware_refuses():
    text = """
name: t
chip: h200
buffers: {A: {dtype: f16, shape: [64, 128], swizzle: 128B}}
program:
  mbarriers: {full: {count: 1}}
  groups:
    - steps:
        - arrive: {barrier: full, expect: 16384}
        - tma_load: {buffer: A, at: [0, 0], box: [64, 128], barrier: full}
"""
    with pytest.raises(ScenarioError, match="the inner box has 256 bytes; swizzle 128B allows 128"):
        run_scenario(loads(text, "t.yaml"))


def test_wrong_expected_bytes_say_how_many_are_missing():
    with pytest.raises(ScenarioError, match="16384 of 65536 announced bytes"):
        run_scenario(changed("hopper-gemm-main-loop", ("expect: 49152", "expect: 65536")))


def test_a_parity_that_hangs():
    with pytest.raises(ScenarioError, match=r"parity 0 of mbarrier empty\[0\]"):
        run_scenario(
            changed(
                "hopper-gemm-main-loop",
                ("barrier: empty, stage: s, parity: 1", "barrier: empty, stage: s, parity: 0"),
            )
        )


def test_hazards_end_the_run_with_exit_code_1():
    result = run_scenario(
        changed("hopper-gemm-main-loop", ("                    - wait_wgmma: {pending: 0}\n", ""))
    )
    assert result.exit_code == 1
    assert any(line.startswith("refilled too early") for line in result.violations)
    assert {row["kind"] for row in result.table("hazards").rows()} == {"refilled too early"}


def test_a_store_whose_read_group_nobody_waits_for():
    result = run_scenario(
        changed("hopper-epilogue-other-half", ("              - wait_stores: {pending: 0, read: true}\n", ""))
    )
    assert any("source overwritten" in line for line in result.violations)


BLOCK = """
name: t
chip: h200
buffers: {A: {dtype: f16, shape: [64, 64], swizzle: 128B}}
program:
  groups:
    - warps: 4
      steps:
        - cp_async: {buffer: A, count: 4}
        - commit_copies
        - wait_copies: {pending: 0}
        - barrier
        - load: {buffer: A, with: ldmatrix.x4, lanes: "[16 * warp + lane % 16, 8 * (lane // 16)]"}
"""


def test_the_barrier_of_the_block_passes_on_what_warps_know():
    assert run_scenario(loads(BLOCK, "t.yaml")).violations == ()
    unwaited = run_scenario(loads(BLOCK.replace("        - wait_copies: {pending: 0}\n", ""), "t.yaml"))
    assert unwaited.exit_code == 1
    assert "read before full" in unwaited.violations[0]


def test_a_barrier_too_few_arrive_at():
    text = BLOCK.replace("        - barrier\n", "        - sync: {id: 3, warps: 5}\n")
    with pytest.raises(ScenarioError, match="named barrier 3, at which 1 of 5 warps are missing"):
        run_scenario(loads(text, "t.yaml"))


def test_a_chip_without_the_constants_is_unknown():
    result = run_scenario(load("hopper-gemm-main-loop"), chip="b200")
    assert result.exit_code == 3
    assert result.status == "unknown"


def test_measured_rows_of_engines_alone(find_data, row_report):
    """Each has to be within its tolerance; further files of the name are checked too."""
    for file in [ASYNC, *find_data("h200_async*.jsonl.gz")]:
        for row in rows(CHIP, file):
            if row.left_out:
                row_report.skip()
            else:
                row_report.check(row.right, row.id, f"{row.predicted:.1f} for {row.measured:.1f}")


def test_every_row_of_the_file_is_listed():
    with gzip.open(ASYNC, "rt") as stream:
        every = [json.loads(line) for line in stream]
    alone = list(rows(CHIP, ASYNC))
    assert len(alone) == sum(row["group"] != "C" for row in every)
    assert sum(bool(row.left_out) for row in alone) > 90
    assert find_sets(["contention"])[0].file == ASYNC.name


def test_the_rows_kept_out_are_a_fifth_and_always_the_same():
    names = [f"row {number}" for number in range(500)]
    assert len(kept_out(names)) == 100
    assert kept_out(names) == kept_out(list(reversed(names)))


def written(tmp_path, *rows_: object):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_))
    return path


def stream(**changes: object) -> dict[str, object]:
    what = {"kind": "wgmma stream", "n": 64, "operands": "SS", "warpgroups": 2, **changes}
    return {"id": "x", "group": "A", "what": what, "cycles": 64.0}


COPY = {"kind": "tma 1-D load stream", "bytes": 8192, "in_flight": 2, "copies_per_barrier": 1, "reps": 4}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "x", "cycles": 1}, "x: no field 'what'"),
        ({"id": "x", "what": []}, r"x: what: \[\], an object is needed"),
        ({**stream(), "cycles": "many"}, "x: cycles: 'many', a number is needed"),
        (stream(n=None), "x: n: null"),
        (stream(n=12), "x: wgmma with N = 12: a multiple of 8 up to 256 is needed"),
        (stream(operands="SR"), r"x: operands: 'SR' \(known: SS, RS\)"),
        (stream(warpgroups=0), "x: warpgroups: 0, a whole number of at least 1"),
        (stream(kind="wgmma latency"), "x: no field 'count'"),
        (stream(**{**COPY, "reps": 0}), "x: reps: 0"),
        (stream(**{**COPY, "issuers": "two"}), "x: issuers: 'two'"),
        (stream(**{**COPY, "kind": "tma 2-D load stream", "box": [64]}), r"x: box: \[64\], the sizes of"),
        (stream(kind="cp.async stream", op="cg8", warps=1, source="L2"), "x: op: 'cg8'"),
        ({**stream(), "id": None}, "id: null"),
        ({**stream(), "spread": {"min": "a", "max": 3}}, "x: min: 'a', a number"),
    ],
)
def test_an_odd_row_is_one_line_with_the_place(tmp_path, row, message):
    with pytest.raises(ScenarioError, match=f"^rows.jsonl:2: {message}") as caught:
        list(rows(CHIP, written(tmp_path, stream(), row)))
    assert "\n" not in str(caught.value)


def sides(one: object = None, other: object = None, **more: object) -> dict[str, object]:
    first = {"kind": "wgmma", "n": 64, "operands": "SS", "per_chunk": 32}
    second = {"kind": "lsu", "op": "lds32", "warps": 4, "per_chunk": 256}
    both = {"0": first if one is None else one, "1": second if other is None else other}
    return {"id": "y", "group": "C", "what": {"sides": both}, "cycles": {"0": 34.7, "1": 16.0}, **more}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (sides(one=7), "y: 0: 7, an object is needed"),
        (sides(one={"kind": "wgmma", "n": 64, "operands": "SS"}), "y: no field 'per_chunk'"),
        (
            sides(one={"kind": "wgmma", "n": 20, "operands": "SS", "per_chunk": 8}),
            "y: n: 20, a multiple of 8",
        ),
        (sides(other={"kind": "lsu", "op": "lds32x", "warps": 99, "per_chunk": 16}), "y: warps: 99"),
        (sides(other={"kind": "lsu", "op": "lds32xx", "warps": 4, "per_chunk": 16}), "y: op: 'lds32xx'"),
        (sides(cycles=[1, 2]), r"y: cycles: \[1, 2\], an object"),
        (sides(cycles={"0": "x"}), "y: 0: 'x', a number"),
        ({"id": "y", "what": {"sides": {"9": {}}}, "cycles": {}}, "y: sides: '9'"),
        ({"id": "y", "what": {"sides": []}, "cycles": {}}, r"y: sides: \[\], an object"),
    ],
)
def test_an_odd_row_of_contention_is_one_line_with_the_place(tmp_path, row, message):
    with pytest.raises(ScenarioError, match=f"^rows.jsonl:1: {message}"):
        list(contention(CHIP, written(tmp_path, row)))


def test_what_nothing_predicts_is_listed_and_left_out(tmp_path):
    unknown = [stream(kind="cluster remote arrive"), stream(kind="syncwarp"), stream(**COPY, blocks=2)]
    odd = sides(other={"kind": "lsu", "op": "lds64", "warps": 4, "per_chunk": 64})
    other = sides(other={"kind": "texture", "per_chunk": 64})
    probe = {"id": "none/lds32x1", "kind": "probe", "start": [], "latency": []}
    file = written(tmp_path, *unknown, odd, other, probe)
    assert [row.left_out for row in rows(CHIP, file)] == ["nothing predicts this"] * 2 + [
        "several SMs at work"
    ]
    reasons = [row.left_out for row in contention(CHIP, file)]
    assert (
        reasons
        == ["the measuring loop of lds64 is not known"] * 2 + ["a side of a kind that nothing predicts"] * 2
    )


def test_fields_that_follow_from_others_may_be_missing(tmp_path):
    box = {**COPY, "kind": "tma 2-D load stream", "box": [64, 64], "issuers": None}
    (row, tensor) = rows(CHIP, written(tmp_path, stream(), stream(**box)))
    # cycles of one of two warpgroups, without `derived`
    assert (row.measured, row.predicted) == (32.0, 32.0)
    assert tensor.predicted == pytest.approx(232 + 93.5 / 4)


def test_a_copy_that_is_polled_for_ends_when_the_loop_looks_again(tmp_path):
    """Looks at 394, 493, 592, ...; a copy of 4 KiB is there after 365 + 4096 / 106 = 404 cycles."""
    polled = [
        stream(kind="tma 1-D load latency", bytes=size, wait="test_wait")
        for size in (512, 4096, 16384, 32768)
    ]
    assert [row.predicted for row in rows(CHIP, written(tmp_path, *polled))] == [394, 493, 592, 691]


def test_a_stream_of_more_warps_than_a_warpgroup_beside_wgmma(tmp_path):
    """The sides may be named in any order: warps are counted, not assumed to be four a side."""
    eight = {"kind": "lsu", "op": "lds32", "warps": 8, "per_chunk": 256}
    first = sides(other=eight)
    turned = sides(one=eight, other=sides()["what"]["sides"]["0"])
    found = [list(contention(CHIP, written(tmp_path, row))) for row in (first, turned)]
    (wgmma, loads), (turned_loads, turned_wgmma) = ([row.predicted for row in pair] for pair in found)
    assert wgmma == pytest.approx(turned_wgmma, rel=0.02)
    assert loads == pytest.approx(turned_loads, rel=0.02)
    assert 34 < wgmma < 38


def test_streams_grow_with_what_is_copied():
    """More bytes, more copies a round, fewer in flight never take less time: no bound is forgotten."""

    def cycles(size: int, store: bool, lines: int, each: int, flight: int) -> float:
        loop = {"copies_per_barrier": each, "in_flight": flight, "reps": 16}
        return stream_cycles(Copy(size, store, lines, size // lines if lines else 0), loop, CHIP)

    for store in (False, True):
        for lines in (0, 8, 64):
            for each in (1, 2, 4, 16):
                for flight in (1, 2, 3, 4, 8):
                    found = [cycles(size, store, lines, each, flight) for size in (1024, 4096, 8192, 32768)]
                    assert found == sorted(found)
                    for size, own in zip((1024, 4096, 8192, 32768), found, strict=True):
                        assert own >= cycles(size, store, lines, each, flight + 1)
                        assert own < cycles(size, store, lines, each + 1, flight)
    # four stores of 8 KiB, waited for each round: 4 x 256 cycles of data and 130 - 22 around them
    assert cycles(8192, True, 0, 4, 1) == pytest.approx(1024 + 130 - 22)


@pytest.mark.parametrize(
    ("kind", "size", "chunk", "rate"),
    [("tma load 1d", 16384, 4, 69.8), ("tma load 2d", 16384, 4, 64.1), ("tma load 1d", 4096, 8, 18.4)],
)
def test_a_copy_stream_that_was_not_measured_alone_is_bound_by_its_loop(kind, size, chunk, rate):
    """Measured alone: 69.8, 64.1 and 18.4 bytes a cycle; the unit could do 107."""
    side = {"kind": kind, "bytes": size, "in_flight": 4, "copies_per_barrier": 1, "per_chunk": chunk}
    assert Copies().rate(side, CHIP) == pytest.approx(rate, rel=0.01)


@pytest.mark.parametrize(
    ("n", "operands", "share_read"),
    [(8, "RS", 2 / 14), (64, "RS", 1 / 2), (136, "RS", 1 / 2), (192, "SS", 64 / 96), (200, "SS", 66 / 100)],
)
def test_a_store_gets_the_cycles_that_wgmma_leaves_to_its_half(tmp_path, n, operands, share_read):
    """32 * (1 - U) bytes a cycle, whatever the chunks of the measured wgmma stream: those of N = 192 are short."""
    wgmma = {"kind": "wgmma", "n": n, "operands": operands, "per_chunk": 56 if n == 8 else 8}
    store = {"kind": "tma store 1d", "bytes": 16384, "buffer_at": 65536}
    beside = sides(one=wgmma, other=store, cycles={"1": 1000})
    (row,) = contention(CHIP, written(tmp_path, beside))
    assert 16384 / row.predicted == pytest.approx(32 * (1 - share_read), rel=0.04)


def by_side(found) -> dict[str, list[float]]:
    sides: dict[str, list[float]] = {}
    for row in found:
        if not row.left_out and "beside" in row.kind:
            sides.setdefault(row.kind.split(" beside")[0], []).append(abs(row.error))
    return sides


def share(errors: list[float], limit: float) -> float:
    return sum(error <= limit for error in errors) / len(errors)


def test_contention_of_a_sample(tmp_path):
    """Forty rows of two sides, chosen once; the whole set runs in `bankbench validate contention`."""
    with gzip.open(ASYNC, "rt") as stream:
        lines = [line for line in stream if json.loads(line)["group"] == "C"]
    pairs = [line for line in lines if len(json.loads(line)["what"]["sides"]) == 2]
    pairs = [
        line for line in pairs if "cp.async" not in line and not ("tma load" in line and "tma store" in line)
    ]
    file = tmp_path / "some.jsonl"
    file.write_text("".join(random.Random(1).sample(pairs, 40)))
    errors = by_side(contention(CHIP, file))
    assert median(errors["wgmma"]) <= 0.02
    assert share(errors["wgmma"], 0.06) >= 0.8
    assert median(errors["LSU"]) <= 0.06
    assert share(errors["LSU"], 0.10) >= 0.6


@pytest.mark.slow
def test_contention_of_all_rows(find_data):
    for file in [ASYNC, *find_data("h200_async*.jsonl.gz")]:
        sides = by_side(contention(CHIP, file))
        print(
            {
                name: (len(errors), median(errors), share(errors, 0.06), share(errors, 0.1))
                for name, errors in sides.items()
            }
        )
        assert median(sides["wgmma"]) <= 0.01
        assert share(sides["wgmma"], 0.06) >= 0.9
        assert median(sides["LSU"]) <= 0.04
        assert share(sides["LSU"], 0.10) >= 0.75
        assert median(sides["TMA load"]) <= 0.04
        assert median(sides["TMA store"]) <= 0.05
