"""How fast a counting sweep is from the scenario to its files, and what a second worker brings.

    pytest tests/benchmarks/test_sweep.py --benchmark-enable

Every (point, access) pair of these sweeps is counted on its own: no two points share layout and chip. What is asserted
are ratios; the rates stand in the benchmark's table (`extra_info`).
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from bankbench.scenarios.fix import fix_scenario
from bankbench.scenarios.load import loads
from bankbench.scenarios.sweep.run import prepare, sweep
from bankbench.sim import Trace, count_trace, parse_op

SWIZZLES = ", ".join(f'"Sw<{b},{m},{s}>"' for b in (1, 2, 3, 4) for m in (3, 4, 5, 6, 7) for s in range(b, 9))
SCENARIO = f"""
name: t
buffers:
  tile: {{dtype: f16, shape: [64, 64]}}
accesses:
  - {{name: store, buffer: tile, op: store, lanes: "[4 * s + lane // 8, 8 * (lane % 8)]", vector: 8, for: {{s: 16}}}}
  - {{name: load, buffer: tile, with: ldmatrix.x4, lanes: "[16 * b + lane % 16, 16 * k + 8 * (lane // 16)]",
     for: {{b: 4, k: 4}}}}
sweep:
  parameters:
    buffers.tile.pad: {{from: 0, to: LAST, step: 8}}
    buffers.tile.swizzle: [none, {SWIZZLES}]
    chip.shared_memory.banks: [8, 16, 32, 64, 128, 256]
    chip.shared_memory.bank_bytes: WIDTHS
  limit: 10000000
"""
WIDTHS = "[2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]"
FIX = """
name: t
buffers:
  tile: {dtype: f16, shape: [128, 64]}
accesses:
  - {name: store, buffer: tile, op: store, lanes: "[4 * s + lane // 8, 8 * (lane % 8)]", vector: 8, for: {s: 32}}
  - {name: load, buffer: tile, with: ldmatrix.x4, lanes: "[16 * b + lane % 16, 16 * k + 8 * (lane // 16)]",
     for: {b: 8, k: 4}}
"""


def cpu_seconds(function, *arguments) -> float:
    """Seconds of this process's processor, which other people's work on the machine does not lengthen much."""
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def whole_sweep(last: int, folder: Path, workers: int = 1, widths: str = "[4]") -> int:
    """A sweep from its text to its files; returns the (point, access) pairs that were counted."""
    plan, size = prepare(loads(SCENARIO.replace("LAST", str(last)).replace("WIDTHS", widths)))
    table = sweep(plan, folder, workers=workers)
    assert table["error"].null_count == table.num_rows
    return table.num_rows * size.instructions


def test_pairs_per_second_on_one_core(benchmark, tmp_path: Path) -> None:
    whole_sweep(8, tmp_path / "warm")
    count = iter(range(100))
    cpu: list[float] = []

    def run() -> int:
        pairs: list[int] = []
        cpu.append(cpu_seconds(lambda: pairs.append(whole_sweep(800, tmp_path / str(next(count))))))
        return pairs[0]

    pairs = benchmark.pedantic(run, rounds=3)
    benchmark.extra_info["million pairs per second of processor time"] = round(pairs / min(cpu) / 1e6, 2)
    # Counting alone, on ready traces of the same kinds of accesses, bounds what a sweep can reach.
    rng = np.random.default_rng(0)
    offsets = (rng.integers(0, 2048, (1 << 16, 32)) * 16).astype(np.int32)
    traces = [Trace.of(offsets, op=parse_op(name)) for name in ("sts.128", "ldmatrix.x4")]
    counting = min(cpu_seconds(lambda: [count_trace(trace) for trace in traces]) for _ in range(3))
    benchmark.extra_info["times the counting alone"] = round(min(cpu) / pairs / (counting / (2 << 16)), 2)


@pytest.mark.slow
def test_two_workers_against_one(benchmark, tmp_path: Path) -> None:
    """The ratio needs two free cores; on a busy machine it only shows in the table.

    One worker and two take turns, so that a change of the machine's speed meets both.
    """
    ratios: list[float] = []
    for turn in range(3):
        times = []
        for workers in (1, 2):
            start = time.perf_counter()
            whole_sweep(1600, tmp_path / f"{turn}-{workers}", workers, WIDTHS)
            times.append(time.perf_counter() - start)
        ratios.append(times[0] / times[1])
    benchmark.extra_info["two workers against one"] = round(float(np.median(ratios)), 2)
    benchmark.pedantic(lambda: None)
    print("two workers against one:", ", ".join(f"{ratio:.2f}" for ratio in ratios))


def test_fix_in_less_time_than_a_second(benchmark) -> None:
    loaded = loads(FIX)
    result = benchmark(fix_scenario, loaded)
    assert result.table("layouts").data["excess"][0] == 0
