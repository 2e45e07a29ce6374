"""The hardware: chips as data, memories that are counted, an engine that tells the time.

Names are imported when they are first used, so that counting one access does not load the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chip import Chip, ChipError, Constant, chip_names, load_chip
    from .memory import (
        AccessError,
        Counts,
        Operation,
        Trace,
        Witness,
        bank_words,
        broadcast_lanes,
        count,
        count_trace,
        explain,
        parse_op,
    )
    from .results import Column, Picture, RunResult, Table

__all__ = [
    "AccessError",
    "Chip",
    "ChipError",
    "Column",
    "Constant",
    "Counts",
    "Operation",
    "Picture",
    "RunResult",
    "Table",
    "Trace",
    "Witness",
    "bank_words",
    "broadcast_lanes",
    "chip_names",
    "count",
    "count_trace",
    "explain",
    "load_chip",
    "parse_op",
]

_CHIP = ("Chip", "ChipError", "Constant", "chip_names", "load_chip")
_RESULTS = ("Column", "Picture", "RunResult", "Table")
_WHERE = {
    name: ".chip" if name in _CHIP else ".results" if name in _RESULTS else ".memory" for name in __all__
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
