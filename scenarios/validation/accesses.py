"""Measured single accesses against the counting model: files of the format of `h200_smem.jsonl.gz`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...sim.chip import Chip
from ...sim.memory import Counts, count
from ...sim.program import read_rows
from ..errors import ScenarioError
from .fields import blamed, number, text, whole
from .row import Row

_LATENCY_CYCLES = 0.1
_LANES = 32
_ADDRESSES = 1 << 31

Item = tuple[str, dict[str, Any]]


def rows(chip: Chip, file: Path) -> Iterator[Row]:
    """Up to three rows an access: wavefronts, bank conflicts, and latency where one was measured.

    Raises ScenarioError with file and line for a row that cannot be read or counted.
    """
    groups: dict[tuple[str, int, str], list[Item]] = {}
    for place, fields in read_rows(file):
        try:
            _check(fields)
            variant = "" if fields.get("variant") is None else text(fields, "variant")
            key = (text(fields, "op"), whole(fields, "width_bytes", 1), variant)
        except ValueError as error:
            raise blamed(place, fields, error) from None
        groups.setdefault(key, []).append((place, fields))
    for key, items in groups.items():
        try:
            found = _count(key, items, chip)
        except ValueError:
            for item in items:
                try:
                    _count(key, [item], chip)
                except ValueError as error:
                    raise blamed(*item, error) from None
            raise
        for index, (place, item) in enumerate(items):
            yield from _compared(str(item.get("id", place)), key[0], item, found, index)


def _check(fields: Mapping[str, Any]) -> None:
    """What every row needs, and what is a number where it is there."""
    for name in ("op", "width_bytes", "mask", "offsets", "wavefronts"):
        if name not in fields:
            raise ScenarioError(f"no field {name!r}")
    number(fields, "wavefronts")
    for name in ("bank_conflicts", "latency_cycles"):
        if fields.get(name) is not None:
            number(fields, name)
    if whole(fields, "mask") >> _LANES:
        raise ScenarioError(f"mask: {fields['mask']}, a bit for each of {_LANES} lanes is needed")
    offsets = fields["offsets"]
    values = cast("list[Any]", offsets) if isinstance(offsets, list) else []
    fits = (isinstance(value, int) and -_ADDRESSES <= value < _ADDRESSES for value in values)
    if len(values) != _LANES or not all(fits):
        raise ScenarioError(f"offsets: a list of {_LANES} byte offsets is needed, one a lane")


def _count(key: tuple[str, int, str], items: list[Item], chip: Chip) -> Counts:
    op, width, variant = key
    offsets = np.array([item["offsets"] for _, item in items], dtype=np.int64)
    masks = np.array([item["mask"] for _, item in items], dtype=np.uint32)
    return count(offsets, op, width, mask=masks, variant=variant or None, chip=chip)


def _compared(name: str, op: str, item: Mapping[str, Any], found: Counts, index: int) -> Iterator[Row]:
    yield _row(name, f"{op} wavefronts", item["wavefronts"], found.wavefronts[index])
    if item.get("bank_conflicts") is not None:
        yield _row(name, f"{op} bank conflicts", item["bank_conflicts"], found.bank_conflicts[index])
    latency = item.get("latency_cycles")
    if latency is not None:
        predicted = float(found.latency_cycles[index])
        tolerance = _LATENCY_CYCLES / latency if latency else 0.0
        left_out = "" if not math.isnan(predicted) else "no latency is predicted for this instruction"
        yield Row(name, f"{op} latency", latency, predicted, tolerance, left_out)


def _row(name: str, kind: str, measured: float, predicted: float) -> Row:
    return Row(name, kind, float(measured), float(predicted), 0.0)
