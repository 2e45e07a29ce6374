"""The canonical form of a TIRx layout, and the structural questions that rest on it.

`target="cuda"` stands for the reference's "current CUDA target": under it thread axes of one scope chain are
rewritten to a single axis (`warpid` and `laneid` to `tx`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from .protocol import LayoutError
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_axes import is_memory, is_thread

# (narrowest subscope, outer scope) -> axis -> (factor, new axis). `wgid` under (warp, cta) keeps its name in the
# reference although its stride is rescaled; that is followed.
_FUSION: dict[tuple[str, str], dict[str, tuple[int, str]]] = {
    ("thread", "cta"): {
        "warpid": (32, "tx"),
        "laneid": (1, "tx"),
        "wgid": (128, "tx"),
        "tid_in_wg": (1, "tx"),
        "wid_in_wg": (32, "tx"),
    },
    ("thread", "warpgroup"): {"laneid": (1, "tid_in_wg"), "wid_in_wg": (32, "tid_in_wg")},
    ("warp", "cta"): {"wid_in_wg": (1, "warpid"), "wgid": (4, "wgid")},
}


def check_target(target: str | None) -> bool:
    """Whether thread axes are fused: `"cuda"` yes, None no; LayoutError for any other target."""
    if target not in (None, "cuda"):
        raise LayoutError(f"unknown target {target!r}; known are 'cuda' and None")
    return target == "cuda"


@overload
def canonicalize(layout: TileLayout, target: str | None = None) -> TileLayout: ...
@overload
def canonicalize(layout: ComposeLayout, target: str | None = None) -> ComposeLayout: ...
def canonicalize(layout: TileLayout | ComposeLayout, target: str | None = None) -> TileLayout | ComposeLayout:
    """The layout without unit iters and zero offsets, neighbouring iters fused; see the module for `target`.

    1. shard iters of extent 1 go (one is kept when all are); 2. zero offsets go; 3. the scope must be well
    formed; 4. under "cuda" thread axes are rewritten by the scope; 5. neighbours on one axis fuse where
    extent[i+1]*stride[i+1] == stride[i]. Replica iters are kept as they are (the reference reorders them).
    Where the reference loses an offset when two terms land on one axis, they are added here. A compose layout keeps
    its swizzle over the canonical tile.

    >>> from bankbench.layouts import parse
    >>> print(canonicalize(parse("S[(4,32):(1@warpid,1@laneid)] + 1@warpid + 3@laneid"), target="cuda"))
    S[128:1@tx] + 35@tx
    """
    if isinstance(layout, ComposeLayout):
        return with_tile(layout, canonicalize(layout.tile_layout, target))
    fuse_axes = check_target(target)
    kept = [item for item in layout.shard if item.extent != 1]
    if not kept and layout.shard:
        kept = [Iter(1, 1, layout.shard[0].axis)]
    offset = {axis: value for axis, value in layout.offset_terms if value != 0}
    bare = TileLayout.from_iters(kept, layout.replica, offset)
    scope = bare.get_scope()
    rename = _FUSION.get(scope, {}) if fuse_axes and scope is not None else {}
    shard = [_renamed(item, rename) for item in kept]
    replica = [_renamed(item, rename) for item in layout.replica]
    return TileLayout.from_iters(fuse(shard), replica, _renamed_offset(offset, rename))


def _renamed(item: Iter, rename: Mapping[str, tuple[int, str]]) -> Iter:
    factor, axis = rename.get(item.axis, (1, item.axis))
    return Iter(item.extent, item.stride * factor, axis)


def _renamed_offset(offset: Mapping[str, int], rename: Mapping[str, tuple[int, str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in offset.items():
        factor, axis = rename.get(name, (1, name))
        found[axis] = found.get(axis, 0) + value * factor
    return found


def fuse(shard: Sequence[Iter]) -> list[Iter]:
    """Neighbours on one axis that continue each other as one iter, greedy from the left."""
    found: list[Iter] = []
    for item in shard:
        last = found[-1] if found else None
        if last and last.axis == item.axis and item.extent * item.stride == last.stride:
            found[-1] = Iter(last.extent * item.extent, item.stride, item.axis)
        else:
            found.append(item)
    return found


def with_tile(layout: ComposeLayout, tile: TileLayout) -> ComposeLayout:
    """The swizzle of a compose layout over another tile."""
    return ComposeLayout(layout.per_element, layout.swizzle_len, layout.atom_len, tile, layout.swizzle_inner)


def same_swizzle(left: ComposeLayout, right: ComposeLayout) -> bool:
    return with_tile(left, right.tile_layout) == right


def same_places(left: TileLayout, right: TileLayout) -> bool:
    """Equality with the replica iters in any order."""

    def key(item: Iter) -> tuple[str, int, int]:
        return item.axis, item.extent, item.stride

    return (
        left.shard == right.shard
        and left.offset_terms == right.offset_terms
        and sorted(left.replica, key=key) == sorted(right.replica, key=key)
    )


def is_trivial(layout: TileLayout | ComposeLayout) -> bool:
    """Whether the canonical form is at most one unit-stride iter on a memory axis, nothing else."""
    if isinstance(layout, ComposeLayout):
        return False
    return is_bare(canonicalize(layout))


def is_bare(tile: TileLayout) -> bool:
    """At most one shard iter, on a memory axis with stride 1, no replica and no offset (not canonicalized)."""
    if tile.replica or tile.offset_terms or len(tile.shard) > 1:
        return False
    return all(is_memory(item.axis) and item.stride == 1 for item in tile.shard)


def is_swizzle(layout: TileLayout | ComposeLayout) -> bool:
    """Whether the layout is a swizzle over a trivial tile."""
    return isinstance(layout, ComposeLayout) and is_trivial(layout.tile_layout)


def is_trainium(layout: TileLayout | ComposeLayout) -> bool:
    """Whether no shard iter lies on a memory axis other than P, F and Bank (tiles only; thread axes count)."""
    if isinstance(layout, ComposeLayout):
        return False
    return all(item.axis in {"P", "F", "Bank"} or is_thread(item.axis) for item in layout.shard)
