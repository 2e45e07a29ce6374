"""Accesses that no hardware executes are refused in one line that names the place."""

from __future__ import annotations

import numpy as np
import pytest
from bankbench.sim import AccessError, Trace, count, count_trace, explain, load_chip, parse_op

LINE = [4 * lane for lane in range(32)]


def refused(what, **arguments):
    with pytest.raises(AccessError) as caught:
        count(what, **arguments)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"op": "load"}, ["unknown operation 'load'", "lds, sts, ldmatrix"]),
        ({"op": "lds.v3.f32"}, ["'v3' is not known"]),
        ({"op": "ldmatrix.x3"}, ["'x3' is not known", "x1, x2, x4"]),
        ({"op": "atoms"}, ["add, exch, cas", "red.add.u32"]),
        ({"op": "atom.shared.add.f16"}, ["not this one"]),
        ({"op": "atom.shared.min.f32"}, ["only add is an instruction"]),
        ({"op": "atom.shared.inc.u64"}, ["for 32 bits only"]),
        ({"op": "lds", "width": 3}, ["width of 3 bytes", "[1, 2, 4, 8, 16]"]),
        ({"op": "lds.128", "width": 4}, ["accesses 16 bytes a lane, width says 4"]),
        ({"op": "lds", "width": "4"}, ["width: '4'"]),
        ({"op": 7.5}, ["op: 7.5"]),
        ({"op": "lds", "mask": -1}, ["32 bits", "-1"]),
        ({"op": "lds", "mask": 2**32}, ["32 bits", str(2**32)]),
        ({"op": "lds", "mask": [0.5]}, ["integers of 32 bits"]),
        ({"op": "lds", "mask": [1, 2]}, ["mask: shape (2,) for 1 accesses"]),
        ({"op": ["lds", "sts"]}, ["op: 2 values for 1 accesses"]),
    ],
)
def test_arguments(arguments, words):
    text = refused(LINE, **arguments)
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    ("offsets", "arguments", "words"),
    [
        ([0, 4, 9, 12], {}, ["lane 2", "lds.32 at offset 9", "multiple of 4 bytes"]),
        ([0, 8, 20], {"op": "lds.64"}, ["lane 2", "offset 20", "multiple of 8"]),
        ([0, 16, 40], {"op": "ldmatrix.x4"}, ["lane 2", "ldmatrix.x4", "multiple of 16"]),
        ([0, -4], {}, ["lane 1", "offset -4", "start at 0"]),
        ([0, 2**31], {}, ["lane 1", "no shared memory is that large"]),
        ([[0, 4], [0, 6]], {}, ["access 1, lane 1", "offset 6"]),
        ([[0] * 33], {}, ["shape (1, 33)", "1 to 32 lanes"]),
        ([[[0]]], {}, ["shape (1, 1, 1)"]),
        (5, {}, ["shape ()"]),
        ([0.0, 4.0], {}, ["float64 is no integer type"]),
        ([[0, 4], [0]], {}, ["integers are needed"]),
        (["a"], {}, ["no integer type"]),
    ],
)
def test_offsets(offsets, arguments, words):
    text = refused(offsets, **arguments)
    assert all(word in text for word in words), text


def test_inactive_lanes_may_hold_anything():
    offsets = np.array([0, 4, -8, 7] + [2**40] * 28)
    counts = count(offsets, mask=0b0011)
    assert int(counts.wavefronts[0]) == 1
    # Lanes 8 to 31 of ldmatrix.x1 supply no addresses.
    assert int(count([16 * n for n in range(8)] + [1] * 24, "ldmatrix.x1", mask=2**32 - 1).wavefronts[0]) == 1


def test_capacity_when_asked():
    limit = load_chip("h200")["shared_memory.max_bytes_per_block"]
    assert count([limit - 4], check_capacity=True).status == "measured"
    text = refused([0, limit], check_capacity=True)
    assert f"lane 1: offset {limit}" in text
    assert f"{limit} bytes of a block's shared memory on NVIDIA H200" in text
    assert "with 16 bytes ends beyond" in refused([limit], op="lds.128", check_capacity=True)
    assert count([limit]).status == "measured"


def test_instruction_that_the_chip_lacks():
    text = refused([0] * 32, op="ldmatrix.x4", chip="v100")
    assert "ldmatrix.x4: NVIDIA Tesla V100 (sm_70) does not have it" in text
    assert "stmatrix" in refused([0] * 32, op="stmatrix.x4", chip="sm_80")


def test_explain_takes_one_access():
    with pytest.raises(AccessError, match="takes one access, found 2"):
        explain([[0, 4], [0, 4]])


def test_trace_columns_of_other_length():
    with pytest.raises(AccessError, match=r"warp: shape \(3,\) for 1 accesses"):
        Trace.of(LINE, warp=[0, 1, 2])
    with pytest.raises(AccessError, match=r"name: shape \(2,\) for 1 accesses"):
        Trace.of(LINE, name=["a", "b"])
    with pytest.raises(AccessError, match="codes lie between"):
        Trace.of(LINE, op=np.array([200]))


def test_without_an_active_lane_nothing_happens():
    """As measured: an H200 counts no wavefront for it."""
    for op in ("lds", "sts.128", "ldmatrix.x4", "atom.cas.b64", "red.add.f32"):
        row = next(count([0] * 32, op, mask=0).rows())
        assert {value for name, value in row.items() if name not in ("status", "latency_cycles")} == {0}
        assert row["latency_cycles"] is None


def test_empty_trace():
    counts = count_trace(Trace.of(np.empty((0, 32), dtype=np.int64)))
    assert (len(counts), counts.status, list(counts.rows())) == (0, "measured", [])


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("lds", "lds.32"),
        ("LDS.U8", "lds.u8"),
        ("lds.64", "lds.64"),
        ("LDS.128", "lds.128"),
        ("ld.shared.v2.f32", "lds.64"),
        ("ld.shared.v4.b32", "lds.128"),
        ("ld.volatile.shared.s16", "lds.u16"),
        ("ld.shared::cta.v2.b64", "lds.128"),
        ("st.shared.b32", "sts.32"),
        ("STS.U16", "sts.u16"),
        ("ldmatrix.x4", "ldmatrix.x4"),
        ("ldmatrix.x4.trans", "ldmatrix.x4.trans"),
        ("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "ldmatrix.x2.trans"),
        ("LDSM.16.MT88.4", "ldmatrix.x4.trans"),
        ("stmatrix.sync.aligned.m8n8.x2.shared.b16", "stmatrix.x2"),
        ("atomicAdd", "atom.add.u32"),
        ("atomicAdd(float)", "atom.add.f32"),
        ("atomicCAS", "atom.cas.b32"),
        ("ATOMS.ADD", "atom.add.u32"),
        ("ATOMS.CAS.64", "atom.cas.b64"),
        ("red.shared.add.u32", "red.add.u32"),
        ("red.shared::cta.add.f32", "red.add.f32"),
        ("atom.shared.exch.b32", "atom.exch.b32"),
        ("atom.shared.cas.b64", "atom.cas.b64"),
        ("atom.shared.min.s32", "atom.other.b32"),
        ("atom.shared.add.u64", "atom.add.u64"),
        ("red.shared.or.b64", "red.other.b64"),
        ("atom.shared.max.s64", "atom.minmax.b64"),
        ("atomicAdd(double)", "atom.add.f64"),
        ("red.shared.add.noftz.bf16x2", "red.add.bf16x2"),
        ("atom.shared.exch.b64", "atom.exch.b64"),
    ],
)
def test_spellings(spelling, name):
    assert parse_op(spelling).name == name
    assert parse_op(name).name == name
