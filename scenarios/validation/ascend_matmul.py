"""The published matrix multiplications of 8192 x 8192 x 8192 as schedules of the scenario vocabulary.

A part of one core's share is simulated (`m` x `n` of it, the schedule repeats) and scaled by `times`; the cube's time
is the mean over the cores (`mac_part` of the busiest core), as in the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...sim.ascend import PIPES, Core, l2_hit_part, read_core, schedule
from ...sim.chip import Chip
from ..ascend_lower import lower
from ..ascend_model import Ascend
from ..ascend_places import make_places
from ..errors import Place
from .row import Row

SIZE = 8192
Fields = dict[str, Any]


def matmul_rows(chip: Chip, items: list[Fields]) -> Iterator[Row]:
    """Cube share of every variant, then how many pairs of variants are in the right order by task time."""
    core = read_core(chip)
    times: list[tuple[float, float]] = []
    for item in items:
        share, microseconds = matmul(core, item)
        tolerance = item["points"] / 100 / item["measured"]
        left_out = item.get("left_out", "")
        yield Row(str(item["id"]), str(item["kind"]), item["measured"], share, tolerance, left_out)
        if not left_out:
            times.append((item["task_us"], microseconds))
    pairs = right = 0
    for index, (measured, predicted) in enumerate(times):
        for other, guess in times[index + 1 :]:
            if abs(measured / other - 1) > 0.03:  # what differs by less is one and the same to this model
                pairs += 1
                right += (measured > other) == (predicted > guess)
    yield Row("matmul pairs in order", "matmul order", float(pairs), float(right), 0.0)


def matmul(core: Core, item: Fields) -> tuple[float, float]:
    """(cube share, task time in microseconds) of one variant."""
    section = matmul_section(core, item)
    places = make_places(section, core.chip)
    lowered = lower(section, places, core, lambda _: Place())
    times = schedule(lowered.program, core)
    share = times.busy[PIPES.index("M")] / times.cycles * item["mac_part"]
    return share, core.microseconds(times.cycles) * item["times"]


def matmul_section(core: Core, item: Fields) -> Ascend:
    """The section `ascend:` of a variant: `base` copies one block at a time, the others whole packages."""
    rows, cols, deep = item["tile"]
    dtype = item.get("dtype", "f16")
    size = SIZE * SIZE // (4 if dtype == "fp4" else 1) * 2
    shared = item.get("shared", [1, 1])
    hits = [
        l2_hit_part(core, size, size * (SIZE // extent), 2 * size, shared=part, passes=item.get("passes", 1))
        for extent, part in zip((cols, rows), shared, strict=True)
    ]
    base, ka, kb = bool(item.get("base")), item["ka"], item["kb"]
    slots = 1 if base else 2
    unit = bool(item.get("unit"))
    return Ascend.model_validate(
        {
            "cores": item["cores"],
            "sync": "manual" if base else "auto",
            "matrices": {
                "A": {"shape": [SIZE, SIZE], "dtype": dtype, "l2_hit": hits[0]},
                "B": {"shape": [SIZE, SIZE], "dtype": dtype, "layout": "ColumnMajor", "l2_hit": hits[1]},
                "C": {"shape": [SIZE, SIZE]},
            },
            "tiles": {
                "A1": {"in": "L1", "shape": [rows, deep * ka], "dtype": dtype, "slots": slots},
                "B1": {
                    "in": "L1",
                    "shape": [deep * kb, cols],
                    "dtype": dtype,
                    "layout": "nZ",
                    "slots": slots,
                },
                "A2": {"in": "L0A", "shape": [rows, deep], "dtype": dtype, "slots": 2},
                "B2": {"in": "L0B", "shape": [deep, cols], "dtype": dtype, "slots": 2},
                "C2": {"in": "L0C", "shape": [rows, cols], "dtype": "f32"},
            },
            "schedule": _base(item) if base else _packages(item, unit),
        }
    )


def _packages(item: Fields, unit: bool) -> list[Fields]:
    rows, cols, deep = item["tile"]
    ka, kb = item["ka"], item["kb"]
    multiply = [
        {"load": {"from": "A1[0, k2 + k]", "to": "A2"}},
        {"load": {"from": "B1[k, 0]", "to": "B2"}},
        {"mmad": {"a": "A2", "b": "B2", "c": "C2", "init": "k1 + k2 + k == 0", "unit_flag": unit}},
    ]
    inner = [
        {"copy": {"from": "B[k1 + k2, n]", "to": "B1"}},
        {"for": {"k": f"0:{deep * kb}:{deep}"}, "do": multiply},
    ]
    outer = [
        {"copy": {"from": "A[m, k1]", "to": "A1"}},
        {"for": {"k2": f"0:{deep * ka}:{deep * kb}"}, "do": inner},
    ]
    tile = [
        {"for": {"k1": f"0:{SIZE}:{deep * ka}"}, "do": outer},
        {"fixpipe": {"from": "C2", "to": "C[m, n]", "unit_flag": unit}},
    ]
    return [{"for": {"m": f"0:{item['m']}:{rows}", "n": f"0:{item['n']}:{cols}"}, "do": tile}]


def _base(item: Fields) -> list[Fields]:
    """One block at a time: the copies of a step wait until the loads of the one before are over."""
    rows, cols, deep = item["tile"]
    step = [
        _wait("MTE1", "MTE2"),
        {"copy": {"from": "A[m, k]", "to": "A1"}},
        {"copy": {"from": "B[k, n]", "to": "B1"}},
        _set("MTE2", "MTE1"),
        _wait("MTE2", "MTE1"),
        _wait("M", "MTE1"),
        {"load": {"from": "A1", "to": "A2"}},
        {"load": {"from": "B1", "to": "B2"}},
        _set("MTE1", "MTE2"),
        _set("MTE1", "M"),
        _wait("MTE1", "M"),
        {"mmad": {"a": "A2", "b": "B2", "c": "C2", "init": "k == 0"}},
        _set("M", "MTE1"),
    ]
    tile = [
        _wait("FIX", "M"),
        {"for": {"k": f"0:{SIZE}:{deep}"}, "do": step},
        _set("M", "FIX"),
        _wait("M", "FIX"),
        {"fixpipe": {"from": "C2", "to": "C[m, n]"}},
        _set("FIX", "M"),
    ]
    loop = {"for": {"m": f"0:{item['m']}:{rows}", "n": f"0:{item['n']}:{cols}"}, "do": tile}
    return [_set("MTE1", "MTE2"), _set("M", "MTE1"), _set("FIX", "M"), loop]


def _set(source: str, target: str) -> Fields:
    return {"set_flag": {"from": source, "to": target}}


def _wait(source: str, target: str) -> Fields:
    return {"wait_flag": {"from": source, "to": target}}
