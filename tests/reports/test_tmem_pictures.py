"""The pictures of tensor memory from ready scenarios: what is written in them, and that nothing is drawn outside."""

from __future__ import annotations

import pytest
from bankbench.reports.pictures import draw, svg_text
from bankbench.scenarios.load import loads
from bankbench.scenarios.run import run_scenario


def texts(figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts if text.get_text()]


def legend(figure) -> list[str]:
    return [text.get_text() for found in figure.legends for text in found.get_texts()]


def test_the_map_names_buffers_stages_and_waste():
    result = run_scenario("tmem-blockscaled-fp8")
    (picture,) = result.pictures
    figure = draw(picture)
    assert any(text.startswith("acc[0]") for text in texts(figure))
    assert any(text.startswith("sfa: 4 columns at 480, 4 copies") for text in legend(figure))
    assert any(text.startswith("allocated, unused") for text in legend(figure))


def test_a_full_map_has_no_waste():
    figure = draw(run_scenario("tmem-attention-spo").pictures[0])
    assert not any("unused" in text for text in legend(figure))
    assert {"P0\n64 columns", "S0\n128 columns"} <= set(texts(figure))


def test_too_many_columns_are_drawn_with_the_limit():
    figure = draw(run_scenario("tmem-blockscaled-n256").pictures[0])
    assert "only 512 exist" in texts(figure)
    assert figure.axes[0].get_xlim() == (0, 524)


def test_half_lane_buffers_are_drawn_in_their_lanes():
    figure = draw(run_scenario("tmem-m64-two-halves").pictures[0])
    assert texts(figure).count("low") == 4
    assert texts(figure).count("high") == 4


@pytest.mark.parametrize("name", ["tmem-gemm-buffering", "tmem-missing-waits"])
def test_the_timeline_shows_work_and_waits(name):
    picture = next(p for p in run_scenario(name).pictures if p.kind == "tmem_timeline")
    figure = draw(picture)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert "tensor pipe" in names
    assert "mma warp" in names or "epilogue warp" in names
    assert "waits" in legend(figure)
    low, high = figure.axes[0].get_xlim()
    assert all(
        low <= start <= end <= high
        for start, end in zip(picture.data["start"], picture.data["end"], strict=True)
    )


def test_the_same_picture_gives_the_same_text():
    text = "name: x\nchip: b200\ntmem: {buffers: [{name: acc, accumulator: {N: 96}, stages: 3}]}"
    first, second = (svg_text(run_scenario(loads(text, "x.yaml")).pictures[0]) for _ in range(2))
    assert first == second
