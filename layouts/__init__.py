"""Layouts: logical coordinate to physical coordinates on named axes, in four notations. NumPy only.

`parse` reads any notation; every layout is a frozen value that evaluates whole arrays of coordinates at once.
"""

from . import cute_algebra, f2, tirx_ops, tirx_spec, tla_ops
from .analysis import (
    Inverse,
    LayoutFacts,
    alignment_bytes,
    all_places,
    allocated,
    contiguous_run,
    extent_of_axis,
    facts,
    footprint_bytes,
    holes,
    inverse,
    is_injective,
    lane_run,
    offsets,
    padding_waste,
    shared_places,
)
from .bit_linear import (
    BitMatrix,
    LinearConflicts,
    access_matrix,
    bit_matrix,
    byte_columns,
    linear_conflicts,
    to_linear,
)
from .convert import Conversion, convert
from .cute import Basis, CuteLayout, Swizzle, SwizzledLayout
from .cute_text import parse_cute
from .dtype import dtype_bits, dtype_bytes, dtype_names
from .fragments import fragment_shape, from_thread_values, mma_fragment, to_thread_values
from .int_tuple import Static
from .linear import LinearLayout
from .linear_encodings import Encoding
from .linear_text import parse_linear
from .parse import NOTATIONS, notation_of, parse
from .protocol import ArrayLike, IntArray, Layout, LayoutError, tile_offsets
from .scale_factors import sf_smem_layout, sf_tmem_layout
from .smem_atoms import mma_shared_layout
from .swizzle import MODES, swizzle_bits, with_swizzle
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_axes import AXES, Axis
from .tirx_spec import R, S
from .tirx_text import parse_tirx
from .tla import TlaLayout, crd2offset, parse_tla
from .tla_tags import TAGS, from_tag
from .tmem_layouts import (
    tcgen05_atom_layout,
    tmem_columns,
    tmem_datapath_layout,
    tmem_mma_operand_layout,
    wg_local_layout,
)

__all__ = [
    "AXES",
    "MODES",
    "NOTATIONS",
    "TAGS",
    "ArrayLike",
    "Axis",
    "Basis",
    "BitMatrix",
    "ComposeLayout",
    "Conversion",
    "CuteLayout",
    "Encoding",
    "IntArray",
    "Inverse",
    "Iter",
    "Layout",
    "LayoutError",
    "LayoutFacts",
    "LinearConflicts",
    "LinearLayout",
    "R",
    "S",
    "Static",
    "Swizzle",
    "SwizzledLayout",
    "TileLayout",
    "TlaLayout",
    "access_matrix",
    "alignment_bytes",
    "all_places",
    "allocated",
    "bit_matrix",
    "byte_columns",
    "contiguous_run",
    "convert",
    "crd2offset",
    "cute_algebra",
    "dtype_bits",
    "dtype_bytes",
    "dtype_names",
    "extent_of_axis",
    "f2",
    "facts",
    "footprint_bytes",
    "fragment_shape",
    "from_tag",
    "from_thread_values",
    "holes",
    "inverse",
    "is_injective",
    "lane_run",
    "linear_conflicts",
    "mma_fragment",
    "mma_shared_layout",
    "notation_of",
    "offsets",
    "padding_waste",
    "parse",
    "parse_cute",
    "parse_linear",
    "parse_tirx",
    "parse_tla",
    "sf_smem_layout",
    "sf_tmem_layout",
    "shared_places",
    "swizzle_bits",
    "tcgen05_atom_layout",
    "tile_offsets",
    "tirx_ops",
    "tirx_spec",
    "tla_ops",
    "tmem_columns",
    "tmem_datapath_layout",
    "tmem_mma_operand_layout",
    "to_linear",
    "to_thread_values",
    "wg_local_layout",
    "with_swizzle",
]
