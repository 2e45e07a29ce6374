"""Terminal output: widths, colours, and signs that take two columns."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from bankbench.reports.markdown import markdown_lines
from bankbench.reports.terminal import make_console, print_result
from bankbench.scenarios.run import run_scenario
from bankbench.sim.results import Column, RunResult, Table
from rich.cells import cell_len
from rich.console import Console


def result(**changes: Any) -> RunResult:
    values: dict[str, Any] = {
        "name": "n",
        "title": "t",
        "chip": "h200",
        "chip_title": "NVIDIA H200",
        "status": "measured",
        "headline": "8 wavefronts",
    }
    return RunResult(**(values | changes))


def said(found: RunResult, width: int = 100, *, colours: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=colours, color_system="standard" if colours else None
    )
    print_result(found, console)
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize(
    "name", ["both-sides-plain", "ldmatrix-swizzles", "replica-fragment", "tmem-allocation"]
)
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    lines = said(run_scenario(name), width).splitlines()
    tables = [line for line in lines if line.startswith("|")]
    assert tables
    # A table of ten numbers is wider than 60 columns: numbers are not cut, and a terminal wraps the line.
    fitting = lines if width >= 80 else [line for line in lines if not line.startswith("|")]
    assert max(map(cell_len, fitting)) <= width
    assert not any(line != line.rstrip() for line in lines)


def test_numbers_are_never_cut() -> None:
    columns = (
        Column("name", "", ""),
        Column("a_long_heading", "", ""),
        Column("another_long_heading", "", ""),
    )
    table = Table(
        "t", "T", columns, {"name": ["x" * 40], "a_long_heading": [12_345_678], "another_long_heading": [7]}
    )
    lines = markdown_lines(table, 40)
    assert max(map(len, lines)) <= 40
    assert "12,345,678" in lines[2]
    assert len({line.count("|") for line in lines}) == 1


def test_chinese_names_keep_the_columns_in_line() -> None:
    columns = (Column("access", "", ""), Column("ways", "", ""))
    table = Table(
        "t", "T", columns, {"access": ["按列读取", "rows", "按行写入共享内存的数据块"], "ways": [32, 1, 2]}
    )
    lines = markdown_lines(table, 30)
    assert len({cell_len(line) for line in lines}) == 1
    assert cell_len(lines[0]) <= 30
    assert "按列读取" in lines[2]


def test_a_number_stays_with_its_percent_sign_and_points_are_indented() -> None:
    words = "word " * 10 + "of them within 5 %, worst 9 %"
    found = result(reasons=(words,), assumptions=(words,))
    for width in range(20, 70):
        lines = said(found, width).splitlines()
        assert not any(line.strip().startswith("%") for line in lines)
        behind = lines[lines.index("Rests on") + 2 :]
        assert all(line.startswith("  ") for line in behind)


def test_a_command_is_printed_as_it_was() -> None:
    command = "bankbench count 'lane  * 4' --op [lds.32]"
    assert f"again with: {command}\n" in said(result(command=command))


@pytest.mark.parametrize(
    ("changes", "colour"),
    [
        ({}, "32"),
        ({"violations": ("v",)}, "31"),
        ({"unknowns": ("u",)}, "33"),
        ({"extra": {"totals": {"excess_wavefronts": 7}}}, "33"),
    ],
)
def test_the_verdict_has_its_colour(changes: dict[str, Any], colour: str) -> None:
    assert re.search(rf"\x1b\[1;{colour}m8 wavefronts", said(result(**changes), colours=True))


def test_no_color_of_the_environment_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert not make_console().no_color
    assert make_console(plain=True).no_color
    monkeypatch.setenv("NO_COLOR", "1")
    assert make_console().no_color
