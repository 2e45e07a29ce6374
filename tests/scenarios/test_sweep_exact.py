"""Points of a sweep against the same scenario run on its own: every number, and every refusal."""

from __future__ import annotations

import numpy as np
import pytest
from bankbench.scenarios.accesses import lower_all
from bankbench.scenarios.counted import count_access
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.load import loads, validate
from bankbench.scenarios.run import choose_chip
from bankbench.scenarios.source import Source
from bankbench.scenarios.sweep.evaluate import Session
from bankbench.scenarios.sweep.fields import replaced
from bankbench.scenarios.sweep.plan import make_plan, points_of

ROWS = """
buffers:
  tile: {dtype: f16, shape: [32, 64]}
accesses:
  - {name: store, buffer: tile, op: store, lanes: "[4 * s + lane // 8, 8 * (lane % 8)]", vector: 8, for: {s: 8}}
  - {name: load, buffer: tile, with: ldmatrix.x4, lanes: "[16 * b + lane % 16, 16 * k + 8 * (lane // 16)]",
     for: {b: 2, k: 4}}
"""
SPACES = {
    "padding and swizzles, 16-byte stores that must stay whole": ROWS
    + """
sweep:
  parameters:
    buffers.tile.pad: [0, 1, 2, 4, 8, 16, 24, 32]
    buffers.tile.swizzle: [none, 32B, 64B, 128B, "Sw<3,3,3>", "Sw<2,2,4>", "Sw<1,0,5>", "Sw<9,9,1>", 7]
""",
    "stores that are narrowed where padding breaks their alignment": """
buffers:
  tile: {dtype: f16, shape: [32, 60]}
accesses:
  - {buffer: tile, op: store, lanes: "[lane, 4 * s]", vector: 4, for: {s: 15}}
  - {buffer: tile, lanes: "[(s + lane) % 32, 20 * (lane % 3)]", vector: 20, for: {s: 2}}
sweep:
  parameters:
    buffers.tile.pad: {from: 0, to: 40}
    buffers.tile.swizzle: [none, "Sw<2,2,3>", "Sw<2,3,3>", "Sw<3,1,4>"]
""",
    "element types, shapes and vectors": """
buffers:
  first: {dtype: f32, shape: [8, 8]}
  tile: {dtype: f16, shape: [32, 32]}
accesses:
  - {buffer: tile, op: store, lanes: "[lane, 2 * s]", vector: 2, for: {s: 4}, repeat: 3}
  - {buffer: first, lanes: "[lane % 8, lane // 8]"}
sweep:
  parameters:
    buffers.tile.dtype: [e4m3, f16, f32, f64, e2m1, nonsense]
    buffers.tile.shape: [[32, 32], [32, 40], [16, 32], [2, 16, 32]]
    buffers.tile.pad: [0, 1, 3, 4]
    accesses[0].vector: [1, 2, 4, 0]
    buffers.first.offset: [0, 4, 512]
""",
    "a fragment, whose pieces a layout may join": """
buffers:
  tile: {dtype: f32, shape: [64, 16]}
accesses:
  - {buffer: tile, op: store, fragment: "S[(2, 8, 4, 2):(2@m, 4@laneid, 1@laneid, 1@m)]", tile: [16, 8],
     at: "[16 * i, 8 * j]", for: {i: 4, j: 2}}
  - {buffer: tile, op: load, fragment: "S[(8, 4, 4):(4@laneid, 1@laneid, 1@m)]", tile: [8, 16], at: [0, 0]}
sweep:
  parameters:
    buffers.tile.pad: {from: 0, to: 20}
    buffers.tile.swizzle: [none, 32B, "Sw<2,1,3>", "Sw<2,0,4>"]
""",
    "layout texts and instructions": """
buffers:
  tile: {dtype: f16, layout: "S[(32,64):(64,1)]"}
accesses:
  - {buffer: tile, op: load, lanes: "[lane, 0]", with: lds.32, vector: 2}
  - {buffer: tile, op: load, bytes: "lane * 132", width: 4}
  - {bytes: "lane * 8", width: 8, op: store}
sweep:
  parameters:
    buffers.tile.layout: ["S[(32,64):(64,1)]", "(32,64):(72,1)", "(32,64):(1,32)", "Sw<3,3,3> o (32,64):(64,1)",
      "(32,64):(64,_1)", "S[(32,64:(64,1)]"]
    buffers.tile.swizzle: [none, 128B, "Sw<2,3,3>"]
    accesses[0].with: [lds.32, lds.64, lds.u16, ldmatrix.x2, bogus]
    accesses[0].vector: [1, 2, 4]
""",
    "chips and their constants": ROWS
    + """
sweep:
  parameters:
    chip: [h200, a100, t4, b200, gfx942, nothing]
    chip.shared_memory.banks: [16, 32, 33, 64]
    chip.shared_memory.bank_bytes: [4, 8]
    buffers.tile.pad: [0, 8, 12]
    buffers.tile.swizzle: [none, 128B]
""",
    "words of their own, derived fields and zipped parameters": """
buffers:
  tile: {dtype: f16, shape: [16, 16]}
accesses:
  - {name: column, buffer: tile, lanes: "[lane % 16, 0]"}
  - {buffer: tile, op: store, lanes: "[0, lane % 16]"}
sweep:
  parameters:
    rows: [16, 32, 48]
    columns: [16, 64]
    buffers.tile.pad: [0, 2]
    accesses.column.op: [load, store]
    accesses.column.warps: [1, 2]
  zip: [[accesses.column.op, accesses.column.warps]]
  derived:
    buffers.tile.shape: "[rows, columns + 0 * pad]"
    accesses.column.lanes: "[lane % {rows}, {columns // 4}]"
  where: ["rows <= columns or pad > 0", "op == 'load' or rows == 16"]
""",
    "too many bytes, and overlapping buffers": """
buffers:
  a: {dtype: f32, shape: [128, 64], offset: 0}
  b: {dtype: f32, shape: [64, 64], offset: 65536}
accesses:
  - {buffer: a, lanes: "[lane, 0]"}
  - {buffer: b, lanes: "[lane, 0]"}
sweep:
  parameters:
    buffers.a.shape: [[128, 64], [256, 64], [512, 64], [1024, 64]]
    buffers.a.pad: [0, 1, 64]
    buffers.b.offset: [32768, 65536, 65538, 131072]
""",
}


def alone(plan, points, position) -> dict | str:
    """The point as its own scenario: sums of all accesses, or the message of the error."""
    data = replaced(plan.data, points.at(position))
    try:
        loaded = validate(Source("t.yaml", "", data))
        chip = choose_chip(loaded, None, ())
        buffers, lowered = lower_all(loaded, chip)
        counted = [count_access(item, chip) for item in lowered]
    except (ScenarioError, ValueError) as error:
        return str(error)
    known = all(item.known for item in counted)
    found = {
        name: sum(item.total(name) for item in counted) if known else None
        for name in ("wavefronts", "ideal_wavefronts", "excess_wavefronts", "bank_conflicts")
    }
    found["worst_ways"] = max(item.worst_ways for item in counted) if known else None
    found["instructions"] = sum(item.executed for item in counted)
    found["bytes"] = sum(buffer.footprint for buffer in buffers.values())
    return found


@pytest.mark.parametrize("space", SPACES)
def test_every_point_has_the_numbers_of_its_own_run(space: str) -> None:
    plan = make_plan(loads("name: t\n" + SPACES[space], "t.yaml"))
    points = points_of(plan, 0, plan.points)
    rows = Session(plan).table(0, plan.points).to_pylist()
    assert len(rows) == len(points)
    rng = np.random.default_rng(1)
    chosen = rng.permutation(len(points))[:100].tolist()
    good = bad = 0
    for position in chosen:
        row, expected = rows[position], alone(plan, points, position)
        where = {plan.names[text]: values[which[position]] for text, (values, which) in points.values.items()}
        if isinstance(expected, str):
            assert row["error"], (where, expected)
            bad += 1
        else:
            assert row["error"] is None, (where, row["error"], expected)
            assert {name: row[name] for name in expected} == expected, where
            good += 1
    assert good >= 12
    assert good + bad == len(chosen)


def test_the_numbers_do_not_depend_on_where_batches_begin() -> None:
    plan = make_plan(loads("name: t\n" + SPACES["chips and their constants"], "t.yaml"))
    whole = Session(plan).table(0, plan.points)
    session = Session(plan)
    parts = [session.table(start, min(start + 37, plan.points)) for start in range(0, plan.points, 37)]
    assert [row for part in parts for row in part.to_pylist()] == whole.to_pylist()
