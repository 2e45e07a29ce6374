"""Layout objects of other packages: the same offsets as theirs, without importing them."""

from __future__ import annotations

import itertools
import subprocess
import sys
from types import SimpleNamespace as Thing

import numpy as np
import pytest
import tensor_layouts as theirs
from bankbench.layouts import LayoutError, from_object, parse, tile_offsets


def same_as_theirs(layout, ours) -> None:
    shape = ours.logical_shape
    table = tile_offsets(ours)["m"]
    for coord in itertools.product(*map(range, shape)):
        assert int(table[coord]) == layout(*coord)


@pytest.mark.parametrize(
    "layout",
    [
        theirs.Layout(((2, 4), 8), ((1, 16), 2)),
        theirs.Layout((8, 64), (64, 1)),
        theirs.Layout(12, 3),
        theirs.Layout((3, (2, 2), 2), (4, (2, 1), 12)),
        theirs.compose(theirs.Layout(20, 2), theirs.Layout((5, 4), (4, 1))),
        theirs.logical_divide(theirs.Layout((8, 8), (8, 1)), theirs.Layout(4, 1)),
    ],
    ids=str,
)
def test_tensor_layouts(layout) -> None:
    ours = from_object(layout)
    assert ours.notation == "cute"
    same_as_theirs(layout, ours)


@pytest.mark.parametrize("bits", [(1, 4, 3), (2, 3, 3), (3, 3, 3)])
def test_tensor_layouts_with_a_swizzle(bits) -> None:
    composed = theirs.compose(theirs.Swizzle(*bits), theirs.Layout((8, 64), (64, 1)))
    same_as_theirs(composed, from_object(composed))


def test_tensor_layouts_with_a_swizzle_and_an_offset() -> None:
    composed = theirs.ComposedLayout(theirs.Swizzle(3, 3, 3), theirs.Layout((8, 64), (64, 1)), offset=8)
    same_as_theirs(composed, from_object(composed))


def test_both_ways_of_naming_the_parts_of_a_composition() -> None:
    swizzle = Thing(num_bits=3, num_base=3, num_shift=3)
    layout = Thing(shape=(8, 64), stride=(64, 1))
    wanted = parse("Sw<3,3,3> o (8,64):(64,1)")
    assert from_object(Thing(inner=swizzle, offset=0, outer=layout)) == wanted
    assert from_object(Thing(layoutA=Thing(bits=3, base=3, shift=3), offset=0, layoutB=layout)) == wanted
    with pytest.raises(LayoutError, match="only compositions"):
        from_object(Thing(inner=layout, offset=0, outer=layout))


def test_plain_pairs_numpy_integers_and_wrapped_ones() -> None:
    assert from_object(((8, 64), (64, 1))) == parse("(8,64):(64,1)")
    wrapped = Thing(shape=[np.int64(8), Thing(value=64)], stride=(Thing(value=np.int64(64)), 1))
    assert from_object(wrapped) == parse("(8,64):(64,1)")
    assert from_object("S[(8,64):(64,1)]") == parse("S[(8,64):(64,1)]")
    layout = parse("(8,64):(64,1)")
    assert from_object(layout) is layout


def test_coordinate_strides() -> None:
    basis = [Thing(value=1, mode=[0]), Thing(value=1, mode=[1])]
    layout = from_object(Thing(shape=(3, 4), stride=(basis[1], basis[0])))
    assert layout == parse("(3,4):(1@1,1@0)")


def tvm(text: str):
    """An object with the fields of TVM's layouts, made from ours."""
    layout = parse(text)

    def iters(items):
        return [
            Thing(extent=Thing(value=i.extent), stride=Thing(value=i.stride), axis=Thing(name=i.axis))
            for i in items
        ]

    def tile(ours):
        offset = {Thing_(axis): Thing(value=n) for axis, n in ours.offset.items()}
        return Thing(shard=iters(ours.shard), replica=iters(ours.replica), offset=offset)

    if hasattr(layout, "per_element"):
        inner = tile(layout.tile_layout)
        return Thing(
            per_element=layout.per_element,
            swizzle_len=layout.swizzle_len,
            atom_len=layout.atom_len,
            swizzle_inner=layout.swizzle_inner,
            tile_layout=inner,
        )
    return tile(layout)


class Thing_:
    """A hashable axis."""

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize(
    "text",
    [
        "S[(8,64):(64,1)]",
        "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid",
        "ComposeLayout(3, 3, 3, S[(8,64):(64,1)])",
    ],
)
def test_tvm(text: str) -> None:
    assert from_object(tvm(text)) == parse(text)


def test_triton_bases() -> None:
    bases = {"register": [[0, 1]], "lane": [[0, 2], [1, 0]], "warp": [], "block": []}
    wanted = parse("linear(register=[[0,1]], lane=[[0,2],[1,0]], warp=[], block=[])")
    assert from_object(bases) == wanted
    assert from_object(Thing(bases=bases)) == wanted
    assert from_object(Thing(bases=list(bases.items()), out_dims=[("dim0", 2), ("dim1", 4)])) == wanted
    gluon = Thing(
        reg_bases=[[0, 1]], lane_bases=[[0, 2], [1, 0]], warp_bases=[], block_bases=[], shape=[2, 4]
    )
    assert from_object(gluon) == wanted
    shared = from_object({"offset": [[0, 1], [1, 1]]})
    assert shared.axes == ("m",)


def test_gluon_shared_layouts() -> None:
    swizzled = Thing(vec=8, per_phase=1, max_phase=8, order=[1, 0])
    assert str(from_object(swizzled)) == "swizzled_shared(vec=8, perPhase=1, maxPhase=8, order=[1,0])"
    padded = Thing(interval_padding_pairs=[[32, 4]], order=[1, 0], shape=[64, 64])
    assert str(from_object(padded)).startswith("padded_shared(")


def test_gluon_padding_over_bases_is_not_lost() -> None:
    bases = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0]]
    padded = Thing(interval_padding_pairs=[[32, 4]], offset_bases=bases, cga_layout=[], shape=[16, 64])
    found = from_object(padded)
    assert str(found) == "padded_shared(paddings=[[32,4]], order=[1,0], shape=[16,64])"
    assert tile_offsets(found)["m"][1, 0] == 72
    column_first = Thing(
        interval_padding_pairs=[[4, 1]], offset_bases=[[1, 0], [2, 0], [0, 1]], cga_layout=[], shape=[4, 2]
    )
    assert tile_offsets(from_object(column_first))["m"].tolist() == [[0, 5], [1, 6], [2, 7], [3, 8]]
    moved = Thing(
        interval_padding_pairs=[[4, 1]],
        offset_bases=[[0, 1], [0, 2], [2, 0], [1, 0]],
        cga_layout=[],
        shape=[4, 4],
    )
    with pytest.raises(LayoutError, match="padding over elements"):
        from_object(moved)


def test_gluon_register_layouts() -> None:
    blocked = Thing(size_per_thread=[1, 4], threads_per_warp=[4, 8], warps_per_cta=[2, 2], order=[1, 0])
    mma = Thing(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    text = "nvidia_mma(versionMajor=3, warpsPerCTA=[4,1], instrShape=[16,64,16])"
    assert from_object(mma) == parse(text)
    assert from_object(Thing(operand_index=0, parent=mma, k_width=2)) == parse(
        f"dot_op(opIdx=0, parent={text}, kWidth=2)"
    )
    whole = "blocked(sizePerThread=[1,4], threadsPerWarp=[4,8], warpsPerCTA=[2,2], order=[1,0])"
    assert from_object(Thing(dim=0, parent=blocked)) == parse(f"slice(dim=0, parent={whole})")
    with pytest.raises(LayoutError, match="encoding"):
        from_object(Thing(dim=0, parent=Thing()))


@pytest.mark.parametrize("several", [{"cga_layout": [[1, 0]]}, {"ctas_per_cga": [2, 1]}])
def test_gluon_layouts_over_several_ctas_are_refused(several) -> None:
    with pytest.raises(LayoutError, match="several CTAs"):
        from_object(Thing(vec=8, per_phase=1, max_phase=8, order=[1, 0], **several))


class Raises:
    @property
    def shape(self):
        raise RuntimeError("needs a context")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "no layout that is known"),
        (Raises(), "no layout that is known"),
        (Thing(shape=("n", 4), stride=(4, 1)), "is no integer"),
        (Thing(shape=(True, 4), stride=(4, 1)), "is no integer"),
        (Thing(shape=((2, 4), 8), stride=(1, 2)), "does not nest"),
        ({"thread": [[1, 0]]}, "inputs are register"),
        ({}, "bases of nothing"),
        (Thing(shape=(2, 4), stride=(10**30, 1)), "does not fit 64 bits"),
        (Thing(per_element=3, swizzle_len=3, atom_len=3), "needs its tile_layout"),
        (Thing(shard=[Thing(extent=4, stride=1, axis=Thing())], replica=[], offset={}), "has no name"),
    ],
)
def test_what_is_none(value, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        from_object(value)


def test_no_other_package_is_imported() -> None:
    code = (
        "import sys; from bankbench.layouts import from_object; from_object(((8, 64), (64, 1)));"
        "print([m for m in ('tensor_layouts', 'torch', 'tvm', 'triton', 'cutlass') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
