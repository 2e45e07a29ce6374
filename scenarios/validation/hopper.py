"""Measured wgmma, copies, barriers and their contention on one H200: files of the format of `h200_async.jsonl.gz`.

Left out and counted: rows without cycles, rows whose own spread exceeds the tolerance, and what nothing here predicts
(several SMs at work, boxes waited for by polling, three sides, pairs of copies, cp.async beside others). Tolerances:
2 % for wgmma (5 % for latencies of N = 256), 5 % for copies and barriers, 10 % for sides of contention.

The kind of a contention row is the side that it is about, alone or beside another. `kept out` marks a random fifth:
the few things that were chosen here (when the accesses of a stream begin, which part of a run counts, how often the
measuring loop issues a small store, the time of a constant load) were chosen by other rows. The constants of the
mechanism come from the study of the same measurements, whose own left-out rows were others. The constants of rows
alone were fitted to all of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from ...sim.chip import Chip
from ...sim.program import read_rows
from ..errors import ScenarioError
from .fields import blamed, number, part, text, whole
from .hopper_alone import alone
from .hopper_contention import OPERATIONS, Copies, predict, side_kind, split_op
from .row import Row

__all__ = ["contention", "kept_out", "rows"]

_SEED = 41
"""The first whose fifth holds none of the eighteen rows by which something was chosen."""
_SHARE = 5
_WGMMA, _WIDE, _COPY, _SIDE = 0.02, 0.05, 0.05, 0.10
_SPREAD = "its own spread exceeds the tolerance"
_NO_CYCLES = "no cycles in the row"
_PROBES = ("probe", "burst")
"""Rows of `h200_contention` that are no configurations: single accesses beside a stream."""
_PREDICTED = frozenset({"wgmma", "LSU", "chase", "TMA load", "TMA store"})
_SIDES = ("0", "1", "2", "3")


def kept_out(names: list[str]) -> frozenset[str]:
    """A random fifth of the rows, always the same for the same ids: no constant is chosen by them.

    >>> len(kept_out([f"row{n}" for n in range(50)]))
    10
    """
    ordered = sorted(names)
    return frozenset(random.Random(_SEED).sample(ordered, len(ordered) // _SHARE))


def rows(chip: Chip, file: Path) -> Iterator[Row]:
    """wgmma, copies, cp.async, cluster copies and barriers alone: one row each. Contention is a set of its own.

    Raises ScenarioError with file and line for a row that cannot be read.
    """
    for place, fields in read_rows(file):
        try:
            row = _single(fields, chip)
        except ValueError as error:
            raise blamed(place, fields, error) from None
        if row is not None:
            yield row


def _single(fields: Mapping[str, Any], chip: Chip) -> Row | None:
    """One configuration alone on an SM; None for a row of contention."""
    if fields.get("kind") in _PROBES:
        return None
    what = part(fields, "what")
    if fields.get("group") == "C" or "sides" in what:
        return None
    name = str(fields["id"]) if fields.get("id") is not None else text(fields, "id")
    kind, tolerance = _kind(what)
    if "cycles" not in fields:
        raise ScenarioError("no field 'cycles'")
    if fields["cycles"] is None:
        return Row(name, kind, 0.0, 0.0, tolerance, _NO_CYCLES)
    cycles = number(fields, "cycles")
    found = alone(what, chip)
    measured = cycles
    if what["kind"] == "wgmma stream":
        # `cycles` is that of one warpgroup, what is predicted that of the SM
        derived = part(fields, "derived") if fields.get("derived") is not None else {}
        known = derived.get("cycles_per_wgmma_sm") is not None
        measured = number(derived, "cycles_per_wgmma_sm") if known else cycles / whole(what, "warpgroups", 1)
    if isinstance(found, str):
        return Row(name, kind, measured, 0.0, tolerance, found)
    return Row(name, kind, measured, found, tolerance, _spread(fields.get("spread"), cycles, tolerance))


def _kind(what: Mapping[str, Any]) -> tuple[str, float]:
    kind = text(what, "kind")
    if kind == "wgmma stream":
        return f"wgmma stream {what.get('operands')}", _WGMMA
    if kind == "wgmma latency":
        return f"wgmma latency {what.get('operands')}", _WIDE if whole(what, "n", 1) > 192 else _WGMMA
    if kind.startswith(("tma", "cp.async", "checked", "cluster")):
        return kind.split(",", maxsplit=1)[0], _COPY
    return f"barrier {kind}", _COPY


def _spread(spread: Any, cycles: float, tolerance: float) -> str:
    """Why a row cannot be held to its tolerance: its samples lie further from their median than that."""
    if not isinstance(spread, dict) or spread.get("min") is None or spread.get("max") is None or not cycles:
        return ""
    furthest = max(cycles - number(spread, "min"), number(spread, "max") - cycles)
    return _SPREAD if furthest > tolerance * cycles else ""


def contention(chip: Chip, file: Path) -> Iterator[Row]:
    """One row a side of every contention of two sides, the rest listed and left out.

    Raises ScenarioError with file and line for a row that cannot be read.
    """
    every = [
        (place, fields)
        for place, fields in read_rows(file)
        if isinstance(fields.get("what"), dict) and "sides" in fields["what"]
    ]
    copies = _copies(every)
    secret = kept_out([str(fields.get("id")) for _, fields in every])
    for place, fields in every:
        try:
            yield from _contended(fields, chip, copies, str(fields.get("id")) in secret)
        except ValueError as error:
            raise blamed(place, fields, error) from None


def _copies(every: list[tuple[str, dict[str, Any]]]) -> Copies:
    """How fast each copy stream is alone: where the file does not have it, what the package's own file has."""
    from .sets import DATA

    shipped = [(place, row) for place, row in read_rows(DATA / "h200_async.jsonl.gz") if row["group"] == "C"]
    return Copies(_alone_rates(shipped) | _alone_rates(every))


def _alone_rates(every: list[tuple[str, dict[str, Any]]]) -> dict[tuple[str, int, bool], float]:
    found: dict[tuple[str, int, bool], list[float]] = {}
    for place, fields in every:
        try:
            sides, cycles = _sides(fields), fields.get("cycles")
            if len(sides) != 1 or not isinstance(cycles, dict):
                continue
            ((name, side),) = sides.items()
            if side_kind(side).startswith("TMA") and cycles.get(name):
                found.setdefault(Copies.key(side), []).append(whole(side, "bytes", 1) / number(cycles, name))
        except ValueError as error:
            raise blamed(place, fields, error) from None
    return {key: median(values) for key, values in found.items()}


def _sides(fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The sides of a row by their number, 0 to 3."""
    sides = part(part(fields, "what"), "sides")
    odd = next((name for name in sides if name not in _SIDES), None)
    if odd is not None or not sides:
        raise ScenarioError(f"sides: {odd!r} (known: {', '.join(_SIDES)})" if sides else "sides: none")
    return {name: part(sides, name) for name in sides}


def _contended(fields: Mapping[str, Any], chip: Chip, copies: Copies, secret: bool) -> Iterator[Row]:
    name = str(fields["id"]) if fields.get("id") is not None else text(fields, "id")
    sides = _sides(fields)
    cycles = part(fields, "cycles") if fields.get("cycles") is not None else {}
    kinds = {key: side_kind(side) for key, side in sides.items()}
    why = _out_of_reach(sides, list(kinds.values()))
    beside = "alone" if len(sides) == 1 else "three sides" if len(sides) > 2 else "beside another"
    end = ", kept out" if secret else ""
    measurable = {key: number(cycles, key) for key in sides if cycles.get(key) is not None}
    if not measurable:
        yield Row(name, f"{next(iter(kinds.values()))} {beside}{end}", 0.0, 0.0, _SIDE, _NO_CYCLES)
        return
    if why:
        for key, value in measurable.items():
            yield Row(f"{name}:{key}", f"{kinds[key]}: {why}", value, 0.0, _SIDE, why)
        return
    found = predict(sides, chip, copies, 0 if ".base0" in name else None)
    spreads = fields.get("spread")
    for key, value in measurable.items():
        spread = _spread(spreads.get(key) if isinstance(spreads, dict) else None, value, _SIDE)
        label = f"{kinds[key]} {beside}{end}"
        yield Row(f"{name}:{key}", label, value, found[key], _SIDE, spread)


def _out_of_reach(sides: Mapping[str, Mapping[str, Any]], kinds: list[str]) -> str:
    """Why nothing here predicts the sides, "" when something does."""
    if len(kinds) > 2:
        return "three sides"
    if "cp.async" in kinds:
        return "cp.async beside others"
    if all(kind.startswith("TMA") for kind in kinds):
        return "copies alone" if len(kinds) == 1 else "two copy streams"
    if not set(kinds) <= _PREDICTED:
        return "a side of a kind that nothing predicts"
    for side, kind in zip(sides.values(), kinds, strict=True):
        if kind == "LSU" and split_op(text(side, "op"), side)[0] not in OPERATIONS:
            return f"the measuring loop of {side['op']} is not known"
    return ""
