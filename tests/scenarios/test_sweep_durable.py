"""Sweeps that are killed, interrupted or moved to other workers end with the same bytes."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bankbench.scenarios.load import load, loads
from bankbench.scenarios.sweep import store as store_module
from bankbench.scenarios.sweep import tables as tables_module
from bankbench.scenarios.sweep import workers as workers_module
from bankbench.scenarios.sweep.disk import SweepError
from bankbench.scenarios.sweep.run import prepare, sweep

SCENARIO = """
name: t
buffers:
  tile: {dtype: f16, shape: [32, 64]}
accesses:
  - {name: store, buffer: tile, op: store, lanes: "[4 * s + lane // 8, 8 * (lane % 8)]", vector: 8, for: {s: 8}}
  - {name: load, buffer: tile, with: ldmatrix.x4, lanes: "[16 * b + lane % 16, 16 * k + 8 * (lane // 16)]",
     for: {b: 2, k: 4}}
sweep:
  parameters:
    buffers.tile.pad: {from: 0, to: 160, step: 4}
    buffers.tile.swizzle: [none, 32B, 64B, 128B, "Sw<3,3,3>", "Sw<2,3,4>", "Sw<1,3,5>"]
    chip.shared_memory.banks: [16, 32, 64]
  where: ["pad % 16 != 4 or banks > 16"]
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "t.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="module")
def undisturbed(scenario: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    plan = replace(prepare(load(scenario))[0], batch=40)
    return tables(run(plan, tmp_path_factory.mktemp("whole") / "out"))


def run(plan, folder: Path, **options) -> Path:
    sweep(plan, folder, **options)
    return folder


def tables(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "points.parquet").read_bytes(), (folder / "points.csv").read_bytes()


def small(scenario: Path):
    return replace(prepare(load(scenario))[0], batch=40)


def killed(scenario: Path, folder: Path, kills: int, workers: int) -> list[int]:
    script = Path(__file__).with_name("sweep_killer.py")
    command = [sys.executable, str(script), str(scenario), str(folder), str(kills), "7", str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return [int(line.split()[1]) for line in done.stdout.splitlines()]


def test_killed_24_times_at_random_moments_the_tables_are_the_same_bytes(
    scenario: Path, undisturbed: tuple[bytes, bytes], tmp_path: Path
) -> None:
    counts = killed(scenario, tmp_path, 24, 1)
    assert sum(counts) == 24
    for number in range(len(counts)):
        assert tables(tmp_path / str(number)) == undisturbed
        assert not list((tmp_path / str(number)).rglob("*.tmp"))


@pytest.mark.slow
def test_killed_with_its_workers_the_tables_are_the_same_bytes(
    scenario: Path, undisturbed: tuple[bytes, bytes], tmp_path: Path
) -> None:
    counts = killed(scenario, tmp_path, 8, 2)
    assert sum(counts) == 8
    for number in range(len(counts)):
        assert tables(tmp_path / str(number)) == undisturbed


def test_a_lost_worker_is_replaced(scenario: Path, undisturbed: tuple[bytes, bytes], tmp_path: Path) -> None:
    killed_one: list[int] = []

    def kill_one(done: int, batches: int) -> None:
        if done == 2 and not killed_one:
            worker = multiprocessing.active_children()[0]
            killed_one.append(worker.pid or 0)
            os.kill(worker.pid or 0, signal.SIGKILL)

    folder = run(small(scenario), tmp_path / "out", workers=2, progress=kill_one)
    assert killed_one
    assert tables(folder) == undisturbed


SCRIPT = """
import multiprocessing, sys
from dataclasses import replace
from bankbench.scenarios.load import load
from bankbench.scenarios.sweep.run import prepare, sweep
plan = replace(prepare(load(sys.argv[1]))[0], batch=40)
def told(done, batches):
    print(done, *(child.pid for child in multiprocessing.active_children()), flush=True)
print(sweep(plan, sys.argv[2], workers=2, progress=told).num_rows)
"""


def test_a_script_without_a_guard_can_use_workers(
    scenario: Path, undisturbed: tuple[bytes, bytes], tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(scenario), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert tables(tmp_path / "out") == undisturbed


def test_workers_end_when_their_parent_is_killed(scenario: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(scenario), str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout is not None
        workers: list[int] = []
        while not workers:
            workers = [int(word) for word in parent.stdout.readline().split()[1:]]
        parent.kill()
        parent.wait()
    for _ in range(200):
        if not any(Path(f"/proc/{worker}").exists() for worker in workers):
            return
        time.sleep(0.1)
    pytest.fail(f"workers {workers} still run")


@pytest.mark.parametrize(
    "last", [13, -1, -3]
)  # of the flushes: in a batch, for the whole table, for its lines
def test_a_full_disk_is_one_line_and_resume_goes_on(
    scenario: Path,
    undisturbed: tuple[bytes, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    last: int,
) -> None:
    real, calls = os.fsync, [0]
    plan = small(scenario)
    flushes = 2 * (
        1 + 2 * plan.batches + 2
    )  # a file and its folder: the manifest, two files a batch, two tables

    def full(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] > (last if last > 0 else flushes + last):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(SweepError, match=r"No space left on device; finished batches are safe"):
            run(plan, tmp_path / "out")
    assert not list(tmp_path.rglob("*.tmp"))
    done = len(list((tmp_path / "out" / "parts").glob("*.parquet")))
    assert 1 <= done <= plan.batches - (last > 0)
    if not (tmp_path / "out" / "points.parquet").exists():
        with pytest.raises(
            SweepError, match=rf"unfinished sweep lies here \({done} of {plan.batches} batches\)"
        ):
            run(plan, tmp_path / "out")
    assert tables(run(plan, tmp_path / "out", resume=True)) == undisturbed


def test_a_changed_scenario_is_refused_with_what_changed(scenario: Path, tmp_path: Path) -> None:
    folder = run(small(scenario), tmp_path / "out")
    changed = loads(SCENARIO.replace("vector: 8", "vector: 4").replace("to: 160", "to: 164"), str(scenario))
    with pytest.raises(SweepError) as caught:
        run(prepare(changed)[0], folder, resume=True)
    message = str(caught.value)
    assert "accesses[0].vector: 8 is now 4" in message
    assert "sweep.parameters.buffers.tile.pad" in message
    assert "--fresh" in message
    before = tables(folder)
    assert tables(run(small(scenario), folder)) == before  # a finished sweep is read, not done again
    renamed = loads(SCENARIO.replace("name: t\n", "name: t\ntitle: other words\n"), str(scenario))
    assert tables(run(prepare(renamed)[0], folder)) == before
    assert tables(run(replace(prepare(changed)[0], batch=40), folder, fresh=True)) != before


def test_a_folder_of_something_else_is_left_alone(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(SweepError, match=r"holds precious\.txt, which is no sweep's"):
        run(small(scenario), tmp_path)
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_a_sweep_killed_before_its_first_word_can_be_started_again(
    scenario: Path, undisturbed: tuple[bytes, bytes], tmp_path: Path
) -> None:
    (tmp_path / "out" / "parts").mkdir(parents=True)
    (tmp_path / "out" / ".lock").touch()
    (tmp_path / "out" / ".sweep.json.tmp").write_text('{"batch": 4')
    assert tables(run(small(scenario), tmp_path / "out", resume=True)) == undisturbed


def test_two_sweeps_cannot_write_into_one_folder(scenario: Path, tmp_path: Path) -> None:
    store = store_module.Store(tmp_path / "out")
    with store.locked(), pytest.raises(SweepError, match="another sweep is writing here"):
        run(small(scenario), tmp_path / "out")


@pytest.mark.parametrize("workers", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_workers_give_the_same_bytes(
    scenario: Path, undisturbed: tuple[bytes, bytes], tmp_path: Path, workers: int
) -> None:
    assert tables(run(small(scenario), tmp_path / "out", workers=workers)) == undisturbed


def test_many_row_groups_are_the_same_bytes_for_workers_and_after_a_resume(
    scenario: Path, undisturbed: tuple[bytes, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables_module, "_ROW_GROUP", 100)
    alone = run(small(scenario), tmp_path / "alone")
    whole = pq.ParquetFile(alone / "points.parquet")
    assert whole.metadata.num_row_groups > 4
    assert whole.read().equals(pq.ParquetFile(pa.BufferReader(undisturbed[0])).read())
    assert tables(run(small(scenario), tmp_path / "two", workers=2)) == tables(alone)

    def stop(done: int, batches: int) -> None:
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(small(scenario), tmp_path / "stopped", progress=stop)
    assert not list(tmp_path.rglob(".*.tmp"))
    assert tables(run(small(scenario), tmp_path / "stopped", resume=True)) == tables(alone)


def test_a_dask_cluster_gives_the_same_bytes(
    scenario: Path, undisturbed: tuple[bytes, bytes], tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        folder = run(small(scenario), tmp_path / "out", scheduler=cluster.scheduler_address)
    assert tables(folder) == undisturbed


def test_no_scheduler_is_one_line(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers_module, "_CONNECT", "1s")
    with pytest.raises(ValueError, match="no scheduler answers"):
        run(small(scenario), tmp_path / "out", scheduler="tcp://127.0.0.1:1")
