"""Bases of Triton encodings as Triton 3.9 itself gives them (`to_linear_layout` of Gluon)."""

from __future__ import annotations

import pytest
from bankbench.layouts import LayoutError, parse

WGMMA = "nvidia_mma(versionMajor=3, versionMinor=0, warpsPerCTA={warps}, instrShape={instr}"


def bases(text):
    return {name: [list(v) for v in vectors] for name, vectors in parse(text).linear().bases}


def powers(start, stop, dim, rank=2):
    found = []
    while start < stop:
        found.append([start if d == dim else 0 for d in range(rank)])
        start *= 2
    return found


@pytest.mark.parametrize(
    ("warps", "instr", "shape", "register", "warp"),
    [
        (
            "[4,4]",
            "[16,32,16]",
            "[32,256]",
            [[0, 1], [8, 0], [0, 8], [0, 16], [0, 128]],
            [[16, 0], [0, 0], [0, 32], [0, 64]],
        ),
        (
            "[8,2]",
            "[16,128,32]",
            "[128,256]",
            [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [0, 64]],
            [[16, 0], [32, 0], [64, 0], [0, 128]],
        ),
        # registers of an instruction beyond the tile repeat (unlike those of a blocked encoding)
        (
            "[4,4]",
            "[16,256,16]",
            "[32,32]",
            [[0, 1], [8, 0], [0, 8], [0, 16], [0, 0], [0, 0], [0, 0]],
            [[16, 0], [0, 0], [0, 0], [0, 0]],
        ),
    ],
)
def test_warps_of_wgmma_are_numbered_along_the_rows(warps, instr, shape, register, warp):
    found = bases(WGMMA.format(warps=warps, instr=instr) + f", shape={shape})")
    assert found == {
        "register": register,
        "lane": [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
        "warp": warp,
        "block": [],
    }


def test_warps_of_mma_are_numbered_along_the_columns():
    text = "nvidia_mma(versionMajor=2, warpsPerCTA=[2,2], instrShape=[16,8], shape=[32,16])"
    assert bases(text)["warp"] == [[0, 8], [16, 0]]


def test_operand_a_of_wgmma_in_registers():
    parent = WGMMA.format(warps="[8,4]", instr="[16,64,32]") + ")"
    found = bases(f"dot_op(opIdx=0, parent={parent}, kWidth=8, shape=[64,128])")
    assert found["register"] == [[0, 1], [0, 2], [0, 4], [8, 0], [0, 32], [0, 64]]
    assert found["lane"] == [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]]
    assert found["warp"] == [[16, 0], [32, 0], [0, 0], [0, 0], [0, 0]]
    with pytest.raises(LayoutError, match="shared memory"):
        bases(f"dot_op(opIdx=1, parent={parent}, kWidth=8, shape=[64,128])")


def test_an_operand_has_warps_in_both_dimensions():
    parent = WGMMA.format(warps="[4]", instr="[16,64,16]") + ")"
    with pytest.raises(LayoutError, match="dimensions"):
        bases(f"dot_op(opIdx=0, parent={parent}, kWidth=2, shape=[64,64])")


def test_a_slice_of_wgmma_follows_its_warps():
    parent = WGMMA.format(warps="[8,4]", instr="[16,64,32]") + ")"
    found = bases(f"slice(dim=1, parent={parent}, shape=[64])")
    assert found["register"] == [[8]]
    assert found["warp"] == [[16], [32], [0], [0], [0]]


def test_registers_of_a_blocked_encoding_beyond_the_shape_are_dropped():
    text = (
        "blocked(sizePerThread=[4,2,8], threadsPerWarp=[4,2,4], warpsPerCTA=[2,2,2], order=[0,1,2], "
        "shape=[1,64,4])"
    )
    found = bases(text)
    assert found["register"] == [[0, 1, 0], [0, 0, 1], [0, 0, 2], [0, 8, 0], [0, 16, 0], [0, 32, 0]]
    assert found["lane"] == [[0, 0, 0], [0, 0, 0], [0, 2, 0], [0, 0, 0], [0, 0, 0]]
    assert found["warp"] == [[0, 0, 0], [0, 4, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("width", "transposed", "bits", "shape", "offset"),
    [
        # without a swizzle a box is plain row-major, up to 256 elements wide
        (0, False, 16, "[8,16]", [*powers(1, 16, 1), *powers(1, 8, 0)]),
        (0, False, 8, "[64,8]", [*powers(1, 8, 1), *powers(1, 64, 0)]),
        (0, False, 8, "[8,512]", [*powers(1, 256, 1), *powers(1, 8, 0), [0, 256]]),
        (0, False, 8, "[512,512]", [*powers(1, 256, 1), *powers(1, 256, 0), [0, 256], [256, 0]]),
        (0, True, 8, "[512,512]", [*powers(1, 256, 0), *powers(1, 256, 1), [0, 256], [256, 0]]),
        # with one a box has up to 256 rows, and further boxes follow in the order of the dimensions
        (
            64,
            False,
            32,
            "[1024,32]",
            [
                *powers(1, 16, 1),
                [1, 0],
                [2, 4],
                [4, 8],
                *powers(8, 256, 0),
                [256, 0],
                [512, 0],
                [0, 16],
            ],
        ),
        (
            128,
            True,
            16,
            "[256,1024]",
            [
                *powers(1, 64, 0),
                [8, 1],
                [16, 2],
                [32, 4],
                *powers(8, 256, 1),
                [64, 0],
                [128, 0],
                [0, 256],
                [0, 512],
            ],
        ),
    ],
)
def test_boxes_of_nvmma_shared(width, transposed, bits, shape, offset):
    text = (
        f"nvmma_shared(swizzlingByteWidth={width}, transposed={str(transposed).lower()}, elementBitWidth={bits}, "
        f"shape={shape})"
    )
    assert bases(text) == {"offset": offset, "block": []}
