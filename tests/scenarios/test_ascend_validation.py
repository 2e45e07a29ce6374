"""The vendor's published tables: every row that has to be met, with its tolerance."""

from __future__ import annotations

import pytest
from bankbench.scenarios.validation import SETS, Row
from bankbench.scenarios.validation.ascend import rows
from bankbench.scenarios.validation.ascend_mte2 import FITTED
from bankbench.sim.chip import load_chip

CHIPS = ("ascend910b", "ascend950")


@pytest.fixture(scope="module")
def tables() -> dict[str, list[Row]]:
    found = {item.chip: list(item.rows(load_chip(item.chip))) for item in SETS if item.format == "ascend"}
    assert tuple(found) == CHIPS
    return found


def of(tables: dict[str, list[Row]], chip: str, kind: str) -> list[Row]:
    chosen = [row for row in tables[chip] if row.kind.startswith(kind)]
    assert chosen
    return chosen


def off(row: Row) -> str:
    return f"{row.id}: measured {row.measured:.4f}, predicted {row.predicted:.4f} ({row.error:+.1%})"


# kind -> (rows on the 910B, rows on the 950, largest relative error)
KINDS = {
    "ub ratio": (8, 0, 0.017),
    "ub loop ratio": (0, 3, 0.10),
    "nd2nz ratio": (1, 1, 0.15),
    "mmad": (3, 0, 0.02),
    "mte2 shape": (7, 6, 0.15),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chip", CHIPS)
def test_ratios_and_times(tables: dict[str, list[Row]], chip: str, kind: str) -> None:
    number, tolerance = KINDS[kind][CHIPS.index(chip)], KINDS[kind][2]
    found = [row for row in tables[chip] if row.kind == kind]
    assert len(found) == number
    assert [off(row) for row in found if abs(row.error) > tolerance] == []


@pytest.mark.parametrize(
    ("chip", "kinds"), [(CHIPS[0], ("matmul single", "matmul base")), (CHIPS[1], ("matmul base",))]
)
def test_cube_shares_within_six_points(
    tables: dict[str, list[Row]], chip: str, kinds: tuple[str, ...]
) -> None:
    found = [row for kind in kinds for row in of(tables, chip, kind)]
    assert [off(row) for row in found if abs(row.predicted - row.measured) > 0.06] == []


def test_tuned_variants_come_close(tables: dict[str, list[Row]]) -> None:
    """No tolerance is asked here; the model keeps within 9 points."""
    found = [row for chip in CHIPS for row in of(tables, chip, "matmul tuned")]
    assert [off(row) for row in found if abs(row.predicted - row.measured) > 0.09] == []


@pytest.mark.parametrize("chip", CHIPS)
def test_every_pair_of_variants_is_in_order(tables: dict[str, list[Row]], chip: str) -> None:
    [row] = of(tables, chip, "matmul order")
    assert row.predicted == row.measured >= 9


def test_the_hard_rows_are_met_by_the_dynamic_mechanism(tables: dict[str, list[Row]]) -> None:
    five, seven = (next(row for row in tables["ascend910b"] if row.id == f"ub-{i}") for i in (5, 7))
    assert five.predicted == pytest.approx(135 / 86)
    assert seven.predicted == pytest.approx(127 / 86)


@pytest.mark.parametrize("chip", CHIPS)
def test_rows_left_out_of_the_fit(tables: dict[str, list[Row]], chip: str) -> None:
    """All but the only row of single short copies, which alone tells the cost of an instruction from that of a run."""
    assert len(FITTED) == 3
    found = of(tables, chip, "mte2 leave out")
    assert [off(row) for row in found if abs(row.error) > 0.15 and row.id != "GM -> UB 1x64"] == []


def test_cases_without_baseline_are_printed_only(tables: dict[str, list[Row]]) -> None:
    found = of(tables, "ascend950", "ub counts")
    assert len(found) == 7
    assert all(row.left_out for row in found)


@pytest.mark.parametrize("chip", CHIPS)
def test_further_rows_of_the_same_form(
    find_data, row_report, tables: dict[str, list[Row]], chip: str
) -> None:
    found = [
        *tables[chip],
        *(row for path in find_data(f"{chip}*.jsonl*") for row in rows(load_chip(chip), path)),
    ]
    for row in found:
        if not row.left_out and not row.kind.startswith(("matmul tuned", "mte2 leave")):
            row_report.check(row.right, row.id, off(row))
