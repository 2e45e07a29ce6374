"""Cells, CSV, Parquet, JSON and the output folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from bankbench.reports.files import column_guide, dumps, result_json, write_csv, write_parquet
from bankbench.reports.folder import OutputError, write_folder
from bankbench.reports.html import render_html
from bankbench.reports.terminal import render_text
from bankbench.reports.text import cells, heading, show
from bankbench.sim.results import Column, Picture, RunResult, Table
from PIL import Image

EVIL = '<script>alert("x")</script> & [red]bold[/red] | pipe'


def table(rows: int = 2) -> Table:
    columns = (
        Column("name", "", "a name | with a pipe"),
        Column("latency", "cycles", "how long"),
        Column("count", "", "how many"),
    )
    return Table(
        "t",
        f"Title {EVIL}",
        columns,
        {
            "name": [EVIL] * rows,
            "latency": [float("nan"), 2.5][:rows] + [1.0] * (rows - 2),
            "count": list(range(rows)),
        },
    )


def result(**changes: object) -> RunResult:
    picture = Picture(
        "wavefronts", f"W {EVIL}", f"alt {EVIL}", {"names": [EVIL, "b"], "ideal": [1, 2], "excess": [3, 0]}
    )
    values: dict[str, object] = {
        "name": EVIL,
        "title": EVIL,
        "chip": "h200",
        "chip_title": "NVIDIA H200",
        "status": "measured",
        "headline": f"8 wavefronts {EVIL}",
        "tables": (table(),),
        "pictures": (picture,),
        "command": "bankbench run x",
        "inputs": {"x.yaml": EVIL},
        "extra": {"terminal": ["t"]},
    }
    return RunResult(**(values | changes))  # type: ignore[arg-type]


def test_cells() -> None:
    assert show(1048576) == "1,048,576"
    assert show(None) == ""
    assert show(True) == "yes"
    assert show(1234.5) == "1,234.5"
    assert heading(Column("bank_conflicts", "", "")) == "bank conflicts"
    assert heading(Column("latency", "cycles", "")) == "latency (cycles)"
    assert heading(Column("cycles", "warp cycles", "")) == "warp cycles"
    assert heading(Column("bytes", "bytes", "")) == "bytes"


def test_numbers_of_one_kind_have_the_same_places() -> None:
    busy = Column("busy", "cycles", "")
    assert cells(busy, [65536.0, 54.237, float("nan"), None]) == ["65,536.000", "54.237", "unknown", ""]
    assert cells(busy, [3, 4096]) == ["3", "4,096"]
    assert cells(Column("share", "", ""), [1.0, 0.592]) == ["1.000", "0.592"]
    assert cells(Column("after", "", ""), [1024.0, 52.2]) == [
        "1,024",
        "52.2",
    ]  # counts beside ratios stay as they are


def test_csv_and_parquet_hold_the_same_numbers_with_units(tmp_path: Path) -> None:
    write_csv(table(3), tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == "name,latency,count"
    assert len(lines) == 4
    write_parquet(table(3), tmp_path / "t.parquet")
    found = pq.read_table(tmp_path / "t.parquet")
    assert found.column("count").to_pylist() == [0, 1, 2]
    assert found.schema.field("latency").metadata[b"unit"] == b"cycles"


def test_json_has_no_nan() -> None:
    found = json.loads(dumps(result_json(result())))
    assert found["tables"]["t"][0]["latency"] is None
    assert found["exit_code"] == 0


def test_the_column_guide_names_every_column() -> None:
    guide = column_guide(result())
    assert "| latency | cycles | how long |" in guide


def test_terminal_text_fits_100_columns_and_is_markdown() -> None:
    text = render_text(result())
    assert max(map(len, text.splitlines())) <= 100
    assert "| " in text
    assert "[red]" in text  # markup of a scenario is text, not colour


def test_html_escapes_everything_and_needs_no_network() -> None:
    page = render_html(result())
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert 'src="http' not in page
    assert 'href="http' not in page
    assert "<svg role=" in page


def test_a_folder_is_written_whole(tmp_path: Path) -> None:
    target = write_folder(result(name="n", title="t"), tmp_path / "deep" / "out")
    names = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert {
        "report.html",
        "result.json",
        "columns.md",
        "tables/t.csv",
        "tables/t.parquet",
        "inputs/x.yaml",
    } <= names
    assert sum(name.endswith(".png") for name in names) == 1
    assert [path.name for path in target.parent.iterdir()] == ["out"]
    again = write_folder(result(headline="second"), target)
    assert json.loads((again / "result.json").read_text())["headline"] == "second"
    assert [path.name for path in target.parent.iterdir()] == ["out"]


def test_picture_files_hold_their_text_alternative(tmp_path: Path) -> None:
    target = write_folder(result(name="n", title="t"), tmp_path / "out")
    (svg,) = (target / "pictures").glob("*.svg")
    root = ElementTree.parse(svg).getroot()
    name = "{http://www.w3.org/2000/svg}"
    assert [root.findtext(f"{name}{part}") for part in ("title", "desc")] == [f"W {EVIL}", f"alt {EVIL}"]
    (png,) = (target / "pictures").glob("*.png")
    with Image.open(png) as image:
        assert image.text == {"Title": f"W {EVIL}", "Description": f"alt {EVIL}"}


def test_a_folder_of_somebody_else_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match="not the output of a run"):
        write_folder(result(), tmp_path / "mine")
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="not the output of a run"):
        write_folder(result(), tmp_path / "file")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


def test_a_place_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot be written"):
        write_folder(result(), tmp_path / "file" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_failure_in_the_middle_leaves_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = write_folder(result(headline="first"), tmp_path / "out")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bankbench.reports.folder.write_parquet", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_folder(result(headline="second"), target)
    assert json.loads((target / "result.json").read_text())["headline"] == "first"
    assert os.listdir(tmp_path) == ["out"]
