"""The regression gate: outcomes, exit codes, formats for other tools, and the assertions for test suites."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
import yaml
from bankbench.scenarios import run
from bankbench.scenarios.check import check, exit_code
from bankbench.scenarios.check_formats import github, junit, sarif
from bankbench.scenarios.cli.app import build
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.testing import assert_conflict_free, assert_expectations
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
GOOD = """name: good
buffers: {tile: {dtype: f32, shape: [32, 32], pad: 1}}
accesses:
  - {name: column, buffer: tile, lanes: "[lane, 0]", expect: {excess_wavefronts: 0}}
"""
BAD = """name: bad
buffers: {tile: {dtype: f32, shape: [32, 32]}}
accesses:
  - name: column
    buffer: tile
    lanes: "[lane, 0]"
    expect: {wavefronts: 1, max_excess_wavefronts: 3}
"""
UNKNOWN = """name: unknown
chip: gfx942
accesses: [{name: row, op: lds.32, bytes: 4 * lane, expect: {wavefronts: 1}}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    files = {
        "good.yaml": GOOD,
        "sub/bad.yml": BAD,
        "sub/unknown.yaml": UNKNOWN,
        "broken.yaml": "name: broken\naccesses:\n  - {lanez: x}\n",
        "silent.yaml": GOOD.replace(", expect: {excess_wavefronts: 0}", ""),
        "ci.yaml": "jobs: {build: {steps: []}}\n",
        "list.yaml": "- 1\n",
        ".hidden/bad.yaml": BAD,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def invoke(*words: str):
    return CliRunner().invoke(build("check", "run"), ["check", *words])


def test_a_folder(folder: Path) -> None:
    found = {Path(item.file).name: item for item in check([folder])}
    assert {name: item.outcome for name, item in found.items()} == {
        "good.yaml": "ok",
        "bad.yml": "FAIL",
        "unknown.yaml": "unknown",
        "broken.yaml": "ERROR",
    }
    bad = found["bad.yml"]
    assert [(finding.line, finding.kind) for finding in bad.findings] == [(7, "FAIL"), (7, "FAIL")]
    assert bad.line().endswith("sub/bad.yml:7: column: wavefronts 32, expected 1 (+1 more)")
    assert found["broken.yaml"].findings[0].line == 3


def test_exit_codes(folder: Path) -> None:
    assert invoke(str(folder / "good.yaml")).exit_code == 0
    assert invoke(str(folder / "sub" / "bad.yml")).exit_code == 1
    assert invoke(str(folder / "sub" / "unknown.yaml")).exit_code == 3
    assert invoke(str(folder / "sub")).exit_code == 1
    assert invoke(str(folder)).exit_code == 2
    assert invoke(str(folder / "nothing.yaml")).exit_code == 2
    assert exit_code([]) == 0
    answer = invoke(str(folder / "silent.yaml"))
    assert answer.exit_code == 0
    assert "skip" in answer.stdout


def test_every_line_is_one_scenario(folder: Path) -> None:
    answer = invoke(str(folder), "transpose-pitch-33")
    assert len(answer.stdout.splitlines()) == 5
    assert "2 of 5 scenarios hold, 1 broken" in answer.stderr
    quiet = invoke(str(folder), "transpose-pitch-33", "--quiet")
    assert len(quiet.stdout.splitlines()) == 3


def test_junit(folder: Path) -> None:
    file = folder / "out" / "report.xml"
    invoke(str(folder), "--junit", str(file))
    suite = ElementTree.fromstring(file.read_text())[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "2")
    failure = suite.find("testcase[@name='bad']/failure")
    assert failure is not None
    assert failure.get("message") == "column: wavefronts 32, expected 1"
    assert failure.text is not None
    assert "excess wavefronts 31, at most 3" in failure.text


def test_junit_of_names_that_xml_cannot_hold(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(GOOD.replace("name: good", 'name: "a\\u0001<&>"'))
    ElementTree.fromstring(junit(list(check([tmp_path]))))


def test_sarif(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    log = sarif(list(check([folder])), "1.0")
    assert log["version"] == "2.1.0"
    results = log["runs"][0]["results"]
    assert len(results) == 4
    at = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results}
    assert at == {"broken.yaml", "sub/bad.yml", "sub/unknown.yaml"}
    ids = {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in results} <= ids
    jsonschema.validate(log, SARIF)


# The parts of the SARIF 2.1.0 schema that readers insist on.
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "runs": {
            "items": {
                "required": ["tool"],
                "properties": {
                    "tool": {"required": ["driver"], "properties": {"driver": {"required": ["name"]}}},
                    "results": {
                        "items": {
                            "required": ["message"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "locations": {
                                    "items": {
                                        "properties": {
                                            "physicalLocation": {
                                                "properties": {
                                                    "region": {"properties": {"startLine": {"minimum": 1}}}
                                                }
                                            }
                                        }
                                    }
                                },
                            },
                        }
                    },
                },
            }
        }
    },
}


def test_github_annotations(folder: Path) -> None:
    lines = github(list(check([folder / "sub" / "bad.yml"])))
    assert lines[0].startswith("::error file=")
    assert ",line=7,title=bankbench%3A bad::column: wavefronts 32, expected 1" in lines[0]
    assert "::warning" in github(list(check([folder / "sub" / "unknown.yaml"])))[0]


def test_assert_conflict_free() -> None:
    assert_conflict_free("transpose-pitch-33")
    assert_conflict_free([4 * lane for lane in range(32)])
    assert_conflict_free(np.arange(32) * 16, op="lds.128")
    assert_conflict_free(run("fp16-column-128B"))
    assert_conflict_free("transpose-pitch-32", max_excess=992)
    with pytest.raises(AssertionError, match="992 excess wavefronts, at most 0 allowed") as error:
        assert_conflict_free("transpose-pitch-32")
    assert "meet on bank 0" in str(error.value)
    with pytest.raises(AssertionError, match="access 1 takes 8 wavefronts instead of 1"):
        assert_conflict_free([[4 * lane for lane in range(8)], [256 * lane for lane in range(8)]])
    with pytest.raises(AssertionError, match="unknown on gfx942"):
        assert_conflict_free([0, 4], chip="gfx942")
    with pytest.raises(AssertionError, match="unknown"):
        assert_conflict_free(yaml.safe_load(UNKNOWN))
    with pytest.raises(ScenarioError):
        assert_conflict_free("no-such-scenario")
    with pytest.raises(ValueError, match="run the scenario on a100"):
        assert_conflict_free(run("fp16-column-128B"), chip="a100")


def test_assert_expectations() -> None:
    assert_expectations(yaml.safe_load(GOOD))
    with pytest.raises(AssertionError, match="column: wavefronts 32, expected 1"):
        assert_expectations(yaml.safe_load(BAD))


def test_the_pre_commit_hook_runs_what_it_says(folder: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *words = hook["entry"].split()
    assert program == "bankbench"
    assert hook["language"] == "python"
    answer = CliRunner().invoke(
        build("check", "run"), [*words, str(folder / "good.yaml"), str(folder / "sub/bad.yml")]
    )
    assert answer.exit_code == 1
    assert len(answer.stdout.splitlines()) == 1
