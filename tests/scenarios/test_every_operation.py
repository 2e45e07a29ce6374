"""Every instruction through everything that speaks of it: the reasons, the phases, the report and its pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from bankbench.reports.folder import write_folder
from bankbench.scenarios.load import loads
from bankbench.scenarios.run import run_scenario
from bankbench.sim import explain
from bankbench.sim.memory import OPERATIONS

PATTERNS = {
    "one word": ("0 * lane", lambda lane: 0),
    "two words": ("128 * (lane % 2)", lambda lane: 128 * (lane % 2)),
    "one bank": ("128 * lane", lambda lane: 128 * lane),
    "pairs": ("16 * (lane // 2)", lambda lane: 16 * (lane // 2)),
}
NAMES = [kind.name for kind in OPERATIONS if kind.width < 16]


def ran(name: str, pattern: str):
    access = f"{{name: a, op: {name}, bytes: '{PATTERNS[pattern][0]}', mask: 'lane < 29'}}"
    return run_scenario(loads(f"name: t\naccesses:\n  - {access}\n"))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", NAMES)
def test_the_phases_add_up_and_a_reason_names_lanes_that_meet(name: str, pattern: str) -> None:
    result = ran(name, pattern)
    if result.status == "unknown":
        assert "minmax" in name
        assert "depend on the data" in " ".join(result.unknowns)
        return
    (row,) = result.table("accesses").rows()
    witness = explain([PATTERNS[pattern][1](lane) for lane in range(32)], name, mask=2**29 - 1)
    assert sum(phase.wavefronts for phase in witness.phases) == row["wavefronts"]
    assert list(witness.lines())
    assert bool(row["excess"]) == any("meet on bank" in reason for reason in result.reasons)


@pytest.mark.parametrize("name", ["lds.32", "atom.add.u32", "red.add.f32", "atom.add.u64", "atom.minmax.b64"])
def test_the_report_of_every_way_of_being_served_is_written(name: str, tmp_path: Path) -> None:
    write_folder(ran(name, "two words"), tmp_path / "report")
    assert (tmp_path / "report" / "report.html").stat().st_size > 1000
