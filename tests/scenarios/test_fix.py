"""`bankbench fix`: the classic answers, the limits, what is said about them, and the notation of the user."""

from __future__ import annotations

import pytest
import yaml
from bankbench.reports.terminal import render_text
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.fix import Limits, fix_scenario
from bankbench.scenarios.load import loads
from bankbench.scenarios.run import run_scenario

LDMATRIX = """
name: t
buffers:
  tile: {BUFFER}
accesses:
  - {name: store, buffer: tile, op: store, lanes: "[4 * s + lane // 8, 8 * (lane % 8)]", vector: 8, for: {s: 32}}
  - {name: load, buffer: tile, with: ldmatrix.x4, lanes: "[16 * b + lane % 16, 16 * k + 8 * (lane // 16)]",
     for: {b: 8, k: 4}}
"""
TRANSPOSE = """
name: t
buffers:
  tile: {BUFFER}
accesses:
  - {name: store, buffer: tile, op: store, lanes: "[r, lane]", for: {r: 32}}
  - {name: load, buffer: tile, lanes: "[lane, r]", for: {r: 32}}
"""


def scenario(text: str, buffer: str):
    return loads(text.replace("{BUFFER}", buffer), "t.yaml")


def kinds(result) -> dict[str, dict]:
    return {row["kind"]: row for row in result.table("layouts").rows()}


def test_row_store_and_ldmatrix_load_take_the_128_byte_swizzle() -> None:
    loaded = scenario(LDMATRIX, "{dtype: f16, shape: [128, 64]}")
    result = fix_scenario(loaded)
    best = kinds(result)["swizzle"]
    assert (best["layout"], best["excess"], best["bytes"], best["unused"]) == ("swizzle 128B", 0, 16384, 0)
    assert "none with fewer exists" in result.headline
    assert any("no layout takes fewer" in line for line in result.reasons)
    assert any(line.startswith("rank argument") for line in result.reasons)
    assert kinds(result)["padding"]["layout"] == "pad 8"


def test_the_fp32_transpose_pads_one_word_or_swizzles_five_bits() -> None:
    result = fix_scenario(scenario(TRANSPOSE, "{dtype: f32, shape: [32, 32]}"))
    found = kinds(result)
    assert (found["padding"]["layout"], found["padding"]["excess"]) == ("pad 1", 0)
    assert found["padding"]["bytes"] == 31 * 33 * 4 + 128
    assert (found["swizzle"]["layout"], found["swizzle"]["bytes"]) == ("swizzle Sw<5,0,5>", 4096)
    assert found["plain"]["excess"] == 992
    only = fix_scenario(scenario(TRANSPOSE, "{dtype: f32, shape: [32, 32]}"), limits=Limits(swizzle=False))
    assert only.extra["fields"]["tile"] == {"dtype": "f32", "shape": [32, 32], "pad": 1}


def test_padding_keeps_the_alignment_of_the_vectors() -> None:
    result = fix_scenario(scenario(LDMATRIX, "{dtype: f16, shape: [128, 64]}"), limits=Limits(swizzle=False))
    assert (
        result.extra["fields"]["tile"]["pad"] == 8
    )  # 16 bytes; less would break ldmatrix and 16-byte stores
    asked = fix_scenario(
        scenario(TRANSPOSE, "{dtype: f32, shape: [32, 32]}"), limits=Limits(align=16, swizzle=False)
    )
    assert asked.extra["fields"]["tile"]["pad"] == 4
    assert kinds(asked)["padding"]["excess"] == 96
    assert any("searched: padding of 0 to 112 bytes" in line for line in asked.reasons)


def test_rows_that_break_the_vectors_are_padded_until_they_do_not() -> None:
    text = LDMATRIX.replace("8 * (lane % 8)", "8 * (lane % 7)").replace("k: 4", "k: 3")
    result = fix_scenario(scenario(text, "{dtype: f16, shape: [128, 60]}"))
    assert result.table("fix").data["wavefronts_before"][0] is None  # the run refuses ldmatrix on such rows
    assert result.extra["fields"]["tile"]["pad"] % 8 == 4
    assert kinds(result)["both" if "both" in kinds(result) else "padding"]["excess"] == 0


@pytest.mark.parametrize(
    ("buffer", "field", "expected"),
    [
        ('{dtype: f16, layout: "S[(128,64):(64,1)]"}', "swizzle", "128B"),
        ('{dtype: f16, layout: "(128,64):(64,1)"}', "swizzle", "128B"),
        ('{dtype: f16, layout: "S[(128,64):(72,1)]"}', "layout", "S[(128,64):(64,1)]"),
        (
            '{dtype: f16, layout: "ComposeLayout(3, 1, 3, S[(128,64):(64,1)])"}',
            "layout",
            "ComposeLayout(3, 3, 3, S[(128,64):(64,1)])",
        ),
        ('{dtype: f16, layout: "Sw<1,3,3> o (128,64):(64,1)"}', "layout", "Sw<3,3,3> o (128,64):(64,1)"),
        (
            '{dtype: f16, layout: "Sw<1,4,3> o smem_ptr[16b](unset) o (128,64):(64,1)"}',
            "layout",
            "Sw<3,4,3> o smem_ptr[16b](unset) o (128,64):(64,1)",
        ),
    ],
)
def test_the_answer_is_in_the_notation_of_the_question(buffer: str, field: str, expected: str) -> None:
    result = fix_scenario(scenario(LDMATRIX, buffer))
    fields = result.extra["fields"]["tile"]
    assert fields[field] == expected
    again = loads(result.extra["scenario"], "t.yaml")
    assert run_scenario(again).table("accesses").data["excess"] == [0, 0]
    pasted = next(line for line in result.reasons if line.startswith("paste under buffers: "))
    assert yaml.safe_load(pasted.removeprefix("paste under buffers: ")) == {"tile": fields}


TRITON = "order=[1,0], shape=[128,64])"


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (
            f"swizzled_shared(vec=8, perPhase=2, maxPhase=4, {TRITON}",
            f"swizzled_shared(vec=8, perPhase=1, maxPhase=8, {TRITON}",
        ),
        (
            "linear(offset=[[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,0],[2,0],[4,0],[8,0],[16,0],[32,0],[64,0]])",
            "linear(offset=[[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,8],[2,16],[4,32],[8,0],[16,0],[32,0],[64,0]], "
            "shape=[128,64])",
        ),
    ],
)
def test_triton_layouts_are_answered_in_tritons_words(layout: str, expected: str) -> None:
    result = fix_scenario(scenario(LDMATRIX, f"{{dtype: f16, layout: '{layout}'}}"))
    assert result.extra["fields"]["tile"]["layout"] == expected
    assert run_scenario(loads(result.extra["scenario"])).table("accesses").data["excess"] == [0, 0]


def test_where_no_swizzle_of_the_named_form_is_free_another_mask_can_be() -> None:
    # Rows of 64 bytes: two share a row of the banks, so bit 0 of the row must not be put over, but bits 1 and 2,
    # once by one distance and once by another.
    text = """
name: t
buffers:
  tile: {dtype: f16, shape: [8, 32]}
accesses:
  - {name: a, buffer: tile, lanes: "[lane // 2 % 8, 8 * (lane % 4)]", vector: 8}
  - {name: b, buffer: tile, lanes: "[lane % 8, 8 * ((s + lane // 8) % 4)]", vector: 8, for: {s: 3}}
"""
    result = fix_scenario(loads(text))
    found = kinds(result)
    assert found["swizzle"]["excess"] == found["padding"]["excess"] == 4
    assert (found["mask"]["excess"], found["mask"]["bytes"]) == (0, 512)
    assert result.extra["fields"]["tile"]["layout"].startswith("linear(offset=")
    assert run_scenario(loads(result.extra["scenario"])).table("accesses").data["excess"] == [0, 0]
    assert any("byte address ^ ((byte address & " in line for line in result.reasons)


def test_a_tla_layout_is_padded_because_its_notation_has_no_swizzle() -> None:
    result = fix_scenario(scenario(LDMATRIX, '{dtype: f16, layout: "(128,64):(64,_1)"}'))
    assert result.extra["fields"]["tile"]["layout"] == "(128, 64):(72, _1) origin (128, 64)"
    assert "swizzle" not in kinds(result)


def test_tma_allows_named_modes_only_and_rows_within_their_span() -> None:
    loaded = scenario(LDMATRIX, "{dtype: f16, shape: [128, 64], pad: 8}")
    result = fix_scenario(loaded, limits=Limits(tma=True))
    assert result.extra["fields"]["tile"] == {"dtype": "f16", "shape": [128, 64], "swizzle": "128B"}
    wide = LDMATRIX.replace("4 * s", "2 * s").replace("// 8, 8 * (lane % 8)", "// 16, 8 * (lane % 16)")
    found = fix_scenario(scenario(wide, "{dtype: f16, shape: [128, 128]}"), limits=Limits(tma=True))
    assert kinds(found).keys() == {"plain"}  # rows of 256 bytes fit no mode
    free = fix_scenario(scenario(wide, "{dtype: f16, shape: [128, 128]}"))
    assert kinds(free)["swizzle"]["excess"] == 0
    assert free.extra["fields"]["tile"]["swizzle"].startswith("Sw<3,3,")


def test_limits_of_the_section_hold() -> None:
    text = TRANSPOSE + "fix: {swizzle: false, power_of_two: true}\n"
    result = fix_scenario(scenario(text, "{dtype: f32, shape: [32, 32]}"))
    assert kinds(result)["plain"]["excess"] == 992
    assert all(row["excess"] == 992 for row in kinds(result).values())
    with pytest.raises(ScenarioError, match=r"t\.yaml:4: buffers\.tile: no layout keeps the limits"):
        fix_scenario(
            scenario(TRANSPOSE, "{dtype: f32, shape: [32, 32]}"), limits=Limits(max_bytes=4095, swizzle=False)
        )


def test_what_cannot_be_fixed_says_so() -> None:
    with pytest.raises(ScenarioError, match="no access reaches a buffer by coordinates"):
        fix_scenario(loads('{name: t, accesses: [{bytes: "lane * 128", width: 4}]}'))
    with pytest.raises(ScenarioError, match="no buffer 'b'; there are: tile"):
        fix_scenario(scenario(TRANSPOSE, "{dtype: f32, shape: [32, 32]}"), buffers=["b"])


def test_two_buffers_and_other_banks() -> None:
    result = fix_scenario("ldmatrix-swizzles", buffers=["plain", "sw32"])
    assert result.extra["fields"]["sw32"]["swizzle"] == "128B"
    assert result.table("fix").data["excess_after"] == [0, 0, 0]
    wider = fix_scenario("transpose-pitch-32", overrides=["shared_memory.banks=64"])
    assert kinds(wider)["swizzle"]["excess"] == 0
    odd = fix_scenario("transpose-pitch-32", overrides=["shared_memory.banks=33"])
    assert kinds(odd)["plain"]["excess"] == 0


def test_the_terminal_stays_within_100_columns() -> None:
    lines = render_text(fix_scenario("transpose-pitch-32")).splitlines()
    assert max(map(len, lines)) <= 100


NARROW = """
name: t
buffers:
  tile: {BUFFER}
accesses:
  - {buffer: tile, name: wide, op: store, vector: 2, lanes: "[lane % 16, 2 * (lane // 16)]"}
  - {buffer: tile, name: narrow, op: store, lanes: "[lane % 16, 2 * (lane // 16)]", for: {s: 2}}
"""


def test_a_layout_that_is_better_than_all_that_is_searched_stays() -> None:
    # Rows of 17 doubles allow 8-byte stores only, and those are free; the search keeps 16-byte stores whole.
    own = "{dtype: f64, pad: 1, shape: [32, 16]}"
    result = fix_scenario(scenario(NARROW, own))
    assert result.headline == (
        "tile: keep it as it is: 8 wavefronts, no excess; the best of the others has 4 excess"
    )
    assert result.extra["fields"]["tile"] == yaml.safe_load(own)
    assert run_scenario(loads(result.extra["scenario"])).extra["totals"]["excess_wavefronts"] == 0
    assert not any("paste" in line for line in result.reasons)
    limited = fix_scenario(scenario(NARROW, own), limits=Limits(max_bytes=4096))
    assert "keep it" not in limited.headline
