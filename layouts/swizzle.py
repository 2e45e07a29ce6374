"""The shared-memory swizzles of TMA and wgmma descriptors by name, for any element type and notation.

A mode XORs the 16-byte chunk number within a row of 32, 64 or 128 bytes with the row number: B = 1, 2 or 3
bits over chunks of 16 bytes, taken from S = 3 chunk-number bits higher. In elements of b bits M =
log2(128/b). Source: CUDA driver API (CU_TENSOR_MAP_SWIZZLE_*) and PTX ISA, swizzling modes.
"""

from __future__ import annotations

from .cute import CuteLayout, Swizzle, SwizzledLayout
from .dtype import dtype_bits
from .protocol import Layout, LayoutError
from .tirx import ComposeLayout, TileLayout

MODES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
"""Number of swizzled bits by mode."""


def swizzle_bits(mode: str | int, dtype: str | int) -> tuple[int, int, int]:
    """(M, B, S) of a mode in element units: bits kept, bits changed, distance.

    >>> swizzle_bits("128B", "f16"), swizzle_bits("64B", "e4m3")
    ((3, 3, 3), (4, 2, 3))
    """
    length = mode_number(mode)
    bits = dtype_bits(dtype) if isinstance(dtype, str) else int(dtype)
    if bits <= 0 or 128 % bits:
        raise LayoutError(
            f"a swizzle moves chunks of 16 bytes, which elements of {bits} bits do not fill evenly"
        )
    return (128 // bits).bit_length() - 1, length, 3


def mode_number(mode: str | int) -> int:
    """0, 1, 2 or 3 of "none", "32B", "64B", "128B" (or of the number itself)."""
    if isinstance(mode, int) and not isinstance(mode, bool) and 0 <= mode <= 3:
        return mode
    by_name = {name.lower(): value for name, value in MODES.items()}
    key = str(mode).lower()
    if isinstance(mode, bool) or key not in by_name:
        raise LayoutError(f"unknown swizzle mode {mode!r}; known are {', '.join(MODES)}")
    return by_name[key]


def with_swizzle(layout: Layout, mode: str, dtype: str) -> Layout:
    """The layout with a shared-memory swizzle laid over its linear addresses.

    Args:
        layout: a TIRx tile, a CuTe layout or a linear layout of linear memory.
        mode: "none", "32B", "64B" or "128B".
        dtype: element type; the swizzle is expressed in elements of it.

    Raises LayoutError when the layout is swizzled already, is not linear memory, has replicas in it, or is
    not a whole number of swizzle rows (the XOR would leave the tile).

    >>> from bankbench.layouts import parse
    >>> with_swizzle(parse("S[(8,64):(64,1)]"), "128B", "f16").evaluate(1, 0)["m"]
    array(72)
    """
    keep, length, distance = swizzle_bits(mode, dtype)
    if length == 0:
        return layout
    if isinstance(layout, (ComposeLayout, SwizzledLayout)):
        raise LayoutError(f"the layout is swizzled already: {layout}")
    if layout.axes != ("m",):
        raise LayoutError(
            f"a {mode} swizzle needs linear memory (axis m only), this layout has axes {layout.axes}"
        )
    _check_fit(layout, mode, keep + length, dtype)
    if isinstance(layout, TileLayout):
        return ComposeLayout(keep, length, distance, layout)
    if isinstance(layout, CuteLayout):
        return SwizzledLayout(Swizzle(length, keep, distance), layout)
    if layout.notation == "linear":
        from .linear import LinearLayout
        from .linear_encodings import Encoding

        if isinstance(layout, LinearLayout):
            return layout.swizzled(keep, length, distance)
        if isinstance(layout, Encoding) and layout.kind == "swizzled_shared":
            return layout.linear().swizzled(keep, length, distance)
    raise LayoutError(
        f"the {layout.notation} notation has no swizzle; convert the layout to CuTe or TIRx first"
    )


def _check_fit(layout: Layout, mode: str, row_bits: int, dtype: str) -> None:
    from .analysis import extent_of_axis

    needed = extent_of_axis(layout, "m")
    row = 1 << row_bits
    if needed % row:
        raise LayoutError(
            f"a {mode} swizzle of {dtype} permutes rows of {row} elements; this layout takes {needed} elements, which "
            f"is not a multiple: pad it to {-(-needed // row) * row}"
        )
