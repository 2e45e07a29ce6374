"""Speed of reading traces: figures to look at, by the length of the trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bankbench.scenarios.traces import replay

_ROWS = 20_000


def write(path: Path, rows: int) -> None:
    offsets = 4 * np.random.default_rng(1).integers(0, 8192, (rows, 32))
    with path.open("w", encoding="utf-8") as stream:
        stream.write("pc,op,offsets\n")
        for number, row in enumerate(offsets.tolist()):
            stream.write(f"{number % 16},LDS,{' '.join(map(str, row))}\n")


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("traces")
    for name, rows in (("short.csv", _ROWS), ("long.csv", 4 * _ROWS)):
        write(folder / name, rows)
    return folder / "short.csv", folder / "long.csv"


@pytest.mark.parametrize("which", [0, 1], ids=["20000 rows", "80000 rows"])
def test_time_by_length(benchmark, traces: tuple[Path, Path], which: int) -> None:
    result = benchmark(replay, traces[which])
    assert result.extra["totals"]["instructions"] == (1 + 3 * which) * _ROWS
