"""Every address pattern measured on an H200: counts equal to the hardware counters, cycles to the clock."""

from __future__ import annotations

import numpy as np
import pytest
from bankbench.sim import Trace, bank_words, broadcast_lanes, count, count_trace, explain, load_chip, parse_op
from bankbench.sim.memory import throughput_cycles

PATTERN = "h200_smem*.jsonl*"


def as_trace(rows):
    return Trace.of(
        np.array([row["offsets"] for row in rows]),
        op=[row["op"] for row in rows],
        width=[row["width_bytes"] for row in rows],
        variant=[row["variant"] for row in rows],
        mask=[row["mask"] for row in rows],
    )


@pytest.fixture(scope="module")
def rows(find_data, rows_of):
    return [row for path in find_data(PATTERN) for row in rows_of(path)]


@pytest.fixture(scope="module")
def counts(rows):
    return count_trace(as_trace(rows))


def column(rows, name):
    return np.array([np.nan if row.get(name) is None else row[name] for row in rows], dtype=float)


def test_wavefronts_and_conflicts(rows, counts, row_report):
    for row, wavefronts, conflicts in zip(
        rows, counts.wavefronts.tolist(), counts.bank_conflicts.tolist(), strict=True
    ):
        measured = row["wavefronts"], row["bank_conflicts"]
        row_report.check(
            (wavefronts, conflicts) == measured, row["id"], f"{(wavefronts, conflicts)}, measured {measured}"
        )
    assert set(counts.statuses) == {"measured"}
    assert counts.assumptions == counts.reasons == ()


@pytest.mark.parametrize(
    ("field", "attribute"),
    [("latency_cycles", "latency_cycles"), ("pointer_chase_cycles", "pointer_chase_cycles")],
)
def test_chains(rows, counts, row_report, field, attribute):
    """Dependent chains within 0.1 cycle wherever one was measured, and nothing where no result comes back."""
    for row, cycles in zip(rows, getattr(counts, attribute).tolist(), strict=True):
        if row.get(field) is not None:
            row_report.check(abs(cycles - row[field]) <= 0.1, row["id"], f"{cycles}, measured {row[field]}")
        elif field == "latency_cycles" and field in row:
            row_report.check(np.isnan(cycles), row["id"], f"{cycles}, but nothing returns")


def test_issue_of_one_warp(rows, counts):
    """The least solid field: the rule is to meet 97 % of the rows within 0.25 cycle or 5 %, as its source says."""
    measured = column(rows, "issue_cycles")
    known = ~np.isnan(measured) & ~np.isnan(counts.issue_cycles)
    error = np.abs(counts.issue_cycles - measured)[known]
    assert known.sum() > 5000
    assert (np.minimum(error / 0.25, error / measured[known] / 0.05) <= 1).mean() > 0.97


def test_throughput_of_several_warps(rows, counts, row_report):
    """Cycles a warp instruction of the SM, 4 warps and more, within 3 %; few readings lie outside (of 740: 2)."""
    chip, outside = load_chip("h200"), 0
    for index, row in enumerate(rows):
        if not row.get("throughput") or row["variant"] == "red.add.f32":
            continue
        for warps, measured in row["throughput"].items():
            if int(warps) >= 4:
                found = throughput_cycles(counts.kind[index], counts.wavefronts[index], int(warps), chip)
                outside += abs(float(found) - measured) > 0.03 * measured
                row_report.check(abs(float(found) - measured) <= 0.1 * measured, row["id"], (found, measured))
    assert outside <= max(3, 0.01 * row_report.rows)


def test_ideal_excess_floor(rows, counts):
    assert (counts.excess_wavefronts >= 0).all()
    assert (counts.floor_wavefronts <= counts.wavefronts).all()
    words = np.array([row["op"] != "atoms" for row in rows])
    assert np.array_equal(counts.excess_wavefronts[words], counts.bank_conflicts[words])
    assert (counts.worst_ways <= counts.wavefronts).all()


def test_one_at_a_time_gives_the_same(rows, counts, row_report):
    """A sample through `count` and `explain`, which must add up to the same numbers phase by phase."""
    trace = as_trace(rows)
    busiest, shared = bank_words(trace), broadcast_lanes(trace)
    for index in range(0, len(rows), 9):
        row = rows[index]
        parts = row["op"], row["width_bytes"], row["mask"], row["variant"]
        one = count(row["offsets"], *parts)
        witness = explain(row["offsets"], *parts)
        phases = [phase.wavefronts for phase in witness.phases]
        ways = [bank.ways for phase in witness.phases for bank in phase.worst]
        expected = int(counts.wavefronts[index])
        lanes = {lane for phase in witness.phases for lane in phase.broadcast}
        row_report.check(int(one.wavefronts[0]) == expected, row["id"], "count")
        row_report.check(sum(phases) == expected, row["id"], f"phases {phases}, counted {expected}")
        if parse_op(*parts[:2], parts[3]).serves == "words":
            row_report.check(max(ways, default=0) == counts.worst_ways[index], row["id"], "worst bank")
            row_report.check(
                lanes == set(np.flatnonzero(shared[index]).tolist()), row["id"], "broadcast lanes"
            )
            by_bank = np.zeros(32, dtype=int)
            for phase in witness.phases:
                for bank in phase.banks:
                    by_bank[bank.bank] += bank.ways
            row_report.check(np.array_equal(by_bank, busiest[index]), row["id"], "words of the banks")
