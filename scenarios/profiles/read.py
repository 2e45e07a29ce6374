"""Which page of which profiler a file is, and the reader for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import Place, ScenarioError
from . import msprof, ncu_details, ncu_raw, ncu_source
from .ncu_common import LAUNCH_COLUMNS
from .numbers import locale_of
from .rows import Row, delimiter_of, records
from .text import MOST_BYTES, read_text
from .values import Problem, Profile

_READERS = (ncu_details, ncu_source, ncu_raw, msprof)
_MOST_ROWS_FOR_LOCALE = 2000
_MOST_ROWS = 250_000


def read_profile(path: str | Path, most_bytes: int = MOST_BYTES) -> Profile:
    """Reads an export of Nsight Compute (`--csv`, any page) or a table of `msprof op`.

    Plain, gzip, xz or zstd; banner lines, units, separators of any locale, several kernels and launches. Rows that
    cannot be read are in `problems` with their line; the others are read. Raises `ScenarioError` for a file that
    is not there, is no text, or is no export of these tools.
    """
    text, note = read_text(Path(path), most_bytes)
    return parse_profile(text, str(path), note)


def parse_profile(text: str, file: str = "<text>", note: str = "") -> Profile:
    """`read_profile` of a text that is already there."""
    delimiter = delimiter_of(text)
    for row in records(text, delimiter):
        reader = None if isinstance(row, Problem) else _reader(row.cells)
        if reader is None:
            continue
        start = row.line
        locale = locale_of(_cells(records(text, delimiter, start)), "," if delimiter == ";" else ".")
        profile = reader.read(_bounded(records(text, delimiter, start), file), file, locale)
        notes = profile.notes
        if note:
            notes = (*notes, f"{note}; what came before it was read")
        elif text and not text.endswith("\n"):
            notes = (*notes, "the file does not end with a line break; its last row may be cut off")
        problems = profile.problems
        if note and not problems:
            problems = (Problem(text.count("\n") + 1, note),)
        return Profile(file, profile.tool, profile.page, profile.launches, problems, notes)
    raise ScenarioError(
        "no header of an export here; ncu --csv (--page raw, details or source) and the tables of msprof op are read",
        place=Place(file),
    )


def _reader(cells: Sequence[str]) -> Any:
    """The module that reads the table which this record heads, None when it heads none."""
    return next((reader for reader in _READERS if reader.is_header(cells)), None)


def _bounded(found: Iterable[Row | Problem], file: str) -> Iterator[Row | Problem]:
    """The records, as long as they are few enough to be kept. Raises `ScenarioError` with the line."""
    for number, row in enumerate(found):
        if number >= _MOST_ROWS:
            raise ScenarioError(
                f"more than {_MOST_ROWS:,} rows; split the export", place=Place(file, row.line)
            )
        yield row


def _cells(found: Iterable[Row | Problem]) -> Iterator[str]:
    """The cells that may be numbers, of the first rows; versions and addresses of hosts speak for no locale."""
    left_out: set[int] = set()
    for number, row in enumerate(found):
        if number > _MOST_ROWS_FOR_LOCALE:
            return
        if isinstance(row, Row):
            if LAUNCH_COLUMNS.intersection(row.cells):
                left_out = {i for i, cell in enumerate(row.cells) if cell.strip() in LAUNCH_COLUMNS}
            yield from (cell for i, cell in enumerate(row.cells) if i not in left_out)
