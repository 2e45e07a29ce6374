"""All operations on TIRx layouts in one place, under the names of the reference.

Each takes layouts and returns new ones; `target="cuda"` stands for a current CUDA target.
"""

from .scale_factors import sf_smem_layout, sf_tmem_layout
from .smem_atoms import mma_atom_layout, mma_atom_shape, mma_shared_layout
from .tirx_canon import canonicalize, is_swizzle, is_trainium, is_trivial
from .tirx_factor import is_direct_sum_left, is_direct_sum_right, is_tile_inner, is_tile_outer
from .tirx_group import group, group_many
from .tirx_reshape import (
    broadcast,
    pack,
    permute_by_groups,
    permute_dims,
    storage,
    to_psum,
    trainium,
    unpack,
)
from .tirx_slice import slice_layout
from .tirx_tile import direct_sum, tile, tile_to
from .tmem_layouts import (
    mma_datapath,
    tcgen05_atom_layout,
    tmem_columns,
    tmem_datapath_layout,
    tmem_mma_operand_layout,
    wg_local_layout,
)

__all__ = [
    "broadcast",
    "canonicalize",
    "direct_sum",
    "group",
    "group_many",
    "is_direct_sum_left",
    "is_direct_sum_right",
    "is_swizzle",
    "is_tile_inner",
    "is_tile_outer",
    "is_trainium",
    "is_trivial",
    "mma_atom_layout",
    "mma_atom_shape",
    "mma_datapath",
    "mma_shared_layout",
    "pack",
    "permute_by_groups",
    "permute_dims",
    "sf_smem_layout",
    "sf_tmem_layout",
    "slice_layout",
    "storage",
    "tcgen05_atom_layout",
    "tile",
    "tile_to",
    "tmem_columns",
    "tmem_datapath_layout",
    "tmem_mma_operand_layout",
    "to_psum",
    "trainium",
    "unpack",
    "wg_local_layout",
]
