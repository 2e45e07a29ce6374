"""Plans against the budgets of public kernels, and against the rules by brute force."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from bankbench.sim.tmem import (
    AccumulatorWant,
    AWant,
    ColumnsWant,
    MetadataWant,
    ScaleWant,
    TileWant,
    TmemError,
    accumulator,
    geometry,
    plan,
    round_up,
    run_steps,
    stack_until_fits,
)
from bankbench.sim.tmem.wants import all_pieces
from hypothesis import given, settings
from hypothesis import strategies as st

Row = dict[str, Any]


def named_columns(row: Row, want: Row) -> list[tuple[str, int, int | None]] | None:
    """(name, columns, first column or None) of each buffer of a kernel; None where a row is one accumulator."""
    kernel = row.get("kernel", "")
    if "accum_cols" in want or "acc_cols" in want:
        acc = want.get("accum_cols", want.get("acc_cols"))
        return [
            ("acc", acc, 0),
            ("sfa", want["sfa_cols"], want.get("sfa_start")),
            ("sfb", want["sfb_cols"], want.get("sfb_start")),
        ]
    if "UMMA_N" in row:
        return [(f"acc{n}", row["UMMA_N"], None) for n in range(row["epilogue_stages"])]
    if "head_dim_v" in row:
        p = want["P_columns_used_bf16"]
        found = [(f"S{n}", row["n_block"], at) for n, at in enumerate(want["S"])]
        found += [(f"O{n}", row["head_dim_v"], at) for n, at in enumerate(want["O"])]
        return found + [(f"P{n} in S{n}", p, at) for n, at in enumerate(want["P"])]
    if "hdimv" in row:
        half = 2 if row["two_cta"] else 1
        # dQ of a pair is in layout B: half the columns; S and dP share their place with P and dS
        found = [("dV", row["hdimv"], want["dV"]), ("dK", row["hdim"], want["dK"])]
        return [*found, ("dQ", row["hdim"] // half, want["dQ"])]
    if "sizeS" in row:
        found = [(f"S{n}", row["sizeS"], at) for n, at in enumerate(want["S"])]
        found += [(f"O{n}", row["sizeO"], at) for n, at in enumerate(want["O"])]
        return found + [(f"P{n} in S{n}", row["sizeP"], at) for n, at in enumerate(want["P"])]
    if "M" in row and "N" in row:
        return None
    # a kernel of another make: whatever is no sum, start or decision is the columns of a buffer
    sums = ("needed", "total", "end", "alloc", "fits", "stage_stride")
    sizes = {
        k: v for k, v in want.items() if isinstance(v, int) and k not in sums and not k.endswith("_start")
    }
    assert sizes, f"no buffers in the row of {kernel}"
    return [(name, columns, None) for name, columns in sizes.items()]


def budget(row: Row, want: Row) -> tuple[Row, Row]:
    """What the planner makes of a kernel's buffers, and what the row says."""
    names = named_columns(row, want)
    if names is None:
        d = accumulator(row["M"], row["N"], row["cta_group"])
        found = {
            "columns_per_cta": d.columns,
            "lanes_used": d.lanes_used,
            "useful_bytes_per_cta": d.elements * row.get("d_bits", 32) // 8,
            "columns": d.columns,
            "bytes": d.elements * row.get("d_bits", 32) // 8,
        }
        shared = [key for key in found if key in want]
        assert shared, f"nothing to compare in {want}"
        return {key: found[key] for key in shared}, {key: want[key] for key in shared}
    wants = []
    for name, columns, at in names:
        own, _, host = name.partition(" in ")
        if host:
            start = next(first for other, _, first in names if other == host)
            wants.append(ColumnsWant(own, inside=host, offset=at - start, columns=columns))
        else:
            wants.append(ColumnsWant(own, at=at, columns=columns))
    # buffers of a backward pass share columns at different times: only the end is compared
    end = plan(wants).columns if "hdimv" not in row else max(at + columns for _, columns, at in names)
    fits = end <= geometry().columns
    found = {"needed": end, "total": end, "end": end, "fits": fits}
    if "alloc" in want:
        whole = "CuTe DSL" in row["kernel"]  # its kernels take all columns whatever they need
        found["alloc"] = (geometry().columns if whole else round_up(end)) if fits else want["alloc"]
    shared = [key for key in found if key in want]
    return {key: found[key] for key in shared}, {key: want[key] for key in shared}


def test_budgets_of_kernels(find_data, rows_of, row_report):
    """The columns of each named buffer are given; sum, allocation and fit are compared."""
    for path in find_data("tmem*.jsonl*"):
        for row in rows_of(path):
            if row["kind"] == "tmem_budget":
                try:
                    found, wanted = budget(row["input"], row["expected"])
                except TmemError as error:
                    found, wanted = {"refused": str(error)}, row["expected"]
                row_report.check(found == wanted, row["id"], f"{found} instead of {wanted}")


@pytest.mark.parametrize(
    ("m", "n", "swap", "needed"),
    [
        (128, 64, False, 136),
        (128, 128, False, 264),
        (128, 192, False, 396),
        (128, 248, False, 508),
        (32, 128, True, 72),
    ],
)
def test_block_scaled_kernels_from_their_tiles(m, n, swap, needed):
    """The same sums from tile shapes alone: accumulators and scale factors by the product's own rules."""
    wide = m if swap else n
    wants = [AccumulatorWant("acc", 2, M=128, N=wide), ScaleWant("sfa", rows=m), ScaleWant("sfb", rows=n)]
    assert plan(wants).columns == needed


def test_what_does_not_fit_says_by_how_much_and_what_would():
    wants = [AccumulatorWant("acc", 2, N=256), ScaleWant("sfa"), ScaleWant("sfb", rows=256)]
    found = plan(wants)
    assert not found.fits
    assert found.allocation is None
    assert found.advice == (
        "524 columns requested, 512 exist: 12 too many",
        "N = 248 instead of 256 needs 508",
        "1 stage of acc instead of 2 needs 268",
    )


def test_half_lane_buffers_stack():
    buffers = [TileWant("acc", 2, rows=64, cols=256), TileWant("s", 2, rows=64, cols=64)]
    side_by_side = plan(buffers, stack=False)
    assert side_by_side.columns == 640
    assert side_by_side.advice[1] == "stacking acc[0] with acc[1] at lane 16 needs 384"
    assert side_by_side.advice[2] == "stacking all half-lane buffers needs 320"
    assert plan(buffers).columns == 320
    assert stack_until_fits(all_pieces(buffers), 384) == (384, ("acc[0] with acc[1]",))


def test_a_product_and_its_a_operand_share_the_lane():
    wants = [
        AccumulatorWant("d", M=64, N=64, together="x"),
        AWant("a", M=64, K=64, together="x"),
        AccumulatorWant("e", M=64, N=96),
    ]
    found = plan(wants)
    assert found.place("d").lane == found.place("a").lane
    assert found.place("e").lane != found.place("d").lane
    assert found.columns == 96


def test_aligned_buffers_begin_at_multiples_of_four():
    found = plan([ColumnsWant("odd", columns=6), ScaleWant("sf"), MetadataWant("e", kind="f16")])
    assert found.place("sf").column % 4 == 0
    assert found.place("e").column % 4 == 0
    assert found.columns == 11  # aligned ones first: 4, 1 and 6


def test_fixed_places_that_overlap_are_refused():
    with pytest.raises(TmemError, match="overlaps a"):
        plan([ColumnsWant("a", at=0, columns=64), ColumnsWant("b", at=32, columns=64)])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([16, 32, 48, 64, 96, 112]), st.booleans()), min_size=1, max_size=7))
def test_no_arrangement_needs_fewer_columns(buffers):
    """Against all ways to choose the lanes of half-lane buffers."""
    wants = [
        AccumulatorWant(f"b{n}", M=64 if half else 128, N=size) for n, (size, half) in enumerate(buffers)
    ]
    full = sum(size for size, half in buffers if not half)
    halves = [size for size, half in buffers if half]
    best = min(
        max(sum(s for s, side in zip(halves, sides, strict=True) if side == lane) for lane in (0, 1))
        for sides in product((0, 1), repeat=len(halves))
    )
    pieces = all_pieces(wants)
    from bankbench.sim.tmem import plan_pieces

    placed = plan_pieces(pieces)
    assert max(p.end for p in placed) == full + best
    for number, one in enumerate(placed):
        assert not any(one.meets(other) for other in placed[:number])


def outcomes(*steps):
    return [outcome.text for outcome in run_steps([text.split() for text in steps])]


def test_a_pair_waits_together_and_gets_its_columns_at_once():
    found = outcomes(
        "cta0 alloc.cta_group::2 512",
        "cta1 alloc.cta_group::2 512",
        "cta2 alloc.cta_group::2 256",
        "cta3 alloc.cta_group::2 256",
        "cta2 mma.cta_group::2",
        "cta0 dealloc.cta_group::2 512",
        "cta1 dealloc.cta_group::2 512",
        "cta2 alloc.cta_group::2 64",
        "cta3 alloc.cta_group::2 64",
    )
    assert found == [
        "may block until the peer also issues",
        "both complete (columns 0 to 511)",
        "may block until the peer also issues",
        "blocks until cta0 or cta1 deallocates: 0 columns in a row are free",
        "blocks (cta2 still waits in its alloc of 256)",
        "may block until the peer deallocates too",
        "ok; cta2 unblocks; cta3 unblocks",
        "may block until the peer also issues",
        "both complete (columns 256 to 319)",
    ]


def test_illegal_allocations_change_nothing():
    assert outcomes("alloc.cta_group::2 96", "alloc.cta_group::1 32")[1] == "ok (columns 0 to 31)"
    pair = outcomes(
        "cta0 warp2 alloc.cta_group::2 64",
        "cta1 warp3 alloc.cta_group::2 64",
        "cta1 warp2 alloc.cta_group::2 32",
        "cta1 warp2 alloc.cta_group::2 64",
    )
    assert pair[1].startswith("illegal (the pair allocates with warps 2 and 3; the same warp")
    assert pair[2].startswith("illegal (the pair allocates 64 and 32 columns")
    assert pair[3] == "both complete (columns 0 to 63)"


def test_a_later_smaller_request_does_not_pass_an_earlier_one():
    found = outcomes(
        "cta0 alloc 256", "cta1 alloc 512", "cta2 alloc 128", "cta0 dealloc 256", "cta1 dealloc 512"
    )
    assert [text.split(" ", 1)[0] for text in found[:3]] == ["ok", "blocks", "blocks"]
    assert found[3:] == ["ok; cta1 unblocks", "ok; cta2 unblocks"]


KERNELS = {
    # name: (buffers as name, columns, first column or host and offset), columns needed, allocated
    "MX TS": ([("d", 256, None), ("a", 8, None), ("sf", 8, None)], 272, 512),
    "bf16, two stages": ([("acc0", 256, None), ("acc1", 256, None)], 512, 512),
    "attention forward d128": (
        [
            ("S0", 128, 0),
            ("S1", 128, 128),
            ("O0", 128, 256),
            ("O1", 128, 384),
            ("P0", 64, "S0"),
            ("P1", 64, "S1"),
        ],
        512,
        512,
    ),
    "attention forward d64": ([("S0", 128, 0), ("S1", 128, 128), ("O0", 64, 256), ("O1", 64, 320)], 384, 512),
    "attention backward d128": (
        [("S", 128, 0), ("dV", 128, 128), ("dP", 128, 256), ("dK", 128, 384)],
        512,
        512,
    ),
    "block-scaled 128x128, two stages": ([("acc", 256, 0), ("sfa", 16, 256), ("sfb", 16, 272)], 288, 512),
}


@pytest.mark.parametrize("name", KERNELS)
def test_maps_of_public_kernels(name):
    buffers, needed, allocated = KERNELS[name]
    wants = [
        ColumnsWant(buffer, columns=columns, inside=at, offset=64)
        if isinstance(at, str)
        else ColumnsWant(buffer, columns=columns, at=at)
        for buffer, columns, at in buffers
    ]
    found = plan(wants)
    assert (found.columns, found.allocation) == (needed, allocated)
    places = {buffer: at for buffer, _, at in buffers if isinstance(at, int)}
    assert {buffer: found.place(buffer).column for buffer in places} == places


@pytest.mark.parametrize(
    ("m", "n", "swap", "needed", "allocated", "sfb"),
    [(128, 240, False, 492, 512, 484), (128, 256, False, 524, None, 516), (32, 128, True, 72, 128, 68)],
)
def test_block_scaled_kernels_at_the_edge(m, n, swap, needed, allocated, sfb):
    wide = m if swap else n
    wants = [AccumulatorWant("acc", 2, M=128, N=wide), ScaleWant("sfa", rows=m), ScaleWant("sfb", rows=n)]
    found = plan(wants)
    assert (found.columns, found.allocation, found.place("sfb").column) == (needed, allocated, sfb)


def test_a_tile_of_128_by_256_is_half_of_tensor_memory():
    d = accumulator(128, 256)
    assert (d.columns, d.unique_bytes, geometry().capacity_bytes) == (256, 131072, 2 * 131072)
    assert geometry().column_bytes == 512
    assert [geometry().columns // n for n in (32, 128, 256, 512)] == [16, 4, 2, 1]
