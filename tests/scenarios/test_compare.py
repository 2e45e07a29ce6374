"""`bankbench compare`: two runs side by side, from scenarios, folders and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bankbench.reports.files import dumps, result_from_json, result_json
from bankbench.reports.folder import write_folder
from bankbench.reports.terminal import render_text
from bankbench.scenarios.cli.app import build
from bankbench.scenarios.compare import change, compare, compare_runs, read_side
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.run import run_scenario
from typer.testing import CliRunner

BEFORE, AFTER = "fp16-column-plain", "fp16-column-128B"


def test_the_table_for_a_pull_request() -> None:
    found = compare(BEFORE, AFTER)
    totals = {row["what"]: row for row in found.table("totals").rows()}
    assert totals["wavefronts"] == {"what": "wavefronts", "before": 8, "after": 1, "change": "-87.5 %"}
    assert totals["footprint bytes"]["change"] == "="
    (access,) = found.table("accesses").rows()
    assert (access["access"], access["before"], access["after"], access["excess_after"]) == (
        "column 0",
        8,
        1,
        0,
    )
    text = render_text(found)
    assert "| wavefronts        |      8 |     1 | -87.5 %  |" in text
    assert max(map(len, text.splitlines())) <= 100
    assert found.command == f"bankbench compare {BEFORE} {AFTER}"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (8, 1, "-87.5 %"),
        (0, 3, "+3"),
        (0, 0, "="),
        (1, 20, "20.0x"),
        (1000, 1000.1, "+0.0 %"),
        (None, 3, ""),
        (float("nan"), 3, ""),
        (-4, -2, "+50.0 %"),
    ],
)
def test_change(before: float, after: float, said: str) -> None:
    assert change(before, after) == said


def test_a_side_may_be_a_folder_or_its_result(tmp_path: Path) -> None:
    write_folder(run_scenario(BEFORE), tmp_path / "old")
    direct = compare(BEFORE, AFTER)
    for side in (tmp_path / "old", tmp_path / "old" / "result.json"):
        found = compare(str(side), AFTER)
        for name in ("totals", "accesses"):
            assert list(found.table(name).rows()) == list(direct.table(name).rows())


def test_accesses_of_other_names_meet_by_position_or_stand_alone() -> None:
    found = compare_runs(run_scenario("transpose-pitch-32"), run_scenario(BEFORE))
    rows = list(found.table("accesses").rows())
    assert [row["access"] for row in rows] == ["store rows", "load columns", "column 0"]
    assert rows[2]["before"] is None
    assert rows[0]["after"] is None


def test_other_tables_tell_what_differs() -> None:
    found = compare_runs(run_scenario("transpose-pitch-32"), run_scenario("transpose-pitch-33"))
    rows = [
        (r["table"], r["row"], r["column"], r["before"], r["after"])
        for r in found.table("differences").rows()
    ]
    assert ("buffers", "tile", "bytes", 4096, 4220) in rows


def test_json_of_a_result_is_read_back() -> None:
    result = run_scenario("both-sides-plain")
    again = result_from_json(json.loads(dumps(result_json(result))))
    assert again.headline == result.headline
    assert [table.columns for table in again.tables] == [table.columns for table in result.tables]
    assert list(again.table("accesses").rows()) == list(result.table("accesses").rows())
    assert again.extra["totals"] == result.extra["totals"]


def test_bad_sides_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ScenarioError, match=r"no result\.json"):
        read_side(str(tmp_path / "empty"))
    (tmp_path / "result.json").write_text('{"headline": 1}')
    with pytest.raises(ScenarioError, match="not the result of a run"):
        read_side(str(tmp_path / "result.json"))
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ScenarioError, match="cannot be read as JSON"):
        read_side(str(tmp_path / "broken.json"))
    write_folder(run_scenario(BEFORE), tmp_path / "old")
    with pytest.raises(ScenarioError, match="was run on h200"):
        read_side(str(tmp_path / "old"), chip="a100")


def test_exit_codes_and_json(tmp_path: Path) -> None:
    runner, app = CliRunner(), build("compare")
    done = runner.invoke(app, ["compare", BEFORE, AFTER, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["tables"]["totals"][0]["after"] == 1
    broken = tmp_path / "limit.yaml"
    broken.write_text(
        "name: limit\nbuffers: {t: {dtype: f16, shape: [8, 64]}}\n"
        "accesses: [{buffer: t, lanes: '[lane, 0]', mask: lane < 8}]\nexpect: {max_excess_wavefronts: 0}\n"
    )
    assert runner.invoke(app, ["compare", AFTER, str(broken)]).exit_code == 1
    assert runner.invoke(app, ["compare", str(broken), AFTER]).exit_code == 0
    assert runner.invoke(app, ["compare", "no-such", AFTER]).exit_code == 2


CHANGED = [
    ("totals", {"wavefronts": "many"}, "totals are numbers"),
    ("totals", [], "is not the result of a run"),
    ("titles", 3, "is not the result of a run"),
    ("tables", True, "is not the result of a run"),
    ("tables", {"accesses": [1]}, "rows are objects"),
    ("tables", {"accesses": [{"access": []}]}, "an access is named by a text"),
]


@pytest.mark.parametrize(
    ("key", "value", "message"), CHANGED, ids=[f"{key} {value}" for key, value, _ in CHANGED]
)
def test_a_result_that_somebody_changed_is_refused(
    tmp_path: Path, key: str, value: object, message: str
) -> None:
    data = json.loads(dumps(result_json(run_scenario("fp16-column-plain"))))
    path = tmp_path / "result.json"
    path.write_text(json.dumps(data | {key: value}))
    with pytest.raises(ScenarioError, match=message):
        compare(str(path), "fp16-column-plain")


def test_cells_that_are_no_numbers_are_not_compared(tmp_path: Path) -> None:
    data = json.loads(dumps(result_json(run_scenario("fp16-column-plain"))))
    data["tables"]["buffers"][0]["bytes"] = [1]
    path = tmp_path / "result.json"
    path.write_text(json.dumps(data))
    assert compare(str(path), "fp16-column-plain").headline.startswith("wavefronts 8 -> 8")
