"""Rows of a trace as whole columns: what makes a million of them a matter of seconds."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import OTHER, Batch, Places, TraceProblem, checked, code_or_problem, to_window
from .gaps import Gaps
from .row_names import LANE_COLUMNS, NAMES, NO_OFFSETS, opcode_head, plain_value


def csv_table(lines: Sequence[bytes], header: Sequence[str]) -> dict[str, Any] | None:
    import pyarrow as pa
    import pyarrow.csv as pc

    kinds = {name: pa.int64() for name in ("width", "width_bytes", "warp", *LANE_COLUMNS)}
    kinds |= {name: pa.string() for name in ("op", "variant", "mask", "pc", "offsets")}
    text = b"\n".join(line for line in lines if line.strip()) + b"\n"
    if text == b"\n" or len(set(header)) != len(header):
        return None
    try:
        table = pc.read_csv(
            io.BytesIO(text),
            read_options=pc.ReadOptions(
                column_names=list(header), use_threads=False, block_size=len(text) + 1
            ),
            convert_options=pc.ConvertOptions(
                column_types=kinds,
                include_columns=[name for name in header if name in NAMES],
                strings_can_be_null=True,
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return arrow_columns(table)


def json_table(lines: Sequence[bytes]) -> dict[str, Any] | None:
    import pyarrow as pa
    import pyarrow.json as pj

    text = b"\n".join(line for line in lines if line.strip()) + b"\n"
    if text == b"\n":
        return None
    schema = pa.schema(
        [
            ("op", pa.string()),
            ("variant", pa.string()),
            ("mask", pa.int64()),
            ("offsets", pa.list_(pa.int64())),
        ]
        + [(name, pa.int64()) for name in ("width", "width_bytes", "warp")]
    )
    try:
        table = pj.read_json(
            io.BytesIO(text),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=pj.ParseOptions(explicit_schema=schema),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    # A row over several lines, or two rows in one, would shift the numbers of lines.
    if len(table) != sum(1 for line in lines if line.strip()):
        return None
    return arrow_columns(table.select([name for name in table.column_names if name in NAMES]))


def arrow_columns(table: Any) -> dict[str, Any] | None:
    """NumPy columns of an Arrow table: `offsets` and `given` (n, 32), others (codes, values); None if one misfits."""
    import pyarrow as pa

    table = table.combine_chunks()
    found: dict[str, Any] = {"count": len(table)}
    try:
        for name in ("op", "variant", "pc", "mask", "width", "width_bytes", "warp"):
            if name in table.column_names:
                found[name] = _plain_column(table.column(name), name)
        lanes = _lane_table(table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OverflowError):
        return None
    if lanes is None or any(found[name] is None for name in found):
        return None
    found["offsets"], found["given"] = lanes
    return found


def _plain_column(column: Any, name: str) -> Any:
    """(codes, values) of a column of texts or small numbers."""
    import pyarrow as pa

    if len(column) == 0:
        return np.zeros(0, np.int64), []
    merged = (
        pa.chunked_array(column).combine_chunks()
        if not isinstance(column, pa.ChunkedArray)
        else column.combine_chunks()
    )
    if isinstance(merged, pa.ChunkedArray):
        merged = merged.chunk(0)
    if not isinstance(merged, pa.DictionaryArray):
        merged = merged.dictionary_encode(null_encoding="encode")
    values = [plain_value(value, name) for value in merged.dictionary.to_pylist()]
    return merged.indices.to_numpy(zero_copy_only=False).astype(np.int64), values


def _call(name: str, *arguments: Any) -> Any:
    """A compute function by its name (Arrow makes them at run time, out of sight of type checkers)."""
    import pyarrow.compute as pc

    return pc.call_function(name, list(arguments))


def _lane_table(table: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    import pyarrow as pa

    if "offsets" not in table.column_names:
        return _wide(table)
    column = table.column("offsets")
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], column.type)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return _texts(array)
    lengths = np.asarray(
        _call("list_value_length", array).fill_null(0).to_numpy(zero_copy_only=False), np.int64
    )
    flat = array.flatten()
    if flat.null_count or not pa.types.is_integer(flat.type):
        return None
    return _ragged(flat.to_numpy(zero_copy_only=False).astype(np.int64), lengths)


def _texts(array: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Blank-separated decimal numbers, all cells in one pass."""
    import pyarrow.compute as pc

    cells = array.fill_null("")
    joined = " ".join(cells.to_pylist())
    if joined.strip("0123456789 "):
        return None
    cells = _call("utf8_trim_whitespace", cells)
    if "  " in joined:
        cells = pc.call_function("replace_substring_regex", [cells], pc.ReplaceSubstringOptions(" +", " "))
    lengths = np.asarray(
        pc.call_function("count_substring", [cells], pc.MatchSubstringOptions(" ")).to_numpy(
            zero_copy_only=False
        ),
        np.int64,
    )
    lengths = lengths + np.asarray(
        _call("greater", _call("binary_length", cells), 0).to_numpy(zero_copy_only=False), np.int64
    )
    values = np.fromstring(joined, dtype=np.int64, sep=" ") if lengths.sum() else np.zeros(0, np.int64)
    return _ragged(values, lengths)


def _ragged(
    values: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    if len(values) != lengths.sum() or (len(lengths) and lengths.max() > 32):
        return None
    given = np.arange(32) < lengths[:, None]
    offsets = np.zeros(given.shape, dtype=np.int64)
    offsets[given] = values
    return offsets, given


def _wide(table: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    offsets = np.zeros((len(table), 32), dtype=np.int64)
    given = np.zeros((len(table), 32), dtype=np.bool_)
    for lane, name in enumerate(LANE_COLUMNS):
        if name in table.column_names:
            column = table.column(name).combine_chunks()
            valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
            given[:, lane] = valid
            offsets[:, lane] = np.where(
                valid, np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False)), 0
            )
    return offsets, given


def from_columns(columns: dict[str, Any], lines: NDArray[np.int64], places: Places, gaps: Gaps) -> Batch:
    """The batch of whole columns; rows that do not fit become problems."""
    count = columns["count"]
    problems: list[TraceProblem] = []
    codes, message = _codes(columns, count)
    for row in np.flatnonzero(message > 0).tolist():
        problems.append(TraceProblem(int(lines[row]), columns["messages"][message[row]]))
    offsets, given = columns["offsets"], columns["given"]
    active = given
    if "mask" in columns:
        index, values = columns["mask"]
        wrong = np.array([v is not None and not 0 <= v < 1 << 32 for v in values] or [False])[index]
        wrong &= codes >= 0  # what is not counted has no mask to check
        masks = np.array(
            [0xFFFFFFFF if v is None else v & 0xFFFFFFFF for v in values] or [0], dtype=np.uint32
        )[index]
        for row in np.flatnonzero(wrong).tolist():
            problems.append(TraceProblem(int(lines[row]), f"mask {values[index[row]]}: 32 bits are needed"))
        codes = np.where(wrong, -2, codes)
        lacking = (masks[:, None] >> np.arange(32, dtype=np.uint32)) & 1 != 0
        active = given & lacking
    bare = (codes >= 0) & ~given.any(axis=1)
    problems += [TraceProblem(int(lines[row]), NO_OFFSETS) for row in np.flatnonzero(bare).tolist()]
    codes = np.where(bare, -2, codes)
    place = _places(columns, count, places)
    warp = _numbers(columns, "warp", count)
    shared = codes >= 0
    gap = gaps.of(warp, shared | (codes == -2))
    others: Counter[str] = Counter()
    if (codes == OTHER).any() and "op" in columns:
        index, values = columns["op"]
        counted = np.bincount(index[(codes == OTHER) & (message == 0)], minlength=len(values))
        for value, times in zip(values, counted.tolist(), strict=True):
            if times:
                others[opcode_head(value)] += times
    keep = np.flatnonzero(shared)
    mask = np.packbits(active[keep], axis=1, bitorder="little").view("<u4").ravel().astype(np.uint32)
    batch = Batch(
        codes[keep].astype(np.uint8), to_window(offsets[keep]), mask, place[keep], gap[keep], problems, others
    )
    return checked(batch, lines[keep])


def _codes(columns: dict[str, Any], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(code or OTHER, number of a message or 0) of every row."""
    op, ops = columns["op"]
    widths, width_values = _first_given(columns, count, "width", "width_bytes")
    variants, variant_values = columns.get("variant") or (np.zeros(count, np.int64), [None])
    key = (op * len(width_values) + widths) * len(variant_values) + variants
    present, inverse = np.unique(key, return_inverse=True)
    codes = np.zeros(len(present), dtype=np.int64)
    said = np.zeros(len(present), dtype=np.int64)
    messages = columns.setdefault("messages", [""])
    for at, number in enumerate(present.tolist()):
        rest, variant = divmod(number, len(variant_values))
        first, width = divmod(rest, len(width_values))
        text = ops[first]
        if not isinstance(text, str) or not text.strip():
            code, message = OTHER, "op is missing"
        else:
            code, message = code_or_problem(text, width_values[width], variant_values[variant])
        codes[at] = code
        if message:
            messages.append(message)
            said[at] = len(messages) - 1
    return codes[inverse], said[inverse]


def _first_given(columns: dict[str, Any], count: int, name: str, other: str) -> tuple[NDArray[np.int64], Any]:
    """(codes, values) of column `name`; rows where it is empty, or all rows where there is none, have those of `other`.

    Readers of JSON lines make columns that no row fills, so a column alone says nothing.
    """
    none = np.zeros(count, np.int64), [None]
    first, values = columns.get(name, none)
    second, others = columns.get(other, none)
    empty = np.array([value is None for value in values] or [True])[first]
    return np.where(empty, len(values) + second, first), [*values, *others]


def _places(columns: dict[str, Any], count: int, places: Places) -> NDArray[np.int64]:
    """Numbers of the places; without `pc` the operation is the place."""
    index, values = _first_given(columns, count, "pc", "op")
    found = np.array(
        [places.number("" if value is None else value) for value in values] or [0], dtype=np.int64
    )
    return found[index] if count else np.zeros(0, np.int64)


def _numbers(columns: dict[str, Any], name: str, count: int) -> NDArray[np.int64]:
    if name not in columns:
        return np.zeros(count, dtype=np.int64)
    index, values = columns[name]
    return np.array([value or 0 for value in values] or [0], dtype=np.int64)[index]
