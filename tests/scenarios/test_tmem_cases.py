"""Questions that people asked in public about Blackwell's tensor memory, with the right answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bankbench.layouts import parse_tirx
from bankbench.sim.tmem import (
    AccumulatorWant,
    ColumnsWant,
    LayoutWant,
    LoadStore,
    TileWant,
    TmemError,
    accumulator,
    check_pair,
    geometry,
    plan,
    round_up,
    run_steps,
    stack_until_fits,
    warps_for_lanes,
    window_of,
)
from bankbench.sim.tmem.wants import all_pieces
from bankbench.sim.traffic import layout_traffic

Row = dict[str, Any]
LIMIT = geometry().columns


def allocation_order(row: Row) -> Row:
    """A CTA allocates these sizes one after the other."""
    sizes = row["spec"]["allocs"]

    def legal(order: list[int]) -> bool:
        return all(outcome.verdict == "ok" for outcome in run_steps([["alloc", n] for n in order]))

    best = sorted(sizes, reverse=True)
    return {"legal": legal(sizes), "legal_order": best if legal(best) else None}


def one_arena(row: Row) -> Row:
    """Plain columns, packed into one allocation or allocated one by one."""
    wants = [ColumnsWant(f"b{n}", columns=size) for n, size in enumerate(row["spec"]["buffers"])]
    found = plan(wants)
    return {
        "columns_packed": found.columns,
        "arena_alloc": found.allocation,
        "columns_separate": found.separate,
        "limit": LIMIT,
        "separate_fits": found.separate <= LIMIT,
    }


def stacked_tiles(row: Row) -> Row:
    """Tiles of 64 or 128 rows side by side, and with the fewest half-lane pairs stacked that make them fit."""
    wants = [
        TileWant(f"b{n}", item.get("count", 1), rows=item["rows"], cols=item["cols"])
        for n, item in enumerate(row["spec"]["buffers"])
    ]
    placed = plan(wants, stack=False)
    stacked = stack_until_fits(all_pieces(wants), LIMIT)
    columns = stacked[0] if stacked else plan(wants).columns
    return {
        "columns_as_placed": placed.columns,
        "columns_if_stacked": columns,
        "limit": LIMIT,
        "fits_as_placed": placed.fits,
        "fits_stacked": columns <= LIMIT,
    }


def lane_window(row: Row) -> Row:
    """A warp reads lanes with tcgen05.ld."""
    warp, (first, last) = row["spec"]["warp_in_warpgroup"], row["spec"]["lanes"]
    shape = row["op"].split("ld")[-1]
    try:
        LoadStore("ld", shape, 1, warp, first)
        legal = True
    except TmemError:
        legal = False
    window = window_of(warp)
    return {
        "legal": legal and window.first <= first and last <= window.last,
        f"window_of_warp_{warp}": [window.first, window.last],
        "warps_needed": len(warps_for_lanes(0, geometry().lanes - 1)),
    }


def pair_protocol(row: Row) -> Row:
    """Events of a pair of blocks in one order."""
    problems = check_pair(row["spec"]["events"])
    return {"safe": not problems, "fix": problems[0].fix if problems else None}


def written_layout(row: Row) -> Row:
    """A layout over TLane and TCol: place of an element, columns, copies."""
    layout = parse_tirx(row["layout"])
    query = row["query"]
    want = LayoutWant("x", layout=layout, bits=query["dtype_bits"])
    found = plan([want])
    cells = all_pieces([want])[0].operand.cells()
    at = tuple(query["coord"])
    lanes = cells.lanes[at].tolist()
    traffic = layout_traffic(layout, query["dtype_bits"], name="x", memory="TMEM", mover="cp")
    return {
        "TLane": lanes[0],
        "TCol": int(cells.column[at]),
        "columns": found.columns,
        "alloc": round_up(found.columns),
        "lanes": lanes,
        "copies": len(lanes),
        "write_amplification": traffic.factor,
    }


def datapath_rows(row: Row) -> Row:
    """Which lanes rows of an M = 64 accumulator take."""
    cells = accumulator(64, 8, lane=16 * row["spec"]["sub_slab"]).cells()
    lanes = cells.lanes[:, 0, 0]
    steps = np.flatnonzero(np.diff(lanes) != 1)
    return {
        "lanes": [int(lanes[n]) for n in row["spec"]["rows"]],
        "used_lanes": len(np.unique(lanes)),
        "contiguous_run": int(steps[0]) + 1 if len(steps) else len(lanes),
    }


def question_of(row: Row):
    spec = row.get("spec", {})
    if "allocs" in spec:
        return allocation_order
    if "buffers" in spec:
        return one_arena if isinstance(spec["buffers"][0], int) else stacked_tiles
    if "warp_in_warpgroup" in spec:
        return lane_window
    if "events" in spec:
        return pair_protocol
    if "TLane" in row.get("layout", ""):
        return written_layout
    return datapath_rows if "rows" in spec else None


def concerns_tensor_memory(row: Row) -> bool:
    arch = row["arch"].removeprefix("sm_")
    blackwell = arch[:3].isdigit() and 100 <= int(arch[:3]) < 120
    return blackwell and row.get("offsets") is None


def test_every_row_about_tensor_memory(find_data, rows_of, row_report):
    for path in find_data("cases*.jsonl*"):
        for row in rows_of(path):
            if not concerns_tensor_memory(row):
                row_report.skip()
                continue
            question = question_of(row)
            found = question(row) if question else {}
            for key in row["check"]:
                row_report.check(found.get(key) == row["expected"][key], f"{row['id']} {key}", found.get(key))


@pytest.mark.parametrize("rows", [128, 64])
def test_the_seed_accumulator(rows):
    layout = parse_tirx("S[(2,128,112):(112@TCol,1@TLane,1@TCol)]")
    cells = all_pieces([LayoutWant("acc", layout=layout)])[0].operand.cells()
    a, lane, c = np.ogrid[:2, :rows, :112]
    assert (cells.lanes[:, :rows, :, 0] == lane).all()
    assert (cells.column[:, :rows] == 112 * a + c).all()


def test_the_seed_scale_factors():
    layout = parse_tirx("S[(32,16):(1@TLane,1@TCol)] + R[4:32@TLane]")
    cells = all_pieces([LayoutWant("sf", layout=layout, bits=8)])[0].operand.cells()
    row, s = np.ogrid[:32, :16]
    assert (cells.lanes == (row + 0 * s)[..., None] + np.array([0, 32, 64, 96])).all()
    assert (cells.column == s // 4 + 0 * row).all()
    assert (cells.bit // 8 == s % 4 + 0 * row).all()


def test_two_accumulators_of_112_need_256():
    assert plan([AccumulatorWant("acc", 2, N=112)]).allocation == 256
