"""Speed of reading traces: figures to look at, and a ratio that holds on any machine."""

from __future__ import annotations

from pathlib import Path
from time import process_time

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


def test_time_grows_with_the_trace_and_no_faster(traces: tuple[Path, Path]) -> None:
    spent = []
    for path in (traces[0], *traces):  # the first run warms up
        started = process_time()
        replay(path)
        spent.append(process_time() - started)
    assert spent[2] < 8 * spent[1]


def test_replay_speed(benchmark, traces: tuple[Path, Path]) -> None:
    result = benchmark(replay, traces[0])
    assert result.extra["totals"]["instructions"] == _ROWS
