"""Accesses as a stream of JSON lines in the format of the measured rows, answered line by line in order."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..sim.chip import Chip
from ..sim.memory import OPERATIONS, AccessError, Trace, count_trace, parse_op
from ..sim.memory.rules import rule_for
from .errors import Place, ScenarioError

_BLOCK = 4096
_ANSWERS = (
    "wavefronts",
    "bank_conflicts",
    "ideal_wavefronts",
    "excess_wavefronts",
    "floor_wavefronts",
    "worst_ways",
)


def count_rows(file: Path, chip: Chip) -> Iterator[tuple[str, str]]:
    """(JSON text, status) of every row of a `.jsonl` or `.jsonl.gz` file (`-` is standard input).

    A row has `offsets` (up to 32 bytes offsets) and may have `id`, `op` (default lds), `width_bytes`
    (default 4), `variant` and `mask` (default: all given lanes). The answer repeats `id` and has the counts
    and `status`, with `reason` where it is unknown and `assumptions` where it is assumed; a row that cannot
    be read has `error` and `line` instead, status "error". Reads in blocks: memory does not grow with the
    file. Raises `ScenarioError` where the file cannot be read further, behind the answers to what came before.
    """
    block: list[tuple[int, Any]] = []
    try:
        for number, line in _lines(file):
            if not line.strip():
                continue
            try:
                block.append((number, json.loads(line, parse_constant=_refuse_constant)))
            except (ValueError, RecursionError) as error:
                block.append((number, ScenarioError(f"not JSON: {getattr(error, 'msg', error)}")))
            if len(block) == _BLOCK:
                yield from _answer(block, chip)
                block = []
    except ScenarioError:  # of reading: what came before it is answered
        yield from _answer(block, chip)
        raise
    yield from _answer(block, chip)


def _refuse_constant(name: str) -> None:
    """NaN and Infinity, which Python reads and JSON does not know: the answer would repeat them."""
    raise ValueError(f"{name} is no value of JSON")


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    place = Place(str(file))
    number = 0
    try:
        with _open(file) as stream:
            for number, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8-sig"), 1):
                yield number, line
    except FileNotFoundError:
        raise ScenarioError("no such file", place=place) from None
    except (OSError, EOFError, zlib.error) as error:
        raise ScenarioError(
            f"cannot be read further: {getattr(error, 'strerror', None) or error}",
            place=Place(str(file), number + 1),
        ) from None
    except UnicodeDecodeError:
        raise ScenarioError("not UTF-8 text", place=Place(str(file), number + 1)) from None


def _open(file: Path) -> IO[bytes]:
    if str(file) == "-":
        from .source import standard_input

        return standard_input()
    stream = file.open("rb")
    magic = stream.peek(2)[:2]
    # gzip.open gives a stream that io.TextIOWrapper reads like a plain one.
    return gzip.open(stream) if magic == b"\x1f\x8b" else stream  # type: ignore[return-value]


def _answer(block: list[tuple[int, Any]], chip: Chip) -> Iterator[tuple[str, str]]:
    """Counts the good rows of a block in one call; the wrong ones are told one by one."""
    answers: list[dict[str, Any]] = [{} for _ in block]
    good: list[tuple[int, int, list[int], int]] = []
    for index, (number, row) in enumerate(block):
        try:
            good.append((index, *_row(row)))
        except ValueError as error:
            message = getattr(error, "message", str(error))
            answers[index] = {"id": _id(row), "status": "error", "line": number, "error": message}
    traces = _traces(good, block, answers)
    if traces is not None:
        trace, indices = traces
        counts = count_trace(trace, chip)
        columns = {name: getattr(counts, name).tolist() for name in _ANSWERS}
        for at, (index, status) in enumerate(zip(indices, counts.statuses, strict=True)):
            known = status != "unknown"
            numbers = {name: values[at] if known else None for name, values in columns.items()}
            answers[index] = {"id": _id(block[index][1]), **numbers, "status": status}
            rule = rule_for(chip, int(trace.kind[at]))
            if not known:
                answers[index]["reason"] = "; ".join(rule.reasons)
            elif rule.assumptions:
                answers[index]["assumptions"] = list(rule.assumptions)
    for answer in answers:
        yield json.dumps(answer), str(answer["status"])


def _traces(
    good: list[tuple[int, int, list[int], int]], block: list[tuple[int, Any]], answers: list[dict[str, Any]]
) -> tuple[Trace, list[int]] | None:
    """One checked trace of the readable rows and their indices; rows that do not fit are answered with an error."""
    while good:
        offsets = np.zeros((len(good), 32), dtype=np.int64)
        for at, (_, _, values, _) in enumerate(good):
            offsets[at, : len(values)] = values
        codes = np.asarray([code for _, code, _, _ in good], dtype=np.uint8)
        masks = np.asarray([mask for _, _, _, mask in good], dtype=np.uint32)
        try:
            return Trace.of(offsets, op=codes, mask=masks), [index for index, _, _, _ in good]
        except AccessError:
            # Some row is wrong: find all that are, one by one, and count the others together.
            kept: list[tuple[int, int, list[int], int]] = []
            for item in good:
                index, code, values, mask = item
                try:
                    Trace.of([values], op=OPERATIONS[code], mask=mask)
                    kept.append(item)
                except AccessError as error:
                    number, row = block[index]
                    answers[index] = {"id": _id(row), "status": "error", "line": number, "error": str(error)}
            good = kept
    return None


def _id(row: Any) -> Any:
    return row.get("id") if isinstance(row, dict) else None


def _row(row: Any) -> tuple[int, list[int], int]:
    """(operation code, offsets, mask) of a checked row. Raises ValueErrors of ours."""
    if isinstance(row, ValueError):
        raise row
    if not isinstance(row, dict) or not isinstance(row.get("offsets"), list):
        raise ScenarioError("a row is an object with offsets, a list of up to 32 byte offsets")
    offsets, width = row["offsets"], row.get("width_bytes")
    lanes = len(offsets)
    mask = row.get("mask", (1 << lanes) - 1)
    mask = (1 << lanes) - 1 if mask is None else mask
    if not isinstance(mask, int) or isinstance(mask, bool):
        raise ScenarioError(f"mask {mask!r}: an integer, bit l for lane l")
    op, variant = row.get("op", "lds"), row.get("variant")
    if not isinstance(op, str) or not (variant is None or isinstance(variant, str)):
        raise ScenarioError(
            f"op {op!r} and variant {variant!r}: names such as lds, or atoms with red.add.u32"
        )
    if width is not None and (not isinstance(width, int) or isinstance(width, bool)):
        raise ScenarioError(f"width_bytes {width!r}: 1, 2, 4, 8 or 16")
    if not 1 <= lanes <= 32:
        raise ScenarioError(f"{lanes} offsets; a warp has 1 to 32 lanes")
    if any(not isinstance(x, int) or isinstance(x, bool) or abs(x) >= 1 << 62 for x in offsets):
        raise AccessError("offsets: whole numbers of bytes")
    if not 0 <= mask < 1 << 32:
        raise ScenarioError(f"mask {mask}: 32 bits, 0 to {0xFFFFFFFF}")
    return parse_op(op, width, variant).code, offsets, mask & ((1 << lanes) - 1)
