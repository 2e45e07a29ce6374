"""Shared memory: what its banks make of the addresses of a warp.

`count` for a few accesses, `Trace` and `count_trace` for millions, `explain` for one in detail. The rules stand
in `rules.py`, the figures in the chip files.
"""

from .batch import count, count_trace
from .counts import Counts
from .detail import LoopParts, bank_words, broadcast_lanes, dense_phases, loop_parts
from .errors import AccessError
from .ops import OPERATIONS, Operation
from .spelling import parse_op
from .timing import issue_cycles, latency_cycles, throughput_cycles
from .trace import Trace
from .witness import BankUse, Merge, Phase, Witness, WordUse, explain

__all__ = [
    "OPERATIONS",
    "AccessError",
    "BankUse",
    "Counts",
    "LoopParts",
    "Merge",
    "Operation",
    "Phase",
    "Trace",
    "Witness",
    "WordUse",
    "bank_words",
    "broadcast_lanes",
    "count",
    "count_trace",
    "dense_phases",
    "explain",
    "issue_cycles",
    "latency_cycles",
    "loop_parts",
    "parse_op",
    "throughput_cycles",
]
