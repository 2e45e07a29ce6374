"""Profiler exports: the real ones, odd ones in the formats' public shape, and what a run explains of them."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest
from bankbench.scenarios.cli.app import build
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.profiles import compare_profile, read_profile, shared_memory_counters
from bankbench.scenarios.profiles.numbers import Locale, base_unit, locale_of
from bankbench.scenarios.profiles.read import parse_profile
from bankbench.scenarios.run import run_scenario
from typer.testing import CliRunner

DATA = Path(__file__).parents[1] / "data"
ODD = DATA / "profiles_odd"
EXPECTED = json.loads((ODD / "expected.json").read_text(encoding="utf-8"))
REAL = sorted((DATA / "profiles").glob("*.csv.gz"))
# (instructions, wavefronts, conflicts) of loads, wavefronts of stores, from the README of the exports.
TRANSPOSES = {
    "transpose<32, 0>": (32768, 1048576, 1015808, 32768),
    "transpose<33, 0>": (32768, 32768, 0, 32768),
    "transpose<36, 0>": (32768, 131072, 98304, 32768),
    "transpose<32, 1>": (32768, 32768, 0, 32768),
    "rows16": (8192, 262144, 229376, 32768),
}


def counters(launch):
    return {f"{c.operation}.{c.quantity}": c for c in shared_memory_counters(launch)}


@pytest.fixture(scope="module")
def run():
    return run_scenario("transposes-profiled")


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_exports_are_read_whole(path: Path) -> None:
    profile = read_profile(path)
    assert profile.problems == ()
    assert len(profile.launches) == (11 if path.name.startswith("ops") else 5)
    page = "details" if "details" in path.name else "source" if "source" in path.name else "raw"
    assert (profile.tool, profile.page) == ("Nsight Compute", page)


def test_all_seven_are_here() -> None:
    assert len(REAL) == 11


@pytest.mark.parametrize(
    "path", [p for p in REAL if p.name.startswith("transpose_raw")], ids=lambda p: p.name
)
def test_counters_of_the_transposes(path: Path) -> None:
    profile = read_profile(path)
    for kernel, (instructions, wavefronts, conflicts, stores) in TRANSPOSES.items():
        (launch,) = profile.select(kernel)
        found = {name: counter.value for name, counter in counters(launch).items()}
        assert found["load.instructions"] == instructions
        assert found["load.wavefronts"] == wavefronts
        assert found["load.bank_conflicts"] == conflicts
        assert found["store.wavefronts"] == stores
        assert found["store.bank_conflicts"] == 0
        assert found["total.wavefronts"] > wavefronts + stores


@pytest.mark.parametrize("path", [p for p in REAL if p.name.startswith("transpose")], ids=lambda p: p.name)
def test_the_catalogue_predicts_every_load_and_store_counter(path: Path, run) -> None:
    result = compare_profile(run, path)
    rows = [row for row in result.table("counters").rows() if row["operation"] in ("load", "store", "source")]
    assert len(rows) >= 9
    assert [row for row in rows if row["left_over"] != 0] == []
    kernels = {row["kernel"].replace("(int)", "").replace("(bool)", "") for row in rows}
    if "details" not in path.name:  # its rules speak of kernels with conflicts only
        assert kernels == set(TRANSPOSES)


def transpose_scenario(launch) -> dict:
    """The accesses of `transpose<PITCH, XOR>` of transpose.cu for one launch of 32 x 8 threads."""
    pitch, swizzled = map(
        int,
        re.search(
            r"transpose<(\d+), ?(\d+)>", launch.kernel.replace("(int)", "").replace("(bool)", "")
        ).groups(),
    )
    blocks = prod(map(int, re.findall(r"\d+", launch.grid))) if launch.grid else 1024
    j, row = {"j": [0, 8, 16, 24]}, "(warp + j)"
    common = {"buffer": "tile", "for": j, "warps": 8, "repeat": blocks}
    store = f"[{row}, lane ^ {row}]" if swizzled else f"[{row}, lane]"
    load = f"[lane, {row} ^ lane]" if swizzled else f"[lane, {row}]"
    return {
        "name": "transpose",
        "buffers": {"tile": {"dtype": "f32", "shape": [32, 32], "pad": pitch - 32}},
        "accesses": [{**common, "op": "store", "lanes": store}, {**common, "op": "load", "lanes": load}],
    }


def test_further_exports_of_the_same_kinds(find_data, row_report) -> None:
    """Whatever exports there are besides: read whole, and every transposes' counters predicted exactly."""
    from bankbench.scenarios import run as run_mapping

    for path in [*REAL, *(path for path in find_data("*.csv*") if path not in REAL)]:
        try:
            profile = read_profile(path)
        except ScenarioError as error:
            if "no header of an export" in str(error):
                row_report.skip()
                continue
            raise
        row_report.check(bool(profile.launches), path.name, "no launches")
        row_report.check(not profile.problems, path.name, profile.problems[:1])
        for launch in profile.launches:
            if not launch.matches("transpose<"):
                continue
            one = replace(profile, launches=(launch,))
            result = compare_profile(run_mapping(transpose_scenario(launch)), one)
            for row in result.tables[0].rows() if result.tables else ():
                if row["operation"] in ("load", "store"):
                    row_report.check(row["left_over"] == 0, f"{path.name} {launch.key}", row)


def test_the_rest_of_a_total_is_not_ascribed(run) -> None:
    result = compare_profile(run, DATA / "profiles" / "transpose_raw_metrics.csv.gz")
    total = next(
        row
        for row in result.table("counters").rows()
        if (row["kernel"], row["operation"], row["quantity"]) == ("rows16", "total", "wavefronts")
    )
    assert total["measured"] - total["explained"] == total["left_over"] == 304112 - 294912
    assert "9,200 are neither loads, stores nor atomics" in " ".join(result.reasons)


def test_conflicts_without_an_access_are_left_over_whole() -> None:
    plain = run_scenario("transpose-pitch-33")
    result = compare_profile(plain, DATA / "profiles" / "ops_raw_metrics.csv.gz", kernel="softmax")
    rows = {(row["operation"], row["quantity"]): row for row in result.table("counters").rows()}
    assert rows["total", "wavefronts"]["left_over"] == 44154
    assert rows["total", "bank conflicts"]["left_over"] == 122
    assert rows["load", "wavefronts"]["left_over"] < 0
    assert "the scenario is not this launch" in " ".join(result.reasons)


@pytest.mark.parametrize("name", EXPECTED)
def test_odd_exports(name: str) -> None:
    expected = EXPECTED[name]
    profile = read_profile(ODD / name)
    assert profile.page == expected["page"]
    assert profile.tool == expected.get("tool", "Nsight Compute")
    found = [counters(launch) for launch in profile.launches]
    if "counters" in expected:
        assert len(found) == len(expected["counters"])
    for launch, wanted in zip(found, expected.get("counters", []), strict=False):
        assert {key: launch[key].value for key in wanted} == wanted
    if "problems" in expected:
        assert [problem.line for problem in profile.problems] == expected["problems"]
    assert len(profile.problems) >= expected.get("problem_count_at_least", 0)
    assert len(profile.launches) >= expected.get("least_launches", 1)
    assert len(profile.launches) == expected.get("launches", len(profile.launches))
    assert [launch.kernel for launch in profile.launches] == expected.get(
        "kernels", [launch.kernel for launch in profile.launches]
    )
    for key in expected.get("absent", []):
        assert key not in found[0]
    for key in expected.get("rounded", []):
        assert not found[0][key].exact
    if "reading" in expected:
        metric, value = expected["reading"]
        assert profile.launches[0].metrics[metric].value == pytest.approx(value, rel=1e-12)


def test_every_odd_file_has_an_answer() -> None:
    assert {path.name for path in ODD.iterdir()} - {"expected.json"} == set(EXPECTED)


def test_malformed_rows_end_with_exit_code_2_and_the_rest_is_compared(tmp_path: Path) -> None:
    scenario = tmp_path / "tile.yaml"
    scenario.write_text(
        "name: tile\naccesses:\n- {name: a, op: load, with: lds.32, bytes: 128 * (lane % 8) + 4 * (lane // 8),"
        " repeat: 16384, kernel: stage_tile}\n"
    )
    answer = CliRunner().invoke(
        build("compare", "run"), ["compare", str(scenario), str(ODD / "raw_malformed_rows.csv"), "--json"]
    )
    assert answer.exit_code == 2
    result = json.loads(answer.stdout)
    said = " ".join(result["reasons"])
    assert "raw_malformed_rows.csv:8:" in said
    assert "raw_malformed_rows.csv:10:" in said
    loads = [row for row in result["tables"]["counters"] if row["operation"] == "load"]
    assert {row["left_over"] for row in loads} == {0}
    whole = CliRunner().invoke(
        build("compare", "run"), ["compare", str(scenario), str(ODD / "raw_plain.csv")]
    )
    assert whole.exit_code == 0


def test_msprof_ratios_stand_beside_a_run() -> None:
    result = compare_profile(run_scenario("transpose-pitch-33"), ODD / "msprof_ResourceConflictRatio.csv")
    assert "12.50% of their cycles" in result.headline
    row = next(r for r in result.table("profile").rows() if r["metric"] == "aiv_vec_total_cflt_ratio")
    assert (row["cores"], row["least"], row["most"]) == (2, 0.0625, 0.1875)


def test_another_architecture_is_told(run) -> None:
    path = DATA / "profiles" / "transpose_raw_metrics.csv.gz"
    assert not any("compute capability" in line for line in compare_profile(run, path).reasons)
    other = run_scenario("transposes-profiled", chip="a100")
    assert any(
        "compute capability 9.0, modelled for a100 (sm_80)" in x for x in compare_profile(other, path).reasons
    )


def test_several_kernels_need_a_name() -> None:
    plain = run_scenario("transpose-pitch-33")
    path = DATA / "profiles" / "transpose_raw_metrics.csv.gz"
    with pytest.raises(ScenarioError, match="5 kernels here: transpose<32, 0>"):
        compare_profile(plain, path)
    with pytest.raises(ScenarioError, match="no launch of a kernel named like 'nothing'"):
        compare_profile(plain, path, kernel="nothing")


def test_files_that_are_no_exports(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such file"):
        read_profile(tmp_path / "nothing.csv")
    for data, message in (
        (b"a,b\n1,2\n", "no header of an export"),
        (b"\x7fELF\0\0", "binary data"),
        (b"", "no header"),
    ):
        path = tmp_path / "file.csv"
        path.write_bytes(data)
        with pytest.raises(ScenarioError, match=message):
            read_profile(path)
    path.write_bytes(gzip.compress(b"==PROF== nothing\n" * 100)[:-9][:12])
    with pytest.raises(ScenarioError):
        read_profile(path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"0" * (8 << 20)))
    with pytest.raises(ScenarioError, match="more than 4 MiB"):
        read_profile(path, most_bytes=4 << 20)


def test_a_file_of_too_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankbench.scenarios.profiles.read._MOST_ROWS", 10)
    head = "ID,Kernel Name,smsp__inst_executed_op_shared_ld.sum\n"
    assert len(parse_profile(head + "0,a,1\n" * 9).launches) == 9
    with pytest.raises(ScenarioError, match=r"f\.csv:11: more than 10 rows"):
        parse_profile(head + "0,a,1\n" * 10, "f.csv")


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("1,048,576", ".", 1048576),
        ("1.048.576", ",", 1048576),
        ("59.04", ".", 59.04),
        ("59,04", ",", 59.04),
        ("1'048'576", ".", 1048576),
        ("1\u202f048\u00a0576,5", ",", 1048576.5),
        ("-3.5e+09", ".", -3.5e9),
        ("96.88%", ".", 96.88),
        ("n/a", ".", None),
        ("(!) nan", ".", None),
        ("inf", ".", None),
        ("12 (a: 5; b: 7)", ".", 12),
    ],
)
def test_numbers(text: str, decimal: str, value: float | None) -> None:
    assert Locale(decimal).read(text) == value


@pytest.mark.parametrize("text", ["1,04", "1.2.3", "0x10", "CachePreferNone", "1,,000", "--5"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="is no number"):
        Locale(".").read(text)


def test_locales_are_told_by_what_only_they_can_mean() -> None:
    assert locale_of(["1,048,576"]).decimal == "."
    assert locale_of(["1.048.576"]).decimal == ","
    assert locale_of(["1,234", "127.0.0.1", "word"]).decimal == "."
    assert locale_of(["1.234"], ",").decimal == ","
    assert base_unit("Gbyte/s") == ("byte/s", 1e9)
    assert base_unit("ns") == ("ns", 1.0)


def test_an_unclosed_quote_takes_no_other_row_with_it() -> None:
    head = '"ID","Kernel Name","smsp__inst_executed_op_shared_ld.sum"\n'
    text = head + '"0","a","1"\n"1","b,"2"\n"2","c","3"\n'
    profile = parse_profile(text)
    assert [launch.kernel for launch in profile.launches] == ["a", "c"]
    assert [problem.line for problem in profile.problems] == [3]
