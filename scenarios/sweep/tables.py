"""Tables of a sweep as bytes: one batch for the disk, and the whole table while it grows."""

from __future__ import annotations

from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .disk import beside, writing

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

WHOLE = ("points.csv", "points.parquet")  # in the order in which they come to be
_ROW_GROUP = 1 << 17  # rows, at least: a reader skips by row groups, and the last one is encoded alone


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


def read(path: Path) -> pa.Table:
    """A Parquet file; `read_table` would load all of Arrow's data sets, which takes longer than reading a part."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read()


def _parquet(table: pa.Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **_options(table.schema))
    return sink.getvalue().to_pybytes()


def _options(schema: pa.Schema) -> dict[str, Any]:
    """How Parquet is written: texts repeat, numbers of a point hardly do."""
    import pyarrow as pa

    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return {"compression": "snappy", "use_dictionary": texts}


class Whole:
    """The whole table while it grows: finished batches in their order, up to the first one that is missing.

    They are joined while other processes still evaluate, which leaves little to do after the last one. Row groups
    depend on the batches alone, so equal sweeps give equal bytes.
    """

    def __init__(self, folder: Path) -> None:
        self._parts = folder / "parts"
        self._csv, self._parquet = (beside(folder / name) for name in WHOLE)
        self._tables: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None
        self._written = 0  # batches in row groups

    def grow(self, done: Container[int]) -> None:
        """Joins the batches that are next and in `done`."""
        while len(self._tables) in done:
            stem = self._parts / f"part-{len(self._tables):06d}"
            table = read(stem.with_suffix(".parquet"))
            names = ",".join(f'"{name}"' for name in table.column_names)
            with writing(self._csv), self._csv.open("ab" if self._tables else "wb") as stream:
                stream.write(b"" if self._tables else f"{names}\n".encode())
                stream.write(stem.with_suffix(".csv").read_bytes())
            self._tables.append(table)
            if sum(table.num_rows for table in self._tables[self._written :]) >= _ROW_GROUP:
                self._write_group()

    def table(self) -> pa.Table:
        """All joined batches as one table; both files beside are whole now."""
        import pyarrow as pa

        self._write_group()
        with writing(self._parquet):
            self._close()
        return pa.concat_tables(self._tables)

    def drop(self) -> None:
        """Removes what lies beside, if anything does."""
        with suppress(OSError):  # a full disk cannot take the end of a file that goes now
            self._close()
        for path in (self._csv, self._parquet):
            path.unlink(missing_ok=True)

    def _write_group(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        group = self._tables[self._written :]
        self._written = len(self._tables)
        with writing(self._parquet):
            if self._writer is None:
                schema = self._tables[0].schema
                self._writer = pq.ParquetWriter(self._parquet, schema, **_options(schema))
            if group:
                self._writer.write_table(pa.concat_tables(group), row_group_size=1 << 20)

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
