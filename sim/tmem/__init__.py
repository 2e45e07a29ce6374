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
from .errors import TmemError
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
from .plan import Placement, Plan, plan, plan_pieces, stack_until_fits
from .shift import Shift
from .tma import MODES, SwizzleMode, TmaBox, base_offset, chunk_table, swizzle_mode
from .wants import AccumulatorWant, AWant, ColumnsWant, MetadataWant, Piece, ScaleWant, TileWant, Want

__all__ = [
    "FORMATS",
    "KINDS",
    "MODES",
    "SHAPES",
    "SWIZZLES",
    "AWant",
    "AccumulatorWant",
    "Allocator",
    "Cells",
    "ColumnsWant",
    "Copy",
    "Difference",
    "FragmentMap",
    "Geometry",
    "InstructionDescriptor",
    "LoadStore",
    "MetadataWant",
    "MmaKind",
    "MmaShape",
    "Operand",
    "Outcome",
    "Piece",
    "Placement",
    "Plan",
    "ScaleWant",
    "Shift",
    "SmemDescriptor",
    "Step",
    "SwizzleMode",
    "TileWant",
    "TmaBox",
    "TmemError",
    "Want",
    "Window",
    "a_operand",
    "accumulator",
    "base_offset",
    "check_alloc_size",
    "check_datapath_lane",
    "check_layout",
    "check_reduction",
    "check_valid",
    "check_window",
    "chunk_table",
    "code_group",
    "datapath",
    "decompress",
    "encode_field",
    "expected_strides",
    "geometry",
    "kind_of_types",
    "legal_sizes",
    "metadata",
    "mma_kind",
    "plan",
    "plan_pieces",
    "registers",
    "round_up",
    "run_steps",
    "scale_columns",
    "scale_factors",
    "scale_ids",
    "scale_ids_k96",
    "split_address",
    "stack_until_fits",
    "swizzle_mode",
    "swizzle_of_code",
    "tile_places",
    "tmem_address",
    "valid_scale_vectors",
    "warps_for_lanes",
    "window_of",
]
