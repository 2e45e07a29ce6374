"""Every kind of picture against an accepted image, and what all pictures promise."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from bankbench.reports.pictures import KINDS, draw, file_stem, pictures_of, save_figure, svg_text
from bankbench.scenarios.load import catalogue
from bankbench.scenarios.run import run_scenario
from bankbench.sim.results import Column, Picture, RunResult, Table
from matplotlib.figure import Figure
from matplotlib.testing import compare

EVIL = '<script>alert("x")</script> $x_{$ & 你好'
TOLERANCE = 6

# Small data of each kind; the shapes are those that the functions document.
SAMPLES: dict[str, dict[str, Any]] = {
    "bank_heat": {
        "names": ["store rows", "load columns", EVIL],
        "words": [[32] * 32, [8 * (bank % 4 == 0) for bank in range(32)], list(range(32))],
    },
    "bank_map": {
        "banks": 32,
        "bank_bytes": 4,
        "line": [0, 1, 2, 3, 0, 1],
        "bank": [0, 0, 0, 0, 5, 31],
        "ways": [4, 4, 4, 4, 1, 1],
        "lanes": ["0", "1", "2", "3", "4 5 6 7", "31"],
    },
    "wavefronts": {
        "names": [
            "no swizzle",
            "128B swizzle",
            EVIL,
            "a name that is much longer than the room that there is for names",
        ],
        "ideal": [128, 128, 4, 1],
        "excess": [896, 0, 3, 31],
    },
    "replica_traffic": {
        "names": ["sfa (cp.32x128b.warpx4)", "fragment", "no copies"],
        "memory": ["TMEM", "registers", "shared"],
        "axes": ["TLane x4", "warpid x2, laneid x2", ""],
        "unique": [16384, 4096, 8192],
        "physical": [65536, 16384, 8192],
    },
    "port_use": {
        "from": [0, 100, 200, 300],
        "end": 400,
        "parts": ["issue slot of partition 0", "shared-memory data path"],
        "share": [[20, 40, 10, 0], [80, 100, 97, 30]],
    },
    "stalls": {
        "names": ["producer", "consumer"],
        "causes": ["barrier", "scoreboard", "queue full"],
        "cycles": [[400, 100, 0], [50, 900, 120]],
    },
    "predicted_measured": {
        "measured": [100, 200, 400, 800, 1600],
        "predicted": [101, 199, 440, 790, 1600],
        "kind": ["a", "a", "b", "b", "c"],
        "id": ["a0", "a1", "b0", "b1", "c0"],
        "unit": "cycles",
    },
    "timeline": {
        "end": 100,
        "tracks": [
            {
                "name": "warp 0",
                "group": "warps",
                "slices": [[0, 10, "LDS.128"], [10, 40, "wait"], [40, 60, "FFMA"]],
            },
            {
                "name": "warp 1",
                "group": "warps",
                "slices": [[5, 20, "STS"], [20, 90, "wait barrier"], [90, 95, "BAR"]],
            },
            {"name": "memory port 0", "group": "ports", "slices": [[2, 8, "LDS"], [22, 60, "STS"]]},
        ],
    },
    "pipe_timeline": {
        "end": 1000,
        "tracks": [
            {"name": "MTE2", "slices": [[0, 400, "A tile"], [400, 900, "B tile"]]},
            {"name": "MTE1", "slices": [[400, 500, "A"], [900, 960, "B"]]},
            {"name": "M", "slices": [[500, 900, "mmad"]]},
        ],
    },
    "pipe_busy": {
        "pipes": ["M", "MTE2"],
        "busy": [300, 950],
        "waits": [{"flag from MTE1": 650}, {}],
        "cycles": 1000,
    },
    "occupancy": {
        "end": 1000,
        "memories": [
            {"name": "L1", "bytes": 524288, "steps": [[0, 65536], [200, 196608], [700, 131072]]},
            {"name": "L0A", "bytes": 65536, "steps": [[250, 32768], [600, 0]]},
        ],
    },
    "tmem_map": {
        "lanes": 128,
        "columns": 512,
        "window": 32,
        "slab": 16,
        "needed": 200,
        "allocation": 256,
        "boxes": [
            {
                "name": "acc[0]",
                "group": "acc",
                "column": 0,
                "columns": 96,
                "slabs": 255,
                "inside": "",
                "copies": 1,
            },
            {
                "name": "acc[1]",
                "group": "acc",
                "column": 96,
                "columns": 96,
                "slabs": 255,
                "inside": "",
                "copies": 1,
            },
            {
                "name": "sfa",
                "group": "sfa",
                "column": 192,
                "columns": 8,
                "slabs": 85,
                "inside": "",
                "copies": 4,
            },
        ],
    },
    "sweep_pareto": {
        "x": [4096, 4224, 5120, 6144],
        "y": [992, 0, 0, 31],
        "x_name": "bytes",
        "y_name": "excess wavefronts",
        "front_x": [4096, 4224],
        "front_y": [992, 0],
        "front_names": ["pad 0", "pad 1"],
    },
    "sweep_parallel": {
        "parameters": [
            {"name": "pad", "at": [0, 1, 2, 0, 1, 2], "labels": ["0", "1", "4"]},
            {"name": "swizzle", "at": [0, 0, 0, 1, 1, 1], "labels": ["none", "128B"]},
        ],
        "results": [
            {
                "name": "cycles",
                "at": [90_000, 40_000, 50_000, 42_000, 41_000, 43_000],
                "bounds": [40_000, 90_000],
            },
            {"name": "bytes", "at": [4096, 4224, 4608, 4096, 4224, 4608], "bounds": [4096, 4608]},
        ],
    },
    "sweep_maps": {
        "name": "cycles",
        "panels": [
            {
                "x": "pattern",
                "y": "swizzle",
                "x_labels": ["read a column of words of four bytes", "read a column of words of two bytes"],
                "y_labels": ["none", "64B", "128B"],
                "values": [[1_413_527, 885_751], [838_199, 508_855], [137_976, float("nan")]],
            }
        ],
    },
    "tmem_timeline": {
        "rows": ["TMA", "mma warp"],
        "row": ["TMA", "TMA", "mma warp", "mma warp"],
        "text": ["TMA a[0]", "TMA b[0]", "wait full", "mma acc"],
        "start": [0, 600, 0, 1200],
        "end": [600, 1200, 1200, 2400],
        "waiting": [False, False, True, False],
        "from": 0,
        "until": 2400,
    },
    "ub_groups": {
        "groups": 16,
        "banks": 3,
        "cells": [["R", "src0", n, 8 + n, 0, 0] for n in range(8)]
        + [["W", "dst", n, 0, 1, 0] for n in range(4)],
        "busiest": 0,
        "cycles": 4,
        "note": "reads of one repeat and the delayed write of the one before",
    },
}


def sample(kind: str) -> Picture:
    return Picture(kind, f"Sample of {kind}", f"A sample of {kind}.", SAMPLES[kind])


def test_every_kind_has_an_accepted_image() -> None:
    assert set(SAMPLES) == set(KINDS)


@pytest.mark.parametrize("kind", sorted(SAMPLES))
@pytest.mark.mpl_image_compare(
    baseline_dir="baseline",
    tolerance=TOLERANCE,
    style="default",
    savefig_kwargs={"dpi": 72},
    deterministic=True,
)
def test_image(kind: str) -> Figure:
    return draw(sample(kind))


def test_the_comparison_sees_a_changed_number(tmp_path: Any) -> None:
    """What the accepted images are for: other numbers are another picture, beyond the tolerance."""
    changed = {**SAMPLES["wavefronts"], "excess": [0, 896, 3, 31]}
    for name, data in (("expected", SAMPLES["wavefronts"]), ("actual", changed)):
        draw(Picture("wavefronts", "Sample", "", data)).savefig(tmp_path / f"{name}.png", dpi=72)
    found = compare.compare_images(str(tmp_path / "expected.png"), str(tmp_path / "actual.png"), TOLERANCE)
    assert found is not None


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_svg_is_text_that_a_page_can_hold(kind: str) -> None:
    text = svg_text(sample(kind))
    assert text.startswith("<svg")
    assert "<script" not in text
    assert "<text" in text  # text stays text: it can be searched and read aloud
    assert text == svg_text(sample(kind))


def test_png_bytes_are_the_same_twice() -> None:
    found = []
    for _ in range(2):
        stream = io.BytesIO()
        figure = draw(sample("stalls"))
        figure.savefig(stream, format="png", metadata={"Software": None})
        found.append(stream.getvalue())
    assert found[0] == found[1]


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="bank_map"):
        draw(Picture("hologram", "", "", {}))


def test_file_names_are_plain() -> None:
    assert file_stem(Picture("bank_map", "../../etc & <b>", "", {})) == "bank-map-etc-b"


def overlapping(figure: Figure) -> list[str]:
    """Texts of one axes that lie over each other by more than a pixel."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    found = []
    for axes in figure.axes:
        shown = [t for t in axes.texts if t.get_visible() and t.get_text()]
        for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
            shown += [t for t in labels if t.get_visible() and t.get_text()]
        boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in shown]
        for i, (name, box) in enumerate(boxes):
            for other, second in boxes[i + 1 :]:
                wide = min(box.x1, second.x1) - max(box.x0, second.x0)
                high = min(box.y1, second.y1) - max(box.y0, second.y0)
                if wide > 1 and high > 1:
                    found.append(f"{name!r} over {other!r}")
    return found


@pytest.mark.parametrize(
    "kind", ["bank_heat", "bank_map", "wavefronts", "replica_traffic", "port_use", "stalls"]
)
def test_no_label_lies_over_another(kind: str) -> None:
    assert overlapping(draw(sample(kind))) == []


def result(*tables: Table, pictures: tuple[Picture, ...] = ()) -> RunResult:
    return RunResult("n", "t", "h200", "NVIDIA H200", "measured", "h", tables=tables, pictures=pictures)


def columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, "%" if name.startswith("port") else "", "") for name in names)


def test_tables_become_pictures() -> None:
    banks = Table(
        "banks",
        "",
        columns("access", "bank", "words"),
        {"access": ["a", "a"], "bank": [0, 1], "words": [8, 0]},
    )
    usage = Table(
        "usage_over_time", "", columns("from", "port a"), {"from": [0, 10], "port a": [50.0, 100.0]}
    )
    stalls = Table("stalls", "", columns("reason", "cycles"), {"reason": ["barrier"], "cycles": [7]})
    found = pictures_of(result(banks, usage, stalls))
    assert [picture.kind for picture in found] == ["bank_heat", "port_use", "stalls"]
    assert found[0].data["words"] == [[8, 0]]
    assert "unevenly used by a" in found[0].alt
    assert found[1].data["end"] == 20
    assert "port a with 75 %" in found[1].alt
    own = Picture("stalls", "mine", "", SAMPLES["stalls"])
    assert [picture.title for picture in pictures_of(result(stalls, pictures=(own,)))] == ["mine"]


def test_empty_tables_make_no_pictures() -> None:
    empty = Table("stalls", "", columns("reason", "cycles"), {"reason": [], "cycles": []})
    banks = Table("banks", "", columns("access", "bank", "words"), {"access": [], "bank": [], "words": []})
    assert pictures_of(result(empty, banks)) == ()


def test_every_kind_of_the_catalogue_has_an_alternative_text_and_a_drawing() -> None:
    seen: set[str] = set()
    for path in catalogue():
        if path.stem == "ascend-matmul-8192":
            continue
        for picture in pictures_of(run_scenario(path.stem)):
            assert picture.alt
            assert picture.title
            if picture.kind not in seen:  # one of each: drawing all takes minutes
                seen.add(picture.kind)
                save_figure(draw(picture), io.StringIO())
    from_tables = {"bank_heat", "replica_traffic", "port_use", "stalls"}
    assert (
        {"wavefronts", "bank_map", "tmem_map", "pipe_timeline", "timeline"} | from_tables
        <= seen
        <= set(KINDS)
    )


def test_more_lines_than_fit_are_left_out_and_said() -> None:
    data = {
        "banks": 32,
        "bank_bytes": 4,
        "line": list(range(0, 12_800, 200)),
        "bank": [0] * 64,
        "ways": [1] * 64,
        "lanes": ["0"] * 64,
    }
    figure = draw(Picture("bank_map", "wide", "", data))
    assert "first 48 of 64" in figure.axes[0].get_title(loc="left")
    many = {"names": [f"a{i}" for i in range(100)], "ideal": [1] * 100, "excess": np.arange(100).tolist()}
    assert "worst 40 of 100" in draw(Picture("wavefronts", "many", "", many)).axes[0].get_title(loc="left")
