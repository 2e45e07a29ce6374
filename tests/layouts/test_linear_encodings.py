"""Triton encodings against formulas written out by hand, conflict counts against counting, and analysis functions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from bankbench.layouts import (
    LayoutError,
    access_matrix,
    alignment_bytes,
    bit_matrix,
    byte_columns,
    contiguous_run,
    facts,
    footprint_bytes,
    from_tag,
    from_thread_values,
    holes,
    is_injective,
    lane_run,
    linear_conflicts,
    mma_fragment,
    mma_shared_layout,
    offsets,
    padding_waste,
    parse,
    shared_places,
    tile_offsets,
    to_linear,
    to_thread_values,
    with_swizzle,
)


@pytest.mark.parametrize(
    ("vec", "per_phase", "phases"), list(itertools.product([1, 2, 4, 8], [1, 2, 4], [1, 2, 4, 8]))
)
@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_swizzled_shared_formula(vec, per_phase, phases, order):
    text = f"swizzled_shared(vec={vec}, perPhase={per_phase}, maxPhase={phases}, order={list(order)}, shape=[32,64])"
    rows, cols = (32, 64) if order == (1, 0) else (64, 32)
    i, j = np.ogrid[:32, :64]
    r, c = (i, j) if order == (1, 0) else (j, i)
    expected = r * cols + (c ^ (vec * (r // per_phase % phases) % cols))
    assert rows * cols == 2048
    assert np.array_equal(offsets(parse(text)), np.broadcast_to(expected, (32, 64)))


@pytest.mark.parametrize("mode", ["32B", "64B", "128B"])
@pytest.mark.parametrize(("dtype", "bits"), [("e4m3", 8), ("f16", 16), ("f32", 32)])
def test_nvmma_shared_is_the_tma_layout(mode, dtype, bits):
    """Tiles of 8-row atoms, rows first: the same placement as TIRx builds for the descriptors."""
    width = int(mode[:-1])
    text = (
        f"nvmma_shared(swizzlingByteWidth={width}, transposed=false, elementBitWidth={bits}, shape=[64,128])"
    )
    assert np.array_equal(offsets(parse(text)), offsets(mma_shared_layout(dtype, mode, (64, 128)), (64, 128)))


def test_padded_shared_formula():
    layout = parse("#ttg.padded_shared<[32:+4, 128:+8] {order = [1, 0], shape = [16, 64]}>")
    linear = np.arange(16 * 64).reshape(16, 64)
    assert np.array_equal(offsets(layout), linear + linear // 32 * 4 + linear // 128 * 8)


def test_blocked_formula():
    text = (
        "blocked(sizePerThread=[1,4], threadsPerWarp=[4,8], warpsPerCTA=[2,2], order=[1,0], shape=[32,128])"
    )
    found = tile_offsets(parse(text))
    i, j = np.indices((32, 128))
    assert np.array_equal(found["laneid"], i % 4 * 8 + j % 32 // 4)
    assert np.array_equal(found["warpid"], i // 4 % 2 * 2 + j // 32 % 2)
    assert np.array_equal(found["m"], j % 4 + 4 * (j // 64) + 8 * (i // 8))


def test_blocked_smaller_than_its_threads_repeats():
    text = "blocked(sizePerThread=[1,1], threadsPerWarp=[1,32], warpsPerCTA=[1,4], order=[1,0], shape=[1,32])"
    assert parse(text).replicas()["warpid"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("operand", ["A", "B", "C"])
def test_mma_encodings_are_the_instruction_fragments(operand):
    mma = "nvidia_mma(versionMajor=2, versionMinor=0, warpsPerCTA=[1,1], instrShape=[16,8])"
    texts = {
        "A": f"dot_op(opIdx=0, parent={mma}, kWidth=2, shape=[16,16])",
        "B": f"dot_op(opIdx=1, parent={mma}, kWidth=2, shape=[16,8])",
        "C": mma[:-1] + ", shape=[16,8])",
    }
    layout = parse(texts[operand])
    fragment = mma_fragment("m16n8k16", operand, "f16" if operand != "C" else "f32")
    found, wanted = tile_offsets(layout), tile_offsets(fragment, layout.logical_shape)
    assert np.array_equal(found["laneid"], wanted["laneid"])
    assert np.array_equal(found["m"], wanted["m"])


def test_dot_operand_is_copied_over_the_other_warps():
    mma = "nvidia_mma(versionMajor=2, warpsPerCTA=[2,4], instrShape=[16,8])"
    left = parse(f"dot_op(opIdx=0, parent={mma}, kWidth=2, shape=[32,32])")
    assert sorted(left.replicas()["warpid"].tolist()) == [0, 1, 2, 3]


def test_slice_drops_a_dimension():
    blocked = "blocked(sizePerThread=[1,4], threadsPerWarp=[4,8], warpsPerCTA=[1,1], order=[1,0])"
    found = parse(f"slice(dim=0, parent={blocked}, shape=[32])")
    places = tile_offsets(found)
    j = np.arange(32)
    assert np.array_equal(places["laneid"], j // 4)
    assert np.array_equal(places["m"], j % 4)
    assert sorted(found.replicas()["laneid"].tolist()) == [0, 8, 16, 24]


@pytest.mark.parametrize(
    "text",
    [
        "blocked(sizePerThread=[3], threadsPerWarp=[32], warpsPerCTA=[1], order=[0], shape=[96])",
        "blocked(sizePerThread=[1,4], threadsPerWarp=[4,8], warpsPerCTA=[2,2], order=[1,1], shape=[8,8])",
        "nvidia_mma(versionMajor=5, warpsPerCTA=[1,1], instrShape=[16,8], shape=[16,8])",
        "nvmma_shared(swizzlingByteWidth=16, transposed=false, elementBitWidth=16, shape=[64,64])",
        "nvmma_shared(swizzlingByteWidth=128, transposed=false, elementBitWidth=16, shape=[8,16])",
        "swizzled_shared(vec=8, perPhase=1, maxPhase=8, order=[1,0], shape=[48,64])",
    ],
)
def test_encodings_that_do_not_exist(text):
    with pytest.raises(LayoutError):
        tile_offsets(parse(text))


MEMORIES = [
    "S[(16,16):(16,1)]",
    "ComposeLayout(3, 3, 3, S[(16,64):(64,1)])",
    "Sw<2,3,3> o (16,64):(64,1)",
    "swizzled_shared(vec=4, perPhase=2, maxPhase=4, order=[1,0], shape=[16,32])",
    "(16,64):(1,16)",
]


@pytest.mark.parametrize("text", MEMORIES)
@pytest.mark.parametrize("width", [4, 8, 16])
def test_conflicts_from_bases_equal_counting(text, width):
    """Every lane reads `width` bytes of its own row or column: ways from ranks, and by looking at each bank."""
    memory = parse(text)
    rows, cols = memory.logical_shape
    matrix = bit_matrix(memory).columns["m"]
    bits = byte_columns(matrix, "f16")
    for picks in itertools.combinations(range(len(bits)), 5):
        lanes = [bits[k] for k in picks]
        if any(column % width for column in lanes):
            continue
        found = linear_conflicts(lanes, width)
        address = np.zeros(1, np.int64)
        for column in lanes:
            address = np.concatenate([address, address ^ column])
        group = 128 // width
        worst, total = 0, 0
        for start in range(0, 32, group):
            words = np.unique(
                (address[start : start + group, None] + np.arange(0, width, 4)).reshape(-1) // 4
            )
            ways = int(np.bincount(words % 32).max())
            worst, total = max(worst, ways), total + ways
        assert (found.ways, found.wavefronts) == (worst, total)
    assert rows * cols == 1 << len(matrix)


def test_access_matrix_of_a_fragment_store():
    fragment = mma_fragment("m16n8k16", "C", "f32")
    for text in ("(16,8):(8,1)", "S[(16,8):(8,1)]"):
        lanes = access_matrix(fragment, parse(text), (16, 8))["laneid"]
        assert linear_conflicts(byte_columns(lanes, "f32"), 8).wavefronts == 2
    swizzled = with_swizzle(parse("S[(64,64):(64,1)]"), "128B", "f16")
    tile = mma_fragment("m64n64k16", "C", "f16")
    lanes = access_matrix(tile, swizzled, (64, 64))["laneid"]
    assert linear_conflicts(byte_columns(lanes, "f16"), 4).ways == 1
    plain = access_matrix(tile, parse("S[(64,64):(64,1)]"), (64, 64))["laneid"]
    assert linear_conflicts(byte_columns(plain, "f16"), 4).ways == 8


def test_not_linear_is_said():
    for text in ("S[(8,64):(72,1)]", "S[8:1] + 4", "S[6:1]"):
        with pytest.raises(LayoutError):
            bit_matrix(parse(text))
    with pytest.raises(LayoutError, match="holes"):
        to_linear(parse("S[(4,4):(8,1)]"))
    with pytest.raises(LayoutError, match="share"):
        to_linear(parse("S[(4,4):(0,1)]"))


@pytest.mark.parametrize("name", ["m16n8k16", "m16n8k8", "m64n128k16", "m8n8k16"])
@pytest.mark.parametrize("operand", ["A", "B", "C"])
def test_fragments_hold_every_element_once(name, operand):
    dtype = "f32" if operand == "C" else "s8" if name == "m8n8k16" else "f16"
    if name == "m64n128k16" and operand == "B":
        with pytest.raises(LayoutError):
            mma_fragment(name, operand, dtype)
        return
    m, n, k = (int(v) for v in name[1:].replace("n", " ").replace("k", " ").split())
    shape = {"A": (m, k), "B": (k, n), "C": (m, n)}[operand]
    fragment = mma_fragment(name, operand, dtype)
    assert is_injective(fragment, shape)
    places = tile_offsets(fragment, shape)
    assert places["laneid"].max() == 31


def test_the_first_tensor_cores_have_an_order_of_their_own():
    """m8n8k4 of f16 spreads over quads of lanes; only the f64 instruction of that shape has the usual fragments."""
    assert mma_fragment("m8n8k4", "C", "f64").apply(5, 3, shape=(8, 8)) == {"m": 1, "laneid": 21}
    for operand, dtype in (("C", "f32"), ("C", "f16"), ("A", "f16")):
        with pytest.raises(LayoutError):
            mma_fragment("m8n8k4", operand, dtype)


def test_thread_value_layouts_there_and_back():
    fragment = mma_fragment("m16n8k16", "A", "f16")
    layout = to_thread_values(fragment, (16, 16))
    assert str(layout) == "((4,8),(2,2,2)):((32,1),(16,8,128))"
    again = from_thread_values(layout, (16, 16))
    for axis, values in tile_offsets(fragment, (16, 16)).items():
        assert np.array_equal(tile_offsets(again, (16, 16))[axis], values)
    with pytest.raises(LayoutError):
        from_thread_values(layout, (16, 32))


def test_analysis_of_a_padded_tile():
    tile = parse("(8,64):(72,1)")
    found = facts(tile, "f16")
    assert (found.elements, found.holes, found.footprint_bytes) == (512, 56, 1136)
    assert (found.contiguous_run, found.alignment_bytes, found.injective) == (64, 16, True)
    assert holes(tile)[:8].tolist() == list(range(64, 72))
    assert shared_places(parse("(4,4):(1,2)")) > 0
    assert contiguous_run(parse("Sw<3,3,3> o (8,64):(64,1)")) == 8
    assert alignment_bytes(parse("(8,64):(64,1)"), "f16", run=8) == 16
    assert padding_waste(from_tag("zN", 16, 16, "f16")) == 0.0


@pytest.mark.parametrize("text", ["S[2:1] + -2", "(8,4):(-4,1)", "S[(4,2):(1,4)] + -3"])
def test_elements_below_offset_0_have_no_footprint(text):
    layout = parse(text)
    for question in (footprint_bytes, facts):
        with pytest.raises(LayoutError, match="below offset 0"):
            question(layout, "f16")
    with pytest.raises(LayoutError, match="below offset 0"):
        padding_waste(layout)


def test_lane_run_is_the_widest_move():
    shape = (16, 8)
    fragment = mma_fragment("m16n8k16", "C", "f32")
    assert lane_run(fragment, parse("(16,8):(8,1)"), shape) == 2
    assert lane_run(fragment, parse("(16,8):(1,16)"), shape) == 1
    row_of_four = parse("S[(8,4,4):(4@laneid,1@laneid,1)]")
    assert lane_run(row_of_four, parse("(8,16):(16,1)"), (8, 16)) == 4


@pytest.mark.parametrize(
    "text", ["vec=8 perPhase=2 maxPhase=4", "vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]"]
)
def test_bare_parameters_are_a_swizzled_shared(text):
    assert parse(text) == parse("swizzled_shared(vec=8, perPhase=2, maxPhase=4, order=[1,0])")


@pytest.mark.parametrize(
    ("text", "says"),
    [("vec=8 perPhase 2", "expected '='"), ("vec=8 perPhase=2", "misses maxPhase"), ("vec=8 vec=4", "twice")],
)
def test_bare_parameters_that_are_wrong(text, says):
    with pytest.raises(LayoutError, match=says):
        parse(text)


def test_bare_bases_are_a_linear_layout():
    text = "register=[[0,1],[0,2]], lane=[[1,0],[2,0]], warp=[], block=[]"
    assert parse(text) == parse(f"linear({text})")
    assert parse("offset=[[0,1],[0,2],[1,0]]") == parse("linear(offset=[[0,1],[0,2],[1,0]])")
