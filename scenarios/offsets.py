"""Byte offsets given as numbers: lists in the scenario, or files that a tracer or a script wrote."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import Place, ScenarioError

_LIMIT = 256 << 20


def read_offsets(
    offsets: Sequence[int] | Sequence[Sequence[int]] | str, folder: Path
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Offsets of shape (n, 32) and which lanes are given; a shorter list leaves the lanes behind it inactive.

    A text is the name of a file, relative to `folder`: `.csv` (one instruction a line, up to 32 numbers; or
    the header `lane,offset`), `.json` (a list, or a list of lists), `.jsonl` (a list or an object with
    `offsets` and `mask` a line), each also with `.gz`. Raises `ScenarioError` with file and line.
    """
    if isinstance(offsets, str):
        return _pad(*_read_file(folder / offsets), place=Place(str(folder / offsets)))
    rows: list[Any] = list(offsets)
    if rows and not isinstance(rows[0], list | tuple):
        rows = [rows]
    return _pad(rows, [None] * len(rows), Place())


def _pad(
    rows: list[Any], masks: list[int | None], place: Place
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    if not rows:
        raise ScenarioError("no offsets; write the byte offset of each lane", place=place)
    values = np.zeros((len(rows), 32), dtype=np.int64)
    active = np.zeros((len(rows), 32), dtype=np.bool_)
    for i, (row, mask) in enumerate(zip(rows, masks, strict=True)):
        if not isinstance(row, list | tuple) or not 1 <= len(row) <= 32:
            found = f"{len(row)} offsets" if isinstance(row, list | tuple) else repr(row)[:40]
            raise ScenarioError(f"instruction {i}: {found}; a warp has 1 to 32 lanes", place=place)
        if any(isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < 1 << 40 for x in row):
            wrong = next(
                x for x in row if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < 1 << 40
            )
            raise ScenarioError(f"instruction {i}: offset {wrong!r}; whole bytes from 0 on", place=place)
        values[i, : len(row)] = row
        active[i, : len(row)] = True
        if mask is not None and not 0 <= mask < 1 << 32:
            raise ScenarioError(f"instruction {i}: mask {mask}; 32 bits, 0 to {0xFFFFFFFF}", place=place)
        if mask is not None:
            active[i] &= (mask >> np.arange(32)) & 1 != 0
    return values, active


def _read_file(path: Path) -> tuple[list[Any], list[int | None]]:
    place = Place(str(path))
    try:
        raw = path.read_bytes()
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(raw)) as stream:
                raw = stream.read(_LIMIT + 1)
        if len(raw) > _LIMIT:
            raise ScenarioError(f"more than {_LIMIT} bytes; bankbench replay streams such files", place=place)
        text = raw.decode("utf-8-sig")
    except FileNotFoundError:
        raise ScenarioError("no such file", place=place) from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ScenarioError(f"cannot be read: {error}", place=place) from None
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if kind == ".csv":
        rows = _csv_rows(text, path)
        return rows, [None] * len(rows)
    if kind == ".json":
        rows = _json(text, path, 1)
        if isinstance(rows, list) and rows and not isinstance(rows[0], list):
            rows = [rows]
        if not isinstance(rows, list):
            raise ScenarioError("a list of offsets, or a list of such lists, is needed", place=place)
        return rows, [None] * len(rows)
    if kind == ".jsonl":
        return _json_lines(text, path)
    raise ScenarioError(
        f"'{kind}' files hold no offsets here; .csv, .json and .jsonl (also .gz) do", place=place
    )


def _json(text: str, path: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        found = getattr(error, "lineno", 1) + line - 1
        raise ScenarioError(
            f"not JSON: {getattr(error, 'msg', error)}", place=Place(str(path), found)
        ) from None


def _json_lines(text: str, path: Path) -> tuple[list[Any], list[int | None]]:
    rows: list[Any] = []
    masks: list[int | None] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        value = _json(line, path, number)
        mask = None
        if isinstance(value, dict):
            mask, value = value.get("mask"), value.get("offsets")
        if not isinstance(value, list) or not (mask is None or isinstance(mask, int)):
            raise ScenarioError(
                "a list, or an object with offsets (a list) and mask", place=Place(str(path), number)
            )
        rows.append(value)
        masks.append(mask)
    return rows, masks


def _csv_rows(text: str, path: Path) -> list[list[int]]:
    try:
        lines = [(number, row) for number, row in enumerate(csv.reader(io.StringIO(text)), 1) if any(row)]
    except csv.Error as error:
        raise ScenarioError(f"no CSV: {error}", place=Place(str(path))) from None
    if not lines:
        return []
    head = [cell.strip().lower() for cell in lines[0][1]]
    by_lane = head == ["lane", "offset"]
    rows: list[list[int]] = []
    pairs: dict[int, int] = {}
    for number, row in lines[1:] if by_lane else lines:
        cells = [cell.strip() for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if "" in cells:  # leaving it out would move the lanes behind it
            raise ScenarioError(
                f"lane {cells.index('')} has no offset; use .jsonl with a mask for lanes that are off",
                place=Place(str(path), number),
            )
        try:
            values = [int(cell, 0) for cell in cells]
        except ValueError:
            raise ScenarioError(
                f"found {','.join(row)[:60]!r}; whole numbers", place=Place(str(path), number)
            ) from None
        if not by_lane:
            rows.append(values)
        elif len(values) != 2 or not 0 <= values[0] < 32:
            raise ScenarioError("lane (0 to 31) and offset", place=Place(str(path), number))
        elif values[0] in pairs:
            raise ScenarioError(
                f"lane {values[0]} stands here twice; one instruction a file, or one a line without a header",
                place=Place(str(path), number),
            )
        else:
            pairs[values[0]] = values[1]
    if by_lane:
        if sorted(pairs) != list(range(len(pairs))):
            raise ScenarioError(
                "lanes from 0 on without a gap; use .jsonl with a mask for others", place=Place(str(path))
            )
        rows = [[pairs[lane] for lane in range(len(pairs))]]
    return rows
