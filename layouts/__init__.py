"""Layouts: logical coordinate to physical coordinates on named axes, in four notations. Pure mathematics, NumPy only.

`parse` reads any notation; every layout is a frozen value that evaluates whole arrays of coordinates at once.
"""

from . import cute_algebra, f2, tirx_ops, tirx_spec, tla_ops
from .analysis import extent_of_axis
from .cute import Basis, CuteLayout, Swizzle, SwizzledLayout, parse_cute
from .dtype import dtype_bits, dtype_bytes, dtype_names
from .int_tuple import Static
from .linear import LinearLayout
from .linear_encodings import Encoding
from .linear_text import parse_linear
from .parse import NOTATIONS, notation_of, parse
from .protocol import ArrayLike, IntArray, Layout, LayoutError, tile_offsets
from .swizzle import MODES, swizzle_bits, with_swizzle
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_axes import AXES, Axis
from .tirx_spec import R, S
from .tirx_text import parse_tirx
from .tla import TlaLayout, crd2offset, parse_tla
from .tla_tags import TAGS, from_tag

__all__ = [
    "AXES",
    "MODES",
    "NOTATIONS",
    "TAGS",
    "ArrayLike",
    "Axis",
    "Basis",
    "ComposeLayout",
    "CuteLayout",
    "IntArray",
    "Encoding",
    "Iter",
    "Layout",
    "LinearLayout",
    "LayoutError",
    "R",
    "S",
    "Static",
    "Swizzle",
    "SwizzledLayout",
    "TileLayout",
    "TlaLayout",
    "crd2offset",
    "cute_algebra",
    "f2",
    "parse_linear",
    "dtype_bits",
    "dtype_bytes",
    "dtype_names",
    "extent_of_axis",
    "from_tag",
    "notation_of",
    "parse",
    "parse_cute",
    "parse_tirx",
    "parse_tla",
    "swizzle_bits",
    "tile_offsets",
    "tirx_ops",
    "tirx_spec",
    "tla_ops",
    "with_swizzle",
]
