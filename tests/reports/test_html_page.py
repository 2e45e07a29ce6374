"""The report in a real browser: sorting, links, dark and narrow; and its size for very large runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bankbench.reports.folder import write_folder
from bankbench.reports.html import render_html
from bankbench.reports.text import mood
from bankbench.scenarios.load import catalogue, loads
from bankbench.scenarios.run import run_scenario
from bankbench.sim.results import Column, RunResult, Table

EVIL = '<script>document.title="owned"</script><img src=x onerror="document.title=1">'

DRIVER = """<pre id="answer"></pre><script>
const said = {};
const buttons = [...document.querySelectorAll("#table-t ~ .scroll th button, section th button")];
const column = i => [...document.querySelectorAll("tbody tr")].map(r => r.cells[i].textContent);
buttons[1].click(); said.up = column(1); buttons[1].click(); said.down = column(1);
buttons[0].click(); said.names = column(0); said.sort = buttons[0].parentElement.getAttribute("aria-sort");
said.title = document.title; said.wide = document.documentElement.scrollWidth <= window.innerWidth;
said.images = document.images.length;
said.focus = buttons.every(b => { b.focus(); return document.activeElement === b; });
document.getElementById("answer").textContent = JSON.stringify(said);
</script></body>"""


def small(**changes: Any) -> RunResult:
    columns = (Column("name", "", EVIL), Column("cycles", "cycles", ""))
    table = Table("t", EVIL, columns, {"name": ["b", "a", EVIL, "c"], "cycles": [10, 9, None, 1000]})
    values: dict[str, Any] = {
        "name": EVIL,
        "title": EVIL,
        "chip": "h200",
        "chip_title": "NVIDIA H200",
        "status": "measured",
        "headline": EVIL,
        "reasons": (EVIL,),
        "tables": (table,),
        "violations": (EVIL,),
        "command": f"bankbench run {EVIL}",
        "inputs": {EVIL: EVIL},
        "extra": {"notes": EVIL, "totals": {"cycles": 1019}},
    }
    return RunResult(**(values | changes))


def test_tables_sort_by_number_and_text_with_unknowns_last(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_html(small()).replace("</body>", DRIVER), encoding="utf-8")
    said = browser.answer(browser.dump(page))
    assert said["up"] == ["9", "10", "1,000", ""]
    assert said["down"] == ["1,000", "10", "9", ""]
    assert said["sort"] == "ascending"
    assert said["names"][1:] == ["a", "b", "c"]
    assert said["title"].startswith("<script>")
    assert said["images"] == 0
    assert said["wide"]
    assert said["focus"]


def test_a_scenario_named_script_is_text_everywhere(tmp_path: Path) -> None:
    text = f"""
name: {EVIL!r}
title: {EVIL!r}
notes: {EVIL!r}
buffers: {{{EVIL!r}: {{dtype: f32, shape: [32, 32]}}}}
accesses: [{{name: {EVIL!r}, buffer: {EVIL!r}, lanes: "[lane, 0]"}}]
"""
    target = write_folder(run_scenario(loads(text, "evil.yaml")), tmp_path / "out")
    pages = [target / "report.html", *(target / "pictures").glob("*.svg")]
    assert len(pages) > 2
    for page in pages:
        content = page.read_text(encoding="utf-8")
        assert "<script>document" not in content, page
        assert "<img" not in content, page


def test_the_verdict_shows_how_bad_it_is() -> None:
    assert 'class="verdict bad"' in render_html(small())
    assert 'class="verdict fine"' in render_html(small(violations=()))
    assert 'class="verdict excess"' in render_html(
        small(violations=(), extra={"totals": {"excess_wavefronts": 3}})
    )
    unknown = render_html(small(violations=(), unknowns=("why",)))
    assert 'class="verdict warn" aria-label="Verdict: something is unknown"' in unknown


@pytest.mark.parametrize(
    ("column", "value"), [("legal", False), ("matches", False), ("fits", False), ("outcome", "illegal (why)")]
)
def test_what_does_not_work_is_not_marked_as_fine(column: str, value: Any) -> None:
    good = {False: True}.get(value, "ok")
    for values, expected in (([good, value], "excess"), ([good, good], "fine"), ([good, None], "fine")):
        table = Table("t", "T", (Column(column, "", ""),), {column: values})
        assert mood(small(violations=(), tables=(table,))) == expected
        assert f'class="verdict {expected}"' in render_html(small(violations=(), tables=(table,)))


def test_ready_scenarios_with_illegal_steps_are_marked() -> None:
    for name in (
        "tmem-allocation",
        "tmem-descriptor-128B",
        "tmem-tma-boxes",
        "tmem-warp-windows",
        "tmem-blockscaled-n256",
        "tmem-blockscaled-fp8",
    ):
        assert mood(run_scenario(name)) == "excess", name
    assert mood(run_scenario("tmem-attention-spo")) == "fine"


def test_the_first_table_is_open_and_long_ones_stand_behind_the_pictures() -> None:
    def table(name: str, rows: int) -> Table:
        return Table(name, f"Title {name}", (Column("x", "", ""),), {"x": list(range(rows))})

    page = render_html(small(tables=(table("first", 51), table("short", 3), table("long", 51))))
    assert page.index('<h2 id="table-first">') < page.index('<h2 id="table-short">')
    assert page.index('<h2 id="table-short">') < page.index('<summary id="table-long">')
    assert '<summary id="table-first">' in render_html(small(tables=(table("first", 500),)))


def test_empty_columns_are_left_out_and_yes_and_no_is_text() -> None:
    columns = (Column("move", "", ""), Column("legal", "", ""), Column("regs", "", "how many"))
    page = render_html(
        small(tables=(Table("t", "T", columns, {"move": ["a"], "legal": [True], "regs": [None]}),))
    )
    assert "how many" not in page
    assert "<td>yes</td>" in page.replace(' data-sort="1"', "")


def test_backticks_of_sentences_are_code() -> None:
    page = render_html(small(extra={"notes": "put `swizzle: <none>` there, 5` wide"}))
    assert "put <code>swizzle: &lt;none&gt;</code> there, 5` wide" in page


NARROW = """<pre id="answer"></pre><script>
const said = {}, parts = () => [...document.querySelectorAll(".scroll")];
said.wide = parts().filter(p => p.tabIndex === 0 && p.getAttribute("role")).length;
document.body.style.width = "260px"; dispatchEvent(new Event("resize"));
said.narrow = parts().filter(p => p.tabIndex === 0).map(p => p.getAttribute("aria-label"));
parts().find(p => p.tabIndex === 0).focus();
said.focus = document.activeElement.className;
said.heading = document.querySelector("th").dataset.name;
said.links = [...document.querySelectorAll("nav a")].map(a => document.querySelector(a.getAttribute("href")) !== null);
document.getElementById("answer").textContent = JSON.stringify(said);
</script></body>"""


def test_what_is_wider_than_the_page_can_be_scrolled_by_keyboard(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(
        render_html(run_scenario("fp16-column-plain")).replace("</body>", NARROW), encoding="utf-8"
    )
    said = browser.answer(browser.dump(page))
    assert said["wide"] == 0
    assert "Accesses" in said["narrow"]
    assert said["focus"] == "scroll"
    assert said["heading"] == "access"  # what a printed heading says on every page
    assert said["links"]
    assert all(said["links"])


def test_a_report_prints_on_few_sheets(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_html(run_scenario("gemm-fragments-time")), encoding="utf-8")
    assert 2 <= browser.pages(page) <= 4


def test_command_versions_inputs_and_units_are_in_the_page() -> None:
    page = render_html(run_scenario("fp16-column-plain", command=["bankbench", "run", "fp16-column-plain"]))
    assert "<pre>bankbench run fp16-column-plain</pre>" in page
    assert "numpy " in page
    assert "dtype: f16" in page
    assert "start (byte)" in page
    assert 'role="img" aria-label="Map of lines and banks' in page
    names_of_standards = set(re.findall(r'"(https?://[^"]*)"', page))
    assert all(name.startswith("http://www.w3.org/") for name in names_of_standards)
    assert not re.search(r'(src|href)="(?!#|data:image/png)', page)


def test_the_largest_page_of_a_program_stays_below_two_megabytes() -> None:
    assert len(render_html(run_scenario("transpose-time")).encode()) < 2_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", [path.stem for path in catalogue()])
def test_every_page_of_the_catalogue_stays_below_two_megabytes(name: str) -> None:
    assert len(render_html(run_scenario(name)).encode()) < 2_000_000


def million() -> RunResult:
    text = """
name: million
chip: h200
buffers: {tile: {dtype: f32, shape: [128, 128], pad: 1}}
accesses:
  - {name: store, buffer: tile, op: store, lanes: "[(i + warp) % 128, (lane + i) % 128]", for: {i: 31250}, warps: 16}
  - {name: load, buffer: tile, lanes: "[(lane * 2 + i) % 128, (i * 7 + warp) % 128]", for: {i: 31250}, warps: 16}
"""
    return run_scenario(loads(text, "million.yaml"))


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_million_accesses_make_a_small_report(tmp_path: Path) -> None:
    result = million()
    target = write_folder(result, tmp_path / "out")
    print(f"1,000,000 accesses: {folder_size(target) / 1e6:.2f} MB")
    assert folder_size(target) < 5_000_000
    table = result.table("instructions")
    assert sum(table.data["count"]) == 1_000_000
    assert "1,000,000; alike ones share a row" in table.title
    assert sum(w * c for w, c in zip(table.data["wavefronts"], table.data["count"], strict=True)) == 1_500_000


def test_long_tables_are_sampled_and_say_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    columns = (Column("index", "", "n"), Column("value", "cycles", "v"))
    data = {"index": np.arange(300_000), "value": rng.integers(0, 1000, 300_000)}
    result = small(tables=(Table("timeline", "Timeline", columns, data),), name="n", title="t")
    target = write_folder(result, tmp_path / "out")
    assert folder_size(target) < 5_000_000
    lines = (target / "tables" / "timeline.sample.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "index,value"
    assert lines[2].startswith("15,")
    assert len(lines) == 20_001
    assert (
        "300,000 rows: all in timeline.parquet, 20,000 evenly spaced" in (target / "columns.md").read_text()
    )
    assert "The first 500 of 300,000 rows" in (target / "report.html").read_text(encoding="utf-8")
    import pyarrow.parquet as pq

    assert pq.read_table(target / "tables" / "timeline.parquet").num_rows == 300_000


def test_alike_instructions_share_a_row_from_twenty_thousand_on() -> None:
    text = """
name: many
buffers: {tile: {dtype: f32, shape: [32, 32]}}
accesses: [{name: rows and columns, buffer: tile, lanes: "[lane * (i % 2), lane * (1 - i % 2)]", for: {i: 20001}}]
"""
    result = run_scenario(loads(text, "many.yaml"))
    table = result.table("instructions")
    assert sum(table.data["count"]) == 20_001
    assert len(table) == 2
    assert table.data["index"] == [0, 1]
    counted = sum(w * c for w, c in zip(table.data["wavefronts"], table.data["count"], strict=True))
    assert counted == result.extra["totals"]["wavefronts"]
