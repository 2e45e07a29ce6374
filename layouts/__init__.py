"""Layouts: logical coordinate to physical coordinates on named axes, in four notations. NumPy only.

`parse` reads any notation; every layout is a frozen value that evaluates whole arrays of coordinates at once.
Names are imported when they are first used, so that counting one access loads one notation.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from .conversion import Conversion, convert
    from .cute import Basis, CuteLayout, Swizzle, SwizzledLayout
    from .cute_text import parse_cute
    from .dtype import dtype_bits, dtype_bytes, dtype_names
    from .fragments import fragment_shape, from_thread_values, mma_fragment, to_thread_values
    from .int_tuple import Static
    from .linear import LinearLayout
    from .linear_encodings import Encoding
    from .linear_text import parse_linear
    from .notation import NOTATIONS, notation_of, parse
    from .objects import from_object
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
    "from_object",
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

# module -> the public names in it
_NAMES: dict[str, str] = {
    "analysis": (
        "Inverse LayoutFacts alignment_bytes all_places allocated contiguous_run extent_of_axis "
        "facts footprint_bytes holes inverse is_injective lane_run offsets padding_waste "
        "shared_places"
    ),
    "bit_linear": (
        "BitMatrix LinearConflicts access_matrix bit_matrix byte_columns linear_conflicts to_linear"
    ),
    "conversion": "Conversion convert",
    "cute": "Basis CuteLayout Swizzle SwizzledLayout",
    "cute_text": "parse_cute",
    "dtype": "dtype_bits dtype_bytes dtype_names",
    "fragments": "fragment_shape from_thread_values mma_fragment to_thread_values",
    "int_tuple": "Static",
    "linear": "LinearLayout",
    "linear_encodings": "Encoding",
    "linear_text": "parse_linear",
    "notation": "NOTATIONS notation_of parse",
    "objects": "from_object",
    "protocol": "ArrayLike IntArray Layout LayoutError tile_offsets",
    "scale_factors": "sf_smem_layout sf_tmem_layout",
    "smem_atoms": "mma_shared_layout",
    "swizzle": "MODES swizzle_bits with_swizzle",
    "tirx": "ComposeLayout Iter TileLayout",
    "tirx_axes": "AXES Axis",
    "tirx_spec": "R S",
    "tirx_text": "parse_tirx",
    "tla": "TlaLayout crd2offset parse_tla",
    "tla_tags": "TAGS from_tag",
    "tmem_layouts": (
        "tcgen05_atom_layout tmem_columns tmem_datapath_layout tmem_mma_operand_layout wg_local_layout"
    ),
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("cute_algebra", "f2", "tirx_ops", "tirx_spec", "tla_ops")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
