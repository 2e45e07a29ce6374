"""The section ascend: tails, synchronisation, hazards, errors with their place, tables, pictures, the two engines."""

from __future__ import annotations

import re

import pytest
import yaml
from bankbench.reports.pictures import draw
from bankbench.scenarios.ascend import ascend_trace
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.load import load, loads
from bankbench.scenarios.program_trace import as_fast
from bankbench.scenarios.run import run_scenario
from bankbench.sim.ascend import TIMING_PATHS
from bankbench.sim.chip import load_chip

SCHEDULES = (
    "ascend-matmul-910b",
    "ascend-matmul-950",
    "ascend-vector-add",
    "ascend-fixpipe-epilogue",
    "ascend-missing-flag",
)


def changed(name: str, *changes: tuple[str, str]):
    """A catalogue scenario with some of its text replaced; its own exact numbers are dropped."""
    text = load(name).source.text
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return loads(re.sub(r" *expect: \{(hazards: \d+, )?cycles: \d+\}\n", "", text), f"{name}.yaml")


def column(result, table: str, key: str, value: str) -> dict[str, int]:
    """One column of a table by another."""
    return {row[key]: row[value] for row in result.table(table).rows()}


@pytest.mark.parametrize("name", SCHEDULES)
def test_both_ways_to_run_give_the_same_tables(name: str) -> None:
    slow, fast = run_scenario(load(name)), run_scenario(as_fast(load(name)))
    assert slow.headline == fast.headline
    assert list(slow.table("pipes").rows()) == list(fast.table("pipes").rows())
    assert fast.violations == ()


def test_one_core_of_a_large_multiplication_both_ways() -> None:
    slow, fast = run_scenario(load("ascend-matmul-8192")), run_scenario(as_fast(load("ascend-matmul-8192")))
    assert slow.headline == fast.headline
    assert column(slow, "pipes", "pipe", "instructions") == {
        "M": 12288,
        "MTE1": 24576,
        "MTE2": 4608,
        "FIX": 96,
    }


@pytest.mark.parametrize(("name", "rows"), [("ascend-matmul-910b", 128), ("ascend-matmul-950", 256)])
def test_tails_load_compute_and_store_what_is_valid(name: str, rows: int) -> None:
    result = run_scenario(load(name))
    m, n, k = 500, 700, 1100
    valid = column(result, "paths", "path", "valid")
    moved = column(result, "paths", "path", "moved")
    across, down = -(-n // 256), -(-m // rows)
    assert valid["L0C -> GM"] == 2 * m * n
    assert valid["GM -> L1"] == 2 * (m * k * across + k * n * down)
    assert valid["L1 -> L0A"] == 2 * m * k * across
    assert valid["L1 -> L0B"] == 2 * k * n * down
    # Whole fractals: rows and columns in sixteens.
    up = lambda extent: -(-extent // 16) * 16  # noqa: E731
    assert moved["L1 -> L0A"] == 2 * up(m) * up(k) * across
    assert moved["L1 -> L0B"] == 2 * up(k) * up(n) * down
    assert f"{m * n * k:,} valid multiply-accumulates" in " ".join(result.reasons)
    [row] = result.table("ascend").rows()
    assert row["computed on padding"] == pytest.approx(1 - m * n * k / (up(m) * up(n) * up(k)), abs=5e-5)


def test_double_buffering_overlaps() -> None:
    two = run_scenario(changed("ascend-fixpipe-epilogue"))
    one = run_scenario(changed("ascend-fixpipe-epilogue", ("slots: 2", "slots: 1")))
    cycles = [result.table("ascend").data["cycles"][0] for result in (two, one)]
    assert cycles[1] > 1.5 * cycles[0]
    assert two.violations == one.violations == ()


def test_unit_flags_save_cycles() -> None:
    with_flags = run_scenario(changed("ascend-fixpipe-epilogue"))
    without = run_scenario(changed("ascend-fixpipe-epilogue", ("unit_flag: true", "unit_flag: false")))
    assert with_flags.table("ascend").data["cycles"][0] < without.table("ascend").data["cycles"][0]


def test_a_missing_flag_is_a_violation_that_names_both_instructions() -> None:
    result = run_scenario(changed("ascend-missing-flag"))
    assert result.exit_code == 1
    assert "1 hazards, expected 0" in result.violations[0]
    [row] = result.table("hazards").rows()
    assert re.fullmatch(
        r"read after write: #\d+ fixpipe C2 -> C reads what #\d+ mmad A2 x B2 -> C2 \(k=448\) still writes "
        r"\(C2, L0C 0x0..0x20000\); a flag M->FIX between them is missing",
        row["hazard"],
    )


def test_the_flag_put_back_leaves_no_hazard() -> None:
    fixed = changed(
        "ascend-missing-flag",
        (
            "    - fixpipe:",
            "    - set_flag: {from: M, to: FIX}\n    - wait_flag: {from: M, to: FIX}\n    - fixpipe:",
        ),
    )
    assert run_scenario(fixed).violations == ()


def test_pipes_out_of_step_set_a_flag_twice() -> None:
    broken = changed(
        "ascend-missing-flag",
        (
            "        - set_flag: {from: MTE2, to: MTE1}\n        - wait_flag: {from: MTE2, to: MTE1}\n",
            "",
        ),
    )
    with pytest.raises(
        ScenarioError, match=r"set already by #\d+ .*has not happened yet.*read after write"
    ) as error:
        run_scenario(broken)
    assert str(error.value).startswith("ascend-missing-flag.yaml:")


def test_an_id_that_does_not_exist_names_both_halves_of_the_flag() -> None:
    text = load("ascend-missing-flag").source.text.replace(
        "{from: MTE2, to: MTE1}", "{from: MTE2, to: MTE1, id: 8}"
    )
    with pytest.raises(ScenarioError) as error:
        run_scenario(loads(text, "x.yaml"))
    assert re.fullmatch(
        r"x.yaml:27: ascend.schedule\[2\].do\[3\]: set_flag MTE2->MTE1: event id 8; this chip has ids 0 to 7; "
        r"its wait_flag stands in ascend.schedule\[2\].do\[4\] \(x.yaml:28\)",
        str(error.value),
    )


def test_an_expected_flag_error_is_an_answer() -> None:
    text = load("ascend-missing-flag").source.text
    text = text.replace("    - set_flag: {from: M, to: MTE1}\n    - for", "    - for")
    text = re.sub(r"expect: \{.*\}", "expect: {flag_error: set only later}", text)
    result = run_scenario(loads(text))
    assert result.headline == "flag error, as expected"
    assert re.search(
        r"wait_flag M->MTE1 0 \(k=0\): the flag is set only later, by .*; it blocks", result.reasons[0]
    )
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ((("A1[0, k]", "A9[0, k]"),), r"x.yaml:27: .*no matrix and no tile 'A9'; there are: A, B, C, A1"),
        ((("layout: ColumnMajor", "layout: RowMajor"),), r"x.yaml:24: .*cannot transpose on the way to nZ"),
        ((("A[m, k1]", "A[m, k1, 3]"),), r"x.yaml:23: .*the coordinate 3; they have to agree"),
        ((("A[m, k1]", "A[m, q]"),), r"x.yaml:23: .*name 'q' is not allowed here"),
        (
            (("to: A2}\n", "to: C2}\n"),),
            r"x.yaml:27: .*LoadData moves L1 to L0A, L0B, BT or FB, not L1 to L0C",
        ),
        ((("[128, 256], slots: 2", "[512, 512], slots: 2"),), r"x.yaml:13: ascend.tiles.A1: L1: A1 asks for"),
        ((('k: "0:256:64"', 'k: "0:256:0"'),), r"x.yaml:25: .*'0:256:0' is no range"),
        ((("chip: ascend910b", "chip: h200"),), r"needs an Ascend chip, h200 is none"),
        ((("slots: 2}\n    C2", "slots: 7}\n    C2"),), r"L0B: B2 asks for 7 x"),
        ((("mmad: {a: A2, b: B2", "mmad: {a: B2, b: A2"),), r"mmad: B2 lies in L0B, it has to be in L0A"),
        ((("dtype: f16, layout", "dtype: f32, layout"),), r"f32 into f16; MTE2 does not convert"),
        (
            (("500, 1100", "500, 70000"),),
            r"70000 elements a line of the matrix; srcDValue holds at most 65535",
        ),
        ((('init: "k1 + k == 0"', "init: 0"),), r"C2 is read before anything fills it"),
    ],
)
def test_errors_say_where_and_what_would_be_right(changes, message: str) -> None:
    loaded = changed("ascend-matmul-910b", *changes)
    with pytest.raises(ScenarioError, match=message):
        run_scenario(loads(loaded.source.text, "x.yaml"))


def test_a_kernel_on_a_chip_without_public_times_still_has_its_buffers() -> None:
    result = run_scenario(load("ascend-matmul-910b"), chip="310p")
    assert result.exit_code == 3
    assert "pipes.queue" in result.unknowns[0]
    assert column(result, "tiles", "tile", "memory left")["C2"] == 131072


def test_overrides_make_an_unknown_chip_run() -> None:
    known = load_chip("a2")
    from bankbench.sim.ascend import TIMING_PATHS

    given = [f"{path}={known[path]}" for path in TIMING_PATHS if load_chip("310p")[path] is None]
    given += ["mte2.rate=64"]
    loaded = changed("ascend-fixpipe-epilogue")
    result = run_scenario(loaded, chip="310p", overrides=given)
    assert "cycles" in result.headline
    assert result.exit_code == 0


def test_occupancy_stays_inside_the_memories() -> None:
    for name in ("ascend-fixpipe-epilogue", "ascend-vector-add", "ascend-matmul-950"):
        result = run_scenario(load(name))
        chip = load_chip(result.chip)
        for row in result.table("occupancy").rows():
            assert 0 <= row["bytes"] <= chip[f"buffers.{row['memory']}"], row
        last = {row["memory"]: row["bytes"] for row in result.table("occupancy").rows()}
        assert set(last.values()) == {0}


def test_l1_halves_say_when_both_pipes_use_one_bank() -> None:
    together = run_scenario(changed("ascend-fixpipe-epilogue"))
    apart = run_scenario(
        changed(
            "ascend-fixpipe-epilogue",
            (
                "A1: {in: L1, shape: [128, 256], slots: 2}",
                "A1: {in: L1, shape: [128, 256], slots: 2, at: [0, 0x40000]}",
            ),
            (
                "B1: {in: L1, shape: [256, 256], layout: nZ, slots: 2}",
                "B1: {in: L1, shape: [256, 256], layout: nZ, slots: 2, at: [0x10000, 0x50000]}",
            ),
        )
    )
    both = [sum(result.table("l1_halves").data["both"]) for result in (together, apart)]
    assert both[0] > 2 * both[1] > 0


@pytest.mark.parametrize("name", ["ascend-fixpipe-epilogue", "ascend-nd2nz-plain", "ascend-vector-add"])
def test_pictures_can_be_drawn_and_have_words(name: str) -> None:
    result = run_scenario(load(name))
    assert result.pictures
    for picture in result.pictures:
        assert picture.alt
        assert draw(picture).axes


def test_the_trace_has_a_track_a_pipe() -> None:
    trace = ascend_trace(load("ascend-fixpipe-epilogue"), load_chip("a2"))
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"]
    assert names == ["M", "MTE1", "MTE2", "FIX"]
    assert sum(e["ph"] == "X" for e in trace["traceEvents"]) == 32 * 3 + 16 + 8


def test_stated_cycles_are_checked() -> None:
    text = load("ascend-ub-conflict-before").source.text.replace("cycles: 135", "cycles: 134")
    result = run_scenario(loads(text, "u.yaml"))
    assert result.violations == ("u.yaml:7: add: 135 cycles, expected 134",)


def test_nothing_to_do_is_refused() -> None:
    with pytest.raises(ScenarioError, match="give tiles, a schedule, vectors or lanes"):
        loads("name: x\nchip: a2\nascend: {cores: 2}\n")


INSIDE = """name: x
chip: "CHIP"
ascend:
  matrices:
    A: {shape: [128, 128]}
    V: {shape: [1024], dtype: f32}
    C: {shape: [128, 128]}
    D: {shape: [128, 128], layout: ColumnMajor}
    Z: {shape: [128, 128], layout: zN}
  tiles:
    A1: {in: L1, shape: [128, 128]}
    V1: {in: L1, shape: [256], dtype: f32, layout: VectorLayout}
    A2: {in: L0A, shape: [128, 128]}
    B2: {in: L0B, shape: [128, 128]}
    C2: {in: L0C, shape: [128, 128], dtype: f32}
    MORE
  schedule:
    - copy: {from: "A[0, 0]", to: A1}
    - load: {from: A1, to: A2}
    - load: {from: A1, to: B2}
    - mmad: {a: A2, b: B2, c: C2}
    STEPS
"""


def inside(chip: str, steps: str, tile: str = ""):
    text = INSIDE.replace("CHIP", chip).replace("MORE", tile or "{}").replace("STEPS", steps)
    return run_scenario(loads(text.replace("    {}\n", ""), "x.yaml"))


TABLE = '- copy: {from: "V[0]", to: V1}\n    - load: {from: V1, to: T}'


@pytest.mark.parametrize(
    ("chip", "tile", "steps", "path", "cycles"),
    [
        ("a2", "T: {in: BT, shape: [128], dtype: f32}", TABLE, "L1 -> BT", 26 + 16),
        ("a2", "T: {in: FB, shape: [128], dtype: f32}", TABLE, "L1 -> FB", 26 + 16),
        ("950", "U: {in: UB, shape: [128, 128]}", "- fixpipe: {from: C2, to: U}", "L0C -> UB", 26 + 256),
        (
            "950",
            "U: {in: L1, shape: [128, 128], dtype: f32}",
            "- fixpipe: {from: C2, to: U}",
            "L0C -> L1",
            26 + 512,
        ),
        ("a2", "", '- copy: {from: A1, to: "Z[0, 0]"}', "L1 -> GM", None),
    ],
)
def test_paths_that_a_chip_has(chip: str, tile: str, steps: str, path: str, cycles: int | None) -> None:
    result = inside(chip, steps, tile)
    assert result.violations == ()
    assert path in column(result, "paths", "path", "moved")
    named = "load V1" if path.endswith(("BT", "FB")) else "fixpipe"
    if cycles is not None:
        [row] = [row for row in result.table("instructions").rows() if row["instruction"].startswith(named)]
        assert row["end"] - row["start"] == cycles


@pytest.mark.parametrize(
    ("chip", "tile", "steps", "message"),
    [
        ("a2", "U: {in: UB, shape: [128, 128]}", "- fixpipe: {from: C2, to: U}", "has no path L0C -> UB"),
        ("a2", "", '- fixpipe: {from: C2, to: "D[0, 0]"}', "stores rows"),
        ("a2", "", '- copy: {from: A1, to: "C[0, 0]"}', "the matrix has the layout zN"),
        ("950", "", '- copy: {from: A1, to: "Z[0, 0]"}', "has no path L1 -> GM"),
        ("a2", "", '- copy: {from: A2, to: "C[0, 0]"}', "L0A is not"),
        ("a2", "", '- copy: {from: "A[0, 0]", to: A2}', "copy into L1, then load"),
        (
            "a2",
            "T: {in: L0B, shape: [128, 64], dtype: s8}",
            "- load: {from: A1, to: T}",
            "MTE1 does not convert",
        ),
    ],
)
def test_paths_that_a_chip_does_not_have(chip: str, tile: str, steps: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        inside(chip, steps, tile)
    assert message in str(error.value)
    assert str(error.value).startswith("x.yaml:")


def test_operands_of_two_types_are_not_multiplied() -> None:
    text = INSIDE.replace("CHIP", "a2").replace(
        "    MORE\n", "    S1: {in: L1, shape: [128, 128], dtype: s8}\n"
    )
    text = text.replace("B2: {in: L0B, shape: [128, 128]}", "B2: {in: L0B, shape: [128, 128], dtype: s8}")
    text = text.replace("C: {shape: [128, 128]}", "C: {shape: [128, 128], dtype: s8}")
    text = text.replace(
        "- load: {from: A1, to: B2}", '- copy: {from: "C[0, 0]", to: S1}\n    - load: {from: S1, to: B2}'
    )
    with pytest.raises(ScenarioError, match=r"A2 is f16, B2 s8; both have to be of one kind"):
        run_scenario(loads(text.replace("    STEPS\n", ""), "x.yaml"))


@pytest.mark.parametrize(
    ("matrix", "tile", "message"),
    [
        ("[100000, 64]", "[128, 64]", ""),  # a tall matrix of short lines has a short pitch
        ("[64, 65535]", "[64, 64]", ""),
        ("[64, 65536]", "[64, 64]", "65536 elements a line of the matrix; srcDValue holds at most 65535"),
        ("[20000, 8]", "[16384, 8]", ""),
    ],
)
def test_fields_of_a_relayout_copy(matrix: str, tile: str, message: str) -> None:
    text = (
        f"name: x\nchip: a2\nascend:\n  matrices: {{A: {{shape: {matrix}}}}}\n"
        f"  tiles: {{T: {{in: L1, shape: {tile}}}}}\n"
        '  schedule: [{copy: {from: "A[0, 0]", to: T}}]\n'
    )
    if message:
        with pytest.raises(ScenarioError, match=message):
            run_scenario(loads(text))
    else:
        assert run_scenario(loads(text)).violations == ()


@pytest.mark.parametrize("bound", ["x", "0:x", "10000000000000000000000000", "0:9:-1", "[]", "1.5"])
@pytest.mark.parametrize("name", ["ascend-matmul-8192", "ascend-fixpipe-epilogue"])
def test_bounds_of_loops_that_cannot_be_read(name: str, bound: str) -> None:
    text = load(name).source.text
    variable = re.search(r'for: \{(\w+): ("[^"]*"|\d+)', text)
    assert variable is not None
    wrong = text.replace(variable[0], f"for: {{{variable[1]}: '{bound}'")
    with pytest.raises(ScenarioError, match="is no range"):
        run_scenario(loads(wrong, "x.yaml"))


def test_a_result_whose_rate_is_not_public_is_unknown() -> None:
    result = inside("a2", "- fixpipe: {from: C2, to: U}", "U: {in: L1, shape: [128, 128], dtype: f32}")
    assert (result.exit_code, result.status) == (3, "unknown")
    assert result.unknowns[0].startswith("x.yaml:")
    assert "f32 into L1: unknown" in result.unknowns[0]


@pytest.mark.parametrize("chip", ["310p", "910a"])
def test_banks_of_the_older_chips_are_unknown(chip: str) -> None:
    text = f"name: x\nchip: {chip}\nascend: {{vectors: [{{name: add, reads: [{{at: 0}}], writes: [{{at: 64}}]}}]}}"
    result = run_scenario(loads(text))
    assert (result.exit_code, result.status) == (3, "unknown")
    assert "the address mapping of this Unified Buffer is not public" in result.unknowns[0]
    assert result.headline == "conflicts of add unknown"


@pytest.mark.parametrize(
    ("chip", "options", "usable"),
    [
        ("a2", "", 192 * 1024 - 256),
        ("a2", "framework: true", 184 * 1024 - 256),
        ("950", "framework: true", 248 * 1024),
        ("950", "framework: true, simt_cache: 32768", 216 * 1024),
        ("950", "simt_cache: 131072", 128 * 1024),
    ],
)
def test_reserved_parts_of_the_unified_buffer(chip: str, options: str, usable: int) -> None:
    more = f"{options}, " if options else ""
    text = f'name: x\nchip: "{chip}"\nascend: {{{more}tiles: {{T: {{in: UB, shape: [SIZE]}}}}}}'
    full = run_scenario(loads(text.replace("SIZE", str(usable // 2))))
    assert f"UB {usable:,} of {usable:,} bytes" in full.headline
    with pytest.raises(ScenarioError, match=f"UB of .* has {usable:,} bytes"):
        run_scenario(loads(text.replace("SIZE", str(usable // 2 + 16))))


@pytest.mark.parametrize(
    ("chip", "size", "message"),
    [
        ("a2", 32768, "no SIMT data cache"),
        ("950", 16384, "takes 32,768 to 131,072"),
        ("950", 131073, "not 131,073"),
    ],
)
def test_caches_that_do_not_exist(chip: str, size: int, message: str) -> None:
    text = f'name: x\nchip: "{chip}"\nascend: {{simt_cache: {size}, tiles: {{T: {{in: UB, shape: [64]}}}}}}'
    with pytest.raises(ScenarioError, match=message):
        run_scenario(loads(text))


def test_the_estimate_of_l2_says_what_it_rests_on() -> None:
    assert any(
        "l2_hit: auto is an estimate" in line for line in run_scenario("ascend-matmul-8192").assumptions
    )


LOADS = """name: x
chip: "CHIP"
ascend:
  matrices: {A: {shape: [128, 128], dtype: DTYPE}}
  tiles:
    A1: {in: L1, shape: [128, 128], dtype: DTYPE, layout: TAG}
    T: {in: MEMORY, shape: [64, 64], dtype: DTYPE}
  schedule:
    - copy: {from: "A[0, 0]", to: A1}
    - load: {from: "A1[AT]", to: T}
"""


def loading(chip: str, dtype: str, tag: str, memory: str, at: str):
    text = LOADS
    for word, value in {"CHIP": chip, "DTYPE": dtype, "TAG": tag, "MEMORY": memory, "AT": at}.items():
        text = text.replace(word, value)
    return run_scenario(loads(text, "x.yaml"))


@pytest.mark.parametrize(
    ("chip", "dtype", "tag", "memory", "at", "message"),
    [
        ("a2", "f16", "zN", "L0A", "16, 48", ""),
        ("a2", "f16", "zN", "L0A", "0, 8", "begins inside a fractal; multiples of 16 and 16, nearest 0, 0"),
        ("a2", "f16", "zN", "L0A", "20, 16", "multiples of 16 and 16, nearest 16, 16"),
        ("a2", "s8", "zN", "L0A", "16, 32", ""),
        ("a2", "s8", "zN", "L0A", "0, 48", "multiples of 16 and 32, nearest 0, 32"),
        ("a2", "f32", "zN", "L0A", "16, 8", ""),
        ("a2", "f32", "zN", "L0A", "8, 8", "multiples of 16 and 8"),
        ("a2", "f16", "RowMajor", "L0A", "0, 0", "A1 is RowMajor in L1; LoadData reads fractals"),
        ("950", "int4", "nZ", "L0A", "0, 0", "4-bit elements are transposed into L0B only"),
        ("950", "s8", "nZ", "L0B", "32, 16", ""),
        ("950", "s8", "nZ", "L0B", "16, 32", "multiples of 32 and 16, nearest 0, 32"),
    ],
)
def test_loads_move_whole_fractals(
    chip: str, dtype: str, tag: str, memory: str, at: str, message: str
) -> None:
    if message:
        with pytest.raises(ScenarioError, match=message):
            loading(chip, dtype, tag, memory, at)
    else:
        assert loading(chip, dtype, tag, memory, at).violations == ()


@pytest.mark.parametrize(
    ("chip", "tag", "held"), [("a2", "RowMajor", "zZ"), ("a2", "zN", "zZ"), ("950", "zZ", "zN")]
)
def test_l0_holds_one_format(chip: str, tag: str, held: str) -> None:
    text = f'name: x\nchip: "{chip}"\nascend: {{tiles: {{T: {{in: L0A, shape: [16, 16], layout: TAG}}}}}}'
    with pytest.raises(ScenarioError, match=f"holds {held}, not {tag}; leave the layout out"):
        run_scenario(loads(text.replace("TAG", tag)))
    assert run_scenario(loads(text.replace("TAG", held))).exit_code == 0


def test_a_relayout_into_the_unified_buffer_is_unknown() -> None:
    text = (
        "name: x\nchip: a2\nascend:\n  matrices: {A: {shape: [64, 64]}}\n"
        "  tiles: {T: {in: UB, shape: [64, 64], layout: zN}}\n"
        '  schedule: [{copy: {from: "A[0, 0]", to: T}}]\n'
    )
    result = run_scenario(loads(text))
    assert result.exit_code == 3
    assert "unknown for UB, documented is the way into L1" in result.unknowns[0]


UB = ("bank_shift", "row_shift", "rows", "reads_per_group", "delayed_write", "overhead", "write_delay")


@pytest.mark.parametrize("chip", ["ascend310p", "ascend910"])
def test_older_chips_run_with_figures_of_the_readers_own(chip: str) -> None:
    """What is not public can be set, all of it: the schedule of the vector add then runs as on 2201."""
    wanted = [*TIMING_PATHS, *(f"ub.{name}" for name in UB)]
    machine, other = load_chip(chip), load_chip("a2")
    own = {path: other[path] for path in wanted if machine[path] is None}
    fields = yaml.safe_load(load("ascend-vector-add").source.text) | {"chip": chip}
    fields["ascend"].pop("expect", None)
    fields["ascend"]["cores"] = 8
    without = {path: value for path, value in own.items() if not path.startswith("ub.")}
    unknown = run_scenario(loads(yaml.safe_dump(fields | {"overrides": without}), "x.yaml"))
    assert unknown.exit_code == 3
    assert "ub.bank_shift" in unknown.unknowns[0]
    result = run_scenario(loads(yaml.safe_dump(fields | {"overrides": own}), "x.yaml"))
    assert (result.exit_code, result.violations) == (0, ())
    assert result.table("ascend").data["cycles"][0] > 10_000


@pytest.mark.parametrize(
    ("name", "chip", "cores", "message"),
    [
        ("ascend-fixpipe-epilogue", "ascend910b", 24, ""),
        ("ascend-fixpipe-epilogue", "ascend910b", 25, "has 24 cube cores, so 1 to 24"),
        ("ascend-vector-add", "ascend910b", 48, ""),
        ("ascend-vector-add", "ascend910b", 49, "has 48 vector cores, so 1 to 48"),
        ("ascend-vector-add", "ascend950", 64, ""),
        ("ascend-vector-add", "ascend950", 65, "has 64 vector cores"),
    ],
)
def test_cores_that_the_chip_has(name: str, chip: str, cores: int, message: str) -> None:
    fields = yaml.safe_load(load(name).source.text) | {"chip": chip}
    fields["ascend"].pop("expect", None)
    fields["ascend"]["cores"] = cores
    text = yaml.safe_dump(fields)
    if message:
        with pytest.raises(ScenarioError, match=message):
            run_scenario(loads(text, "x.yaml"))
    else:
        assert run_scenario(loads(text, "x.yaml")).violations == ()


@pytest.mark.parametrize(("dtype", "scales"), [("fp4", 64 * 2 * 1), ("s8", 0)])
def test_mx_operands_bring_their_scales_to_l0(dtype: str, scales: int) -> None:
    result = loading("950", dtype, "zN", "L0A", "0, 0")
    bits = 4 if dtype == "fp4" else 8
    assert column(result, "paths", "path", "moved")["L1 -> L0A"] == 64 * 64 * bits // 8 + scales
