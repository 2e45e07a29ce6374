"""Worked numbers from the notations' own documents, and one of each kind of bad input."""

from __future__ import annotations

import numpy as np
import pytest
from bankbench.layouts import (
    LayoutError,
    R,
    S,
    TileLayout,
    TlaLayout,
    crd2offset,
    dtype_bits,
    dtype_bytes,
    from_tag,
    mma_fragment,
    offsets,
    parse,
    tirx_spec,
    tla_ops,
    with_swizzle,
)


def test_tirx_fragment_with_replica_and_offset():
    layout = parse("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid")
    assert layout.apply(1, 3, shape=(8, 16)) == {"laneid": 5, "warpid": 5, "m": 1}
    places = layout.places(1, 3, shape=(8, 16))
    assert places["warpid"].tolist() == [5, 9]


def test_the_same_layout_written_in_python():
    laneid, warpid = tirx_spec.laneid, tirx_spec.warpid
    spec = S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid
    assert TileLayout(spec) == parse("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid")


@pytest.mark.parametrize(
    "text",
    [
        "ComposeLayout(3, 3, 3, S[(8,64):(64@m,1@m)])",
        "ComposeLayout(per_element=3, swizzle_len=3, atom_len=3, tile_layout=S[(8,64):(64,1)])",
        "T.ComposeLayout(3, 3, 3, T.TileLayout(T.S[(8, 64):(64, 1)]))",
        "Sw<3,3,3> o (8,64):(64,1)",
        "Swizzle<3,3,3> o (8,64):(64,1)",
        "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)",
        "swizzled_shared(vec=8, perPhase=1, maxPhase=8, order=[1,0], shape=[8,64])",
        "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], shape = [8, 64]}>",
    ],
)
def test_swizzled_tile_in_every_notation(text):
    i, j = np.ogrid[:8, :64]
    q, r = j // 8, j % 8
    assert np.array_equal(offsets(parse(text)), 64 * i + 8 * (q ^ i) + r)


@pytest.mark.parametrize("text", ["S[(8,64):(64,1)]", "(8,64):(64,1)"])
def test_with_swizzle_by_name(text):
    layout = with_swizzle(parse(text), "128B", "f16")
    assert [int(v) for v in layout.evaluate(np.arange(8), 0)["m"]] == [72 * i for i in range(8)]
    assert with_swizzle(parse(text), "none", "f16") == parse(text)


def test_tla_offset():
    assert crd2offset((1, 5), ((4, 2), (4, 3)), ((4, 16), (1, 32))) == 37
    assert int(parse("((4, 2), (4, 3)):((4, 16), (1, 32))", "tla").evaluate(1, 5)["m"]) == 37


def test_tla_tail_tile():
    parent = TlaLayout(((4, 2), (4, 3)), ((4, 16), (1, 32)))
    tile = tla_ops.get_tile_layout(parent, (4, 4), (6, 10))
    assert tile.origin == (2, 2)
    assert tile.stride == parent.stride


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("(8,64):(64,1)", "cute"),
        ("(_8, 64):(64, _1)", "tla"),
        ("(8, 64):(64, 1) origin (7, 60)", "tla"),
        ("zN(100, 100, f16)", "tla"),
        ("S[8:1]", "tirx"),
        ("64 + S[8:1]", "tirx"),
        ("Sw<1,4,3> o 8:1", "cute"),
        ("linear(offset=[[1],[2]])", "linear"),
        ("#ttg.blocked<{sizePerThread=[1], threadsPerWarp=[32], warpsPerCTA=[4], order=[0]}>", "linear"),
    ],
)
def test_notation_is_recognised(text, notation):
    assert parse(text).notation == notation


def test_notation_can_be_forced():
    assert parse("(8,64):(64,1)", "tla").notation == "tla"
    with pytest.raises(LayoutError):
        parse("S[8:1]", "cute")
    with pytest.raises(LayoutError, match="unknown notation"):
        parse("S[8:1]", "fortran")


BAD = [
    ("S[(8, 64) : (64, 1]", 18),
    ("S[(8, 64) (64, 1)]", 10),
    ("S[(8,64):(64)]", 2),
    ("S[8:4@lanid]", 6),
    ("(8,64):(64,)", 7),
    ("((4,2):(1,2)", 6),
    ("Sw<3,3> o 8:1", 6),
    ("Sw<3,4,3> o smem_ptr[16b](unset) (8,64):(64,1)", 33),
    ("linear(lane=[[1,0],[2]])", 0),
    ("linear(lane=[[1,0], register=[])", 20),
    ("swizzled_shared(vec=8, perPhase=1, order=[1,0])", 0),
    ("swizzled_shared(vec=8, vec=1)", 23),
    ("zN(100, 100, f17)", 13),
    ("", 0),
    ("   ", 0),
    ("hello", 0),
]


@pytest.mark.parametrize(("text", "position"), BAD)
def test_bad_text_says_where(text, position):
    with pytest.raises(LayoutError) as caught:
        parse(text)
    assert caught.value.position == position
    line = caught.value.caret().splitlines()[-1]
    assert line.index("^") == position
    assert "\n" not in str(caught.value)


def test_coordinates_must_be_integers_and_fit():
    tile = parse("S[(8,64):(64,1)]")
    for bad in (1.5, "a", None, [1.5]):
        with pytest.raises(LayoutError):
            tile.evaluate(bad, 0)
    with pytest.raises(LayoutError):
        tile.evaluate(1, 2, 3)
    with pytest.raises(LayoutError):
        parse("linear(offset=[[1],[2]])").evaluate(4)
    with pytest.raises(LayoutError):
        parse("(8,64):(64,1)").evaluate(0, 0, shape=(16, 64))


def test_swizzle_that_does_not_fit():
    with pytest.raises(LayoutError, match="not a multiple"):
        with_swizzle(parse("S[(3,24):(24,1)]"), "128B", "f16")
    with pytest.raises(LayoutError, match="swizzled already"):
        with_swizzle(parse("Sw<3,3,3> o (8,64):(64,1)"), "128B", "f16")
    with pytest.raises(LayoutError, match="linear memory"):
        with_swizzle(mma_fragment("m16n8k16", "C", "f32"), "128B", "f16")
    with pytest.raises(LayoutError, match="unknown swizzle"):
        with_swizzle(parse("S[(8,64):(64,1)]"), "256B", "f16")
    with pytest.raises(LayoutError, match="no swizzle"):
        with_swizzle(from_tag("zN", 64, 64, "f16"), "128B", "f16")


def test_dtypes():
    assert [dtype_bits(n) for n in ("f64", "tf32", "half", "e4m3", "e8m0", "int4", "b128", "u8")] == [
        64, 32, 16, 8, 8, 4, 128, 8,
    ]  # fmt: skip
    with pytest.raises(LayoutError, match="unknown dtype"):
        dtype_bits("float17")
    with pytest.raises(LayoutError, match="whole number of bytes"):
        dtype_bytes("fp4")
