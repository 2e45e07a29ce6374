"""Time: a discrete-event model of the shared-memory path of one SM, on SimPy.

The mechanism, each part in a file of its own: `issue` (which warp of a partition issues), `port` (the queue of a
partition and the transfer of registers), `slots` (which partition's access comes next), `lanes` (service, one
wavefront a cycle), `returns` (results come back), `barrier`. `machine` puts them together, `clock` says in which order
the work of one cycle is done.
"""

from .agent import Agent, Hook
from .clock import BOUNDARY, EVENT, GRANT, ISSUE, NEVER, SERVICE, Clock, Stage
from .errors import CycleLimitError, DeadlockError, EngineError
from .machine import Machine
from .record import Issued
from .simulate import Simulation, simulate
from .tables import instruction_table, latency_table, stall_table, usage_over_time, usage_table
from .timing import Timing, timing_of
from .tracks import Slice, Track, perfetto_trace, tracks_of
from .usage import Usage

__all__ = [
    "BOUNDARY",
    "EVENT",
    "GRANT",
    "ISSUE",
    "NEVER",
    "SERVICE",
    "Agent",
    "Clock",
    "CycleLimitError",
    "DeadlockError",
    "EngineError",
    "Hook",
    "Issued",
    "Machine",
    "Simulation",
    "Slice",
    "Stage",
    "Timing",
    "Track",
    "Usage",
    "instruction_table",
    "latency_table",
    "perfetto_trace",
    "simulate",
    "stall_table",
    "timing_of",
    "tracks_of",
    "usage_over_time",
    "usage_table",
]
