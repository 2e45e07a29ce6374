"""Rows with right answers: repeatable, of every operation, and read back by the command line with the same answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bankbench.scenarios.cli.app import build
from bankbench.scenarios.testing import oracle_rows
from bankbench.sim.memory import AccessError
from typer.testing import CliRunner


def test_the_same_seed_gives_the_same_rows() -> None:
    assert oracle_rows(200, seed=5) == oracle_rows(200, seed=5)
    assert oracle_rows(200, seed=5) != oracle_rows(200, seed=6)


def test_every_known_operation_comes_with_conflicts_and_without() -> None:
    rows = oracle_rows(4000, seed=1)
    names = {(row["op"], row["width_bytes"], row["variant"]) for row in rows}
    assert len(names) >= 36
    assert not any("minmax" in str(row["variant"]) for row in rows)
    assert {row["status"] for row in rows} == {"measured"}
    free = sum(row["wavefronts"] == row["ideal_wavefronts"] for row in rows)
    assert 0.05 < free / len(rows) < 0.95
    assert all(0 <= offset < 49152 for row in rows for offset in row["offsets"])


def test_the_command_line_reads_them_and_agrees(tmp_path: Path) -> None:
    rows = oracle_rows(300, seed=2)
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = CliRunner().invoke(build("count"), ["count", "--file", str(file)])
    assert found.exit_code == 0, found.output
    answers = [json.loads(line) for line in found.stdout.splitlines()]
    for row, answer in zip(rows, answers, strict=True):
        assert [answer[name] for name in ("id", "wavefronts", "bank_conflicts", "ideal_wavefronts")] == [
            row[name] for name in ("id", "wavefronts", "bank_conflicts", "ideal_wavefronts")
        ]


def test_operations_can_be_chosen() -> None:
    assert {row["op"] for row in oracle_rows(20, operations=["lds.128", "lds.64"])} == {"lds"}
    with pytest.raises(AccessError, match="unknown operation"):
        oracle_rows(1, operations=["load"])
