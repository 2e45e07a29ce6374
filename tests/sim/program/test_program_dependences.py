"""Programs without stall counts: the registers say who waits for whom."""

from __future__ import annotations

import pytest
from bankbench.sim.engine import simulate
from bankbench.sim.program import ProgramError, parse_program

LINEAR = {"op": "lds.32", "offsets": [4 * lane for lane in range(32)]}
STORE = {"op": "sts.32", "offsets": [4 * lane for lane in range(32)]}


def program(loop, trips=1, **group):
    patterns = {"0": LINEAR, "1": STORE}
    return parse_program(
        {"id": "r", "trips": trips, "groups": [{"loop": loop, "patterns": patterns, **group}]}
    )


def code(built):
    (loop,) = (segment for segment in built.groups[0].segments if segment.name == "loop")
    return loop.code


def test_a_register_that_is_never_written_is_an_error_with_the_place():
    with pytest.raises(ProgramError, match=r"r: group 0, loop\[1\] \(FFMA\): register R7 is never written"):
        program([{"op": "MOV", "dst": ["R1"]}, {"op": "FFMA", "dst": ["R2"], "src": ["R1", "R7"]}])


def test_inputs_of_a_group_are_written_before():
    built = program([{"op": "FFMA", "dst": ["R2"], "src": ["R7", "RZ"]}], inputs=["R7"])
    assert simulate(built).cycles > 0


def test_dependent_arithmetic_waits_its_latency():
    chain = program([{"op": "FFMA", "dst": ["R1"], "src": ["R1"]}] * 10)
    free = program([{"op": "FFMA", "dst": [f"R{index}"], "src": [f"R{index}"]} for index in range(10)])
    assert [item.stall for item in code(chain)[:-1]] == [4] * 9
    assert [item.stall for item in code(free)[:-1]] == [1] * 9


def test_a_reader_waits_for_the_load_and_only_for_it():
    built = program(
        [
            {"op": "LDS", "dst": ["R1"], "slot": 0},
            {"op": "LDS", "dst": ["R2"], "slot": 0},
            {"op": "FFMA", "dst": ["R3"], "src": ["R1"]},
        ]
    )
    first, second, reader = code(built)
    assert reader.waits == (first.sets,)
    assert first.sets != second.sets
    run = simulate(built, timeline=True)
    assert run.timeline[-1].issue - run.timeline[0].issue == 23


def test_a_writer_waits_until_a_store_has_read_its_source():
    built = program(
        [
            {"op": "MOV", "dst": ["R1"]},
            {"op": "STS", "src": ["R1"], "slot": 1},
            {"op": "MOV", "dst": ["R1"]},
            {"op": "MOV", "dst": ["R5"]},
        ]
    )
    _, store, overwrite, other = code(built)
    assert overwrite.waits == (store.sets_read,)
    assert other.waits == ()


def test_values_carried_to_the_next_trip_count():
    carried = program(
        [
            {"op": "HMMA.16816.F32", "dst": ["R1"], "src": ["R1"]},
            {"op": "MOV", "dst": ["R9"]},
        ],
        trips=10,
    )
    assert simulate(carried).cycles >= 9 * 24


def test_more_than_six_loads_are_told_apart():
    loads = [{"op": "LDS", "dst": [f"R{index}"], "slot": 0} for index in range(12)]
    built = program([*loads, {"op": "FFMA", "dst": ["R20"], "src": ["R11"]}])
    assert len({item.sets for item in code(built) if item.sets is not None}) == 12
    assert simulate(built).cycles > 0
