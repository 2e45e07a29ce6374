"""The section `sweep:`: values, constraints, derived fields, sizes, refusals, results, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from bankbench.reports.folder import write_folder
from bankbench.reports.terminal import render_text
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.load import load, loads
from bankbench.scenarios.run import run_scenario
from bankbench.scenarios.sweep.combine import combined
from bankbench.scenarios.sweep.outcome import best_scenarios, outcome
from bankbench.scenarios.sweep.pareto import effects, pareto_front
from bankbench.scenarios.sweep.plan import points_of
from bankbench.scenarios.sweep.run import prepare, sweep
from bankbench.scenarios.sweep.values import Texts, aliases, derive

BASE = """
name: t
buffers:
  tile: {dtype: f32, shape: [32, 32]}
accesses:
  - {name: store, buffer: tile, op: store, lanes: "[r, lane]", for: {r: 32}}
  - {name: load, buffer: tile, lanes: "[lane, r]", for: {r: 32}}
sweep:
"""


def space(section: str):
    return loads(BASE + "".join(f"  {line}\n" for line in section.strip().splitlines()), "t.yaml")


def result_of(section: str, folder: Path):
    loaded = space(section)
    plan, _ = prepare(loaded)
    return loaded, plan, sweep(plan, folder)


def test_ranges_products_and_zips() -> None:
    loaded = space("""
parameters:
  a: {from: 1, to: 16, times: 2}
  b: {from: 6, to: 0, step: -2}
  buffers.tile.pad: [0, 1]
  c: [x, y]
zip: [[buffers.tile.pad, c]]
""")
    plan, size = prepare(loaded)
    assert [list(p.values) for p in plan.parameters] == [[1, 2, 4, 8, 16], [6, 4, 2, 0], [0, 1], ["x", "y"]]
    assert plan.sizes == (5, 4, 2)
    assert (size.product, size.allowed, size.instructions) == (40, 40, 64)
    points = points_of(plan, 0, 40)
    seen = [
        tuple(points.values[p.text][0][points.values[p.text][1][i]] for p in plan.parameters)
        for i in range(4)
    ]
    assert seen == [(1, 6, 0, "x"), (1, 6, 1, "y"), (1, 4, 0, "x"), (1, 4, 1, "y")]


def test_constraints_over_parameters_texts_and_results(tmp_path: Path) -> None:
    section = """
parameters:
  buffers.tile.pad: {from: 0, to: 7}
  buffers.tile.swizzle: [none, "Sw<5,0,5>"]
where: ["swizzle == 'none' or pad == 0", "pad % 2 == 1 or tile_pad == 0", "excess_wavefronts < 500"]
"""
    loaded, _, table = result_of(section, tmp_path / "out")
    rows = [(r["pad"], r["swizzle"], r["excess_wavefronts"]) for r in table.to_pylist()]
    assert rows == [(0, "Sw<5,0,5>", 0), (1, "none", 0), (3, "none", 0), (5, "none", 0), (7, "none", 0)]
    assert prepare(loaded)[1].allowed == 6  # the constraint on a result is not known before
    assert table["point"].to_pylist() == [1, 2, 6, 10, 14]


def test_derived_fields_are_numbers_lists_or_texts() -> None:
    texts, names = Texts(), {"a": np.array([1, 2, 2]), "b": np.array([5, 7, 7])}
    assert derive("a * b", names, texts, 3)[0] == [5, 14]
    assert derive("[a, 3]", names, texts, 3)[0] == [[1, 3], [2, 3]]
    values, which = derive("S[({a},{b}):({b + 1},1)]", names, texts, 3)
    assert values == ["S[(1,5):(6,1)]", "S[(2,7):(8,1)]"]
    assert which.tolist() == [0, 1, 1]
    names["mode"] = texts.coded(["32B", "64B", "64B"])
    assert derive("{mode} of {a}", names, texts, 3)[0] == ["32B of 1", "64B of 2"]


def test_names_are_the_endings_that_nothing_else_has() -> None:
    found = aliases(["buffers.a.pad", "buffers.b.pad", "chip.shared_memory.banks", "pad_all"])
    assert found["a_pad"] == "buffers.a.pad"
    assert found["banks"] == "chip.shared_memory.banks"
    assert "pad" not in found
    assert combined([(["x"], np.array([0, 0]))], 2)[0] == [("x",)]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("parameters: {}", "sweep.parameters: "),
        ("parameters: {buffers.tile.pads: [1]}", "sweep.parameters.buffers.tile.pads: unknown key 'pads'"),
        ("parameters: {accesses.lod.op: [load]}", "no item 'lod'; there are: store, load"),
        ("parameters: {'accesses[7].op': [load]}", "item 7 of a list of 2"),
        ("parameters: {a: [1]}\nwhere: [b > 1]", "sweep.where[0]: b > 1: 'b' is no parameter"),
        ("parameters: {a: [1]}\nderived: {b: c + 1}", "sweep.derived.b: c + 1: 'c' is no parameter"),
        ("parameters: {a: [1]}\nobjectives: [speed]", "'speed' is no result of this scenario; there are: "),
        ("parameters: {a: [1, 2], b: [1]}\nzip: [[a, b]]", "zipped parameters need as many values each"),
        ("parameters: {a: {from: 1, to: 4, step: 0}}", "step: 0 never ends"),
        ("parameters: {a: [1]}\nderived: {a: '2'}", "'a' is a parameter and derived"),
        ("parameters: {buffers.tile.dtype: [f7, f9]}", "no point works; the first says: buffers.tile.dtype"),
        ("parameters: {chip: [h201]}", "no point works; the first says: unknown chip 'h201'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(section: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        prepare(space(section))
    assert message in str(caught.value)
    assert str(caught.value).startswith("t.yaml:")


def test_a_failing_point_is_a_row_with_its_error(tmp_path: Path) -> None:
    section = "parameters: {buffers.tile.pad: [0, 1, -1, 200000], buffers.tile.dtype: [f32, f11]}"
    loaded, plan, table = result_of(section, tmp_path / "out")
    rows = table.to_pylist()
    assert len(rows) == 8
    assert [row["error"] is None for row in rows] == [True, False, True, False, False, False, False, False]
    assert "greater than or equal to 0" in rows[4]["error"]
    assert "a block on h200 has 232448" in rows[6]["error"]
    assert all(row["excess_wavefronts"] is None for row in rows if row["error"])
    result = outcome(loaded, plan, table)
    assert "8 points (6 with an error)" in result.headline
    assert sum(result.table("errors").data["points"]) == 6


def test_the_classic_padding_against_footprint(tmp_path: Path) -> None:
    section = "parameters: {buffers.tile.pad: {from: 0, to: 8}}"
    loaded, plan, table = result_of(section, tmp_path / "out")
    result = outcome(loaded, plan, table)
    assert result.table("pareto").data["pad"] == [1, 0]
    assert result.table("best").data["pad"][:2] == [1, 3]
    assert result.status == "measured"
    files = best_scenarios(loaded, plan, table)
    assert len(files) == 9
    text = files["01-point-1.yaml"]
    assert yaml.safe_load(text)["buffers"]["tile"]["pad"] == 1
    again = run_scenario(loads(text))
    assert sum(again.table("accesses").data["excess"]) == 0
    write_folder(result, tmp_path / "report")
    assert len(list((tmp_path / "report" / "pictures").glob("*.svg"))) == 2
    assert max(map(len, render_text(result).splitlines())) <= 100


def test_pareto_front_against_brute_force() -> None:
    rng = np.random.default_rng(3)
    for dimensions in (1, 2, 3, 4):
        costs = rng.integers(0, 7, (120, dimensions)).astype(float)
        costs[rng.random(costs.shape) < 0.05] = np.nan
        front = pareto_front(costs)
        fine = costs[~np.isnan(costs).any(axis=1)]
        best = {
            tuple(row)
            for row in fine.tolist()
            if not any((other <= row).all() and (other < row).any() for other in fine)
        }
        assert {tuple(row) for row in costs[front].tolist()} == best
        assert len(front) == len(best)


def test_effects_are_shares_of_the_variance() -> None:
    a, b = (x.ravel() for x in np.meshgrid(np.arange(4), np.arange(5), indexing="ij"))
    assert effects(a, 3.0 * a)[0] == pytest.approx(1.0)
    assert effects(b, 3.0 * a)[0] == pytest.approx(0.0)
    assert effects(a, 1.0 * a + 1.0 * b)[0] == pytest.approx(a.var() / (a.var() + b.var()))
    assert effects(a, np.full(20, 2.0))[0] == 0.0


def test_largest_is_best_when_asked(tmp_path: Path) -> None:
    section = "parameters: {buffers.tile.pad: {from: 0, to: 3}}\nobjectives: [max excess_wavefronts, bytes]"
    loaded, plan, table = result_of(section, tmp_path / "out")
    assert outcome(loaded, plan, table).table("best").data["excess_wavefronts"][0] == 992


def test_a_scenario_with_a_sweep_also_runs_alone() -> None:
    assert run_scenario(space("parameters: {buffers.tile.pad: [1]}")).table("accesses").data["excess"] == [
        0,
        992,
    ]


def bankbench(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "from bankbench.scenarios.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_the_command_says_the_size_asks_and_writes_everything(tmp_path: Path) -> None:
    text = BASE + "  parameters: {buffers.tile.pad: {from: 0, to: 9}}\n  limit: 5\n"
    (tmp_path / "t.yaml").write_text(text)
    refused = bankbench("sweep", "t.yaml", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "sweep: 10 points, 64 warp instructions each: 640 accesses",
        "bankbench: t.yaml:8: sweep: 10 points are more than the limit of 5; start with --yes, or raise limit:",
    ]
    assert not (tmp_path / "t-sweep").exists()
    done = bankbench("sweep", "t.yaml", "--yes", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["tables"]["best"][0]["pad"] == 1
    folder = tmp_path / "t-sweep"
    assert {"points.csv", "points.parquet", "report", "best", "sweep.json"} <= {
        p.name for p in folder.iterdir()
    }
    assert len((folder / "points.csv").read_text().splitlines()) == 11
    assert (folder / "report" / "report.html").exists()
    assert load(folder / "best" / "01-point-1.yaml").scenario.buffers["tile"].pad == 1
    none = bankbench("sweep", "transpose-pitch-32", cwd=tmp_path)
    assert none.returncode == 2
    assert "has no section sweep:" in none.stderr


def test_fix_on_the_command_line(tmp_path: Path) -> None:
    done = bankbench(
        "fix", "transpose-pitch-32", "--no-swizzle", "--write", "fixed.yaml", "--plain", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "pad 1: 64 wavefronts, no excess (1,056 with 992 excess before), 4,220 bytes" in done.stdout
    assert load(tmp_path / "fixed.yaml").scenario.buffers["tile"].pad == 1
    again = bankbench("fix", "transpose-pitch-32", "--write", "fixed.yaml", cwd=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    odd = bankbench("fix", "transpose-pitch-32", "--align", "12", cwd=tmp_path)
    assert odd.stderr.strip() == "bankbench: --align 12: a power of two"


def test_the_library_face_keeps_what_it_is_told_to_keep(tmp_path: Path) -> None:
    from bankbench.scenarios import sweep as sweep_of

    gone = sweep_of("sweep-swizzle-dtype")
    kept = sweep_of("sweep-swizzle-dtype", tmp_path / "out", workers=2)
    assert kept.headline == gone.headline
    assert (tmp_path / "out" / "points.parquet").exists()
    again = sweep_of("sweep-swizzle-dtype", tmp_path / "out", resume=True)
    assert again.table("best").data == gone.table("best").data


def test_points_that_need_the_engine_are_shared_evenly_among_workers() -> None:
    plan, size = prepare(load("sweep-warps-conflicts"))
    assert (size.points, plan.batches) == (36, 36)
