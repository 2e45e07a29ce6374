"""wgmma, copies, cp.async and barriers that have an SM to themselves: what the formulas say to a measured row.

The loops that issue copies are part of what was measured, so their constants are here and not in the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod
from typing import Any

from ...sim.chip import Chip
from ...sim.hopper import (
    Copy,
    barrier_cycles,
    cluster_round_trip,
    copy_latency,
    cp_async_cycles,
    slower,
    wgmma_interval,
    wgmma_latency,
)
from ..errors import ScenarioError
from .fields import choice, text, whole

__all__ = ["BLOCKS", "NOTHING", "alone", "stream_cycles"]

BLOCKS = "several SMs at work"
NOTHING = "nothing predicts this"
_OPERANDS = ("SS", "RS")
_CP_ASYNC = ("ca4", "ca8", "ca16", "cg16")
_COPIES = tuple(
    f"tma {dimensions} {way} {what}"
    for dimensions in ("1-D", "2-D")
    for way in ("load", "store")
    for what in ("stream", "latency")
)


def alone(what: Mapping[str, Any], chip: Chip) -> float | str:
    """What the formulas say to a row, or why they say nothing. Raises ScenarioError for a field that is odd."""
    kind = text(what, "kind")
    if whole(what, "blocks", 1, 1) > 1:
        return BLOCKS
    if kind == "wgmma stream":
        return wgmma_interval(
            whole(what, "n", 1), choice(what, "operands", _OPERANDS), chip, whole(what, "warpgroups", 1)
        )
    if kind == "wgmma latency":
        return wgmma_latency(
            whole(what, "n", 1), choice(what, "operands", _OPERANDS), whole(what, "count", 1), chip
        )
    if kind in _COPIES:
        return _copy(what, kind, chip)
    if kind == "cp.async stream":
        op = choice(what, "op", _CP_ASYNC)
        return cp_async_cycles(op, whole(what, "warps", 1), chip, in_l1="8 KiB" in text(what, "source"))
    if kind.startswith("checked copy"):
        return "no model of its own loop"
    if kind == "cluster bulk copy round trip":
        return cluster_round_trip(whole(what, "bytes", 1), whole(what, "copies", 1), chip)
    same = whole(what, "warp_a", 0, 0) % 4 == whole(what, "warp_b", 0, 0) % 4
    found = barrier_cycles(kind, chip, whole(what, "warps", 1, 1), same)
    return NOTHING if found is None else found


def _copy(what: Mapping[str, Any], kind: str, chip: Chip) -> float | str:
    size = whole(what, "bytes", 1)
    rows = _rows(what.get("box")) if "2-D" in kind else 0
    copy = Copy(size, "store" in kind, rows, whole(what, "row_bytes", 1, size // rows) if rows else 0)
    if "stream" in kind:
        return stream_cycles(copy, what, chip)
    if what.get("wait") != "test_wait":
        return copy_latency(copy, chip)
    if rows:
        return "waited for by polling"
    # a loop of test_wait sees a copy only when it looks
    first, step = (chip.number(f"async.tma.{name}") for name in ("poll_first", "poll"))
    return first + step * max(ceil((copy_latency(copy, chip) - first) / step), 0)


def _rows(box: Any) -> int:
    """Rows of a box: all dimensions but the innermost, which comes first."""
    sizes = box if isinstance(box, list) else []
    if len(sizes) < 2 or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise ScenarioError(f"box: {box!r}, the sizes of at least two dimensions are needed")
    return prod(sizes[1:])


def stream_cycles(copy: Copy, what: Mapping[str, Any], chip: Chip) -> float:
    """Cycles a round of the measured stream: bound by the unit, by the latency, or by the loops that issue.

    The source of 1-D loads moves, and with it their latency (chunks of a stream of one 8 KiB copy in flight differ by
    1.3 %, boxes by 0.2 %): a loop that issues about as fast waits sometimes for the copy, sometimes for itself.
    A thread waits for the round before, expects and copies; at the end of every `reps` rounds it reads the clock.
    """

    def figure(name: str) -> float:
        return chip.number(f"async.tma.{name}")

    each, flight = whole(what, "copies_per_barrier", 1), whole(what, "in_flight", 1)
    issuers = whole(what, "issuers", 1, 1)
    own = "store" if copy.store else "load"
    if copy.tensor:
        # boxes were measured one a round; a further one is taken to cost what a further 1-D copy does
        issue = figure(f"loop_{own}_tensor") + figure(f"loop_{own}_each") * (each - 1)
        clock = figure("loop_clock_store" if copy.store else "loop_clock_tensor")
    elif what.get("straight_line_issue"):
        issue, clock = figure("issue") * each, figure("loop_clock_load")
    else:
        issue = figure(f"loop_{own}_first") + figure(f"loop_{own}_each") * each
        clock = figure(f"loop_clock_{own}")
    issue += clock / whole(what, "reps", 1)
    if issuers > 1:
        issue += (issuers / 2) ** 2 * _rivals(what, each, copy.store, chip)
    if copy.store:
        # a store's slot is free again when its source was read; the thread's own work overlaps with the copy's start
        last = copy_latency(copy, chip) + (each - 1) * copy.busy(chip)
        waited = last - figure("loop_wait") if flight == 1 else 0.0
    else:
        wait = figure("loop_wait_tensor" if copy.tensor else "loop_wait")
        waited = (
            copy_latency(copy, chip) + wait + (each - 1) * max(copy.busy(chip), figure("loop_load_each"))
        ) / flight
        waited += (issuers - 1) * copy.busy(chip) / 2 / flight
    varies = not (copy.store or copy.tensor)
    bound = slower(issue, waited, chip) if varies else max(issue, waited)
    return max(bound / issuers, each * copy.busy(chip))


def _rivals(what: Mapping[str, Any], each: int, store: bool, chip: Chip) -> float:
    """Cycles a round that each of two issuing threads loses to the other."""
    if store:
        return chip.number("async.tma.rival_store") * each / 4
    if what.get("straight_line_issue"):
        return chip.number("async.tma.rival_straight") * each / 8
    return chip.number("async.tma.rival_first") + chip.number("async.tma.rival_each") * each
