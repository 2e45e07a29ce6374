"""Shared memory: what its banks make of the addresses of a warp.

`count` for a few accesses, `Trace` and `count_trace` for millions, `explain` for one in detail. The rules stand
in `rules.py`, the figures in the chip files.
"""

from .batch import count, count_trace
from .counts import Counts
from .errors import AccessError
from .ops import OPERATIONS, Operation
from .spelling import parse_op
from .trace import Trace

__all__ = ["OPERATIONS", "AccessError", "Counts", "Operation", "Trace", "count", "count_trace", "parse_op"]
