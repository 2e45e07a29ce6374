"""Measured single accesses against the counting model: files of the format of `h200_smem.jsonl.gz`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...sim.chip import Chip
from ...sim.memory import count
from ...sim.program import read_rows
from ..errors import ScenarioError
from .row import Row

_FIELDS = ("id", "op", "width_bytes", "mask", "offsets", "wavefronts")
_LATENCY_CYCLES = 0.1


def rows(chip: Chip, file: Path) -> Iterator[Row]:
    """Up to three rows an access: wavefronts, bank conflicts, and latency where one was measured."""
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for place, fields in read_rows(file):
        missing = next((name for name in _FIELDS if name not in fields), None)
        if missing:
            raise ScenarioError(f"{place}: no field {missing!r} (a row has {', '.join(_FIELDS)})")
        key = (str(fields["op"]), int(fields["width_bytes"]), str(fields.get("variant") or ""))
        groups.setdefault(key, []).append(fields)
    for (op, width, variant), items in groups.items():
        offsets = np.array([item["offsets"] for item in items], dtype=np.int64)
        masks = np.array([item["mask"] for item in items], dtype=np.uint32)
        found = count(offsets, op, width, mask=masks, variant=variant or None, chip=chip)
        for index, item in enumerate(items):
            name = str(item["id"])
            yield _row(name, f"{op} wavefronts", item["wavefronts"], found.wavefronts[index])
            if item.get("bank_conflicts") is not None:
                yield _row(name, f"{op} bank conflicts", item["bank_conflicts"], found.bank_conflicts[index])
            latency = item.get("latency_cycles")
            if latency is not None:
                predicted = float(found.latency_cycles[index])
                tolerance = _LATENCY_CYCLES / latency
                left_out = "" if not math.isnan(predicted) else "no latency is predicted for this instruction"
                yield Row(name, f"{op} latency", latency, predicted, tolerance, left_out)


def _row(name: str, kind: str, measured: float, predicted: float) -> Row:
    return Row(name, kind, float(measured), float(predicted), 0.0)
