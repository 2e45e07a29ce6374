"""Register fragments of tensor-core instructions by name, and CuTe thread-value layouts as fragments.

A fragment says which logical element each lane holds in which register element: axes `laneid` (and
`wid_in_wg` for warpgroup instructions) and `m`, the element number within the thread. Source: the PTX ISA's
fragment figures for `mma` and `wgmma`; the same formulas appear in CUTLASS's MMA traits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from .cute import Basis, CuteLayout, Shape, Stride
from .dtype import dtype_bits, lane_type
from .protocol import LayoutError
from .tirx import Iter, TileLayout
from .tirx_group import try_group

_NAME = re.compile(r"m(\d+)n(\d+)k(\d+)")


def mma_fragment(instruction: str, operand: str, dtype: str) -> TileLayout:
    """The fragment of operand "A", "B" or "C" (accumulator, also "D") of an `mma` or `wgmma` instruction.

    Args:
        instruction: "m16n8k16", "m8n8k4" of f64 (and others of these row and column counts), or "m64n128k16" for
        wgmma,
            whose operand A may come from registers and whose B may not.
        operand: logical shapes are A (M, K), B (K, N), C (M, N).
        dtype: element type of the operand; a 32-bit register holds 32/bits neighbouring elements along K.

    The layout's own shape is the split of these dimensions; evaluate it with `shape=(rows, columns)`.

    >>> fragment = mma_fragment("m16n8k16", "C", "f32")
    >>> print(fragment)
    S[(2,8,4,2):(2,4@laneid,1@laneid,1)]
    >>> fragment.apply(9, 3, shape=(16, 8))
    {'m': 3, 'laneid': 5}
    """
    m, n, k = _sizes(instruction)
    letter = {"D": "C"}.get(operand.upper(), operand.upper())
    if letter not in {"A", "B", "C"}:
        raise LayoutError(f"operand {operand!r} is none of A, B, C, D")
    bits = dtype_bits(lane_type(dtype))
    packed = max(1, 32 // bits)
    warps = [(4, 1, "wid_in_wg")] if m == 64 else []
    halves = [(2, 0, "m")] if m >= 16 else []
    if (m, n, k) == (8, 8, 4) and bits != 64:
        raise LayoutError(
            f"{instruction} of {dtype} works on quads of lanes in an order of its own, which is not known here; f64 is"
        )
    if letter == "C":
        rows = [*warps, *_scaled(halves, 2), (8, 4, "laneid")]
        return _fragment([*rows, *_columns(n), (4, 1, "laneid"), (2, 1, "m")])
    if letter == "B" and m == 64:
        raise LayoutError(f"{instruction} reads operand B from shared memory only")
    if k % (4 * packed):
        raise LayoutError(f"{instruction} of {dtype}: k={k} is not a multiple of {4 * packed}")
    steps = k // (4 * packed)
    per_step = packed * (2 if letter == "A" and halves else 1)
    along_k = [(steps, per_step, "m"), (4, 1, "laneid"), (packed, 1, "m")]
    if letter == "A":
        return _fragment([*warps, *_scaled(halves, packed), (8, 4, "laneid"), *along_k])
    return _fragment([*along_k, (8, 4, "laneid")])


def fragment_shape(instruction: str, operand: str) -> tuple[int, int]:
    """Logical (rows, columns) of an operand.

    >>> fragment_shape("m16n8k16", "B")
    (16, 8)
    """
    m, n, k = _sizes(instruction)
    shapes = {"A": (m, k), "B": (k, n), "C": (m, n), "D": (m, n)}
    if operand.upper() not in shapes:
        raise LayoutError(f"operand {operand!r} is none of A, B, C, D")
    return shapes[operand.upper()]


def _sizes(instruction: str) -> tuple[int, int, int]:
    found = _NAME.fullmatch(instruction.strip().lower())
    if not found:
        raise LayoutError(f"{instruction!r} is not an mma shape such as m16n8k16")
    m, n, k = (int(g) for g in found.groups())
    if m not in (8, 16, 64) or (m != 64 and n != 8) or n % 8 or not 8 <= n <= 256:
        raise LayoutError(
            f"no fragment is known for {instruction}: m is 8, 16 or 64, n is 8 (8 to 256 for m64)"
        )
    return m, n, k


def _columns(n: int) -> list[tuple[int, int, str]]:
    return [(n // 8, 4, "m")] if n > 8 else []


def _scaled(halves: Sequence[tuple[int, int, str]], step: int) -> list[tuple[int, int, str]]:
    return [(extent, step, axis) for extent, _, axis in halves]


def _fragment(items: Sequence[tuple[int, int, str]]) -> TileLayout:
    return TileLayout.from_iters([Iter(*item) for item in items if item[0] != 1])


def from_thread_values(
    layout: CuteLayout, tile_shape: Sequence[int], thread_axis: str = "laneid"
) -> TileLayout:
    """A CuTe thread-value layout (thread, value) -> tile index as a fragment: element -> (thread, m).

    Args:
        layout: rank 2, its offsets are colexicographic indices of a tile of `tile_shape` (rows fastest).
        tile_shape: logical shape; evaluate the result with `shape=tile_shape`.
        thread_axis: axis that the thread mode numbers, "laneid" for a warp, "tx" for a block.

    Modes of stride 0 become replicas. LayoutError when some element of the tile has no thread or two of them
    without a replica (the strides must be those of a compact tile).

    >>> layout = CuteLayout(((4, 8), (2, 2)), ((32, 1), (16, 8)))
    >>> print(from_thread_values(layout, (16, 8)))
    S[(2,8,4,2):(2,4@laneid,1@laneid,1)]
    """
    if layout.rank != 2:
        raise LayoutError(f"a thread-value layout has two modes, thread and value, not {layout.rank}")
    pieces: list[tuple[int, int, int, str]] = []
    copies: list[Iter] = []
    for mode, axis in zip(layout.modes, (thread_axis, "m"), strict=True):
        weight = 1
        for extent, step in mode.flat:
            if isinstance(step, Basis):
                raise LayoutError("a thread-value layout has integer strides")
            if step == 0 and extent > 1:
                copies.append(Iter(extent, weight, axis))
            elif extent > 1:
                pieces.append((step, extent, weight, axis))
            weight *= extent
    pieces.sort()
    reached = 1
    for step, extent, _, _ in pieces:
        if step != reached:
            raise LayoutError(
                f"stride {step} where {reached} is next: the layout does not cover the tile once"
            )
        reached *= extent
    sizes = [int(n) for n in tile_shape]
    if reached != prod(sizes):
        raise LayoutError(f"the layout covers {reached} elements of a tile of {prod(sizes)}")
    return TileLayout.from_iters(_by_dimension(pieces, sizes), copies)


def _by_dimension(pieces: Sequence[tuple[int, int, int, str]], sizes: Sequence[int]) -> list[Iter]:
    """Shard iters in row-major order of the dimensions, each with its outermost piece first."""
    rest = list(pieces)
    found: list[list[Iter]] = []
    for size in sizes:
        own: list[Iter] = []
        left = size
        while left > 1:
            step, extent, weight, axis = rest.pop(0)
            take = min(extent, left)
            if left % take or extent % take:
                raise LayoutError(f"a mode of {extent} elements crosses the edge of a dimension of {size}")
            own.insert(0, Iter(take, weight, axis))
            left //= take
            if take < extent:
                rest.insert(0, (step * take, extent // take, weight * take, axis))
        found.append(own)
    return [item for own in found for item in own]


def to_thread_values(fragment: TileLayout, shape: Sequence[int], thread_axis: str = "laneid") -> CuteLayout:
    """A fragment over one thread axis and `m` as a CuTe thread-value layout (thread, value) -> colexicographic index.

    LayoutError when the axes are others, places are left out or shared, or the fragment cannot be read in
    `shape`. Replicas become modes of stride 0.

    >>> print(to_thread_values(mma_fragment("m16n8k16", "C", "f32"), (16, 8)))
    ((4,8),(2,2)):((32,1),(16,8))
    """
    found = try_group(fragment.shard, tuple(shape))
    if found is None or set(fragment.axes) - {thread_axis, "m"} or any(v for _, v in fragment.offset_terms):
        raise LayoutError(
            f"{fragment} is no fragment over {thread_axis} and m that can be read in shape {tuple(shape)}"
        )
    shard, seps = found
    pieces: dict[str, list[tuple[int, int, int]]] = {thread_axis: [], "m": []}
    below = 1
    for d, size in enumerate(shape):
        step = below
        for item in reversed(shard[seps[d] : seps[d + 1]]):
            if item.extent > 1:
                pieces[item.axis].append((item.stride, item.extent, step))
            step *= item.extent
        below *= int(size)
    for item in fragment.replica:
        pieces[item.axis].append((item.stride, item.extent, 0))
    return CuteLayout(*zip(*(_compact_mode(pieces[axis], axis) for axis in (thread_axis, "m")), strict=True))


def _compact_mode(pieces: list[tuple[int, int, int]], axis: str) -> tuple[Shape, Stride]:
    reached = 1
    for weight, extent, _ in sorted(pieces):
        if weight != reached:
            raise LayoutError(
                f"places on {axis} are left out or shared: stride {weight} where {reached} is next"
            )
        reached *= extent
    ordered = sorted(pieces)
    if not ordered:
        return 1, 0
    if len(ordered) == 1:
        return ordered[0][1], ordered[0][2]
    return tuple(p[1] for p in ordered), tuple(p[2] for p in ordered)
