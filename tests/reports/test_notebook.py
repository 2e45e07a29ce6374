"""What a notebook shows: layouts, counts, witnesses, tables, results; every text escaped."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from bankbench.layouts import parse
from bankbench.scenarios.run import run_scenario
from bankbench.sim import count, explain
from bankbench.sim.results import Column, RunResult, Table


class Balance(HTMLParser):
    """Counts the cells and fails on a tag that is closed out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "br":
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(html: str) -> Balance:
    parser = Balance()
    parser.feed(html)
    assert parser.open == []
    return parser


@pytest.mark.parametrize(
    ("text", "cell", "value"),
    [
        ("S[(8,64):(64,1)]", 32 + 5, "69"),
        ("ComposeLayout(3, 3, 3, S[(8,64):(64,1)])", 32, "72"),
        ("Sw<3,3,3> o (8,64):(64,1)", 32, "72"),
        ("zN(100, 100, f16)", 32, "16"),
        ("swizzled_shared(vec=8, perPhase=1, maxPhase=8, order=[1,0], shape=[8,64])", 32, "72"),
        ("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid", 1, "0 5 1"),
        ("(3,4):(1@1,1@0)", 5, "1 1"),
        ("S[(5,):(3,)]", 4, "12"),
    ],
)
def test_layouts(text: str, cell: int, value: str) -> None:
    html = parse(text)._repr_html_()  # type: ignore[attr-defined]
    assert read(html).cells[cell] == value
    assert ("2 copies" in html) == ("R[" in text)


def test_an_encoding_without_a_tile_says_so() -> None:
    html = parse("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>")._repr_html_()  # type: ignore[attr-defined]
    assert "says nothing of the tile" in html
    read(html)


def test_counts_and_witness() -> None:
    html = count([[0, 128, 256], [0, 4, 8]])._repr_html_()
    assert read(html).cells[0] == "3"
    assert "2 accesses on NVIDIA H200" in html
    assert "bank 0: 3 words" in explain([0, 128, 256])._repr_html_()


def test_results_and_tables() -> None:
    html = run_scenario("fp16-column-plain")._repr_html_()
    found = read(html)
    assert "column 0" in found.cells
    assert "8-way" in html
    evil = "<script>alert(1)</script>"
    table = Table("accesses", evil, (Column(evil, evil, ""),), {evil: [evil] * 100})
    html = RunResult(evil, evil, "h200", evil, "measured", evil, (evil,), (table,))._repr_html_()
    assert "<script" not in html
    assert "the first 60 of 100 rows" in html
    assert len(read(html).cells) == 60
