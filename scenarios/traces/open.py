"""Which kind of trace a file is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import Place, ScenarioError
from ..profiles.text import DAMAGED, open_bytes
from .batch import Batch, Places
from .blocks import Progress

FORMATS = ("csv", "jsonl", "parquet", "nvbit", "accelsim")
Reader = Callable[[Path, Places, "Progress | None"], Iterator[Batch]]


def open_trace(
    path: Path, places: Places, progress: Progress | None = None, kind: str | None = None
) -> tuple[str, Iterator[Batch]]:
    """(kind, batches) of a trace; the kind is told by the name and the first bytes unless it is given.

    Raises `ScenarioError` when the file is not there or of no known kind; reading errors are raised while iterating.
    """
    kind = kind or kind_of(path)
    if kind == "csv":
        from .rows import csv_batches as reader
    elif kind == "jsonl":
        from .rows import jsonl_batches as reader
    elif kind == "parquet":
        from .rows import parquet_batches as reader
    elif kind == "nvbit":
        from .nvbit import nvbit_batches as reader
    elif kind == "accelsim":
        from .accelsim import accelsim_batches as reader
    elif kind == "kernelslist":
        return kind, _list_batches(path, places, progress)
    else:
        raise ScenarioError(f"format {kind!r}; known: {', '.join(FORMATS)}")
    return kind, reader(path, places, progress)


def _list_batches(path: Path, places: Places, progress: Progress | None) -> Iterator[Batch]:
    from .accelsim import accelsim_batches, kernels_list

    for kernel in kernels_list(path):
        yield from accelsim_batches(kernel, places, progress)


def kind_of(path: Path) -> str:
    """The kind of a trace: by its name where that is clear, else by how it begins."""
    names = [suffix.lower() for suffix in path.suffixes]
    if path.name.startswith("kernelslist"):
        return "kernelslist"
    for name, kind in ((".csv", "csv"), (".jsonl", "jsonl"), (".ndjson", "jsonl"), (".parquet", "parquet")):
        if name in names:
            return kind
    if ".traceg" in names or ".tracez" in names or ".trace" in names:
        return "accelsim"
    try:
        with open_bytes(path) as stream:
            start = stream.read(1 << 16)
    except FileNotFoundError:
        raise ScenarioError("no such file", place=Place(str(path))) from None
    except DAMAGED as error:
        raise ScenarioError(f"cannot be read: {error}", place=Place(str(path))) from None
    if start[:4] == b"PAR1":
        return "parquet"
    if b"MEMTRACE:" in start:
        return "nvbit"
    if start.lstrip()[:1] == b"{":
        return "jsonl"
    if b"#traces format" in start or start.startswith(b"-kernel"):
        return "accelsim"
    head = start.split(b"\n", 1)[0].lower()
    if b"op" in head and (b"offsets" in head or b"o0" in head):
        return "csv"
    raise ScenarioError(
        f"no trace that is known ({', '.join(FORMATS)}); --format says which it is", place=Place(str(path))
    )
