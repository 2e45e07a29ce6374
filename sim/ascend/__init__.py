"""Ascend: buffers and their legality, Unified Buffer banks, pipes with queues and flags."""

from .autosync import Step, place_flags
from .banks import UbGeometry, l1_bank, ub_geometry, unknown_mapping
from .capacity import MEMORIES, Buffer, MemoryUse, place_buffers, tile_bytes, tile_layout, usable_bytes
from .core import TIMING_PATHS, Core, read_core
from .costs import (
    Cost,
    copy_cost,
    cube_k,
    cube_type,
    fixpipe_cost,
    load_cost,
    mmad_cost,
    path_cost,
    runs_of,
    scale_bytes,
)
from .errors import AscendError, AscendUnknown, CapacityError, FlagError
from .hazards import Hazard, find_hazards
from .l2 import l2_hit_part
from .pipes import simulate
from .program import PIPES, Op, Program, Span, barrier, set_flag, wait_flag
from .schedule import PipeTimes, schedule
from .simt import SubBankCounts, count_lanes
from .ub_rules import CycleCounts, UbCounts, UbWitness, count_cycles, count_vector, explain_vector
from .ub_time import VectorTime, vector_time
from .vector import Operand, VectorOp
from .vector_function import gather_loop_counts, loop_counts

__all__ = [
    "MEMORIES",
    "PIPES",
    "TIMING_PATHS",
    "AscendError",
    "AscendUnknown",
    "Buffer",
    "CapacityError",
    "Core",
    "Cost",
    "CycleCounts",
    "FlagError",
    "Hazard",
    "MemoryUse",
    "Op",
    "Operand",
    "PipeTimes",
    "Program",
    "Span",
    "Step",
    "SubBankCounts",
    "UbCounts",
    "UbGeometry",
    "UbWitness",
    "VectorOp",
    "VectorTime",
    "barrier",
    "copy_cost",
    "count_cycles",
    "count_lanes",
    "count_vector",
    "cube_k",
    "cube_type",
    "explain_vector",
    "find_hazards",
    "fixpipe_cost",
    "gather_loop_counts",
    "l1_bank",
    "l2_hit_part",
    "load_cost",
    "loop_counts",
    "mmad_cost",
    "path_cost",
    "place_buffers",
    "place_flags",
    "read_core",
    "runs_of",
    "scale_bytes",
    "schedule",
    "set_flag",
    "simulate",
    "tile_bytes",
    "tile_layout",
    "ub_geometry",
    "unknown_mapping",
    "usable_bytes",
    "vector_time",
    "wait_flag",
]
