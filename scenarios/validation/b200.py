"""Measured times of tcgen05 against the model: intervals and latencies of products, loads, stores, copies, allocation.

A row names its chip; rows of a B300 are predicted with that chip's file, rows of other chips are listed and left out.
The tolerances are those that the measurements support: half a cycle for intervals of single blocks and for BF16
latencies, two cycles for intervals of pairs, 2.5 % for other latencies; 30 % for loads (the loop's own consumers are
part of the figure), 25 % for copies (whose shape the source does not state), 10 % for stores, 5 % for single figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...sim.chip import Chip, ChipError, load_chip
from ...sim.program import read_rows
from ...sim.tmem import LoadStore, MmaShape, TmemError, load_loop_cycles, mma_cycles
from ..errors import ScenarioError
from .row import Row

# format of the public benchmark -> kind of the instruction that it issues; its 4-bit rows carry a K of 64, the
# instructions have 32, and cycles do not depend on it
KINDS = {
    **dict.fromkeys(("BF16", "FP16", "F16"), "f16"),
    "TF32": "tf32",
    **dict.fromkeys(("E4M3", "E5M2", "FP8", "F8", "F6", "F4"), "f8f6f4"),
    **dict.fromkeys(("S8", "U8"), "i8"),
    **dict.fromkeys(("MXF8", "MXF6", "MXF4"), "mxf8f6f4"),
}
_CHIPS = ("B200", "B300")
_OTHER_CHIP = "another chip"
_NO_MODEL = "nothing predicts this"


def rows(chip: Chip, file: Path) -> Iterator[Row]:
    """Two rows a product (interval, latency), one a mover. Raises ScenarioError for a row that cannot be read."""
    for place, fields in read_rows(file):
        kind, given, want = fields.get("kind"), fields.get("input"), fields.get("expected")
        if kind not in ("mma_timing_reference", "tmem_time_reference"):
            continue
        if not isinstance(given, dict) or not isinstance(want, dict):
            raise ScenarioError(f"{place}: a row has `input` and `expected`")
        machine = _machine(str(given.get("chip", chip.name)), chip)
        try:
            if kind == "mma_timing_reference":
                yield from _product(str(fields.get("id", place)), given, want, machine)
            else:
                yield from _mover(str(fields.get("id", place)), given, want, machine)
        except (TmemError, KeyError) as error:
            raise ScenarioError(f"{place}: {error}") from None


def _machine(name: str, chip: Chip) -> Chip | None:
    if name.lower() == chip.name:
        return chip
    try:
        return load_chip(name.lower()) if name in _CHIPS else None
    except ChipError:
        return None


def _product(
    name: str, given: Mapping[str, Any], want: Mapping[str, Any], chip: Chip | None
) -> Iterator[Row]:
    operands, group = str(given["operands"]), int(given["cta_group"])
    interval, latency = want["initiation_interval_cycles"], want["latency_cycles_issue_to_mbarrier"]
    label = f"{operands} group {group}"
    if chip is None or given["format"] not in KINDS:
        yield Row(
            name, f"interval {label}", interval, 0.0, left_out=_OTHER_CHIP if chip is None else _NO_MODEL
        )
        return
    found = mma_cycles(_shape(KINDS[given["format"]], given["M"], given["N"], group), operands, chip)
    yield Row(name, f"interval {label}", interval, found.interval, (0.5 if group == 1 else 2) / interval)
    exact = given["format"] == "BF16"
    kind = f"latency {label}{' bf16' if exact else ''}"
    yield Row(name, kind, latency, found.latency, 0.49 / latency if exact else 0.025)


def _shape(kind: str, m: int, n: int, group: int) -> MmaShape:
    """The product that a row measured; shapes that the document does not list for a kind are taken as 8-bit floats."""
    try:
        return MmaShape(kind, m, n, group)
    except TmemError:
        return MmaShape("f8f6f4", m, n, group)


def _mover(name: str, given: Mapping[str, Any], want: Mapping[str, Any], chip: Chip | None) -> Iterator[Row]:
    cycles = want.get("cycles_per_instruction", want.get("cycles", want.get("cycles_per_cp_per_sm")))
    kind = str(given["op"]).split(",")[0].split("::")[0].removeprefix("tcgen05.").split()[0]
    if cycles is None:
        yield Row(name, "mover", 0.0, 0.0, left_out="no cycles in the row")
        return
    found = predict(given, chip) if chip is not None else None
    if found is None:
        yield Row(name, "mover", float(cycles), 0.0, left_out=_OTHER_CHIP if chip is None else _NO_MODEL)
        return
    yield Row(name, "cp" if kind.isdigit() else kind, float(cycles), *found)


def predict(given: Mapping[str, Any], chip: Chip) -> tuple[float, float] | None:
    """(cycles, tolerance) of a row about a mover; None when no model predicts it."""
    op = str(given["op"])
    if "shape" in given:
        item = LoadStore(op.removeprefix("tcgen05."), given["shape"], given["num"])
        # one store of 128 bytes is bound by its issue, which is the figure itself
        return load_loop_cycles(item, chip), 0.3 if item.op == "ld" else 0.1
    copies = re.match(r"(\d+) back-to-back tcgen05\.cp", op)
    if copies:
        first, step = chip.number("tcgen05.cp.latency"), chip.number("tcgen05.cp.cycles_per_copy")
        return first + (int(copies[1]) - 1) * step, 0.25
    single = {
        "tcgen05.alloc": "tmem.alloc.contended_cycles" if "contention" in op else "tmem.alloc.cycles",
        "tcgen05.fence": "tmem.fence_cycles",
        "tcgen05.wait::ld": "tmem.wait_ld_cycles",
        "tcgen05.wait::st": "tmem.wait_st_cycles",
    }
    path = next((path for start, path in single.items() if op.startswith(start)), None)
    return None if path is None else (chip.number(path), 0.05)
