"""Rows of a trace one by one: for blocks that hold a row that does not fit, so that it can be named."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .batch import OTHER, Batch, Places, TraceProblem, checked, code_or_problem, to_window
from .gaps import Gaps
from .row_names import NAMES, NO_OFFSETS, one_line, opcode_head, plain_value

Numbered = list[tuple[int, Any]]


def csv_rows(lines: Sequence[bytes], first: int, header: Sequence[str]) -> Numbered:
    rows: Numbered = []
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            cells = next(csv.reader([line.decode("utf-8").rstrip("\r")]))
        except (csv.Error, UnicodeDecodeError, StopIteration) as error:
            rows.append((number, f"no CSV: {one_line(error)}"))
            continue
        if len(cells) != len(header):
            rows.append((number, f"{len(cells)} cells, the header has {len(header)}"))
            continue
        given: dict[str, Any] = {
            name: cell.strip()
            for name, cell in zip(header, cells, strict=True)
            if name in NAMES and cell.strip()
        }
        if "offsets" in header:
            given["offsets"] = given.get("offsets", "").replace(",", " ").split()
        else:
            last = max((lane for lane in range(32) if f"o{lane}" in given), default=-1)
            given["offsets"] = [given.get(f"o{lane}", "") for lane in range(last + 1)]
        rows.append((number, given))
    return rows


def json_rows(lines: Sequence[bytes], first: int) -> Numbered:
    rows: Numbered = []
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            rows.append((number, f"no JSON: {one_line(error)}"))
            continue
        rows.append(
            (number, value if isinstance(value, dict) else "an object is needed, with op and offsets")
        )
    return rows


def from_rows(rows: Numbered, places: Places, gaps: Gaps) -> Batch:
    """The batch of single rows; each that does not fit becomes a problem."""
    problems: list[TraceProblem] = []
    others: Counter[str] = Counter()
    kept: list[tuple[int, int, list[int], int, int, int]] = []
    for number, row in rows:
        try:
            found = _row(row, others)
            warp = found[3] if found else _integer(row.get("warp"), "warp", 0)
        except (ValueError, TypeError, OverflowError) as error:
            problems.append(TraceProblem(number, one_line(error)))
            continue
        gap = gaps.one(warp, found is not None)
        if found:
            code, offsets, mask, _, place = found
            kept.append((code, mask, offsets, places.number(place), gap, number))
    table = np.zeros((len(kept), 32), dtype=np.int64)
    for at, item in enumerate(kept):
        table[at, : len(item[2])] = item[2]
    columns = [np.array([item[at] for item in kept], dtype=np.int64) for at in (0, 1, 3, 4, 5)]
    code, mask, place, gap, lines = columns
    batch = Batch(
        code.astype(np.uint8), to_window(table), mask.astype(np.uint32), place, gap, problems, others
    )
    return checked(batch, lines)


def _row(row: Any, others: Counter[str]) -> tuple[int, list[int], int, int, Any] | None:
    """(code, offsets, mask, warp, place) of a row; None for another instruction. Raises ValueError."""
    if isinstance(row, str):
        raise ValueError(row)
    op, variant = row.get("op"), row.get("variant")
    if not isinstance(op, str) or not op.strip():
        raise ValueError("op is missing")
    if not (variant is None or isinstance(variant, str)):
        raise ValueError(f"variant {variant!r}: a text such as x4 or red.add.u32")
    widths = (row.get("width"), row.get("width_bytes"))
    width = next((value for value in widths if value not in (None, "")), None)
    code, message = code_or_problem(op, None if width is None else _integer(width, "width", 4), variant)
    if message:
        raise ValueError(message)
    if code == OTHER:
        others[opcode_head(op)] += 1
        return None
    given = row.get("offsets")
    if not isinstance(given, list) or not 1 <= len(given) <= 32:
        many = isinstance(given, list) and given
        raise ValueError(f"{len(given)} offsets; 1 to 32 are needed" if many else NO_OFFSETS)
    there = [value not in (None, "") for value in given]
    if not any(there):
        raise ValueError(NO_OFFSETS)
    offsets = [_integer(value, "offset", 0) if have else 0 for value, have in zip(given, there, strict=True)]
    present = sum(1 << lane for lane, have in enumerate(there) if have)
    mask = _integer(row.get("mask"), "mask", 0xFFFFFFFF)
    if not 0 <= mask < 1 << 32:
        raise ValueError(f"mask {mask}: 32 bits are needed")
    place = row.get("pc")
    if place is None:
        place = op
    elif isinstance(place, str):
        place = plain_value(place, "pc")
    elif isinstance(place, bool) or not isinstance(place, int):
        raise ValueError(f"pc {place!r}: an integer or a text")
    return code, offsets, mask & present, _integer(row.get("warp"), "warp", 0), place


def _integer(value: Any, what: str, otherwise: int) -> int:
    if value is None or value == "":
        return otherwise
    if isinstance(value, str):
        if len(value) > 40:
            raise ValueError(f"{what} {value[:20]!r}...: a whole number is needed")
        value = int(value, 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{what} {value!r}: a whole number is needed")
    if not -(1 << 62) < value < 1 << 62:
        raise ValueError(f"{what} {value}: too large")
    return value
