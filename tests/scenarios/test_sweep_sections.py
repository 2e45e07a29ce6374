"""Objectives beyond counting: time, tensor memory, Ascend; and the ready sweeps of the catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.load import catalogue, load, loads
from bankbench.scenarios.run import run_scenario
from bankbench.scenarios.sweep.outcome import best_scenarios, outcome
from bankbench.scenarios.sweep.run import prepare, sweep

SWEEPS = [path.stem for path in catalogue() if path.stem.startswith("sweep-")]
PROGRAM = """
name: t
chip: h200
buffers:
  tile: {dtype: f32, shape: [32, 32]}
program:
  groups:
    - warps: 2
      steps:
        - store: {buffer: tile, lanes: "[row, lane]", for: {row: 8}}
        - barrier
        - load: {buffer: tile, lanes: "[lane, column]", for: {column: 8}}
sweep:
  parameters:
    buffers.tile.pad: [0, 1, 2]
    program.groups[0].warps: [1, 2, 0]
  objectives: [cycles, bytes]
"""


def swept(text: str, folder: Path):
    loaded = loads(text, "t.yaml")
    plan, _ = prepare(loaded)
    return loaded, plan, sweep(plan, folder)


def test_the_ready_sweeps_are_those_of_the_issue() -> None:
    assert {
        "sweep-swizzle-dtype",
        "sweep-padding",
        "sweep-banks",
        "sweep-warps-conflicts",
        "sweep-tmem-columns",
        "sweep-ascend-l0",
    } <= set(SWEEPS)


@pytest.mark.parametrize("name", [n for n in SWEEPS if n not in ("sweep-ascend-l0", "sweep-warps-conflicts")])
def test_ready_sweeps_have_no_failing_point(name: str, tmp_path: Path) -> None:
    loaded = load(name)
    plan, _ = prepare(loaded)
    table = sweep(plan, tmp_path / "out")
    assert table.num_rows > 20
    assert table["error"].null_count == table.num_rows
    assert outcome(loaded, plan, table).exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sweep-ascend-l0", "sweep-warps-conflicts"])
def test_ready_sweeps_of_time_have_no_failing_point(name: str, tmp_path: Path) -> None:
    test_ready_sweeps_have_no_failing_point(name, tmp_path)


def test_cycles_are_those_of_the_single_runs(tmp_path: Path) -> None:
    loaded, plan, table = swept(PROGRAM, tmp_path / "out")
    rows = table.to_pylist()
    assert [row["error"] is None for row in rows] == [True, True, False] * 3
    assert "program.groups" in rows[2]["error"]
    texts = best_scenarios(loaded, plan, table)
    assert len(texts) == 6
    for text, row in zip(texts.values(), outcome(loaded, plan, table).table("best").rows(), strict=True):
        single = run_scenario(loads(text))
        assert single.table("program").data["cycles"] == [row["cycles"]]
    assert rows[0]["cycles"] > rows[3]["cycles"]  # 32-way conflicts against none


def test_columns_replicas_and_cells_of_tables_are_objectives(tmp_path: Path) -> None:
    text = """
name: t
chip: b200
tmem:
  buffers:
    - {name: acc, accumulator: {M: 128, N: 64}, stages: 1}
    - {name: sfa, scales: {rows: 128, k_steps: 4, vector: 1X}, stages: 1}
sweep:
  parameters:
    N: [64, 128]
    stages: [1, 2]
  derived:
    tmem.buffers[0].accumulator.N: N
    tmem.buffers[1].stages: stages
  objectives: [columns, replica_bytes, "max tmem_buffers.acc.unique"]
"""
    for wrong in ("tmem_buffers.acd.unique", "wavefronts"):
        with pytest.raises(
            ScenarioError, match=rf"'{wrong}' is no result of this scenario; there are: columns"
        ):
            prepare(loads(text.replace("tmem_buffers.acc.unique", wrong), "t.yaml"))
    _, _, table = swept(text, tmp_path / "out")
    assert table["tmem_buffers.acc.unique"].to_pylist() == [32768.0, 32768.0, 65536.0, 65536.0]
    assert table["columns"].to_pylist() == [68.0, 72.0, 132.0, 136.0]
    assert table["replica_bytes"].to_pylist() == [1536.0, 3072.0, 1536.0, 3072.0]
    ascend = load("ascend-matmul-910b").source.text.replace("expect: {cycles: 358470}", "fast: true")
    ascend += """
sweep:
  parameters: {ascend.tiles.A2.slots: [2]}
  objectives: [max cube_share, pipes.MTE2.busy]
"""
    _, _, table = swept(ascend, tmp_path / "ascend")
    single = run_scenario(loads(ascend))
    share = single.table("ascend").data["cube share"]  # shown with four places
    assert table["cube_share"].to_pylist() == pytest.approx(share, abs=1e-4)
    assert table["pipes.MTE2.busy"].to_pylist() == [
        row["busy"] for row in single.table("pipes").rows() if row["pipe"] == "MTE2"
    ]


def test_a_result_without_an_objective_is_not_computed() -> None:
    text = PROGRAM.replace("objectives: [cycles, bytes]", "objectives: [bytes]")
    plan, _ = prepare(loads(text, "t.yaml"))
    assert plan.totals == ()
    assert prepare(loads(PROGRAM, "t.yaml"))[0].totals == ("cycles",)
