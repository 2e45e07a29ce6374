"""Contention of two sides: measured streams side by side against the engine (group C of `h200_async.jsonl.gz`).

The programs contain the clock stores of the measurement. A copy alone is an input: its rate is that of the same stream
measured alone, since it is bound by the loop that issues it; what is predicted is how much of it is left beside others.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...sim.chip import Chip
from ...sim.engine import CycleLimitError, Machine, timing_of
from ...sim.engine.code import Op, compile_program
from ...sim.engine.record import Recorder
from ...sim.engine.state import Access, Warp
from ...sim.hopper import Copy, HopperSm, async_of, wgmma_interval
from ...sim.program import Group, Program
from ..errors import ScenarioError
from .fields import choice, text, whole
from .hopper_alone import stream_cycles
from .hopper_streams import OPERATIONS, chase_group, idle_group, least_cycles, lsu_group, wgmma_group

__all__ = ["OPERATIONS", "Copies", "predict", "side_kind", "split_op"]

_CYCLES = 32_000
_ROW_BYTES = {"128B": 128, "64B": 64, "32B": 32}
_WARPGROUP = 4
_MOST_WARPS = 16
_WIDEST = 256
_SETTLE = 0.25
_LATER = 500
"""Cycles by which the accesses begin after the wgmma; streams that can lock in two ways depend on it."""
_STORE_ISSUE = 160
"""Cycles between two stores of the measuring loop, which bounds small ones (4 KiB: 25.3 bytes a cycle)."""
_DEFAULT_AT = {"lsu": 131_072, "tma": 147_456, "a": 0, "b": 32_768}


def side_kind(side: Mapping[str, Any]) -> str:
    """wgmma, LSU, chase, TMA load, TMA store or cp.async; of another side what it calls itself."""
    kind = text(side, "kind")
    for start, name in (
        ("wgmma", "wgmma"),
        ("lsu", "LSU"),
        ("lds chase", "chase"),
        ("tma load", "TMA load"),
        ("tma store", "TMA store"),
        ("cp.async", "cp.async"),
    ):
        if kind.startswith(start):
            return name
    return kind


@dataclass
class Copies:
    """Rate of each copy stream alone, in bytes a cycle, by kind, size and whether its place was chosen."""

    alone: dict[tuple[str, int, bool], float] = field(default_factory=dict)
    known: dict[str, dict[str, float]] = field(default_factory=dict)
    """What was predicted already, by the sides as text."""

    @staticmethod
    def key(side: Mapping[str, Any]) -> tuple[str, int, bool]:
        """What two streams have in common that run alike when alone."""
        return (text(side, "kind"), whole(side, "bytes", 1), "buffer_at" in side)

    def rate(self, side: Mapping[str, Any], chip: Chip) -> float:
        """Bytes a cycle of this stream alone: measured where it was, otherwise what its loop and the unit can do."""
        size, store = whole(side, "bytes", 1), "store" in text(side, "kind")
        rate = self.alone.get(self.key(side))
        if rate is None:
            row = _ROW_BYTES.get(str(side.get("swizzle")), _ROW_BYTES["128B"])
            rows = -(-size // row) if "2d" in text(side, "kind") else 0
            loop = {
                "copies_per_barrier": whole(side, "copies_per_barrier", 1, 1),
                "in_flight": whole(side, "in_flight", 1, 4),
                "reps": whole(side, "per_chunk", 1, 2),
            }
            round_ = stream_cycles(Copy(size, store, rows, row if rows else 0), loop, chip)
            rate = size * loop["copies_per_barrier"] / round_
        return min(rate, size / _STORE_ISSUE) if store else rate


class _Marks(Recorder):
    """Keeps the cycles of clock reads and of the operations that a side counts, nothing else."""

    __slots__ = ("counted", "stamps")

    def __init__(self, warps: int) -> None:
        super().__init__()
        self.stamps: list[list[int]] = [[] for _ in range(warps)]
        self.counted: list[list[int]] = [[] for _ in range(warps)]

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        if op.text == "CS2R":
            self.stamps[warp.id].append(now)
        elif op.text == "HGMMA" or (op.memory and op.text != "STS.64"):
            self.counted[warp.id].append(now)

    def accessed(self, access: Access) -> None:
        """Nothing is kept of single accesses."""


class _Stream(HopperSm):
    """The SM with endless copies at the rate that they have alone."""

    def __init__(
        self, chip: Chip, load: tuple[int, float] | None, store: list[tuple[int, int]] | None
    ) -> None:
        super().__init__(chip)
        self.load, self.store = load, store
        self.part = 0

    def attach(self, machine: Machine) -> None:
        super().attach(machine)
        if self.load is not None:
            self.path.write_port.begin(self.load[0], 1 << 40, self.load[1], 0)
        if self.store is not None:
            self.path.read_port.done = self._store
            self._store(0)
            self.path.look(0)

    def _store(self, now: int) -> None:
        """The next part of the store's source, in one half of shared memory."""
        assert self.store is not None
        half, amount = self.store[self.part % len(self.store)]
        self.part += 1
        self.path.read_port.begin(half, amount, now, 32)


def predict(
    sides: Mapping[str, Mapping[str, Any]], chip: Chip, copies: Copies, store_half: int | None = None
) -> dict[str, float]:
    """Cycles an operation of each side, as the measurement counts them.

    `store_half` overrides where a copy's buffer lies (rows whose id says `base0`).
    """
    key = json.dumps([_placed(sides), store_half], sort_keys=True)
    known = copies.known.get(key)
    if known is None:
        known = copies.known[key] = _predict(_placed(sides), chip, copies, store_half)
    return known


def _placed(sides: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The sides without the places of their data where no copy is there, to which alone the half matters."""
    if any(side_kind(side).startswith("TMA") for side in sides.values()):
        return {name: dict(side) for name, side in sides.items()}
    places = ("at", "a_at", "b_at")
    return {
        name: {key: value for key, value in side.items() if key not in places} for name, side in sides.items()
    }


def _predict(
    sides: Mapping[str, Mapping[str, Any]], chip: Chip, copies: Copies, store_half: int | None
) -> dict[str, float]:
    own = async_of(chip)
    groups: list[Group] = []
    first: dict[str, int] = {}
    load = store = None
    for number in range(max(map(int, sides)) + 1):
        name = str(number)
        side = sides.get(name)
        kind = side_kind(side) if side is not None else ""
        first[name] = sum(group.warps for group in groups)
        if side is None or kind.startswith("TMA"):
            groups.append(idle_group(_WARPGROUP))
        else:
            groups.append(_side(side, kind, chip))
            if groups[-1].warps % _WARPGROUP:
                groups.append(idle_group(-groups[-1].warps % _WARPGROUP))
        if side is not None and kind.startswith("TMA"):
            place = "buffer_at" if side.get("buffer_at") is not None else "base"
            at = whole(side, place, 0, _DEFAULT_AT["tma"])
            size = whole(side, "bytes", 1)
            spans = own.spans(at, size) if store_half is None else [(store_half, size)]
            if kind == "TMA load":
                load = (spans[0][0], 128 / copies.rate(side, chip))
            else:
                store = spans
    machine, marks, end = _run(Program("streams", tuple(groups)), chip, _Stream(chip, load, store))
    window = _window(marks, end)
    return {
        name: _cycles(side, first[name], marks, window, machine.lanes, copies, chip)
        for name, side in sides.items()
    }


def _side(side: Mapping[str, Any], kind: str, chip: Chip) -> Group:
    per_chunk = whole(side, "per_chunk", 8 if kind == "wgmma" else 16)
    if kind == "wgmma":
        n = whole(side, "n", 8)
        if n % 8 or n > _WIDEST:
            raise ScenarioError(f"n: {n}, a multiple of 8 up to {_WIDEST} is needed")
        operands = choice(side, "operands", ("SS", "RS"))
        return wgmma_group(
            n,
            operands == "RS",
            per_chunk,
            _chunks(per_chunk * wgmma_interval(n, operands, chip)),
            whole(side, "a_at", 0, _DEFAULT_AT["a"]),
            whole(side, "b_at", 0, _DEFAULT_AT["b"]),
        )
    at = whole(side, "at", 0, _DEFAULT_AT["lsu"])
    if kind == "chase":
        return chase_group(per_chunk, _chunks(per_chunk * timing_of(chip).result), at)
    op, ways = split_op(text(side, "op"), side)
    chunks = _chunks(per_chunk * least_cycles(op, ways, chip))
    return lsu_group(op, ways, _warps(side), per_chunk, chunks, at)


def _chunks(cycles: float) -> int:
    """Chunks of at least so many cycles that last longer than the run: no side may end, and free the path, before."""
    return 2 + int(_CYCLES // cycles)


def _warps(side: Mapping[str, Any]) -> int:
    warps = whole(side, "warps", 1)
    if warps > _MOST_WARPS:
        raise ScenarioError(f"warps: {warps}, at most {_MOST_WARPS} of one side fit beside another")
    return warps


def split_op(name: str, side: Mapping[str, Any]) -> tuple[str, int]:
    """Operation and ways of conflict.

    >>> split_op("sts128x8", {}), split_op("lds32", {"ways": 4}), split_op("ldsm4", {})
    (('sts128', 8), ('lds32', 4), ('ldsm4', 1))
    """
    op, _, ways = name.partition("x")
    if not ways.isdecimal() and ways:
        raise ScenarioError(f"op: {name!r}, the ways after x are no number")
    return op, whole(side, "ways", 1, int(ways or 1))


def _run(program: Program, chip: Chip, agent: HopperSm) -> tuple[Machine, _Marks, int]:
    timing = timing_of(chip)
    busy = [group for group in program.groups for _ in range(group.warps)]
    starts = [
        7 * (warp % 4)
        + (0 if "HGMMA" in {item.op for segment in group.segments[:2] for item in segment.code} else _LATER)
        for warp, group in enumerate(busy)
    ]
    machine = Machine(program, compile_program(program, chip, timing, [agent]), timing, starts, [agent])
    machine.issue.recorder = marks = _Marks(len(busy))
    try:
        machine.run(_CYCLES)
    except CycleLimitError:
        return machine, marks, _CYCLES
    running = [warp.end for warp in machine.warps if warp.start >= 0]
    return machine, marks, min(running)


def _cycles(
    side: Mapping[str, Any],
    first: int,
    marks: _Marks,
    window: tuple[int, int],
    path: Any,
    copies: Copies,
    chip: Chip,
) -> float:
    kind = side_kind(side)
    if kind == "TMA load":
        end = _end(marks)
        path.write_port.remaining(end)
        return whole(side, "bytes", 1) * end / max(path.write_port.written * 128, 1)
    if kind == "TMA store":
        read = path.read_port.read - path.read_port.left
        return whole(side, "bytes", 1) * _end(marks) / max(read * min(1.0, copies.rate(side, chip) / 31.9), 1)
    warps = [first] if kind == "wgmma" else range(first, first + whole(side, "warps", 1, 1))
    rate = sum(_rate(marks.counted[warp], *window) for warp in warps)
    return 1 / rate if rate else float("nan")


def _end(marks: _Marks) -> int:
    return max(max(cycles, default=0) for cycles in marks.counted)


def _window(marks: _Marks, end: int) -> tuple[int, int]:
    """The settled part of the run, from one clock read of the side that reads most often to another."""
    often = max(marks.stamps, key=len)
    settled = [at for at in often if _SETTLE * end <= at <= end]
    return (settled[0], settled[-1]) if len(settled) > 4 else (round(_SETTLE * end), end)


def _rate(counted: list[int], begin: int, end: int) -> float:
    """Operations a cycle between two cycles, partial ones included."""
    if len(counted) < 2:
        return 0.0
    return (_position(counted, end) - _position(counted, begin)) / (end - begin)


def _position(counted: list[int], at: int) -> float:
    index = bisect_right(counted, at) - 1
    if index < 0:
        return 0.0
    if index >= len(counted) - 1:
        return float(len(counted) - 1)
    return index + (at - counted[index]) / (counted[index + 1] - counted[index])
