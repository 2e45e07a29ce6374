"""Lowering: which address each lane of each instruction touches, against plain loops over the definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bankbench.scenarios.buffers import place_buffers
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.lower import lower
from bankbench.scenarios.lowered import LoweredAccess
from bankbench.scenarios.specs import AccessSpec, BufferSpec
from bankbench.sim.chip import load_chip

CHIP = load_chip("h200")


def lowered(access: AccessSpec, folder: Path = Path(), **buffers: BufferSpec) -> LoweredAccess:
    return lower(access, place_buffers(buffers, CHIP), folder)


def sw128(address: int) -> int:
    """The 128-byte swizzle on byte addresses, from its definition: 16-byte unit xor row of the 1024-byte atom."""
    return address ^ ((address >> 7) & 7) << 4


def test_lane_expressions_walk_loops_warps_and_lanes_in_that_order() -> None:
    found = lowered(
        AccessSpec(buffer="t", lanes="[lane + 32 * warp, 2 * k]", loops={"k": 3}, warps=2),
        t=BufferSpec("f32", (64, 8)),
    )
    expected = [
        [((lane + 32 * warp) * 8 + 2 * k) * 4 for lane in range(32)] for k in range(3) for warp in range(2)
    ]
    assert found.offsets.tolist() == expected
    assert found.warp.tolist() == [0, 1] * 3
    assert found.loops["k"].tolist() == [0, 0, 1, 1, 2, 2]
    assert (found.op, found.width) == ("lds", 4)


def test_the_width_is_the_longest_aligned_run() -> None:
    spec = BufferSpec("f16", (64, 64))
    wide = lowered(AccessSpec(buffer="t", lanes="[lane, 0]", vector=16), t=spec)
    assert wide.width == 16
    assert wide.offsets[:, 1].tolist() == [128, 144]  # two instructions, register groups in order
    shifted = lowered(AccessSpec(buffer="t", lanes="[lane, 2]", vector=16), t=spec)
    assert shifted.width == 4  # byte 4 allows 4-byte accesses only
    stated = lowered(AccessSpec(buffer="t", lanes="[lane, 0]", vector=16, width=8), t=spec)
    assert (stated.width, len(stated)) == (8, 4)


def test_padding_and_swizzle_move_addresses() -> None:
    column = AccessSpec(buffer="t", lanes="[lane, 1]")
    padded = lowered(column, t=BufferSpec("f32", (32, 32), pad=1))
    assert padded.offsets[0].tolist() == [(33 * lane + 1) * 4 for lane in range(32)]
    swizzled = lowered(column, t=BufferSpec("f16", (32, 64), swizzle="128B"))
    assert swizzled.offsets[0].tolist() == [sw128(lane * 128 + 2) for lane in range(32)]
    elements = lowered(column, t=BufferSpec("f16", (32, 64), swizzle="Sw<3,3,3>"))
    assert elements.offsets.tolist() == swizzled.offsets.tolist()


C_FRAGMENT = "S[(2, 8, 4, 2):(2@m, 4@laneid, 1@laneid, 1@m)]"


def test_an_mma_accumulator_fragment_stores_two_columns_a_lane() -> None:
    found = lowered(
        AccessSpec(
            buffer="t", op="store", fragment=C_FRAGMENT, tile=(16, 8), at="[16 * i, 8]", loops={"i": 2}
        ),
        t=BufferSpec("f32", (32, 64)),
    )
    expected = [
        [((16 * i + 8 * half + lane // 4) * 64 + 8 + 2 * (lane % 4)) * 4 for lane in range(32)]
        for i in range(2)
        for half in range(2)
    ]
    assert (found.op, found.width) == ("sts", 8)
    assert found.offsets.tolist() == expected


def test_a_fragment_over_warps_names_the_warps_itself() -> None:
    found = lowered(
        AccessSpec(buffer="t", fragment="S[(2, 32, 4):(1@warpid, 1@laneid, 1@m)] + 3@warpid", tile=(64, 4)),
        t=BufferSpec("f32", (64, 4)),
    )
    assert found.warp.tolist() == [3, 4]
    assert found.width == 16
    assert found.offsets[1].tolist() == [512 + 16 * lane for lane in range(32)]


def test_replicas_are_loaded_by_every_holder() -> None:
    found = lowered(
        AccessSpec(buffer="t", fragment="S[(8, 2):(1@laneid, 1@m)] + R[4:8@laneid]", tile=(8, 2)),
        t=BufferSpec("f32", (8, 2)),
    )
    assert found.active.all()
    assert found.offsets[0].tolist() == [8 * (lane % 8) for lane in range(32)]


@pytest.mark.parametrize("name", ["ldmatrix.x4", "ldmatrix.x2", "ldmatrix.x1"])
def test_ldmatrix_rows_follow_from_the_fragment(name: str) -> None:
    # The A fragment of m16n8k16: registers 0,1 rows 0-7 k 0-7; 2,3 rows 8-15; 4,5 and 6,7 the same for k 8-15.
    fragment = "S[(2, 8, 2, 4, 2):(2@m, 4@laneid, 4@m, 1@laneid, 1@m)]"
    found = lowered(
        AccessSpec(buffer="t", fragment=fragment, tile=(16, 16), instruction=name),
        t=BufferSpec("f16", (16, 64)),
    )
    count = int(name[-1])
    rows = [[128 * (8 * (m % 2) + r) + 16 * (m // 2) for r in range(8)] for m in range(4)]
    expected = [[x for row in rows[i : i + count] for x in row] for i in range(0, 4, count)]
    assert found.offsets[:, : 8 * count].tolist() == expected
    assert found.active[:, 8 * count :].any() == (count < 0)


def test_ldmatrix_trans_rows_follow_from_the_fragment() -> None:
    # The B fragment of m16n8k16 (k x n, held as k 2(l%4)+i, n l/4) from a row-major (k, n) tile needs .trans.
    fragment = "S[(2, 4, 2, 8):(2@m, 1@laneid, 1@m, 4@laneid)]"
    spec = BufferSpec("f16", (16, 8))
    found = lowered(
        AccessSpec(buffer="t", fragment=fragment, tile=(16, 8), instruction="ldmatrix.x2.trans"), t=spec
    )
    assert found.offsets[0, :16].tolist() == [16 * k for k in range(16)]
    with pytest.raises(ScenarioError, match="the matrix instruction would read byte"):
        lowered(AccessSpec(buffer="t", fragment=fragment, tile=(16, 8), instruction="ldmatrix.x2"), t=spec)


def test_bytes_offsets_and_files(tmp_path: Path) -> None:
    by_bytes = lowered(AccessSpec(bytes="(lane * 144) ^ 16", op="ld.shared.v4.b32"))
    assert by_bytes.width == 16
    assert by_bytes.offsets[0, 3] == (3 * 144) ^ 16
    eight = lowered(AccessSpec(offsets=[0, 128, 256], width=4))
    assert eight.active.sum() == 3
    (tmp_path / "a.csv").write_text("0, 4, 8\n0x10, 20\n")
    (tmp_path / "b.jsonl").write_text('[0, 4]\n{"offsets": [0, 4, 8], "mask": 5}\n')
    assert lowered(AccessSpec(offsets="a.csv", width=4), tmp_path).offsets[1, :2].tolist() == [16, 20]
    assert lowered(AccessSpec(offsets="b.jsonl", width=4), tmp_path).active[1, :4].tolist() == [
        True,
        False,
        True,
        False,
    ]


def test_narrow_elements_travel_in_whole_bytes() -> None:
    found = lowered(AccessSpec(buffer="t", lanes="[lane, 0]", vector=32), t=BufferSpec("e2m1", (32, 64)))
    assert found.width == 16
    assert found.offsets[0].tolist() == [32 * lane for lane in range(32)]
    with pytest.raises(ScenarioError, match="part of a byte"):
        lowered(AccessSpec(buffer="t", lanes="[lane, 1]", vector=2), t=BufferSpec("e2m1", (32, 64)))


T = BufferSpec("f16", (8, 64))


@pytest.mark.parametrize(
    ("access", "buffer", "message"),
    [
        (
            AccessSpec(buffer="t", lanes="[lane, 0]"),
            T,
            r"lane 8 touches element \[8, 0\], outside the shape \[8, 64\]",
        ),
        (AccessSpec(buffer="t", lanes="[lane % 8, 64]"), T, r"lane 0 touches element \[0, 64\]"),
        (AccessSpec(buffer="t", lanes="[lane]"), T, "1 coordinates for buffer 't' of shape"),
        (AccessSpec(buffer="u", lanes="[lane, 0]"), T, "no buffer 'u'; there are: t"),
        (AccessSpec(buffer="t", lanes="[lane % 8, 1]", vector=2, width=4), T, "misaligned"),
        (AccessSpec(buffer="t", lanes="[lane % 8, 1]", instruction="ldmatrix.x4"), T, "misaligned"),
        (AccessSpec(buffer="t", lanes="[lane % 8, lane_]"), T, "name 'lane_' is not allowed"),
        (AccessSpec(buffer="t", lanes="[lane % 8, 0]", mask="lane > 40"), T, "no lane is active"),
        (AccessSpec(buffer="t", lanes="[lane % 8, 0]", mask=[3, 40]), T, "lane 40; a warp has lanes 0 to 31"),
        (AccessSpec(buffer="t", lanes="[lane % 8, 0]", instruction="sts.16"), T, "does not load"),
        (AccessSpec(buffer="t", lanes="[lane % 8, 0]", instruction="lds.48"), T, "lds"),
        (AccessSpec(offsets=[0, 4]), T, "byte offsets need a width"),
        (AccessSpec(offsets=[0, 2], width=4), T, "misaligned"),
        (AccessSpec(offsets=[0, -4], width=4), T, "whole bytes from 0 on"),
        (AccessSpec(buffer="t", bytes="lane * 64", op="lds.32"), T, "has bytes 0 to 1023"),
        (AccessSpec(buffer="t", fragment="S[(8, 64):(1@TLane, 1)]"), T, "axis TLane is no thread axis"),
        (
            AccessSpec(buffer="t", fragment="S[(8, 64):(4@laneid, 1@laneid)]"),
            T,
            "laneid 91; a warp has lanes 0 to 31",
        ),
        (
            AccessSpec(buffer="t", fragment="S[(8, 64):(1@laneid, 0@m)]"),
            T,
            "are both in register 0 of warp 0",
        ),
        (AccessSpec(buffer="t", fragment="S[(8, 64:(1@laneid, 1)]"), T, "expected"),
    ],
)
def test_what_cannot_be_lowered_says_why(access: AccessSpec, buffer: BufferSpec, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        lowered(access, t=buffer)


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (BufferSpec("f17", (8, 64)), "f17"),
        (BufferSpec("f32", (1024, 64)), "262144 bytes.*a block on h200 has 232448; 908x64 f32 would fit"),
        (BufferSpec("f16", (3, 24), swizzle="128B"), "128B"),
        (BufferSpec("f16", (8, 64), swizzle="96B"), "96B"),
        (BufferSpec("f16", (8, 64), layout="(8,32):(32,1)"), "512 elements, the layout places 256"),
        (BufferSpec("f16", None, layout="S[(8,64):(1@laneid,1)]"), "axis m alone"),
        (BufferSpec("f16", None, layout="(8,64):(64,-1)"), "negative|before"),
    ],
)
def test_buffers_that_do_not_fit(buffer: BufferSpec, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        place_buffers({"t": buffer}, CHIP)


def test_buffers_stand_behind_each_other_and_may_not_overlap() -> None:
    placed = place_buffers({"a": BufferSpec("f16", (3, 5)), "b": BufferSpec("f32", (8,))}, CHIP)
    assert (placed["a"].base, placed["a"].footprint, placed["b"].base) == (0, 30, 1024)
    with pytest.raises(ScenarioError, match="overlap buffer 'a'"):
        place_buffers({"a": BufferSpec("f16", (64, 64)), "b": BufferSpec("f32", (8,), offset=4096)}, CHIP)


def test_random_fragments_against_a_loop() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        rows, cols = 16, int(rng.choice([8, 16, 32]))
        bits = rng.permutation(4 + int(np.log2(cols)))
        # a random assignment of the tile's index bits to lane bits and register bits
        extents, strides = [2] * len(bits), []
        for bit in bits:
            strides.append(f"{1 << bit}@laneid" if bit < 5 else f"{1 << (bit - 5)}@m")
        text = f"S[({','.join(map(str, extents))}):({','.join(strides)})]"
        found = lowered(
            AccessSpec(buffer="t", fragment=text, tile=(rows, cols), width=2), t=BufferSpec("f16", (rows, 64))
        )
        expected: dict[tuple[int, int], int] = {}
        for flat in range(rows * cols):
            digits = [(flat >> (len(bits) - 1 - i)) & 1 for i in range(len(bits))]
            lane = sum(d << b for d, b in zip(digits, bits, strict=True) if b < 5)
            register = sum(d << (b - 5) for d, b in zip(digits, bits, strict=True) if b >= 5)
            expected[register, lane] = (flat // cols) * 128 + (flat % cols) * 2
        assert {(r, lane): int(found.offsets[r, lane]) for r, lane in expected} == expected
