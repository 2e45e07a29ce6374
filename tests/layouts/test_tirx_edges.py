"""Corners of the TIRx rules that the stored answers do not reach; values of the released implementation."""

from __future__ import annotations

import pytest
from bankbench.layouts import ComposeLayout, Iter, LayoutError, R, S, TileLayout, parse, tirx_ops
from bankbench.layouts.tirx_spec import laneid, warpid


def iters(layout):
    return [(item.extent, item.stride) for item in layout.shard]


def test_a_pipeline_of_one_stage_keeps_its_dimension_in_shared_memory():
    assert iters(tirx_ops.sf_smem_layout(128, 4, 1, pipe_depth=1)) == [(1, 512), (4, 4), (32, 16), (4, 1)]


def test_reuse_below_two_adds_no_iter_in_shared_memory():
    assert iters(tirx_ops.sf_smem_layout(256, 4, 2, sf_reuse=0, pipe_depth=2)) == [
        (2, 1024),
        (2, 512),
        (4, 4),
        (32, 16),
        (2, 2),
        (2, 1),
    ]


@pytest.mark.parametrize(
    ("dtype", "atom", "keep", "bare"), [("float16x2", (8, 32), 3, 256), ("float32x2", (8, 16), 2, 128)]
)
def test_swizzle_atoms_of_a_vector_type_count_its_lanes(dtype, atom, keep, bare):
    assert tirx_ops.mma_atom_shape(dtype, 2) == atom
    found = tirx_ops.mma_atom_layout(dtype, 2)
    assert (found.per_element, found.swizzle_len, found.size()) == (keep, 2, bare)


def test_plain_shared_tiles_of_a_vector_type_count_its_lanes():
    found = tirx_ops.mma_shared_layout("float16x2", 0, (64, 64))
    assert iters(found) == [(64, 8), (8, 512), (8, 1)]


def test_an_extent_of_zero_cannot_be_read_in_a_shape():
    layout = TileLayout.from_iters([Iter(0, 128, "TCol"), Iter(10, 32, "Bank")])
    with pytest.raises(LayoutError, match="extent 0"):
        layout.apply(5, shape=(4,))
    with pytest.raises(LayoutError, match="extent 0"):
        ComposeLayout(2, 3, 3, TileLayout(S[0:1])).apply(1, 2, shape=(8, 32))
    with pytest.raises(LayoutError, match="extent of 0"):
        TileLayout(S[8]).apply(0, 0, shape=(8, 0))


def test_components_of_a_shape_with_a_zero_are_those_of_the_flat_index():
    layout = TileLayout(S[(7, 32) : (32, 1)])
    assert [int(v) for v in layout.components(3, 0, 12, shape=(7, 0, 32))] == [0, 12]


def test_a_swizzled_sum_is_no_direct_sum_with_a_tile_whatever_the_ranks():
    whole = parse("ComposeLayout(3, 3, 3, S[(8,512):(1,1)])")
    assert (
        tirx_ops.is_direct_sum_left(TileLayout(S[(8, 1) : (1, 1)]), whole, (8, 8, 1, 64), (2, 4, 1)) is None
    )


@pytest.mark.parametrize("product", [tirx_ops.tile, tirx_ops.direct_sum])
def test_under_a_target_copies_and_offsets_of_the_outer_layout_are_renamed_too(product):
    outer = parse("S[2:1@laneid] + R[2:4@warpid] + 5@warpid + 1")
    found = product(parse("S[6:1@TLane]"), outer, (2,), (6,), target="cuda")
    assert str(found) == "S[(2,6):(1@tx,1@TLane)] + R[2:128@tx] + 1 + 160@tx"


def test_a_range_of_a_slice_has_two_ends():
    with pytest.raises(LayoutError, match="begin, end"):
        tirx_ops.slice_layout(TileLayout(S[8]), (8,), [(0, 4, 1)])


def test_offsets_keep_the_number_that_was_written():
    layout = TileLayout.from_iters([Iter(4, 1, "m")], offset={"laneid": 1.5})
    assert layout.offset == {"laneid": 1.5}
    with pytest.raises(LayoutError, match="must be integers"):
        layout.apply(0)
    with pytest.raises(LayoutError, match="offset on m"):
        TileLayout.from_iters(offset={"m": "3"})


def test_offset_1_and_a_half_is_not_rounded_in_a_sum():
    with pytest.raises(LayoutError, match="must be integers"):
        TileLayout(S[8:1] + 1.5 @ laneid).evaluate(3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Iter(True, 2.0, "m"), 'T.Iter(T.bool(True), T.float32(2.0), "m")'),
        (TileLayout(S[3] + True), "T.TileLayout(T.S[3:1] + T.bool(True))"),
        (
            TileLayout.from_iters([Iter(2, 5, "wid_in_wg")], offset={"laneid": 0, "wgid": 1.5}),
            "T.TileLayout(T.S[2:5 @ Axis.wid_in_wg] + (0 @ Axis.laneid + T.float32(1.5) @ Axis.wgid))",
        ),
    ],
)
def test_loose_numbers_print_as_in_the_reference(value, text):
    assert repr(value) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: S[2.0],
        lambda: R[(1.5, 3)],
        lambda: S[8] + 2.5,
        lambda: 2.5 + S[8],
        lambda: S[8 : 1 @ laneid + 2 @ laneid],
        lambda: S[8 : 4 + 1 @ laneid],
        lambda: S[8 : 1 @ laneid + 1 @ warpid],
    ],
)
def test_what_the_notation_does_not_take(make):
    with pytest.raises((LayoutError, TypeError)):
        make()
