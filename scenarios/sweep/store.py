"""The folder of a sweep: every finished batch is a file of its own, moved into place whole and flushed to the disk.

    sweep.json       what is being swept; a changed scenario is compared against it
    parts/           part-000000.csv and .parquet, ...: finished batches, until the whole table is there
    points.parquet, points.csv    the whole table, once the last batch is there

A killed sweep leaves whole parts and perhaps a temporary file; `--resume` does the batches that are missing.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ScenarioError

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "sweep.json"
_SHOWN = 6


class SweepError(ScenarioError):
    """The folder of a sweep cannot be used or written; the message says what to do."""


class Store:
    """Reads and writes the folder of one sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = folder / "parts"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The folder for this process alone; the lock goes with the process, however it ends."""
        import fcntl

        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            stream = (self.folder / ".lock").open("a")
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                raise SweepError(f"{self.folder}: another sweep is writing here") from None
            yield

    def open(self, identity: Mapping[str, str], batch: int, *, resume: bool, fresh: bool) -> int:
        """Starts a new folder or joins an unfinished one; returns the points a batch, which stay as they began.

        Raises `SweepError` for a folder of something else, an unfinished sweep without `resume`, and a scenario that
        has changed since, with what changed.
        """
        path = self.folder / MANIFEST
        if path.exists() and not fresh:
            old = self._manifest()
            changes = differences(old["identity"], identity)
            if changes:
                raise SweepError(
                    f"{self.folder}: the scenario has changed since this sweep began: {'; '.join(changes)}; "
                    "take another folder with --out, or start over with --fresh"
                )
            if not resume and not self.complete():
                done = len(self.finished())
                raise SweepError(
                    f"{self.folder}: an unfinished sweep lies here ({done} of {old['batches']} batches); "
                    "--resume goes on, --fresh starts over"
                )
            with _writing(self.folder):
                for stray in self._parts.glob(".*.tmp"):
                    stray.unlink()
            return int(old["batch"])
        # A sweep that was killed before its first word leaves these; anything else is not ours.
        started = {".lock", "parts", f".{MANIFEST}.tmp"}
        strange = (
            [p.name for p in self.folder.iterdir() if p.name not in started] if not path.exists() else []
        )
        if strange:
            raise SweepError(f"{self.folder}: holds {min(strange)}, which is no sweep's; name a new folder")
        with _writing(self.folder):
            self._clear()
            self._parts.mkdir(exist_ok=True)
        return batch

    def begin(self, identity: Mapping[str, str], batch: int, batches: int) -> None:
        """Writes down what is being swept, unless it stands there already."""
        path = self.folder / MANIFEST
        if not path.exists():
            text = json.dumps({"batch": batch, "batches": batches, "identity": dict(identity)}, indent=1)
            self._replace(path, text.encode())

    def finished(self) -> list[int]:
        """Numbers of the batches that are done and not yet part of the whole table."""
        return sorted(int(path.stem.split("-")[1]) for path in self._parts.glob("part-*.parquet"))

    def complete(self) -> bool:
        """Whether the whole table is there."""
        return (self.folder / "points.parquet").exists()

    def write(self, batch: int, part: Part) -> None:
        """Makes a finished batch durable; it counts as done with its second file."""
        self._replace(self._parts / f"part-{batch:06d}.csv", part.csv)
        self._replace(self._parts / f"part-{batch:06d}.parquet", part.parquet)

    def finish(self, batches: int) -> pa.Table:
        """Joins all batches in their order into `points.csv` and `points.parquet`; returns the table."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole = self.folder / "points.parquet"
        if not self.complete():
            stems = [self._parts / f"part-{number:06d}" for number in range(batches)]
            tables = [pq.read_table(stem.with_suffix(".parquet")) for stem in stems]
            table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
            head = ",".join(f'"{name}"' for name in table.column_names) + "\n"
            pieces = (stem.with_suffix(".csv").read_bytes() for stem in stems)
            self._replace(self.folder / "points.csv", b"".join([head.encode(), *pieces]))
            self._replace(whole, _parquet(table))
        for path in self._parts.glob("part-*"):
            path.unlink()  # the whole table is on the disk
        return pq.read_table(whole)

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SweepError(f"{path}: cannot be read ({error}); start over with --fresh") from None

    def _clear(self) -> None:
        """Removes what an earlier sweep left, its mark last, so that a killed clearing is still a sweep's folder."""
        for name in ("points.parquet", "points.csv"):
            (self.folder / name).unlink(missing_ok=True)
        for pattern in ("part-*", ".part-*.tmp"):
            for path in self._parts.glob(pattern):
                path.unlink()
        (self.folder / MANIFEST).unlink(missing_ok=True)

    def _replace(self, path: Path, data: bytes) -> None:
        """Writes a file whole: beside its place, to the disk, then moved over."""
        beside = path.with_name(f".{path.name}.tmp")
        with _writing(path):
            try:
                with beside.open("wb") as stream:
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
                beside.replace(path)
                folder = os.open(path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
            except OSError:
                beside.unlink(missing_ok=True)
                raise


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SweepError(
            f"{path}: cannot be written: {error.strerror or error}; finished batches are safe, --resume goes on"
        ) from None


@dataclass(frozen=True, slots=True)
class Part:
    """A batch as it lies on the disk: the bytes of a Parquet file, and lines of CSV without a heading."""

    parquet: bytes
    csv: bytes

    @classmethod
    def of(cls, table: pa.Table) -> Part:
        """The bytes of a table; equal tables give equal bytes."""
        import pyarrow as pa
        from pyarrow import csv

        sink = pa.BufferOutputStream()
        csv.write_csv(table, sink, csv.WriteOptions(include_header=False))
        return cls(_parquet(table), sink.getvalue().to_pybytes())


def _parquet(table: pa.Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    options: dict[str, Any] = {"use_dictionary": texts, "row_group_size": 1 << 20}
    pq.write_table(table, sink, compression="snappy", **options)
    return sink.getvalue().to_pybytes()


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """What changed between two descriptions: `buffers.tile.pad: 0 is now 1`, the first few."""
    found = [
        f"{key}: {old.get(key, 'nothing')} is now {new.get(key, 'nothing')}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]
    more = len(found) - _SHOWN
    return found[:_SHOWN] + ([f"{more} more"] if more > 0 else [])
