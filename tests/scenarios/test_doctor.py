"""`bankbench doctor`, help pages, completion, and the library face."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bankbench.scenarios import health
from bankbench.scenarios.cli.app import COMMANDS, build
from bankbench.sim import chip_names
from typer.testing import CliRunner

HEAVY = (
    "pandas",
    "pyarrow",
    "matplotlib",
    "pydantic",
    "typer",
    "rich",
    "simpy",
    "jinja2",
    "scipy",
    "IPython",
)


def fresh(code: str, **environment: str) -> str:
    """The output of a fresh interpreter."""
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return found.stdout.strip()


def test_a_whole_installation_is_well() -> None:
    answer = CliRunner().invoke(build("doctor", "run"), ["doctor"])
    assert answer.exit_code == 0, answer.stdout
    for name in chip_names():
        assert f"\n  {name} " in answer.stdout
    assert "held against accesses, further, programs" in answer.stdout


def test_json() -> None:
    answer = CliRunner().invoke(build("doctor", "run"), ["doctor", "--json"])
    found = json.loads(answer.stdout)
    assert {part["state"] for part in found["parts"] if part["group"] != "optional"} == {"ok"}
    chips = {chip["name"]: chip for chip in found["chips"]}
    assert set(chips) == set(chip_names())
    for chip in chips.values():
        assert sum(chip["by_confidence"].values()) == chip["constants"]
    assert chips["a100"]["validation"].startswith("no measurements here")


def test_missing_data_files_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankbench.scenarios.validation.sets.DATA", Path("/nowhere"))
    answer = CliRunner().invoke(build("doctor", "run"), ["doctor"])
    assert answer.exit_code == 2
    assert "broken  measurements" in answer.stdout


def test_missing_dependencies_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_requirements", lambda: [("no-such-package", ">=1")])
    parts = {part.name: part for part in health.parts()}
    assert parts["no-such-package"].state == "missing"
    assert "pip install no-such-package" in parts["no-such-package"].detail


def test_optional_parts_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_OPTIONAL", (("thing", lambda: False, "not needed"),))
    answer = CliRunner().invoke(build("doctor", "run"), ["doctor"])
    assert answer.exit_code == 0
    assert "missing thing" in answer.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_pages_are_complete(command: str) -> None:
    app = build(command, "run" if command != "run" else "count")
    answer = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "100", "TERM": "dumb"})
    assert answer.exit_code == 0
    text = answer.stdout
    assert "Usage:" in text
    assert "  None" not in text
    import typer.main

    group = typer.main.get_command(app)
    for parameter in group.commands[command].params:  # type: ignore[attr-defined]
        assert getattr(parameter, "help", None), f"{command}: {parameter.name} has no help"


def test_help_flows_to_the_width_of_the_terminal() -> None:
    from bankbench.scenarios.cli._help import page

    def command() -> None:
        """One line.

        A paragraph that the source
        breaks.

        \b
        bankbench run a
        bankbench run b
        """

    assert (
        page(command)
        == "One line.\n\nA paragraph that the source breaks.\n\n\b\nbankbench run a\nbankbench run b"
    )
    answer = CliRunner().invoke(build(*COMMANDS), ["--help"], env={"COLUMNS": "80", "TERM": "dumb"})
    for line in ("bankbench replay trace.csv               recorded accesses, worst first", "Exit codes"):
        assert line in answer.stdout
    assert all(name in answer.stdout for name in COMMANDS)


def test_version() -> None:
    answer = CliRunner().invoke(build(*COMMANDS), ["--version"])
    assert answer.exit_code == 0
    assert answer.stdout.startswith("bankbench ")


@pytest.mark.parametrize(
    ("words", "count", "wanted"),
    [
        ("bankbench re", 1, {"replay"}),
        ("bankbench run transpose-pitch", 2, {"transpose-pitch-32", "transpose-pitch-33"}),
        ("bankbench count 0 --chip rtx", 4, {"rtx3090", "rtx4090", "rtx5080"}),
    ],
)
def test_shell_completion(words: str, count: int, wanted: set[str]) -> None:
    code = "from bankbench.scenarios.cli import main; import sys; sys.argv = ['bankbench']; main()"
    found = fresh(code, _BANKBENCH_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(count))
    assert wanted <= set(found.split())
    assert all(word.startswith(words.rsplit(maxsplit=1)[-1]) for word in found.split())


def test_counting_imports_nothing_heavy() -> None:
    code = f"import sys; from bankbench.sim import count, explain; print([m for m in {HEAVY} if m in sys.modules])"
    assert fresh(code) == "[]"
    code = f"import sys; from bankbench.sim import count; count([0]); print([m for m in {HEAVY} if m in sys.modules])"
    assert fresh(code) == "[]"


def test_rooms_import_nothing_before_it_is_used() -> None:
    for room in ("layouts", "sim", "scenarios", "reports"):
        code = f"import sys, bankbench.{room}; print([m for m in (*{HEAVY}, 'yaml') if m in sys.modules])"
        assert fresh(code) == "[]", room
    use = "from bankbench.layouts import parse; parse('(8,64):(64,1)')"
    assert fresh(f"import sys; {use}; print([m for m in {HEAVY} if m in sys.modules])") == "[]"


def test_functions_stay_where_modules_have_their_names() -> None:
    code = (
        "import bankbench.scenarios.run, bankbench.scenarios.compare, bankbench.scenarios.fix;"
        "from bankbench.scenarios import run, fix, compare, load, replay;"
        "print(all(callable(f) for f in (run, fix, compare, load, replay)), run('fp16-column-128B').headline)"
    )
    assert fresh(code) == "True 1 wavefront, the ideal: no excess on h200"


def test_public_names_exist() -> None:
    from bankbench import layouts, scenarios, sim

    for room in (layouts, sim, scenarios):
        for name in room.__all__:
            assert getattr(room, name) is not None
            assert name in dir(room)
        with pytest.raises(AttributeError):
            room.no_such_name  # noqa: B018


def test_scenarios_as_mappings() -> None:
    from bankbench.scenarios import ScenarioError, compare, run

    tile = {
        "name": "tile",
        "buffers": {"tile": {"dtype": "f32", "shape": [32, 32]}},
        "accesses": [{"buffer": "tile", "lanes": "[lane, 0]"}],
    }
    plain = run(tile)
    assert plain.extra["totals"]["excess_wavefronts"] == 31
    tile["buffers"]["tile"]["pad"] = 1
    assert run(tile).extra["totals"]["excess_wavefronts"] == 0
    assert "wavefronts" in compare("transpose-pitch-32", "transpose-pitch-33").headline
    half = run(tile, overrides={"shared_memory.banks": 16})
    assert half.extra["totals"]["excess_wavefronts"] >= 0
    with pytest.raises(ScenarioError, match="plain values"):
        run({"name": object()})
    with pytest.raises(ScenarioError, match="unknown key"):
        run({**tile, "acceses": []})
