"""Shared helpers of the tests: where data lives, and data that anybody may add without touching the code."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"


def data_files(pattern: str) -> list[Path]:
    """Files of `tests/data` that match a glob, and those of the folder that BANKBENCH_EXTRA_DATA names."""
    folders = [DATA]
    extra = os.environ.get("BANKBENCH_EXTRA_DATA")
    if extra:
        folders.append(Path(extra))
    return [path for folder in folders for path in sorted(folder.glob(pattern)) if path.is_file()]


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON-lines file, plain or gzipped."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)


class RowReport:
    """Counts the rows that a data test compares and keeps the first ten that differ.

    `check(ok, row_id, detail)` for every row, `finish()` at the end: it prints the number of rows and
    fails with the list when any differs, or when no row was checked at all.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self.skipped = 0
        self.differing: list[str] = []
        self.wrong = 0

    def check(self, ok: bool, row_id: object, detail: object = "") -> None:
        self.rows += 1
        if not ok:
            self.wrong += 1
            if len(self.differing) < 10:
                self.differing.append(f"{row_id}: {detail}")

    def skip(self) -> None:
        self.skipped += 1

    def finish(self) -> None:
        print(f"{self.name}: {self.rows} rows checked, {self.wrong} differ, {self.skipped} left out")
        assert self.rows, f"{self.name}: no row was checked"
        assert not self.wrong, f"{self.name}: {self.wrong} of {self.rows} rows differ; first:\n" + "\n".join(
            self.differing
        )


@pytest.fixture
def row_report(request: pytest.FixtureRequest) -> Iterator[RowReport]:
    report = RowReport(request.node.name)
    yield report
    report.finish()


@pytest.fixture(scope="session")
def find_data():
    return data_files


@pytest.fixture(scope="session")
def rows_of():
    return read_rows
