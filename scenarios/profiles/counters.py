"""The counters of shared memory in an export, whatever page and spelling they come from.

Per operation: what addresses explain. Totals also hold shuffles, launch overhead and other traffic of the same pipe.
Names: Nsight Compute 2025.3 on sm_90; the `smsp__sass_` spellings are those of earlier releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .values import Launch, Reading

OPERATIONS = ("load", "store", "atomic", "total")
QUANTITIES = ("instructions", "wavefronts", "ideal_wavefronts", "excess_wavefronts", "bank_conflicts")


@dataclass(frozen=True, slots=True)
class Counter:
    """A number of the export: which quantity of which operation, and where it was found.

    `matrix` is False for a count of instructions that leaves ldmatrix and stmatrix out.
    """

    operation: str
    quantity: str
    value: int
    origin: str
    exact: bool = True
    matrix: bool = True


_WAVE, _BANK = "l1tex__data_pipe_lsu_wavefronts_mem_shared", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
_SASS = "smsp__sass_"
# (operation, quantity): metric names, the first that is there wins.
_METRICS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("load", "instructions"): (
        "smsp__inst_executed_op_shared_ld.sum",
        "smsp__sass_inst_executed_op_shared_ld.sum",
        "sm__sass_inst_executed_op_shared_ld.sum",
        "sass__inst_executed_shared_loads",
    ),
    ("store", "instructions"): (
        "smsp__inst_executed_op_shared_st.sum",
        "smsp__sass_inst_executed_op_shared_st.sum",
        "sm__sass_inst_executed_op_shared_st.sum",
        "sass__inst_executed_shared_stores",
    ),
    ("atomic", "instructions"): ("smsp__inst_executed_op_shared_atom.sum",),
    ("load", "wavefronts"): (f"{_WAVE}_op_ld.sum", f"{_SASS}{_WAVE}_op_ld.sum"),
    ("store", "wavefronts"): (f"{_WAVE}_op_st.sum", f"{_SASS}{_WAVE}_op_st.sum"),
    ("atomic", "wavefronts"): (f"{_WAVE}_op_atom.sum",),
    ("total", "wavefronts"): (f"{_WAVE}.sum", f"{_SASS}{_WAVE}.sum"),
    ("load", "bank_conflicts"): (f"{_BANK}_op_ld.sum", f"{_SASS}{_BANK}_op_ld.sum"),
    ("store", "bank_conflicts"): (f"{_BANK}_op_st.sum", f"{_SASS}{_BANK}_op_st.sum"),
    ("atomic", "bank_conflicts"): (f"{_BANK}_op_atom.sum",),
    ("total", "bank_conflicts"): (f"{_BANK}.sum", f"{_SASS}{_BANK}.sum"),
    ("source", "wavefronts"): ("memory_l1_wavefronts_shared",),
    ("source", "ideal_wavefronts"): ("memory_l1_wavefronts_shared_ideal",),
    ("source", "excess_wavefronts"): ("derived__memory_l1_wavefronts_shared_excessive",),
}
# Counters of instructions have ldmatrix and stmatrix in metrics of their own; wavefronts, conflicts, the source page
# and the remarks of rules have them among the loads and stores (kernels with both on an H200).
_MATRIX_METRICS: Mapping[str, tuple[str, ...]] = {
    "load": ("smsp__inst_executed_op_ldsm.sum", "smsp__sass_inst_executed_op_ldsm.sum"),
    "store": ("smsp__inst_executed_op_shared_stsm.sum", "smsp__sass_inst_executed_op_shared_stsm.sum"),
}
_MISSING = "ncu --metrics group:memory__shared_table or --set full records them"

_CONFLICT_RULE = re.compile(
    r"across all (\d+) shared (load|store) requests\.?\s*This results in (\d+) bank conflicts,"
    r".{0,60}?of the overall (\d+) wavefronts for shared",
    re.S,
)
_EXCESS_RULE = re.compile(r"total of (\d+) excessive wavefronts \(\d+% of the total (\d+) wavefronts\)")


def shared_memory_counters(launch: Launch) -> tuple[Counter, ...]:
    """What the export says about the shared memory of a launch; one counter for each quantity that it has.

    From metrics, from the remarks of rules on the details page, and from the rows of the source page. `source`
    stands for sums over instructions that the profiler computes from addresses itself (source metrics).
    """
    found: dict[tuple[str, str], Counter] = {}
    for counter in [*_from_metrics(launch.metrics), *_from_rules(launch), *_from_lines(launch)]:
        found.setdefault((counter.operation, counter.quantity), counter)
    return tuple(found.values())


def _from_metrics(metrics: Mapping[str, Reading]) -> Iterable[Counter]:
    for (operation, quantity), names in _METRICS.items():
        found = _first(metrics, names)
        if found is None:
            continue
        name, value, exact = found
        if quantity == "instructions" and operation in _MATRIX_METRICS:
            more = _first(metrics, _MATRIX_METRICS[operation])
            if more is None:
                yield Counter(operation, quantity, value, name, exact, matrix=False)
            else:
                yield Counter(operation, quantity, value + more[1], f"{name} + {more[0]}", exact and more[2])
        else:
            yield Counter(operation, quantity, value, name, exact)


def _first(metrics: Mapping[str, Reading], names: Iterable[str]) -> tuple[str, int, bool] | None:
    """Name, value and exactness of the first of these metrics that the export has."""
    for name in names:
        reading = metrics.get(name)
        if reading is not None and reading.value is not None:
            return name, round(reading.value), reading.exact
    return None


def _from_rules(launch: Launch) -> Iterable[Counter]:
    for rule in launch.rules:
        origin = f"rule {rule.name}"
        for requests, operation, conflicts, wavefronts in _CONFLICT_RULE.findall(rule.text):
            yield Counter(operation, "instructions", int(requests), origin)
            yield Counter(operation, "bank_conflicts", int(conflicts), origin)
            yield Counter(operation, "wavefronts", int(wavefronts), origin)
        for excess, wavefronts in _EXCESS_RULE.findall(rule.text):
            yield Counter("source", "excess_wavefronts", int(excess), origin)
            yield Counter("source", "wavefronts", int(wavefronts), origin)


def _from_lines(launch: Launch) -> Iterable[Counter]:
    """Sums over the rows of the source page that touch shared memory."""
    sums: dict[tuple[str, str], int] = {}
    if not launch.lines:
        return
    for line in launch.lines:
        operation = line.operation.lower()
        if line.space.lower() != "shared" or operation not in ("load", "store"):
            continue
        for quantity in ("instructions", "wavefronts", "ideal_wavefronts", "excess_wavefronts"):
            reading = line.readings.get(quantity)
            if reading is not None and reading.value is not None:
                key = (operation, quantity)
                sums[key] = sums.get(key, 0) + round(reading.value)
    for (operation, quantity), value in sums.items():
        yield Counter(operation, quantity, value, "source page")
