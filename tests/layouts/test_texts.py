"""Texts as the systems themselves print them, legal spellings that are rare, and where the caret stands."""

from __future__ import annotations

import pytest
from bankbench.layouts import (
    CuteLayout,
    LayoutError,
    S,
    Static,
    SwizzledLayout,
    TileLayout,
    TlaLayout,
    cute_algebra,
    parse,
    tile_offsets,
)

READ = [
    # compile-time integers, as CuTe prints them
    ("Sw<3,3,3> o (_8,_64):(_64,_1)", None, "Sw<3,3,3> o (8,64):(64,1)"),
    ("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)", None, "Sw<3,3,3> o (8,64):(64,1)"),
    ("Sw<3,3,3> o _8 o (_8,_64):(_64,_1)", None, "Sw<3,3,3> o 8 o (8,64):(64,1)"),
    (
        "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_4),_64):((_64,_512),_1)",
        None,
        "Sw<3,4,3> o smem_ptr[16b](unset) o ((8,4),64):((64,512),1)",
    ),
    ("(_8,_64):(_64,_1)", "cute", "(8,64):(64,1)"),
    ("_4:_-1", "cute", "4:-1"),
    ("(8,4):(_1@0,_1@1)", None, "(8,4):(1@0,1@1)"),
    # products and parentheses of the Python notation
    ("S[8:(-4)@laneid]", None, "S[8:-4@laneid]"),
    ("S[(2*4,2):(2,1)]", None, "S[(8,2):(2,1)]"),
    ("T.S[8 : 2*4 @ T.Axis . laneid]", None, "S[8:8@laneid]"),
    # an axis of one's own whose name holds a quote
    ("S[8 : '\"own']", None, "S[8:1@'\"own']"),
]


@pytest.mark.parametrize(("text", "notation", "printed"), READ)
def test_spellings(text, notation, printed):
    found = parse(text, notation)
    assert str(found) == printed
    assert parse(str(found), found.notation) == found


def test_printed_by_cute_and_typed_by_hand_are_one_layout():
    assert parse("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)") == parse("Sw<3,3,3> o (8,64):(64,1)")
    assert isinstance(parse("Sw<3,3,3> o (_8,_64):(_64,_1)"), SwizzledLayout)


def test_a_tile_of_a_negative_extent_is_refused():
    for layout in (TileLayout(S[-8:1]), TlaLayout((4,), (1,), (-2,))):
        with pytest.raises(LayoutError, match="negative extent"):
            tile_offsets(layout)


def test_negative_compile_time_strides_of_tla():
    layout = TlaLayout((Static(4),), (Static(-1),))
    assert str(layout) == "(_4):(_-1) origin (4)"
    assert parse(str(layout)) == layout


@pytest.mark.parametrize(
    ("text", "notation", "position"),
    [
        ("(_x,3):(1,2)", "cute", 1),
        ("(_8x,3):(1,2)", None, 1),
        ("(_ 16,7):(16,1)", "cute", 1),
        ("zN(_-3,3,f16)", None, 3),
        ("(16,7):(16,1) origin (-1,2)", None, 21),
        ("S[8:(-4,)@laneid]", None, 9),
        ("S[8:(1,2)@laneid]", None, 9),
        ("Sw<3,4,3> o smem_ptr[" + "9" * 5000 + "b](unset) o 8:1", None, 21),
    ],
)
def test_place_of_the_error(text, notation, position):
    with pytest.raises(LayoutError) as caught:
        parse(text, notation)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("left", "right"), [("(5,2):(0,1)", "(2,2):(1,4)"), ("(72,2):(2,1)", "(7,5):(4,16)")]
)
def test_compositions_that_carry_over_an_edge_are_refused(left, right):
    with pytest.raises(LayoutError, match="carry over an edge"):
        cute_algebra.compose(parse(left), parse(right))


@pytest.mark.parametrize(
    "call",
    [
        lambda: cute_algebra.complement(CuteLayout((4, 0), (1, 4)), 16),
        lambda: cute_algebra.compose(CuteLayout((0, 16), (8, 16)), CuteLayout(6, 2)),
        lambda: cute_algebra.logical_divide(CuteLayout((0, 16), (8, 16)), CuteLayout(6, 2)),
        lambda: cute_algebra.logical_product(CuteLayout((2, 0), (1, 2)), CuteLayout(5, 1)),
        lambda: cute_algebra.complement(CuteLayout((4, 2), (1, -4)), 16),
    ],
)
def test_algebra_of_layouts_without_elements_or_below_zero_is_refused(call):
    with pytest.raises(LayoutError):
        call()
