"""Published Ascend tables against the models: Unified Buffer conflicts, re-layout, Mmad, matrix multiplication, MTE2.

A row of `ascend910b.jsonl` or `ascend950.jsonl` names its `kind`; ratios are compared where the table has no absolute
base, cube shares in points (`points`: how many are right).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...sim.ascend import (
    PIPES,
    Op,
    Operand,
    Program,
    VectorOp,
    gather_loop_counts,
    loop_counts,
    mmad_cost,
    read_core,
    simulate,
    vector_time,
)
from ...sim.chip import Chip
from ...sim.program import read_rows
from ..errors import ScenarioError
from ..expressions import evaluate
from .ascend_matmul import matmul_rows
from .ascend_mte2 import mte2_rows
from .row import Row

Fields = dict[str, Any]


def rows(chip: Chip, file: Path) -> Iterator[Row]:
    """One row a line, the leave-one-out rows of MTE2 and the order of the matrix multiplications behind them."""
    groups: dict[str, list[Fields]] = {}
    for place, fields in read_rows(file):
        for name in ("id", "kind"):
            if name not in fields:
                raise ScenarioError(f"{place}: no field {name!r}")
        first = next((name for name in _KINDS if str(fields["kind"]).startswith(name)), None)
        if first is None:
            raise ScenarioError(f"{place}: unknown kind {fields['kind']!r} (known: {', '.join(_KINDS)})")
        groups.setdefault(first, []).append(fields)
    for name, items in groups.items():
        yield from _KINDS[name](chip, items)


def _each(
    predict: Callable[[Chip, Fields], tuple[float, float]],
) -> Callable[[Chip, list[Fields]], Iterator[Row]]:
    def made(chip: Chip, items: list[Fields]) -> Iterator[Row]:
        for item in items:
            measured, predicted = predict(chip, item)
            yield Row(
                str(item["id"]),
                str(item["kind"]),
                measured,
                predicted,
                item["tolerance"],
                item.get("left_out", ""),
            )

    return made


def _conflicts(chip: Chip, item: Fields) -> tuple[float, float]:
    cycles = vector_time(_vector(item, item["repeats"]), chip).cycles
    base = vector_time(_vector(item["base"], item["repeats"]), chip).cycles
    return item["ticks"] / item["base_ticks"], cycles / base


def _relayout(chip: Chip, item: Fields) -> tuple[float, float]:
    slow, fast = (vector_time(_vector(item[key], item["repeats"]), chip).cycles for key in ("slow", "fast"))
    return item["measured"], slow / fast


def _mmad(chip: Chip, item: Fields) -> tuple[float, float]:
    core = read_core(chip)
    cost = mmad_cost(core, item["m"], item["n"], item["k"], item["dtype"])
    cube = PIPES.index("M")
    op = Op(cube, 0, "mmad", cost.busy, cost.tail)
    program = Program([op] * item["loops"], [((), ())] * item["loops"])
    return float(item["measured"]), float(simulate(program, core).busy[cube])


def _function(chip: Chip, item: Fields) -> tuple[float, float]:
    return item["measured"] / 1000, _loop(chip, item)


def _ratio(chip: Chip, item: Fields) -> tuple[float, float]:
    return item["measured"], _loop(chip, item["first"]) / _loop(chip, item["second"])


def _loop(chip: Chip, item: Fields) -> float:
    if "gather" in item:
        lanes = np.arange(64)
        offsets = np.broadcast_to(evaluate(item["gather"], {"lane": lanes}), lanes.shape)
        step = (
            256 if int(offsets.max()) + 4 == 256 else 0
        )  # consecutive lanes go on with the next 64 elements
        return gather_loop_counts(item["data"] + offsets + step * np.arange(item["repeats"])[:, None], chip)
    sides = [[Operand(*operand) for operand in item[key]] for key in ("loads", "stores")]
    return loop_counts(sides[0], sides[1], item["repeats"], chip)


def _vector(item: Fields, repeats: int) -> VectorOp:
    reads, writes = (tuple(Operand(*operand) for operand in item[key]) for key in ("reads", "writes"))
    return VectorOp(reads, writes, repeats)


_KINDS: dict[str, Callable[[Chip, list[Fields]], Iterator[Row]]] = {
    "ub ratio": _each(_conflicts),
    "ub counts": _each(_function),
    "ub loop ratio": _each(_ratio),
    "nd2nz": _each(_relayout),
    "mmad": _each(_mmad),
    "matmul": matmul_rows,
    "mte2": mte2_rows,
}
