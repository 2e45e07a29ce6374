"""The folder of a sweep: every finished batch is a file of its own, moved into place whole and flushed to the disk.

    sweep.json       what is being swept; a changed scenario is compared against it
    parts/           part-000000.csv and .parquet, ...: finished batches, until the whole table is there
    points.parquet, points.csv    the whole table, once the last batch is there

A killed sweep leaves whole parts and perhaps a temporary file; `--resume` does the batches that are missing.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .disk import SweepError, beside, move, writing
from .tables import WHOLE, Part, Whole, read

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "sweep.json"
_SHOWN = 6


class Store:
    """Reads and writes the folder of one sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = folder / "parts"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The folder for this process alone; the lock goes with the process, however it ends."""
        import fcntl

        with writing(self.folder):
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
            with writing(self.folder):
                for folder in (self.folder, self._parts):
                    for stray in folder.glob(".*.tmp"):
                        stray.unlink()
            return int(old["batch"])
        # A sweep that was killed before its first word leaves these; anything else is not ours.
        started = {".lock", "parts", f".{MANIFEST}.tmp"}
        strange = (
            [p.name for p in self.folder.iterdir() if p.name not in started] if not path.exists() else []
        )
        if strange:
            raise SweepError(f"{self.folder}: holds {min(strange)}, which is no sweep's; name a new folder")
        with writing(self.folder):
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

    @contextmanager
    def joining(self) -> Iterator[Whole]:
        """The whole table while it grows; what it wrote beside its place goes when the sweep does not end well."""
        whole = Whole(self.folder)
        try:
            yield whole
        finally:
            whole.drop()

    def finish(self, whole: Whole) -> pa.Table:
        """Moves the joined batches into `points.csv` and `points.parquet`; returns the table."""
        table = whole.table()
        for name in WHOLE:
            with writing(self.folder / name):
                move(beside(self.folder / name), self.folder / name)
        self._drop_parts()
        return table

    def read(self) -> pa.Table:
        """The table of a complete sweep."""
        self._drop_parts()
        return read(self.folder / "points.parquet")

    def _drop_parts(self) -> None:
        for path in self._parts.glob("part-*"):
            path.unlink()  # the whole table is on the disk

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SweepError(f"{path}: cannot be read ({error}); start over with --fresh") from None

    def _clear(self) -> None:
        """Removes what an earlier sweep left, its mark last, so that a killed clearing is still a sweep's folder."""
        for name in reversed(WHOLE):
            (self.folder / name).unlink(missing_ok=True)
            beside(self.folder / name).unlink(missing_ok=True)
        for pattern in ("part-*", ".part-*.tmp"):
            for path in self._parts.glob(pattern):
                path.unlink()
        (self.folder / MANIFEST).unlink(missing_ok=True)

    def _replace(self, path: Path, data: bytes) -> None:
        """Writes a file whole: beside its place, to the disk, then moved over."""
        growing = beside(path)
        with writing(path):
            try:
                growing.write_bytes(data)
                move(growing, path)
            except OSError:
                growing.unlink(missing_ok=True)
                raise


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """What changed between two descriptions: `buffers.tile.pad: 0 is now 1`, the first few."""
    found = [
        f"{key}: {old.get(key, 'nothing')} is now {new.get(key, 'nothing')}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]
    more = len(found) - _SHOWN
    return found[:_SHOWN] + ([f"{more} more"] if more > 0 else [])
