"""Random programs from the whole vocabulary: the same cycles as the cycle-by-cycle reference model, and invariants.

`reference_random.jsonl.gz` has programs of 1 to 32 warps in up to four groups, with what the reference model says to
each: every opcode, every access, barriers, idle warps, full queues.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from bankbench.sim.engine import simulate
from bankbench.sim.program import parse_program


@pytest.fixture(scope="module")
def runs(find_data, rows_of):
    """(row, full run with its timeline, fast run) of every random program."""
    rows = [row for path in find_data("reference_random.jsonl.gz") for row in rows_of(path)]
    assert len(rows) > 100
    programs = [(row, parse_program(row)) for row in rows]
    return [
        (row, simulate(program, timeline=True), simulate(program, fast=True)) for row, program in programs
    ]


def test_random_programs_take_the_cycles_of_the_reference_model(runs, row_report):
    for row, run, _ in runs:
        ends = [end for end in run.ends if end >= 0]
        ok = run.cycles == row["cycles"] and ends == row["ends"]
        row_report.check(ok, row["id"], f"reference {row['cycles']}, engine {run.cycles}")


def test_random_programs_extrapolated(runs, row_report):
    skipped = 0
    for row, full, fast in runs:
        same = (full.cycles, full.ends, full.stalls) == (fast.cycles, fast.ends, fast.stalls)
        row_report.check(same, row["id"], f"full {full.cycles}, fast {fast.cycles}")
        skipped += fast.skipped_trips > 0
    assert skipped > 10


def test_a_partition_issues_one_instruction_a_cycle(runs):
    for row, run, _ in runs:
        issued: dict[int, list[int]] = {}
        for entry in run.timeline:
            issued.setdefault(entry.warp % 4, []).append(entry.issue)
        for cycles in issued.values():
            assert all(one < other for one, other in pairwise(cycles)), row["id"]
