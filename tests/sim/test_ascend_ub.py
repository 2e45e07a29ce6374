"""Unified Buffer banks: the vectorised rules against plain loops, address vectors of the vendor, dynamic rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from bankbench.sim.ascend import (
    AscendError,
    Operand,
    VectorOp,
    count_cycles,
    count_lanes,
    count_vector,
    explain_vector,
    l1_bank,
    ub_geometry,
    vector_time,
)
from bankbench.sim.chip import ChipError, load_chip
from hypothesis import given
from hypothesis import strategies as st

A2, A5 = load_chip("a2"), load_chip("950")


def plain_bank(address: int, arch: str) -> tuple[int, int]:
    """(group, bank) from the bit fields as the vendor prints them."""
    if arch == "a2":
        return address >> 5 & 15, (address >> 5 & 15) + 16 * (address >> 16 & 3)
    return address >> 5 & 7, (address >> 5 & 7) + 8 * (address >> 8 & 1)


def plain_cycles(reads: list[list[int]], writes: list[int], arch: str) -> int:
    """Cycles of accesses that want to happen at once, group by group, by trying what a cycle can serve."""
    merged = [a for part in reads for a in set(part)] if arch == "a2" else list({a for p in reads for a in p})
    worst = 1
    for group in {plain_bank(a, arch)[0] for a in [*merged, *writes]}:
        left_r = Counter(plain_bank(a, arch)[1] for a in merged if plain_bank(a, arch)[0] == group)
        left_w = Counter(plain_bank(a, arch)[1] for a in writes if plain_bank(a, arch)[0] == group)
        need = max(
            [left_r[b] + left_w[b] for b in {*left_r, *left_w}]  # one access a bank
            + [sum(left_w.values())]  # one write a group
            + (
                [sum(left_r.values())]
                if arch == "a2"
                else [-(-(sum(left_r.values()) + sum(left_w.values())) // 2)]
            )
        )
        worst = max(worst, need)
    return worst


@given(st.data())
def test_counts_are_those_of_plain_loops(data: st.DataObject) -> None:
    arch = data.draw(st.sampled_from(["a2", "950"]))
    blocks = st.integers(0, 196608 // 32 - 1).map(lambda block: 32 * block)
    few = st.lists(blocks, min_size=8, max_size=8)
    operands = data.draw(st.lists(few, min_size=1, max_size=2))
    writes = data.draw(few)
    reads = np.array([[a for part in operands for a in part]])
    found = count_cycles(reads, np.array([writes]), load_chip(arch), operands=len(operands))
    assert int(found.cycles[0]) == plain_cycles(operands, writes, arch)


@pytest.mark.parametrize(
    ("chip", "address", "bank", "group"),
    [
        ("a2", 0x10020, 17, 1),
        ("a2", 0x20020, 33, 1),
        ("a2", 0x10E20, 17, 1),
        ("950", 0x4100, 8, 0),
        ("950", 0x4000, 0, 0),
    ],
)
def test_address_vectors_of_the_vendor(chip: str, address: int, bank: int, group: int) -> None:
    geometry = ub_geometry(load_chip(chip))
    assert (int(geometry.bank(address)), int(geometry.group(address))) == (bank, group)


def test_row_of_an_address_on_950() -> None:
    assert int(ub_geometry(A5).row(0x4100)) == 32


@pytest.mark.parametrize(("stride", "cycles"), [(16, 8), (8, 4), (1, 1), (4, 2), (17, 1), (48, 8)])
def test_block_stride_of_a_write(stride: int, cycles: int) -> None:
    assert count_vector(VectorOp((), (Operand(0x10000, stride),)), A2).cycles == cycles


# The eight published scenarios: extra cycles measured at 1.80 GHz, and what the model says.
SCENARIOS = [
    ((0, 1, 8), 0x10100, 0x20000, 0),
    ((0, 1, 8), 0x4000, 0x10000, 64),
    ((0, 1, 8), 0x10000, 0x14100, 64),
    ((0, 1, 8), 0x10100, 0x4000, 0),
    ((0, 1, 8), 0x10100, 0x4020, 49),
    ((0, 1, 8), 0x10100, 0x10100, 0),
    ((0, 0, 1), 0x10100, 0x10100, 41),
    ((0, 0, 8), 0x10100, 0x10100, 0),
]


@pytest.mark.parametrize(("first", "second", "result", "extra"), SCENARIOS)
def test_delayed_writes_take_turns_with_reads(first, second: int, result: int, extra: int) -> None:
    op = VectorOp((Operand(*first), Operand(second)), (Operand(result),), 64)
    time = vector_time(op, A2)
    assert (time.conflict, time.overhead, time.cycles) == (extra, 22, 86 + extra)


def test_the_static_rule_alone_misses_the_hard_rows() -> None:
    first, second, result, _ = SCENARIOS[4]
    op = VectorOp((Operand(*first), Operand(second)), (Operand(result),), 64)
    assert count_vector(op, A2).extra == 63  # every repeat but the first, where the machine hides fifteen


def test_the_witness_names_blocks_repeats_and_banks() -> None:
    op = VectorOp((Operand(0), Operand(0x10100)), (Operand(0x4020),), 64)
    found = explain_vector(op, A2)
    assert (found.repeat, found.group, found.cycles) == (1, 8, 2)
    assert found.accesses == (("read src0", 1, 0, 0x100, 8, 0), ("write dst", 0, 7, 0x4100, 8, 32))
    assert "bank group 8, 2 cycles" in found.sentence()
    calm = explain_vector(VectorOp((Operand(0),), (Operand(0x10000),), 4), A2)
    assert calm.sentence() == "no two blocks of a repeat meet in a bank"


def test_long_instructions_are_counted_at_once() -> None:
    op = VectorOp((Operand(0), Operand(0x10100)), (Operand(0x14100),), 255)
    found = count_vector(op, A2)
    assert found.counts.cycles.shape == (256,)
    one = [
        count_vector(VectorOp((Operand(256 * r), Operand(0x10100 + 256 * r)), ()), A2).cycles
        for r in range(255)
    ]
    assert int(found.counts.read_read.sum()) == sum(one) - 255


def test_simt_pitches() -> None:
    lanes = np.arange(32)
    pitches = np.array([lanes * pitch for pitch in (4, 8, 128, 132, 256, 0)])
    # 32 floats in a row fill 16 words of 8 bytes; one word for all lanes is one access.
    assert count_lanes(pitches, A5).ways.tolist() == [1, 1, 16, 1, 32, 1]


def test_simt_against_plain_loops() -> None:
    rng = np.random.default_rng(3)
    addresses = rng.integers(0, 65536, (200, 32)) * 4
    expected = []
    for row in addresses.tolist():
        words: dict[tuple[int, int], set[int]] = {}
        for address in row:
            words.setdefault((address >> 5 & 7, address >> 3 & 3), set()).add(address >> 3)
        expected.append(max(len(found) for found in words.values()))
    assert count_lanes(addresses, A5).ways.tolist() == expected


def test_l1_halves() -> None:
    assert l1_bank(np.array([0, 0x3FFFF, 0x40000, 0x7FFFF]), A2).tolist() == [0, 0, 1, 1]


def test_what_is_refused() -> None:
    with pytest.raises(AscendError, match="multiple of 32, the nearest is 0x20"):
        VectorOp((Operand(0x21),), ())
    with pytest.raises(AscendError, match="256 repeats"):
        VectorOp((Operand(0),), (), 256)
    with pytest.raises(AscendError, match="ends at 0x30000"):
        count_vector(VectorOp((Operand(0x2FF80),), ()), A2)
    with pytest.raises(AscendError, match="no sub-banks"):
        count_lanes(np.zeros((1, 32)), A2)
    with pytest.raises(AscendError, match="no multiple of the 4 bytes"):
        count_lanes(np.array([[2]]), A5)
    for chip in ("310p", "910"):
        with pytest.raises(ChipError, match="not public"):
            ub_geometry(load_chip(chip))
