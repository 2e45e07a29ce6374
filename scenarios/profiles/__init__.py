"""Profiler exports as they are: Nsight Compute (raw, details and source pages) and msprof op tables.

`read_profile` reads a file whatever its page, compression, locale and banner lines; what could not be read is listed
with its line. `compare_profile` puts the counters of shared memory beside what a scenario's addresses give.
"""

from __future__ import annotations

from .against import compare_profile
from .counters import shared_memory_counters
from .read import read_profile
from .values import Launch, Problem, Profile, Reading, Rule, SourceLine

__all__ = [
    "Launch",
    "Problem",
    "Profile",
    "Reading",
    "Rule",
    "SourceLine",
    "compare_profile",
    "read_profile",
    "shared_memory_counters",
]
