"""`bankbench validate`: measured rows that come with the package, and files of the same formats."""

from __future__ import annotations

import gzip
import json

import pytest
from bankbench.reports.pictures import draw
from bankbench.scenarios.cli.app import COMMANDS, build
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.validate import compare, json_rows, validation_result
from bankbench.scenarios.validation import Row, find_sets, summaries
from bankbench.scenarios.validation.sets import DATA
from bankbench.sim import chip_names, load_chip
from typer.testing import CliRunner

APP = build(*COMMANDS)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """The first ten programs of the placement file as a file of their own."""
    path = tmp_path_factory.mktemp("rows") / "mine.jsonl"
    with gzip.open(DATA / "h200_placement.jsonl.gz", "rt") as stream:
        path.write_text("".join(line for line, _ in zip(stream, range(10), strict=False)))
    return path


def test_summaries_of_known_rows():
    rows = [
        Row("a", "k", 100, 101),
        Row("b", "k", 100, 97),
        Row("c", "k", 100, 110),
        Row("d", "other", 5, 0, left_out="why"),
    ]
    kind, other, every = summaries(rows)
    assert (kind.kind, kind.number, kind.worst_id, kind.right) == ("k", 3, "c", 2)
    assert kind.mean == pytest.approx((0.01 + 0.03 + 0.10) / 3)
    assert kind.bias == pytest.approx((0.01 - 0.03 + 0.10) / 3)
    assert (other.number, other.left_out) == (0, 1)
    assert (every.kind, every.number, every.percentile_95) == ("all", 3, pytest.approx(0.10))


def test_an_error_against_zero_is_the_difference():
    assert Row("a", "k", 0, 3, 0.0).error == 3
    assert Row("a", "k", 0, 0, 0.0).right


def test_counts_that_come_with_the_package_agree_exactly():
    (item,) = find_sets(["accesses"])
    rows = list(item.rows(load_chip("h200")))
    wrong = [row for row in rows if not row.right]
    assert len(rows) > 15_000
    assert not wrong, wrong[:10]


def test_json_has_one_line_a_row_with_id_measured_predicted(few):
    done = CliRunner().invoke(APP, ["validate", "--programs", str(few), "--json"])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 0
    assert [row["id"] for row in rows] == [f"q00{n}" for n in range(10)]
    assert all(abs(row["predicted"] / row["measured"] - 1) < 0.12 for row in rows)


def test_the_report_has_errors_by_kind_and_a_scatter_picture(few):
    result = validation_result(compare(files=[("programs", few)]))
    table = {row["kind"]: row for row in result.table("validation").rows()}
    assert table["all"]["rows"] == 10
    assert 0 < table["all"]["mean"] < 3
    (picture,) = result.pictures
    figure = draw(picture)
    assert len(figure.axes) == 2
    assert len(picture.data["measured"]) == 10
    assert "mean error" in result.reasons[0]


def test_further_files_of_accesses(tmp_path):
    row = {
        "id": 1,
        "op": "lds",
        "width_bytes": 4,
        "mask": 2**32 - 1,
        "offsets": [128 * lane for lane in range(32)],
    }
    path = tmp_path / "more.jsonl"
    path.write_text(json.dumps({**row, "wavefronts": 31, "bank_conflicts": 31}))
    rows = list(json_rows(compare(files=[("accesses", path)])))
    assert [(row["measured"], row["predicted"]) for row in rows] == [(31, 32), (31, 31)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nothing"], "no validation set 'nothing'"),
        (["--programs", "none.jsonl"], "none.jsonl: no such file"),
        (["--chip", "h100x"], "unknown chip 'h100x'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(options, message):
    done = CliRunner().invoke(APP, ["validate", *options])
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_bad_program_names_file_and_line(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"id": "x", "groups": [{"loop": [{"op": "FROB", "stall": 1}]}], "cycles": 1}\n')
    done = CliRunner().invoke(APP, ["validate", "--programs", str(path)])
    assert done.exit_code == 2
    assert "bad.jsonl:1: x: group 0, loop[0] (FROB): unknown instruction" in done.stderr
    path.write_text('{"id": "x", "groups": [{"loop": [{"op": "MOV", "stall": 1}]}]}\n')
    with pytest.raises(ScenarioError, match="no measured `cycles`"):
        compare(files=[("programs", path)])


def test_a_chip_without_measurements():
    name = next(name for name in chip_names() if not find_sets(chip=name))
    with pytest.raises(ScenarioError, match=f"no measurements of {name}; there are some of: .*h200"):
        compare(chip=name)


ACCESS = {
    "id": 7,
    "op": "lds",
    "width_bytes": 4,
    "mask": 2**32 - 1,
    "offsets": [4 * lane for lane in range(32)],
    "wavefronts": 1,
}
PROGRAM = {"id": "z", "groups": [{"loop": [{"op": "MOV", "stall": 1}]}], "cycles": 9}


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("accesses", {"id": 7}, "7: no field 'op'"),
        ("accesses", {**ACCESS, "mask": 2**32}, "7: mask: 4294967296, a bit for each of 32 lanes"),
        ("accesses", {**ACCESS, "offsets": [0] * 31}, "7: offsets: a list of 32 byte offsets"),
        ("accesses", {**ACCESS, "offsets": [10**30] * 32}, "7: offsets: a list of 32 byte offsets"),
        ("accesses", {**ACCESS, "offsets": [2] * 32}, "7: lane 0: lds.32 at offset 2: a multiple of 4"),
        ("accesses", {**ACCESS, "wavefronts": None}, "7: wavefronts: null"),
        ("accesses", {**ACCESS, "latency_cycles": "long"}, "7: latency_cycles: 'long', a number"),
        ("programs", {**PROGRAM, "cycles": None}, "z: no measured `cycles`"),
        ("programs", {**PROGRAM, "cycles": "9"}, "z: cycles: '9', a number"),
        ("programs", {**PROGRAM, "stamps": [[]], "starts": [1, 2]}, "z: starts: 2 cycles for 1 warps"),
        ("programs", {**PROGRAM, "stamps": [[]]}, "z: starts: a list of cycles"),
        ("programs", {**PROGRAM, "groups": [*PROGRAM["groups"], {}], "warp_cycles": 3}, "z: warp_cycles: a"),
    ],
)
def test_an_odd_row_is_one_line_with_the_place(tmp_path, kind, row, message):
    """The second of three lines, so that a row is named and not the group in which it was counted."""
    good = ACCESS if kind == "accesses" else PROGRAM
    path = tmp_path / "odd.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in (good, row, good)))
    done = CliRunner().invoke(APP, ["validate", f"--{kind}", str(path)])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"bankbench: odd.jsonl:2: {message}")
    assert len(done.stderr.strip().splitlines()) == 1
