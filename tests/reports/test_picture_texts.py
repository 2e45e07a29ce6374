"""What is written in pictures: numbers of axes, legends and titles that fit, names that can be told apart, fonts."""

from __future__ import annotations

import io
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bankbench.reports.pictures import draw, file_stem, save_figure, svg_text
from bankbench.reports.pictures.style import CJK_FONTS, font_families
from bankbench.reports.pictures.sweep import _stairs
from bankbench.reports.text import share_text
from bankbench.sim.results import Picture
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

END = 60_000
SLICES = [[0, 30_000, "LDS"], [30_000, END, "STS"]]
LONG: dict[str, dict[str, Any]] = {
    "timeline": {"end": END, "tracks": [{"name": "warp 0", "group": "warps", "slices": SLICES}]},
    "pipe_timeline": {"end": END, "tracks": [{"name": "MTE2", "slices": SLICES}]},
    "occupancy": {"end": END, "memories": [{"name": "L1", "bytes": 524288, "steps": [[0, 65536]]}]},
    "port_use": {"from": [0, 30_000], "end": END, "parts": ["data path"], "share": [[20, 40]]},
    "tmem_timeline": {
        "rows": ["TMA"],
        "row": ["TMA"],
        "text": ["TMA a"],
        "start": [0],
        "end": [END],
        "waiting": [False],
        "from": 0,
        "until": END,
    },
    "sweep_pareto": {
        "x": [1_000_000, 2_000_000, 3_000_000],
        "y": [3, 2, 2],
        "x_name": "cycles",
        "y_name": "ways",
        "front_x": [1_000_000, 2_000_000],
        "front_y": [3, 2],
        "front_names": ["a", "b"],
    },
}


def measured(kinds: int, low: float, high: float) -> dict[str, Any]:
    count = 200
    rng = np.random.default_rng(3)
    values = np.geomspace(low, high, count)
    return {
        "measured": values,
        "predicted": values * (1 + rng.normal(0, 0.05, count)),
        "kind": [f"a rather long kind {n % kinds}" for n in range(count)],
        "id": [f"a-row-with-a-long-name-{n}" for n in range(count)],
        "unit": "cycles",
    }


def drawn(kind: str, data: dict[str, Any], title: str = "title") -> tuple[Figure, Any]:
    figure = draw(Picture(kind, title, "", data))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return figure, canvas.get_renderer()


@pytest.mark.parametrize("kind", sorted(LONG))
def test_axes_have_thousands_separators_and_no_common_factor(kind: str) -> None:
    figure, _ = drawn(kind, LONG[kind])
    axis = figure.axes[-1].xaxis
    labels = [label.get_text() for label in axis.get_ticklabels()]
    assert any("," in text for text in labels)
    assert not any(len(text) > 4 and "," not in text for text in labels)
    assert axis.get_offset_text().get_text() == ""


def test_logarithmic_axes_have_plain_numbers() -> None:
    text = svg_text(Picture("predicted_measured", "t", "", measured(3, 10, 300_000)))
    assert "$" not in text
    assert "100,000" in text


def test_errors_are_not_rounded_to_wrong_numbers() -> None:
    figure, _ = drawn("predicted_measured", measured(3, 100, 110))
    axis = figure.axes[1].yaxis
    shown = [label.get_text() for label in axis.get_ticklabels()]
    assert [float(text.removesuffix(" %")) for text in shown] == pytest.approx(100 * axis.get_ticklocs())


@pytest.mark.parametrize("kinds", [1, 9, 30])
def test_long_titles_and_legends_stay_inside_and_apart(kinds: int) -> None:
    title = "Predicted against measured: a description of the set that is a good deal wider than the whole picture is"
    figure, renderer = drawn("predicted_measured", measured(kinds, 10, 10_000), title)
    boxes = [figure.legends[0].get_window_extent(renderer), figure.texts[0].get_window_extent(renderer)]
    boxes += [axes.get_tightbbox(renderer) for axes in figure.axes]
    for box in boxes:
        assert box.x0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y0 >= -1
        assert box.y1 <= figure.bbox.y1 + 1
    legend, heading, upper, lower = boxes
    assert heading.y0 >= upper.y1 - 1
    assert lower.y0 >= legend.y1 - 1
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert (names[-1] == "and 6 more kinds") == (kinds == 30)


def test_names_of_points_do_not_meet() -> None:
    near = {
        **LONG["sweep_pareto"],
        "x": [10, 11, 12, 13],
        "y": [4.0, 3.9, 3.8, 3.7],
        "front_x": [10, 11, 12, 13],
        "front_y": [4.0, 3.9, 3.8, 3.7],
        "front_names": [f"a setting with many parameters {n}" for n in range(4)],
    }
    figure, renderer = drawn("sweep_pareto", near)
    axes = figure.axes[0]
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    assert boxes
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[index + 1 :])
        assert axes.bbox.x0 - 1 <= box.x0
        assert box.x1 <= axes.bbox.x1 + 1


@pytest.mark.parametrize(
    ("front", "others", "where"),
    [
        ([(1, 3), (2, 2), (3, 1)], [(3, 3), (2, 3)], "post"),  # both small: a point holds for larger x
        ([(1, 3), (2, 2), (3, 1)], [(1, 1), (1, 2)], "pre"),  # both large
        ([(1, 1), (2, 2), (3, 3)], [(1, 3), (2, 3)], "pre"),  # large x, small y
        ([(1, 1), (2, 2), (3, 3)], [(3, 1), (3, 2)], "post"),  # small x, large y
        ([(1, 2), (2, 3), (3, 1)], [(2, 2)], None),  # the front of three objectives is no line
    ],
)
def test_the_pareto_front_steps_along_what_can_be_had(
    front: list[tuple[int, int]], others: list[tuple[int, int]], where: str | None
) -> None:
    points, line = np.array(front + others, float), np.array(front, float)
    assert _stairs(points[:, 0], points[:, 1], line[:, 0], line[:, 1]) == where


def test_the_same_ways_have_the_same_colour_in_every_map() -> None:
    def fills(ways: list[int]) -> list[tuple[float, ...]]:
        data = {
            "banks": 32,
            "bank_bytes": 4,
            "line": [0] * 3,
            "bank": [0, 1, 2],
            "ways": ways,
            "lanes": ["0"] * 3,
        }
        figure, _ = drawn("bank_map", data)
        cells = next(c for c in figure.axes[0].collections if len(c.get_facecolor()) == 3)
        return [tuple(colour) for colour in cells.get_facecolor()]

    small, large = fills([1, 2, 4]), fills([1, 2, 32])
    assert small[:2] == large[:2]
    assert small[2] != large[2]
    assert fills([1, 2, 64])[2] == large[2]


def test_cut_labels_can_be_told_apart() -> None:
    names = ["read a column of words of four bytes", "read a column of words of two bytes"]
    panel = {
        "x": "a",
        "y": "b",
        "x_labels": names,
        "y_labels": ["1", "2"],
        "values": [[1.0, 2.0], [3.0, 4.0]],
    }
    figure, _ = drawn("sweep_maps", {"panels": [panel], "name": "cycles"})
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert len(set(labels)) == 2
    assert all(len(label) <= 20 for label in labels)


def test_a_small_share_is_not_nothing() -> None:
    assert share_text(28, 68_676) == "under 1 %"
    data = {"names": ["all"], "causes": ["a", "b"], "cycles": [[64_588, 28]]}
    figure, _ = drawn("stalls", data)
    assert "28 (under 1 %)" in [text.get_text() for text in figure.axes[0].texts]


def test_file_names_end_with_whole_words() -> None:
    title = "Predicted against measured: cycles of programs whose warps sit on chosen partitions"
    stem = file_stem(Picture("predicted_measured", title, "", {}))
    assert stem == "predicted-against-measured-cycles-of-programs-whose-warps"
    assert file_stem(Picture("bank_map", "转置", "", {})) == "bank-map"
    assert len(file_stem(Picture("k" * 80, "", "", {}))) == 60


NAMES = Picture("wavefronts", "名字", "", {"names": ["名字", "name"], "ideal": [1, 1], "excess": [0, 3]})


def small_font(path: Path, family: str) -> None:
    """A font of one regular face with blocks for three Chinese signs."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    signs = {0x540D: "name1", 0x5B57: "name2", 0x7F6E: "name3"}
    pen = TTGlyphPen(None)
    pen.moveTo((100, 0))
    for corner in ((100, 700), (900, 700), (900, 0)):
        pen.lineTo(corner)
    pen.closePath()
    block = pen.glyph()
    names = [".notdef", *signs.values()]
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder(names)
    font.setupCharacterMap(signs)
    font.setupGlyf(dict.fromkeys(names, block))
    font.setupHorizontalMetrics(dict.fromkeys(names, (1000, 100)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": family, "styleName": "Regular"})
    font.setupOS2(sTypoAscender=800, sTypoDescender=-200, usWinAscent=800, usWinDescent=200)
    font.setupPost()
    font.save(path)


@pytest.fixture
def chinese_font(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a family that matplotlib knows during the test."""
    family = "WenQuanYi Zen Hei"
    small_font(tmp_path / "zen.ttf", family)
    monkeypatch.setattr(font_manager.fontManager, "ttflist", list(font_manager.fontManager.ttflist))
    font_manager.fontManager.addfont(tmp_path / "zen.ttf")
    return family


def test_chinese_names_are_drawn_with_an_installed_font(
    chinese_font: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert chinese_font in font_families()
    figure = draw(NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a sign that no font of the list has would be a warning here
        figure.savefig(io.BytesIO(), format="png", dpi=72)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        save_figure(draw(NAMES), tmp_path / "names.png")
    assert caplog.records == []
    text = svg_text(NAMES)
    assert ">名字</text>" in text
    assert chinese_font not in text  # the page of one machine looks for no font of it on another


def test_without_such_a_font_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known = [font for font in font_manager.fontManager.ttflist if font.name not in CJK_FONTS]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", known)
    assert font_families() == ["DejaVu Sans"]
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        save_figure(draw(NAMES), tmp_path / "names.png")
        assert ">名字</text>" in svg_text(NAMES)
    assert caplog.records == []
