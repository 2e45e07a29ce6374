"""Scenario files: what is read, and that every mistake is one line with file, line, key, found and allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.load import catalogue, load, loads

GOOD = """\
name: t
chip: h200
buffers:
  tile: {dtype: f16, shape: [8, 64]}
accesses:
  - buffer: tile
    lanes: "[lane % 8, 0]"
"""


def test_a_scenario_is_read_with_the_place_of_every_value() -> None:
    loaded = loads(GOOD, "t.yaml")
    assert loaded.scenario.buffers["tile"].shape == [8, 64]
    assert str(loaded.place("accesses", 0, "lanes")) == "t.yaml:7"
    assert str(loaded.place("accesses", 0, "nothing")) == "t.yaml:6"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "dtype: f16",
            "dtpye: f16",
            4,
            "unknown key 'dtpye'; did you mean 'dtype'? allowed: space, dtype, shape",
        ),
        ("chip: h200", "chpi: h200", 2, "unknown key 'chpi'; did you mean 'chip'?"),
        ("name: t\n", "", 1, "'name' is missing"),
        ("[8, 64]", "[8, sixty]", 4, "found 'sixty'; input should be a valid integer"),
        ("[8, 64]", "[8, 0]", 4, "greater than or equal to 1"),
        ('lanes: "[lane % 8, 0]"', "op: load", 6, "one of lanes, fragment, bytes, offsets"),
        ("  - buffer: tile\n", "  - buffer: tile\n    buffer: tile\n", 7, "stands here twice"),
        ("accesses:", "accesses: [", 6, "not YAML"),
        ("name: t", "name: !!python/object:os.system t", 1, "tag"),
        (
            "shape: [8, 64]",
            "shape: [8, 64], pad: 1, layout: '(8,64):(64,1)'",
            4,
            "pad goes with a row-major buffer",
        ),
    ],
)
def test_mistakes_name_line_and_what_is_allowed(old: str, new: str, line: int, message: str) -> None:
    assert old in GOOD
    with pytest.raises(ScenarioError) as caught:
        loads(GOOD.replace(old, new, 1), "t.yaml")
    text = str(caught.value)
    assert "\n" not in text
    assert message in text
    assert text.startswith(f"t.yaml:{line}"), text


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="No such file"):
        load(tmp_path / "none.yaml")
    with pytest.raises(ScenarioError, match="is a folder"):
        load(tmp_path)
    half = tmp_path / "half.yaml"
    half.write_bytes(b"name: t\nbuffers: {tile: {dtype: f1")
    with pytest.raises(ScenarioError, match=r"half\.yaml:\d: not YAML"):
        load(half)
    half.write_bytes(b"name: \xff\xfe")
    with pytest.raises(ScenarioError, match="not UTF-8"):
        load(half)
    half.write_bytes(b"")
    with pytest.raises(ScenarioError, match="found nothing"):
        load(half)


def test_an_unknown_catalogue_name_lists_near_ones() -> None:
    with pytest.raises(ScenarioError, match="near: transpose-pitch-3"):
        load("transpose-pitch-3")


def test_billion_laughs_end_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(ScenarioError, match="more than 100000 values"):
        loads("\n".join(lines))


def test_layouts_with_colons_stay_text() -> None:
    text = GOOD.replace("shape: [8, 64]", "layout: 8:1").replace('"[lane % 8, 0]"', '"[lane % 8]"')
    assert loads(text).scenario.buffers["tile"].layout == "8:1"


def test_the_catalogue_has_at_least_eight_scenarios_named_like_their_files() -> None:
    paths = catalogue()
    assert len(paths) >= 8
    for path in paths:
        scenario = load(path).scenario
        assert scenario.name == path.stem
        assert scenario.title
