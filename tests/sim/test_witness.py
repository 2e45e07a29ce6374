"""One access phase by phase: lanes, banks, words, and the decision of the pair rule."""

from __future__ import annotations

import numpy as np
import pytest
from bankbench.sim import Trace, bank_words, broadcast_lanes, explain
from bankbench.sim.memory import AccessError, dense_phases

COLUMN = [256 * row for row in range(8)]


def test_column_of_a_tile():
    witness = explain(COLUMN, "lds", width=2)
    (phase,) = witness.phases
    (bank,) = phase.banks
    assert (phase.wavefronts, bank.bank, bank.ways, bank.lanes) == (8, 0, 8, tuple(range(8)))
    assert [word.offset for word in bank.words] == COLUMN
    assert phase.conflicts == phase.worst == (bank,)
    assert phase.broadcast == ()
    assert witness.merge is None
    assert witness.status == "measured"


def test_broadcast():
    witness = explain([0, 1, 4, 132], "lds", width=1)
    (phase,) = witness.phases
    assert phase.wavefronts == 2
    assert phase.broadcast == (0, 1)
    assert [(bank.bank, [word.lanes for word in bank.words]) for bank in phase.banks] == [
        (0, [(0, 1)]),
        (1, [(2,), (3,)]),
    ]


def test_quarter_warps_of_a_wide_load():
    witness = explain([16 * lane for lane in range(32)], "lds.128")
    assert [phase.lanes for phase in witness.phases] == [tuple(range(n, n + 8)) for n in (0, 8, 16, 24)]
    assert [phase.wavefronts for phase in witness.phases] == [1, 1, 1, 1]
    assert witness.merge is not None
    assert not witness.merge.merged
    assert witness.merge.breaks == ((1, 0, 0, 1, 16), (2, 0, 0, 2, 32))
    assert "over lane xor 1 lane 0 (offset 0) and lane 1 (offset 16) differ" in witness.merge.reason


def test_merged_pairs():
    witness = explain([16 * (lane & ~2) for lane in range(32)], "lds.128")
    assert witness.merge is not None
    assert (witness.merge.merged, witness.merge.distance) == (True, 2)
    assert witness.merge.breaks == ((1, 0, 0, 1, 16),)
    assert [phase.lanes for phase in witness.phases] == [tuple(range(16)), tuple(range(16, 32))]
    assert "merged: over lane xor 2" in witness.merge.reason


def test_first_lane_that_breaks_the_merge():
    offsets = [8 * (lane // 2) for lane in range(32)]
    offsets[21] = 400
    merge = explain(offsets, "lds.64").merge
    assert merge is not None
    assert merge.breaks[0] == (1, 20, 80, 21, 400)


def test_lone_lanes_have_no_partner():
    merge = explain([8 * lane for lane in range(32)], "lds.64", mask=0x55555555).merge
    assert merge is not None
    assert merge.merged
    assert "no partner is active" in merge.reason


@pytest.mark.parametrize("op", ["sts.64", "ldmatrix.x4", "lds", "atom.add.u32"])
def test_where_the_pair_rule_has_no_say(op):
    assert explain([0] * 32, op).merge is None


def test_atomics_count_lanes():
    witness = explain([0, 0, 4, 128], "atom.add.u32")
    (phase,) = witness.phases
    assert (phase.wavefronts, phase.worst[0].bank, phase.worst[0].ways) == (3, 0, 3)
    assert explain([0, 0, 4, 128], "atom.cas.b32").phases[0].wavefronts == 6


def test_rounds_of_the_float_add():
    witness = explain([0, 0, 128, 4], "red.add.f32")
    assert [(phase.lanes, phase.wavefronts, phase.done) for phase in witness.phases] == [
        ((0, 1, 2, 3), 4, (0, 3)),
        ((1, 2), 4, (1,)),
        ((2,), 3, (2,)),
    ]
    assert int(witness.counts.wavefronts[0]) == 11


def test_lines():
    text = "\n".join(explain(COLUMN, width=2).lines())
    assert "lds.u16 on NVIDIA H200: 8 wavefronts, ideal 1, worst bank 8-way" in text
    assert "bank 0: 8 words (offset 0: lane 0; offset 256: lane 1;" in text
    assert "not merged" in "\n".join(explain([16 * lane for lane in range(32)], "lds.128").lines())


def test_unknown_chip_has_no_phases():
    witness = explain(COLUMN, width=2, chip="gfx950")
    assert (witness.status, witness.phases, witness.merge) == ("unknown", (), None)
    assert "unknown" in next(witness.lines())
    trace = Trace.of(COLUMN)
    with pytest.raises(AccessError, match=r"lds.32: unknown on AMD Instinct MI355X"):
        bank_words(trace, "gfx950")
    with pytest.raises(AccessError, match="unknown on"):
        broadcast_lanes(trace, "gfx950")


def test_words_and_broadcast_of_many():
    trace = Trace.of(
        [[0] * 32, [16 * lane for lane in range(32)], COLUMN + [0] * 24], op=["lds.128", "lds.128", "lds"]
    )
    words = bank_words(trace)
    assert words.shape == (3, 32)
    assert words[0].tolist() == [2] * 4 + [0] * 28
    assert words[1].tolist() == [4] * 32
    assert words[2, 0] == 8
    assert np.flatnonzero(broadcast_lanes(trace)[2]).tolist() == [0, *range(8, 32)]


def test_dense_phases():
    assert [dense_phases("h200", width) for width in (1, 4, 8, 16)] == [1, 1, 2, 4]
