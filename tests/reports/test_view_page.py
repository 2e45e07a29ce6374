"""The interactive page in a real browser: choices, keyboard, phases, copies, and texts that try to be HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bankbench.reports.view import render_view
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.view import view_description
from bankbench.sim import explain

EVIL = '<script>document.title="owned"</script><img src=x onerror=alert(1)>'

DRIVER = """<pre id="answer"></pre><script>
const $ = id => document.getElementById(id), said = [];
const send = (id, event) => $(id).dispatchEvent(event);
const key = (id, name) => {
  $(id).focus();
  send(id, new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
};
const pick = (id, value) => {
  $(id).value = value;
  send(id, new Event($(id).type === "range" ? "input" : "change", { bubbles: true }));
};
const rows = id => [...$(id).tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent));
const tell = () => said.push({
  status: $("status").textContent, element: $("element").value, phase: $("phase-name").textContent,
  phases: !$("phases").hidden, verdict: $("verdict").textContent, layout: $("layout").textContent,
  trouble: $("trouble").hidden ? "" : $("trouble").textContent, steps: rows("steps"), places: rows("places"),
  title: document.title, focus: document.activeElement.id, width: $("logical").width, hash: location.hash,
});
%s
$("answer").textContent = JSON.stringify(said);
</script></body>"""


def drive(browser: Any, tmp_path: Path, page: dict[str, Any], script: str, fragment: str = "") -> list[Any]:
    path = tmp_path / "page.html"
    path.write_text(render_view(page).replace("</body>", DRIVER % script), encoding="utf-8")
    return browser.answer(browser.dump(path, fragment))


def test_keyboard_choices_and_arithmetic(browser: Any, tmp_path: Path) -> None:
    page = view_description("S[(8,64):(64,1)]", dtype="f16")
    script = """tell(); key("logical", "ArrowDown"); key("logical", "ArrowRight"); tell();
    pick("swizzle", "128B"); tell(); pick("dtype", "f32"); tell();
    pick("element", "7, 63"); tell(); pick("element", "8, 0"); tell();
    key("physical", "Home"); tell();"""
    start, moved, swizzled, wider, typed, refused, physical = drive(browser, tmp_path, page, script)
    assert start["element"] == "0, 0"
    assert moved["element"] == "1, 1"
    assert moved["focus"] == "logical"
    assert ["stride", "m = 1*64 + 1*1 = 65"] in moved["steps"]
    assert "bank = 32 mod 32 = 0, line = 32 div 32 = 1" in moved["status"]
    assert swizzled["layout"].startswith("ComposeLayout(3, 3, 3")
    assert ["swizzle", "m = 65: bits 6 to 8 are 1; 65 ^ 1*2^3 = 73"] in swizzled["steps"]
    assert swizzled["places"][0][1] == "73"
    assert ["place", "byte = 73*32/8 = 292"] in wider["steps"]
    assert typed["element"] == "7, 63"
    assert "below (8, 64)" in refused["status"]
    assert physical["focus"] == "physical"
    assert physical["width"] > 100
    assert "element=" in start["hash"]


def test_phases_name_the_lanes_that_meet(browser: Any, tmp_path: Path) -> None:
    page = view_description("ldmatrix-swizzles")
    script = """tell(); pick("phase", 1); tell(); pick("phase", 4); tell(); pick("swizzle", "128B"); tell();
    pick("buffer", 3); tell(); pick("memory", "ub ascend910b"); tell();"""
    start, first, last, swizzled, other, groups = drive(browser, tmp_path, page, script)
    assert start["phases"]
    assert "32 wavefronts, 4 ideal, 28 excess (measured, h200)" in start["verdict"]
    assert first["phase"] == "1 of 4: lanes 0-7, 8 wavefronts"
    assert "phase 1, banks 0-3: 8 meet: lanes 0-7 (bank 0: bytes 0, 128, 256" in first["verdict"]
    assert last["phase"] == "4 of 4: lanes 24-31, 8 wavefronts"
    assert "4 wavefronts, 4 ideal, 0 excess" in swizzled["verdict"]
    assert other["layout"].startswith("ComposeLayout")
    assert "bank group =" in groups["status"]
    witness = explain([128 * (i % 16) + 16 * (i // 16) for i in range(32)], op="ldmatrix.x4")
    assert [phase.wavefronts for phase in witness.phases] == [8, 8, 8, 8]


def written(browser: Any, tmp_path: Path, page: dict[str, Any]) -> list[list[Any]]:
    """Texts on the canvases with where they begin and end down the page: [text, top, bottom, height of the canvas]."""
    script = """const plain = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      const m = this.getTransform(), half = this.measureText(text).width / 2 * Math.abs(m.b);
      const middle = m.b * x + m.d * y + m.f;
      said.push([text, middle - half, middle + half, this.canvas.height]);
      plain.call(this, text, x, y);
    };
    pick("element", "0, 1");"""
    return drive(browser, tmp_path, page, script)


def test_the_name_of_the_rows_is_never_cut(browser: Any, tmp_path: Path) -> None:
    low = written(browser, tmp_path, view_description("S[(2,32):(32,1)]", dtype="f32"))
    texts = [entry[0] for entry in low]
    assert any(
        text.startswith("bank (4 bytes)") and text.endswith("line (128 bytes) \u2193") for text in texts
    )
    assert "line (128 bytes)" not in texts
    for layout in ("S[(5,32):(32,1)]", "S[(6,32):(32,1)]", "S[(64,32):(32,1)]"):
        tall = written(browser, tmp_path, view_description(layout, dtype="f32"))
        turned = [entry for entry in tall if entry[0] in ("dimension 0", "line (128 bytes)")]
        assert len(turned) >= 1
        for _, top, bottom, height in turned:
            assert top >= 0
            assert bottom <= height


@pytest.mark.parametrize(("target", "most"), [("S[(8,64):(64,1)]", 1), ("ldmatrix-swizzles", 2)])
def test_a_whole_grid_is_printed_on_one_sheet(browser: Any, tmp_path: Path, target: str, most: int) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_view(view_description(target)), encoding="utf-8")
    assert 1 <= browser.pages(path) <= most


def test_a_page_opens_with_the_worst_access(browser: Any, tmp_path: Path) -> None:
    page = view_description("transpose-pitch-32")
    (first,) = drive(browser, tmp_path, page, "tell();")
    assert "32 wavefronts, 1 ideal" in first["verdict"]
    (chosen,) = drive(browser, tmp_path, page, "tell();", "access=0")
    assert "1 wavefront, 1 ideal" in chosen["verdict"]


def test_meetings_beyond_four_can_be_opened_and_stay_open(browser: Any, tmp_path: Path) -> None:
    page = view_description("replica-fragment")
    script = """tell(); const more = () => $("verdict").querySelector("details");
    more().open = true; key("logical", "ArrowRight"); said.push([more().open, more().querySelectorAll("p").length]);"""
    start, (still, count) = drive(browser, tmp_path, page, script)
    assert not start["phases"]
    assert "and 12 more meetings" in start["verdict"]
    assert "choose a phase" not in start["verdict"]
    assert still
    assert count == 12


def test_copies_light_up_in_registers_and_tensor_memory(browser: Any, tmp_path: Path) -> None:
    page = view_description("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid")
    (found,) = drive(browser, tmp_path, page, "tell();", "element=27")
    assert "2 copies" in found["status"]
    assert [row[-1].split(",")[0] for row in found["places"]] == [
        "warp = 197 div 32 = 6",
        "warp = 325 div 32 = 10",
    ]
    tensor = view_description("S[(32,16):(1@TLane,1@TCol)] + R[4:32@TLane]", dtype="e4m3")
    (found,) = drive(browser, tmp_path, tensor, "tell();", "element=38")
    assert [row[1] for row in found["places"]] == ["2", "34", "66", "98"]
    assert "column = 6*8 bits div 32 = 1, bit 16 of it" in found["status"]


def test_a_choice_that_is_not_possible_says_why(browser: Any, tmp_path: Path) -> None:
    page = view_description("zN(128, 128, f16)")
    shown, refused = drive(browser, tmp_path, page, 'tell(); pick("swizzle", "128B"); tell();', "element=130")
    assert "fractal = 36 div 512 = 0, row = 36 div 32 = 1" in shown["status"]
    assert "no swizzle" in refused["trouble"]


def test_texts_of_a_scenario_stay_texts(browser: Any, tmp_path: Path) -> None:
    scenario = {
        "name": EVIL,
        "title": EVIL,
        "buffers": {EVIL: {"dtype": "f32", "shape": [32, 32]}},
        "accesses": [{"name": EVIL, "buffer": EVIL, "lanes": "[lane, 0]"}],
    }
    path = tmp_path / "evil.json"
    path.write_text(json.dumps(scenario), encoding="utf-8")
    page = view_description(str(path), command=f"bankbench view {EVIL}")
    text = render_view(page)
    assert "<img" not in text
    assert "<script>document" not in text
    (found,) = drive(browser, tmp_path, page, "tell();")
    assert found["title"].startswith("<script>document")
    assert "32 wavefronts" in found["verdict"]


def test_the_page_needs_no_network_and_stays_small() -> None:
    for target in ("ldmatrix-swizzles", "S[(128,64):(64,1)]"):
        text = render_view(view_description(target))
        assert "http://" not in text
        assert "https://" not in text
        assert len(text.encode()) < 1 << 20


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("S[(8,64):(64,1)]", {"memory": "tmem"}, "can be drawn in shared, fractal, ub"),
        ("S[(4096,4096):(4096,1)]", {}, "name a smaller --shape"),
        ("no-such-scenario.yaml", {}, "no-such-scenario.yaml"),
    ],
)
def test_bad_input_is_one_line(target: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as caught:
        view_description(target, **options)
    assert "\n" not in str(caught.value)
