"""Speed of the engine: time and events grow with the number of instructions, memory does not.

Run with `pytest tests/benchmarks/test_engine.py --benchmark-enable -m ""`; the table's extra column holds warp
instructions a second. Times are shown, never asserted: what is asserted are counts, which do not depend on the machine.
"""

from __future__ import annotations

import tracemalloc

import pytest
from bankbench.sim.engine import simulate
from bankbench.sim.program import parse_program

LINEAR = {"op": "lds.32", "offsets": [4 * lane for lane in range(32)]}
CONFLICT = {"op": "lds.32", "offsets": [128 * lane for lane in range(32)]}
BODY = 4 * [{"op": "LDS", "slot": 0, "sets": 0, "stall": 1}] + [
    {"op": "FFMA", "src": ["R1", "R2"], "stall": 4, "waits": [0]},
    *15 * [{"op": "FFMA", "src": ["R1", "R2"], "stall": 1}],
    {"op": "IADD3", "stall": 4},
    {"op": "BRA", "stall": 5},
]
WARPS = 8


def block(instructions: int, pattern=LINEAR):
    trips = max(1, instructions // (len(BODY) * WARPS))
    group = {"warps": WARPS, "loop": BODY, "patterns": {"0": pattern}}
    return parse_program({"id": f"{instructions:.0e}", "trips": trips, "groups": [group]})


@pytest.mark.parametrize(
    "instructions",
    [10**4, 10**5, pytest.param(10**6, marks=pytest.mark.slow), pytest.param(10**7, marks=pytest.mark.slow)],
)
def test_time_grows_with_the_number_of_instructions(benchmark, instructions):
    program = block(instructions)
    run = benchmark.pedantic(simulate, args=(program,), rounds=1, iterations=1)
    if benchmark.stats:
        benchmark.extra_info["instructions_per_second"] = round(
            program.instructions / benchmark.stats.stats.min
        )
    benchmark.extra_info["events_per_instruction"] = round(run.events / program.instructions, 3)
    small = simulate(block(10**4))
    assert run.events / run.instructions == pytest.approx(small.events / small.instructions, rel=0.02)
    assert run.events < 2 * run.instructions


@pytest.mark.parametrize("pattern", [LINEAR, CONFLICT], ids=["no-conflict", "32-way"])
def test_a_conflict_costs_no_time_of_the_simulator(benchmark, pattern):
    program = block(20_000, pattern)
    run = benchmark.pedantic(simulate, args=(program,), rounds=1, iterations=1)
    benchmark.extra_info["cycles"] = run.cycles
    assert run.events < 1.1 * simulate(block(20_000)).events


def test_fast_costs_the_same_for_any_number_of_trips(benchmark):
    program = block(10**9)
    run = benchmark.pedantic(simulate, args=(program,), kwargs={"fast": True}, rounds=1, iterations=1)
    assert run.skipped_trips > 0.99 * WARPS * 10**9 / (len(BODY) * WARPS)
    assert run.events < 100_000


def test_memory_does_not_grow_with_the_trips():
    def peak(instructions: int) -> int:
        program = block(instructions)
        simulate(block(1000))
        tracemalloc.start()
        simulate(program)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(80_000) < 1.2 * peak(8_000)
