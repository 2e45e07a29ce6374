"""Blackwell's tensor memory: geometry, allocation, the instructions that move data, operands, descriptors, plans, time.

All maps come from `layouts/`; every figure of a machine from its chip file. Legality errors are `TmemError`.
"""

from .allocator import Allocator, Outcome, Step, check_alloc_size, legal_sizes, round_up, run_steps
from .copy import FORMATS, Copy, decompress
from .descriptor import (
    SWIZZLES,
    Difference,
    SmemDescriptor,
    check_layout,
    check_valid,
    encode_field,
    expected_strides,
    swizzle_of_code,
)
from .errors import TmemError, TmemUnknown
from .gemm import GemmLoop
from .geometry import (
    Geometry,
    Window,
    check_window,
    geometry,
    split_address,
    tmem_address,
    warps_for_lanes,
    window_of,
)
from .happens import Hazard
from .instruction_descriptor import InstructionDescriptor, kind_of_types
from .loadstore import SHAPES, FragmentMap, LoadStore, check_reduction, registers
from .mma import KINDS, MmaKind, MmaShape, check_datapath_lane, datapath, mma_kind
from .operands import (
    Cells,
    Operand,
    a_operand,
    accumulator,
    code_group,
    metadata,
    scale_columns,
    scale_factors,
    scale_ids,
    scale_ids_k96,
    tile_places,
    valid_scale_vectors,
)
from .outcome import Simulation, Span
from .pair import PairProblem, check_pair
from .plan import Placement, Plan, plan, plan_pieces, stack_until_fits
from .product import MmaInstruction
from .program import Barrier, Program, Region, Role, region_of, shared_region
from .shift import Shift
from .simulate import simulate
from .timing import (
    MmaCycles,
    burst_cycles,
    copy_cycles,
    load_loop_cycles,
    load_store_cycles,
    mma_cycles,
    transfer_cycles,
)
from .tma import MODES, SwizzleMode, TmaBox, base_offset, chunk_table, swizzle_mode
from .traffic import Movement, copy_replicas, gemm_replicas, gemm_traffic, movement_of
from .wants import (
    AccumulatorWant,
    AWant,
    ColumnsWant,
    LayoutWant,
    MetadataWant,
    Piece,
    ScaleWant,
    TileWant,
    Want,
)

__all__ = [
    "FORMATS",
    "KINDS",
    "MODES",
    "SHAPES",
    "SWIZZLES",
    "AWant",
    "AccumulatorWant",
    "Allocator",
    "Barrier",
    "Cells",
    "ColumnsWant",
    "Copy",
    "Difference",
    "FragmentMap",
    "GemmLoop",
    "Geometry",
    "Hazard",
    "InstructionDescriptor",
    "LayoutWant",
    "LoadStore",
    "MetadataWant",
    "MmaCycles",
    "MmaInstruction",
    "MmaKind",
    "MmaShape",
    "Movement",
    "Operand",
    "Outcome",
    "PairProblem",
    "Piece",
    "Placement",
    "Plan",
    "Program",
    "Region",
    "Role",
    "ScaleWant",
    "Shift",
    "Simulation",
    "SmemDescriptor",
    "Span",
    "Step",
    "SwizzleMode",
    "TileWant",
    "TmaBox",
    "TmemError",
    "TmemUnknown",
    "Want",
    "Window",
    "a_operand",
    "accumulator",
    "base_offset",
    "burst_cycles",
    "check_alloc_size",
    "check_datapath_lane",
    "check_layout",
    "check_pair",
    "check_reduction",
    "check_valid",
    "check_window",
    "chunk_table",
    "code_group",
    "copy_cycles",
    "copy_replicas",
    "datapath",
    "decompress",
    "encode_field",
    "expected_strides",
    "gemm_replicas",
    "gemm_traffic",
    "geometry",
    "kind_of_types",
    "legal_sizes",
    "load_loop_cycles",
    "load_store_cycles",
    "metadata",
    "mma_cycles",
    "mma_kind",
    "movement_of",
    "plan",
    "plan_pieces",
    "region_of",
    "registers",
    "round_up",
    "run_steps",
    "scale_columns",
    "scale_factors",
    "scale_ids",
    "scale_ids_k96",
    "shared_region",
    "simulate",
    "split_address",
    "stack_until_fits",
    "swizzle_mode",
    "swizzle_of_code",
    "tile_places",
    "tmem_address",
    "transfer_cycles",
    "valid_scale_vectors",
    "warps_for_lanes",
    "window_of",
]
