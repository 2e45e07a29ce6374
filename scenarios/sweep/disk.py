"""Files of a sweep that are whole or absent, and errors of the disk as one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ScenarioError


class SweepError(ScenarioError):
    """The folder of a sweep cannot be used or written; the message says what to do."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the disk in this block become a `SweepError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise SweepError(
            f"{path}: cannot be written: {error.strerror or error}; finished batches are safe, --resume goes on"
        ) from None


def beside(path: Path) -> Path:
    """Where a file grows before it is moved into its place."""
    return path.with_name(f".{path.name}.tmp")


def move(beside: Path, path: Path) -> None:
    """Moves a written file into its place once it is on the disk."""
    flush(beside)
    beside.replace(path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Sends a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
