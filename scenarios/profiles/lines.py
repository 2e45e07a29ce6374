"""The counters of a launch beside what the addresses of a run give: one line a counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .counters import OPERATIONS, QUANTITIES, Counter, shared_memory_counters
from .values import Launch

_QUANTITY = {
    "instructions": "count",
    "wavefronts": "wavefronts",
    "ideal_wavefronts": "ideal",
    "excess_wavefronts": "excess",
    "bank_conflicts": "bank_conflicts",
}
_MATRIX = ("ldmatrix", "stmatrix")


@dataclass(frozen=True, slots=True)
class Line:
    """One counter: what the profiler measured, what the addresses of the run give (None: not comparable), and how much
    of the measured number they account for. Of a total that is the sum over its operations where those are known."""

    kernel: str
    operation: str
    quantity: str
    measured: int
    modelled: int | None
    explained: int | None
    origin: str
    exact: bool

    @property
    def left_over(self) -> int | None:
        """Measured less explained; of one operation negative when the run has more than the profile."""
        if self.modelled is None or self.explained is None:
            return None
        return self.measured - (self.explained if self.operation == "total" else self.modelled)


@dataclass(frozen=True, slots=True)
class RunAccess:
    """An access of the run: its row of the table `accesses`, and of the table `loops` where it has one."""

    row: Mapping[str, Any]
    loop: Mapping[str, Any] | None

    @property
    def instruction(self) -> str:
        return str(self.row["instruction"])

    def by_operation(self) -> list[tuple[str, dict[str, int | None]]]:
        """(operation of the profiler, quantity -> value); a loop of load and swap is loads and atomics."""
        if self.loop is None:
            values = {quantity: self.row[_QUANTITY[quantity]] for quantity in QUANTITIES}
            return [(_operation(self.instruction), values)]
        rounds, loads = int(self.loop["rounds"]), int(self.loop["load_wavefronts"])
        ideal, swaps = int(self.loop["load_ideal"]), int(self.loop["swap_wavefronts"])
        return [
            (
                "load",
                dict(zip(QUANTITIES, (rounds, loads, ideal, loads - ideal, loads - ideal), strict=True)),
            ),
            ("atomic", dict(zip(QUANTITIES, (rounds, swaps, swaps, 0, 0), strict=True))),
        ]


def launch_lines(launch: Launch, accesses: Sequence[RunAccess], name: str) -> list[Line]:
    """The counters of a launch, which goes by `name`, in the order of operations and quantities."""
    modelled: dict[tuple[str, str], int | None] = {}
    matrix: dict[str, int] = {}
    for access in accesses:
        for operation, values in access.by_operation():
            if access.instruction.startswith(_MATRIX):
                matrix[operation] = matrix.get(operation, 0) + (values["instructions"] or 0)
            for quantity in QUANTITIES:
                for key in ((operation, quantity), ("total", quantity), ("source", quantity)):
                    value, sofar = values[quantity], modelled.get(key, 0)
                    modelled[key] = None if value is None or sofar is None else sofar + value
    counters = {(c.operation, c.quantity): c for c in shared_memory_counters(launch)}
    lines: list[Line] = []
    for key, counter in sorted(counters.items(), key=lambda item: _order(item[1])):
        # An operation that the run has not at all explains nothing of its counter: 0, not unknown.
        model = modelled.get(key, 0)
        if model is not None and not counter.matrix:
            model -= matrix.get(counter.operation, 0)
        if not (counter.value or model != 0 or counter.operation in ("load", "store")):
            continue
        explained = None if model is None else min(counter.value, model)
        if counter.operation == "total" and model is not None:
            parts = [
                (o, counter.quantity)
                for o in ("load", "store", "atomic")
                if (o, counter.quantity) in counters
            ]
            if parts:
                explained = sum(min(counters[part].value, modelled.get(part) or 0) for part in parts)
        lines.append(Line(name, *key, counter.value, model, explained, counter.origin, counter.exact))
    return lines


def _order(counter: Counter) -> tuple[int, int]:
    operations = [*OPERATIONS, "source"]
    return operations.index(counter.operation), QUANTITIES.index(counter.quantity)


def _operation(instruction: str) -> str:
    head = instruction.split(".", maxsplit=1)[0]
    if head in ("lds", "ldmatrix"):
        return "load"
    return "store" if head in ("sts", "stmatrix") else "atomic"
