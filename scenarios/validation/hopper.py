"""Measured wgmma, copies, barriers and their contention on one H200: files of the format of `h200_async.jsonl.gz`.

Left out and counted: rows without cycles, rows whose own spread exceeds the tolerance, and what nothing here predicts
(several SMs at work, waits by polling, three sides, pairs of copies, cp.async beside others). Tolerances: 2 % for wgmma
(5 % for latencies of N = 256), 5 % for copies and barriers, 10 % for sides of contention.

The kind of a contention row is the side that it is about, alone or beside another. `kept out` marks a random fifth:
the few things that were chosen here (when the accesses of a stream begin, which part of a run counts, how often the
measuring loop issues a small store) were chosen by other rows. The constants of the mechanism come from the study of
the same measurements, whose own left-out rows were others. The constants of rows alone were fitted to all of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from ...sim.chip import Chip
from ...sim.hopper import (
    Copy,
    barrier_cycles,
    cluster_round_trip,
    copy_latency,
    cp_async_cycles,
    wgmma_interval,
    wgmma_latency,
)
from ...sim.program import read_rows
from ..errors import ScenarioError
from .hopper_contention import Copies, predict, side_kind
from .row import Row

__all__ = ["contention", "kept_out", "rows", "stream_cycles"]

_SEED = 41
"""The first whose fifth holds none of the eighteen rows by which something was chosen."""
_SHARE = 5
_WGMMA, _WIDE, _COPY, _SIDE = 0.02, 0.05, 0.05, 0.10
_SPREAD = "its own spread exceeds the tolerance"
_NO_CYCLES = "no cycles in the row"
_BLOCKS = "several SMs at work"


def kept_out(names: list[str]) -> frozenset[str]:
    """A random fifth of the rows, always the same for the same ids: no constant is chosen by them.

    >>> len(kept_out([f"row{n}" for n in range(50)]))
    10
    """
    ordered = sorted(names)
    return frozenset(random.Random(_SEED).sample(ordered, len(ordered) // _SHARE))


def rows(chip: Chip, file: Path) -> Iterator[Row]:
    """wgmma, copies, cp.async, cluster copies and barriers alone: one row each. Contention is a set of its own."""
    for place, fields in read_rows(file):
        try:
            what, cycles = fields["what"], fields["cycles"]
            if fields.get("group") == "C" or "sides" in what:
                continue
            name = str(fields["id"])
            kind, tolerance = _kind(what)
            if cycles is None:
                yield Row(name, kind, 0.0, 0.0, tolerance, _NO_CYCLES)
                continue
            found = _alone(what, chip)
            measured = (
                float(fields["derived"]["cycles_per_wgmma_sm"])
                if "stream" in kind and "wgmma" in kind
                else float(cycles)
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ScenarioError(f"{place}: {type(error).__name__}: {error}") from None
        why = found if isinstance(found, str) else _spread(fields.get("spread"), float(cycles), tolerance)
        yield Row(name, kind, measured, 0.0 if isinstance(found, str) else found, tolerance, why)


def _kind(what: Mapping[str, Any]) -> tuple[str, float]:
    kind = str(what["kind"])
    if kind == "wgmma stream":
        return f"wgmma stream {what['operands']}", _WGMMA
    if kind == "wgmma latency":
        return f"wgmma latency {what['operands']}", _WIDE if int(what["n"]) > 192 else _WGMMA
    if kind.startswith(("tma", "cp.async", "checked", "cluster")):
        return kind.split(",", maxsplit=1)[0], _COPY
    return f"barrier {kind}", _COPY


def _spread(spread: Any, cycles: float, tolerance: float) -> str:
    """Why a row cannot be held to its tolerance: its samples lie further from their median than that."""
    if not isinstance(spread, dict) or "min" not in spread or not cycles:
        return ""
    furthest = max(cycles - float(spread["min"]), float(spread["max"]) - cycles)
    return _SPREAD if furthest > tolerance * cycles else ""


def _alone(what: Mapping[str, Any], chip: Chip) -> float | str:
    """What the formulas say to a row, or why they say nothing."""
    kind = str(what["kind"])
    if int(what.get("blocks") or 1) > 1:
        return _BLOCKS
    if kind == "wgmma stream":
        return wgmma_interval(int(what["n"]), what["operands"], chip, int(what["warpgroups"]))
    if kind == "wgmma latency":
        return wgmma_latency(int(what["n"]), what["operands"], int(what["count"]), chip)
    if kind.startswith("tma"):
        return _copy(what, kind, chip)
    if kind == "cp.async stream":
        return cp_async_cycles(str(what["op"]), int(what["warps"]), chip, in_l1="8 KiB" in what["source"])
    if kind.startswith("checked copy"):
        return "no model of its own loop"
    if kind.startswith("cluster"):
        return cluster_round_trip(int(what["bytes"]), int(what["copies"]), chip)
    same = int(what["warp_a"]) % 4 == int(what["warp_b"]) % 4
    found = barrier_cycles(kind, chip, int(what["warps"]), same)
    return "nothing predicts this" if found is None else found


def _copy(what: Mapping[str, Any], kind: str, chip: Chip) -> float | str:
    box = what.get("box")
    copy = Copy(
        int(what["bytes"]), "store" in kind, int(box[-1]) if box else 0, int(what.get("row_bytes") or 0)
    )
    if "latency" in kind:
        return "waited for by polling" if what.get("wait") == "test_wait" else copy_latency(copy, chip)
    return stream_cycles(copy, what, chip)


def stream_cycles(copy: Copy, what: Mapping[str, Any], chip: Chip) -> float:
    """Cycles a round of the measured stream: bound by the unit, by the latency, or by the loops that issue.

    A thread waits for the round before, expects and copies; at the end of every `reps` rounds it reads the clock.
    """

    def figure(name: str) -> float:
        return chip.number(f"async.tma.{name}")

    each, flight = int(what["copies_per_barrier"]), int(what["in_flight"])
    issuers = int(what.get("issuers") or 1)
    own = "store" if copy.store else "load"
    if copy.tensor:
        issue = figure(f"loop_{own}_tensor")
        clock = figure("loop_clock_store" if copy.store else "loop_clock_tensor")
    elif what.get("straight_line_issue"):
        issue, clock = figure("issue") * each, figure("loop_clock_load")
    else:
        issue = figure(f"loop_{own}_first") + figure(f"loop_{own}_each") * each
        clock = figure(f"loop_clock_{own}")
    issue += clock / int(what["reps"])
    if issuers > 1:
        issue += (issuers / 2) ** 2 * _rivals(what, each, copy.store, chip)
    if copy.store:
        # a store's slot is free again when its source was read; the thread's own work overlaps with the copy's start
        waited = copy_latency(copy, chip) - figure("loop_wait") if flight == 1 else 0.0
    else:
        wait = figure("loop_wait_tensor" if copy.tensor else "loop_wait")
        waited = (
            copy_latency(copy, chip) + wait + (each - 1) * max(copy.busy(chip), figure("loop_load_each"))
        ) / flight
        waited += (issuers - 1) * copy.busy(chip) / 2 / flight
    return max(issue / issuers, waited / issuers, each * copy.busy(chip))


def _rivals(what: Mapping[str, Any], each: int, store: bool, chip: Chip) -> float:
    """Cycles a round that each of two issuing threads loses to the other."""
    if store:
        return chip.number("async.tma.rival_store") * each / 4
    if what.get("straight_line_issue"):
        return chip.number("async.tma.rival_straight") * each / 8
    return chip.number("async.tma.rival_first") + chip.number("async.tma.rival_each") * each


def contention(chip: Chip, file: Path) -> Iterator[Row]:
    """One row a side of every contention of two sides, the rest listed and left out."""
    every = [
        (place, fields)
        for place, fields in read_rows(file)
        if isinstance(fields.get("what"), dict) and "sides" in fields["what"]
    ]
    copies = _copies(every)
    secret = kept_out([str(fields.get("id")) for _, fields in every])
    for place, fields in every:
        try:
            yield from _contended(fields, chip, copies, str(fields["id"]) in secret)
        except (KeyError, TypeError, ValueError) as error:
            raise ScenarioError(f"{place}: {type(error).__name__}: {error}") from None


def _copies(every: list[tuple[str, dict[str, Any]]]) -> Copies:
    """How fast each copy stream is alone: where the file does not have it, what the package's own file has."""
    from .sets import DATA

    shipped = [row for _, row in read_rows(DATA / "h200_async.jsonl.gz") if row["group"] == "C"]
    return Copies(_alone_rates(shipped) | _alone_rates([row for _, row in every]))


def _alone_rates(every: list[dict[str, Any]]) -> dict[tuple[str, int, bool], float]:
    found: dict[tuple[str, int, bool], list[float]] = {}
    for fields in every:
        sides, cycles = fields["what"]["sides"], fields["cycles"]
        if len(sides) != 1 or not isinstance(cycles, dict):
            continue
        ((name, side),) = sides.items()
        if side_kind(side).startswith("TMA") and cycles.get(name):
            found.setdefault(Copies.key(side), []).append(int(side["bytes"]) / cycles[name])
    return {key: median(values) for key, values in found.items()}


def _contended(fields: Mapping[str, Any], chip: Chip, copies: Copies, secret: bool) -> Iterator[Row]:
    name, cycles = str(fields["id"]), fields["cycles"]
    sides: dict[str, dict[str, Any]] = fields["what"]["sides"]
    kinds = {key: side_kind(side) for key, side in sides.items()}
    why = _out_of_reach(list(kinds.values()))
    beside = "alone" if len(sides) == 1 else "three sides" if len(sides) > 2 else "beside another"
    end = ", kept out" if secret else ""
    measurable = [key for key in sides if cycles and cycles.get(key) is not None]
    if not measurable:
        yield Row(name, f"{next(iter(kinds.values()))} {beside}{end}", 0.0, 0.0, _SIDE, _NO_CYCLES)
        return
    if why:
        for key in measurable:
            label = f"{kinds[key]}: {why}"
            yield Row(f"{name}:{key}", label, float(cycles[key]), 0.0, _SIDE, why)
        return
    found = predict(sides, chip, copies, 0 if ".base0" in name else None)
    for key in measurable:
        tolerance = _SIDE
        spread = _spread((fields.get("spread") or {}).get(key), float(cycles[key]), tolerance)
        label = f"{kinds[key]} {beside}{end}"
        yield Row(f"{name}:{key}", label, float(cycles[key]), found[key], tolerance, spread)


def _out_of_reach(kinds: list[str]) -> str:
    """Why nothing here predicts the sides, "" when something does."""
    if len(kinds) > 2:
        return "three sides"
    if "cp.async" in kinds:
        return "cp.async beside others"
    if all(kind.startswith("TMA") for kind in kinds):
        return "copies alone" if len(kinds) == 1 else "two copy streams"
    return ""
