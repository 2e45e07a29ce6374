"""Smaller operations on TIRx layouts: permutations, packing of narrow elements, broadcast, storage part,
Trainium.
"""

from __future__ import annotations

from collections.abc import Sequence

from .protocol import LayoutError
from .tirx import ComposeLayout, Iter, TileLayout
from .tirx_axes import is_memory, is_thread
from .tirx_canon import with_tile
from .tirx_spec import compact_strides

PSUM_BANKS = 8
"""Banks of a Trainium PSUM partition (kPSUMBankNum)."""
PSUM_ELEMENTS = 512
"""Elements of one PSUM bank (kPSUMMaxElemPerBank)."""


def permute_dims(layout: TileLayout, perm: Sequence[int]) -> TileLayout:
    """Shard iters picked by index. Only the length is checked, as in the reference: duplicates and negatives
    pass.
    """
    if len(perm) != len(layout.shard):
        raise LayoutError(
            f"a permutation of {len(layout.shard)} iters is needed, {list(perm)} has {len(perm)}"
        )
    try:
        shard = [layout.shard[int(n)] for n in perm]
    except IndexError:
        raise LayoutError(f"permutation {list(perm)} names an iter that does not exist") from None
    return TileLayout.from_iters(shard, layout.replica, layout.offset)


def permute_by_groups(layout: TileLayout, seps: Sequence[int], perm: Sequence[int]) -> TileLayout:
    """Groups shard[seps[g]:seps[g+1]] in the order of `perm`; LayoutError when perm is not a permutation of
    them.
    """
    if sorted(perm) != list(range(len(seps) - 1)):
        raise LayoutError(f"{list(perm)} is not a permutation of {len(seps) - 1} groups")
    return permute_dims(layout, [i for g in perm for i in range(seps[g], seps[g + 1])])


def unpack(layout: TileLayout | ComposeLayout, num: int) -> TileLayout | ComposeLayout:
    """Every element becomes `num` narrower ones: all shard strides times num (thread axes too), then (num, 1, m).

    Offset and replica stay as they are, as in the reference.

    >>> from bankbench.layouts import parse
    >>> print(unpack(parse("S[(32,4):(1@laneid,1)] + R[2:4] + 8"), 2))
    S[(32,4,2):(2@laneid,2,1)] + R[2:4] + 8
    """
    if isinstance(layout, ComposeLayout):
        tile = unpack(layout.tile_layout, num)
        assert isinstance(tile, TileLayout)
        shift = _log2(num)
        return ComposeLayout(
            layout.per_element + shift, layout.swizzle_len, layout.atom_len, tile, layout.swizzle_inner
        )
    shard = [Iter(i.extent, i.stride * num, i.axis) for i in layout.shard]
    return TileLayout.from_iters([*shard, Iter(num, 1, "m")], layout.replica, layout.offset)


def pack(layout: TileLayout | ComposeLayout, num: int) -> TileLayout | ComposeLayout:
    """`num` neighbours become one element: the last iter must have stride 1 on a memory axis and be a multiple.

    Other strides are divided and rounded down without a check, as in the reference.
    """
    if isinstance(layout, ComposeLayout):
        shift = _log2(num)
        if layout.per_element < shift:
            raise LayoutError(f"packing by {num} would split what the swizzle keeps together")
        tile = pack(layout.tile_layout, num)
        assert isinstance(tile, TileLayout)
        return ComposeLayout(
            layout.per_element - shift, layout.swizzle_len, layout.atom_len, tile, layout.swizzle_inner
        )
    last = layout.shard[-1] if layout.shard else None
    if num == 0 or last is None or last.stride != 1 or last.extent % num or not is_memory(last.axis):
        raise LayoutError(
            f"packing by {num} needs a last iter of stride 1 on a memory axis whose extent is a multiple of {num}"
        )
    shard = [Iter(i.extent, i.stride // num, i.axis) for i in layout.shard[:-1]]
    return TileLayout.from_iters(
        [*shard, Iter(last.extent // num, 1, last.axis)], layout.replica, layout.offset
    )


def _log2(num: int) -> int:
    if num <= 0 or num & (num - 1):
        raise LayoutError(f"a swizzled layout packs and unpacks by powers of two, not by {num}")
    return num.bit_length() - 1


def broadcast(
    layout: TileLayout | ComposeLayout, num: int, position: int = -1, axis: str = "m"
) -> TileLayout | ComposeLayout:
    """A new iter (num, 0, axis) at a list position; negative positions count from the end, -1 appends."""
    if isinstance(layout, ComposeLayout):
        tile = broadcast(layout.tile_layout, num, position, axis)
        assert isinstance(tile, TileLayout)
        return with_tile(layout, tile)
    shard = list(layout.shard)
    at = position if position >= 0 else len(shard) + 1 + position
    shard.insert(at, Iter(num, 0, axis))
    return TileLayout.from_iters(shard, layout.replica, layout.offset)


def storage(layout: TileLayout | ComposeLayout) -> TileLayout | ComposeLayout:
    """What one thread stores: the layout without its thread axes, in shard, replica and offset."""
    if isinstance(layout, ComposeLayout):
        tile = storage(layout.tile_layout)
        assert isinstance(tile, TileLayout)
        return with_tile(layout, tile)
    shard = [item for item in layout.shard if not is_thread(item.axis)]
    replica = [item for item in layout.replica if not is_thread(item.axis)]
    offset = {axis: value for axis, value in layout.offset_terms if not is_thread(axis)}
    return TileLayout.from_iters(shard, replica, offset)


def trainium(annotation: str, shape: Sequence[int], is_psum: bool = False) -> TileLayout:
    """A Trainium layout by one letter a dimension: P dimensions compact on partitions, F compact on the free axis.

    A single P dimension is at most 128 or a multiple of it; the excess becomes the outermost F iter. Several
    P dimensions have a product of at most 128. `is_psum` spreads F over the banks.

    >>> print(trainium("PF", (128, 64)))
    S[(128,64):(1@P,1@F)]
    """
    if len(annotation) != len(shape) or set(annotation) - {"P", "F"}:
        raise LayoutError(f"{annotation!r} must have one letter P or F for each of {len(shape)} dimensions")
    partitions = [int(n) for letter, n in zip(annotation, shape, strict=True) if letter == "P"]
    free = [int(n) for letter, n in zip(annotation, shape, strict=True) if letter == "F"]
    excess = 1
    if len(partitions) == 1 and partitions[0] > 128:
        if partitions[0] % 128:
            raise LayoutError(f"{partitions[0]} partitions are neither at most 128 nor a multiple of it")
        excess, partitions = partitions[0] // 128, [128]
    total = 1
    for n in partitions:
        total *= n
    if total > 128:
        raise LayoutError(f"partition dimensions {partitions} have more than 128 partitions together")
    p_steps, f_steps = compact_strides(partitions), compact_strides([excess, *free])
    shard: list[Iter] = []
    p, f = 0, 0
    for letter in annotation:
        if letter == "P":
            if excess > 1:
                shard.append(Iter(excess, f_steps[0], "F"))
            shard.append(Iter(partitions[p], p_steps[p], "P"))
            p += 1
        else:
            shard.append(Iter(free[f], f_steps[f + 1], "F"))
            f += 1
    layout = TileLayout.from_iters(shard)
    return to_psum(layout) if is_psum else layout


def to_psum(layout: TileLayout) -> TileLayout:
    """F iters spread over PSUM banks of 512 elements; replica and offset are dropped, as in the reference."""
    shard: list[Iter] = []
    for item in layout.shard:
        if item.axis != "F":
            shard.append(item)
        elif item.stride % PSUM_ELEMENTS == 0:
            shard.append(Iter(item.extent, item.stride // PSUM_ELEMENTS, "Bank"))
        elif PSUM_ELEMENTS % item.stride == 0:
            inside = PSUM_ELEMENTS // item.stride
            if item.extent < inside:
                shard.append(item)
            elif item.extent % inside == 0:
                shard += [Iter(item.extent // inside, 1, "Bank"), Iter(inside, item.stride, "F")]
            else:
                raise LayoutError(
                    f"{item.extent} elements of stride {item.stride} do not fill PSUM banks evenly"
                )
        else:
            raise LayoutError(
                f"stride {item.stride} on F neither divides nor is a multiple of {PSUM_ELEMENTS}"
            )
    return TileLayout.from_iters(shard)
