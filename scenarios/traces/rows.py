"""Files of rows: CSV, JSON lines and Parquet with one warp instruction a row.

The schema, the same for the three (plain or compressed; columns in any order, others are ignored):

    op       text     lds, sts.64, LDS.U.128, ld.shared.v4.b32, ldmatrix.x4, ATOMS.ADD, ...; rows of other instructions
                      (FFMA, LDG.E) are kept as time between accesses
    width    bytes    bytes a lane, where op does not say it; default 4 (also: width_bytes)
    variant  text     x4.trans, red.add.u32, ... where op does not say it
    mask     integer  active lanes, bit l for lane l; default: all lanes that have an offset (CSV: also 0xffffffff)
    offsets  list     byte offsets of the lanes in lane order, up to 32 (CSV: numbers with blanks between them, or one
                      column a lane, o0 to o31); generic addresses are taken modulo the 16 MiB window
    pc       integer  place in the program, or a text; accesses are summed by it (CSV: also 0x270)
    warp     integer  which warp; only told apart in the gaps between accesses

Blocks of rows are converted as whole columns; a block with a row that does not fit is read again row by row, and the
row is reported with its line.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import Place, ScenarioError
from .batch import Batch, Places
from .blocks import Progress, line_blocks
from .gaps import Gaps
from .row_columns import arrow_columns, csv_table, from_columns, json_table
from .row_names import NAMES, one_line
from .row_single import csv_rows, from_rows, json_rows

_BATCH_ROWS = 1 << 15


def csv_batches(path: Path, places: Places, progress: Progress | None = None) -> Iterator[Batch]:
    """Batches of a CSV file; the first line names the columns."""
    header: list[str] | None = None
    gaps = Gaps()
    for number, lines in line_blocks(path, progress):
        first = 0
        if header is None:
            header = _header(lines[0], path)
            first = 1
        table = csv_table(lines[first:], header)
        if table is not None:
            yield from_columns(table, _line_numbers(lines[first:], number + first), places, gaps)
        else:
            rows = csv_rows(lines[first:], number + first, header)
            yield from_rows(rows, places, gaps)


def jsonl_batches(path: Path, places: Places, progress: Progress | None = None) -> Iterator[Batch]:
    """Batches of a file of JSON lines."""
    gaps = Gaps()
    for number, lines in line_blocks(path, progress):
        table = json_table(lines)
        if table is not None:
            yield from_columns(table, _line_numbers(lines, number), places, gaps)
        else:
            yield from_rows(json_rows(lines, number), places, gaps)


def parquet_batches(path: Path, places: Places, progress: Progress | None = None) -> Iterator[Batch]:
    """Batches of a Parquet file; rows count from 1."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError:
        raise ScenarioError("no such file", place=Place(str(path))) from None
    except (OSError, pa.ArrowException) as error:
        raise ScenarioError(f"cannot be read as Parquet: {one_line(error)}", place=Place(str(path))) from None
    with file:
        names = [name for name in file.schema_arrow.names if name in NAMES]
        _check_names(names, Place(str(path)))
        gaps, done = Gaps(), 0
        try:
            for part in file.iter_batches(batch_size=_BATCH_ROWS, columns=names, use_threads=False):
                table = pa.Table.from_batches([part])
                numbers = np.arange(done + 1, done + len(part) + 1)
                done += len(part)
                columns = arrow_columns(table)
                if columns is not None:
                    yield from_columns(columns, numbers, places, gaps)
                else:
                    rows = list(zip(numbers.tolist(), part.to_pylist(), strict=True))
                    yield from_rows(rows, places, gaps)
                if progress is not None:
                    progress(done, file.metadata.num_rows)
        except (OSError, pa.ArrowException) as error:
            raise ScenarioError(
                f"cannot be read further: {one_line(error)}", place=Place(str(path), done + 1)
            ) from None


def _header(line: bytes, path: Path) -> list[str]:
    try:
        cells = next(csv.reader([line.decode("utf-8", "replace").rstrip("\r")]), [])
    except csv.Error as error:
        raise ScenarioError(f"no header of columns: {error}", place=Place(str(path), 1)) from None
    names = [name.strip().lower() for name in cells]
    _check_names(names, Place(str(path), 1))
    return names


def _check_names(names: Sequence[str], place: Place) -> None:
    if "op" not in names or not ("offsets" in names or "o0" in names):
        raise ScenarioError(
            f"columns {', '.join(names)[:80] or 'none'}; needed: op and offsets (or o0 to o31), and if wanted "
            "width, variant, mask, pc, warp",
            place=place,
        )


def _line_numbers(lines: Sequence[bytes], first: int) -> NDArray[np.int64]:
    """Numbers of the lines that are not empty."""
    full = np.fromiter((bool(line.strip()) for line in lines), np.bool_, len(lines))
    return np.flatnonzero(full) + first
