"""Recorded accesses as input: files of rows, NVBit's `mem_trace` text, Accel-Sim's `.traceg`.

`replay` reads a trace as a stream, counts every access to shared memory and sums conflicts by program counter. The
schema of row files stands in `rows.py`.
"""

from __future__ import annotations

from .batch import Batch, TraceProblem
from .open import open_trace
from .replay import replay

__all__ = ["Batch", "TraceProblem", "open_trace", "replay"]
