"""Every scenario of the catalogue runs as it is and meets the numbers written in its file."""

from __future__ import annotations

from pathlib import Path

import pytest
from bankbench.reports.terminal import render_text
from bankbench.scenarios.load import catalogue, load
from bankbench.scenarios.run import run_scenario


@pytest.mark.parametrize("path", catalogue(), ids=lambda path: path.stem)
def test_it_meets_its_own_numbers(path: Path) -> None:
    loaded = load(path)
    result = run_scenario(loaded)
    assert result.violations == ()
    assert result.exit_code == 0
    expected = [access.expect.model_dump(exclude_none=True) for access in loaded.scenario.accesses]
    assert all(expected), "every access of a ready scenario states what it expects"
    lines = render_text(result).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0] == result.headline or len(result.headline) > 100
    assert all(picture.alt for picture in result.pictures)


def test_a_wrong_expectation_is_found() -> None:
    loaded = load("transpose-pitch-32")
    text = loaded.source.text.replace("wavefronts: 1024", "wavefronts: 1023")
    from bankbench.scenarios.load import loads

    result = run_scenario(loads(text, "t.yaml"))
    assert result.exit_code == 1
    assert result.violations == ("t.yaml:19: load columns: wavefronts 1,024, expected 1,023",)


def test_accesses_may_share_a_name() -> None:
    from bankbench.scenarios.load import loads

    text = load("transpose-pitch-32").source.text.replace("name: load columns", "name: store rows")
    assert run_scenario(loads(text)).exit_code == 0
