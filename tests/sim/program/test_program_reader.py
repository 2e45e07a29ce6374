"""Reading programs: what is accepted, and the place in the error of what is not."""

from __future__ import annotations

import gzip
import json

import pytest
from bankbench.sim.program import ProgramError, parse_program, read_programs

LINEAR = {"op": "lds.32", "offsets": [4 * lane for lane in range(32)]}


def row(**group):
    wide = {"op": "lds.128", "offsets": [16 * lane for lane in range(32)]}
    patterns = {"0": LINEAR, "1": wide, "2": {**wide, "op": "ldmatrix.x2"}}
    return {"id": "x1", "trips": 2, "groups": [{"warps": 1, "patterns": patterns, **group}]}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"op": "FROB"}, r"x1: group 0, loop\[1\] \(FROB\): unknown instruction 'FROB'"),
        (
            {"op": "LDS", "slot": 3},
            r"loop\[1\] \(LDS\): slot 3 has no pattern \(patterns of the group: 0, 1, 2\)",
        ),
        ({"op": "LDS"}, r"loop\[1\] \(LDS\): a memory instruction needs a slot"),
        ({"op": "FFMA", "slot": 0}, "slot 0 on an instruction that accesses no memory"),
        ({"op": "STS", "slot": 0}, "slot 0 is a lds.32 pattern, STS does not perform it"),
        ({"op": "LDS.128", "slot": 0}, "LDS.128 has another width"),
        ({"op": "LDS.U16", "slot": 0}, "LDS.U16 has another width"),
        ({"op": "LDS", "slot": 1}, "slot 1 is a lds.128 pattern, LDS has another width"),
        (
            {"op": "LDSM.16.M88.4", "slot": 2},
            "slot 2 is a ldmatrix.x2 pattern, LDSM.16.M88.4 has another width",
        ),
        ({"op": "MOV", "waits": [6]}, "scoreboard 6, a warp has 0 to 5"),
        ({"op": "MOV", "waits": True}, "waits: True, a list of scoreboards is needed"),
        ({"op": "MOV", "stall": 10**30}, "stall: a number of at most 2147483647 is needed"),
        ({"op": "MOV", "stall": -1}, "stall: -1, a whole number of at least 0"),
        ({"op": "MOV", "stal": 1}, "unknown field 'stal'"),
        ({"op": "BRA", "pred": "P3"}, "predicate P3 is never written"),
        ({"src": ["R1"]}, "an object with an opcode `op` is needed"),
        ("MOV", "an object with an opcode `op` is needed"),
    ],
)
def test_bad_instructions_are_errors_with_the_place(bad, message):
    with pytest.raises(ProgramError, match=message):
        parse_program(row(loop=[{"op": "MOV", "stall": 1}, bad]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": []}, "a list of warp groups"),
        ({"trips": 0}, "trips: 0, a whole number of at least 1"),
        ({"groups": [{"warps": 0}]}, "group 0: warps: 0"),
        ({"groups": [{"warps": 65}]}, "65 warps, an SM has room for 64"),
        ({"groups": [{"patterns": {"0": {"op": "lds.33", "offsets": []}}}]}, "unknown access 'lds.33'"),
        ({"groups": [{"patterns": {"0": {"op": "lds.32", "offsets": [0]}}}]}, "a list of 32 byte offsets"),
        ({"groups": [{"patterns": {"0": {"op": "lds.32", "offsets": [-4] * 32}}}]}, "offset of lane 0: -4"),
        (
            {"groups": [{"patterns": {"0": {"op": "lds.32", "offsets": [2**40] * 32}}}]},
            "lane 0: a number of at",
        ),
        (
            {"groups": [{"patterns": {"0": {**LINEAR, "mask": 2**32}}}]},
            "mask: a number of at most 4294967295",
        ),
        ({"groups": [{"inputs": "R1"}]}, "inputs: a list of register names"),
    ],
)
def test_bad_programs_are_errors(change, message):
    with pytest.raises(ProgramError, match=message):
        parse_program({**row(), **change})


def test_errors_in_a_file_name_file_and_line(tmp_path):
    path = tmp_path / "programs.jsonl.gz"
    good, bad = row(loop=[{"op": "MOV", "stall": 1}]), row(loop=[{"op": "FROB", "stall": 1}])
    with gzip.open(path, "wt") as stream:
        stream.write(json.dumps(good) + "\n\n" + json.dumps(bad) + "\n{")
    programs = read_programs(path)
    assert next(programs).instructions == 2
    with pytest.raises(ProgramError, match=r"programs.jsonl.gz:3: x1: group 0, loop\[0\] \(FROB\)"):
        next(programs)
    path.write_bytes(gzip.compress(b"{\n"))
    with pytest.raises(ProgramError, match=r"programs.jsonl.gz:1: not JSON"):
        list(read_programs(path))
    path.write_bytes(gzip.compress(json.dumps(good).encode() * 99)[:-30] + bytes(22))
    with pytest.raises(ProgramError, match="cannot be read"):
        list(read_programs(path))
    for text in ("[" * 100_000, "1" * 5_000):
        path.write_bytes(gzip.compress(text.encode()))
        with pytest.raises(ProgramError, match=r"programs.jsonl.gz:1: not JSON that can be read"):
            list(read_programs(path))
    with pytest.raises(ProgramError, match="cannot be read"):
        list(read_programs(tmp_path / "none.jsonl"))


def test_a_group_may_have_its_own_trips():
    program = parse_program(row(loop=[{"op": "MOV", "stall": 1}], trips=7))
    assert program.instructions == 7


def test_scoreboards_and_registers_of_the_code_before_the_cut_are_accepted():
    # measured programs are cut out of kernels: what was set before cannot be seen
    parse_program(row(loop=[{"op": "MOV", "src": ["R9"], "stall": 1, "waits": [5]}]))
