"""Result values: tables with documented columns, exit codes."""

from __future__ import annotations

import numpy as np
import pytest
from bankbench.sim import Column, RunResult, Table

COLUMNS = (Column("op", "", "instruction"), Column("cycles", "cycles", "time"))


def test_table():
    table = Table("t", "T", COLUMNS, {"op": ["lds", "sts"], "cycles": np.array([1.5, 2.0])})
    assert len(table) == 2
    rows = list(table.rows())
    assert rows == [{"op": "lds", "cycles": 1.5}, {"op": "sts", "cycles": 2.0}]
    assert type(rows[0]["cycles"]) is float
    assert table.frame().columns.tolist() == ["op", "cycles"]
    assert len(Table("e", "E", (), {})) == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [({"op": ["lds"]}, "columns"), ({"op": ["lds"], "cycles": [1, 2]}, "different length")],
)
def test_tables_that_do_not_fit(data, words):
    with pytest.raises(ValueError, match=words):
        Table("t", "T", COLUMNS, data)


def test_exit_codes():
    plain = {
        "name": "n",
        "title": "T",
        "chip": "h200",
        "chip_title": "H200",
        "status": "measured",
        "headline": "h",
    }
    assert RunResult(**plain).exit_code == 0
    assert RunResult(**plain, unknowns=("a",)).exit_code == 3
    assert RunResult(**plain, unknowns=("a",), violations=("b",)).exit_code == 1
    table = Table("t", "T", COLUMNS, {"op": [], "cycles": []})
    assert RunResult(**plain, tables=(table,)).table("t") is table
    with pytest.raises(KeyError, match="no table 'u'"):
        RunResult(**plain, tables=(table,)).table("u")
