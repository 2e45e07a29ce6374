"""A found layout in the words of the user: the buffer's own notation, ready to paste into the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...layouts import (
    ComposeLayout,
    CuteLayout,
    Layout,
    LayoutError,
    Swizzle,
    SwizzledLayout,
    TileLayout,
    parse,
    with_swizzle,
)
from ..skeleton import rescale
from ..specs import BufferSpec
from .family import NAMED
from .linear import linear_text, swizzled_shared_text
from .problem import Problem
from .search import Choice


def proposal(data: Mapping[str, Any], spec: BufferSpec, problem: Problem, choice: Choice) -> dict[str, Any]:
    """The buffer's mapping of the scenario file with the layout of `choice`: pad, swizzle or layout replaced."""
    fields = {key: value for key, value in data.items() if key not in ("pad", "swizzle", "layout")}
    if choice.swizzle[0] < 0 or problem.tight.notation == "linear":
        triton = problem.tight.notation == "linear" and not str(spec.layout).lstrip().startswith("linear")
        text = swizzled_shared_text(problem, choice.swizzle) if triton else None
        return fields | {"layout": text or linear_text(problem, choice.swizzle)}
    layout = padded(problem, choice)
    bits, base, shift = element_swizzle(problem, choice)
    written = parse(spec.layout) if spec.layout is not None else None
    inline = isinstance(written, ComposeLayout | SwizzledLayout)
    if spec.layout is None and shift >= 0:
        fields |= {"pad": choice.pad * 8 // problem.base.buffer.bits} if choice.pad else {}
        return fields | ({"swizzle": swizzle_text(layout, spec.dtype, problem, choice)} if bits else {})
    if bits and (inline or shift < 0):
        pointer = written.pointer_bits if isinstance(written, SwizzledLayout) else None
        return fields | {"layout": str(swizzled(layout, (bits, base, shift), pointer))}
    fields["layout"] = str(layout)
    return fields | ({"swizzle": swizzle_text(layout, spec.dtype, problem, choice)} if bits else {})


def padded(problem: Problem, choice: Choice) -> Layout:
    """The layout with the padding of a choice, without its swizzle."""
    if not choice.pad:
        return problem.tight
    moved = rescale(problem.tight, problem.level, problem.level + choice.pad * 8 // problem.base.buffer.bits)
    assert moved is not None
    return moved


def element_swizzle(problem: Problem, choice: Choice) -> tuple[int, int, int]:
    """B, M, S of a choice counted in elements."""
    bits, base, shift = choice.swizzle
    # log2 of the bytes of an element, negative below a byte
    lower = problem.base.buffer.bits.bit_length() - 4
    return bits, base - lower if bits else 0, shift


def swizzle_text(layout: Layout, dtype: str, problem: Problem, choice: Choice) -> str:
    """`128B` where the hardware's mode is meant and fits the layout, else `Sw<B,M,S>` in elements."""
    mode = NAMED.get(choice.swizzle)
    if mode is not None:
        try:
            with_swizzle(layout, mode, dtype)
        except LayoutError:
            pass  # the mode permutes whole rows only; written with numbers it may
        else:
            return mode
    bits, base, shift = element_swizzle(problem, choice)
    return f"Sw<{bits},{base},{shift}>"


def swizzled(layout: Layout, numbers: tuple[int, int, int], pointer_bits: int | None = None) -> Layout:
    """A TIRx or CuTe layout under a swizzle in elements; over a typed pointer CuTe counts its bits in bytes."""
    bits, base, shift = numbers
    if isinstance(layout, TileLayout):
        return ComposeLayout(base, bits, abs(shift), layout, shift >= 0)
    assert isinstance(layout, CuteLayout)
    if pointer_bits is not None:
        return SwizzledLayout(
            Swizzle(bits, base + pointer_bits.bit_length() - 4, shift), layout, 0, pointer_bits
        )
    return SwizzledLayout(Swizzle(bits, base, shift), layout)


def equivalents(problem: Problem, choice: Choice) -> str:
    """The same layout in the other ways to write it: CuTe, TIRx, and the swizzle as a formula of byte addresses."""
    layout = padded(problem, choice)
    bits, base, shift = choice.swizzle
    numbers = element_swizzle(problem, choice)
    parts: list[str] = []
    if bits < 0:
        pass  # neither CuTe nor TIRx says these
    elif isinstance(layout, TileLayout):
        cute = CuteLayout(
            tuple(item.extent for item in layout.shard), tuple(item.stride for item in layout.shard)
        )
        parts += [f"TIRx {swizzled(layout, numbers) if bits else layout}"]
        parts += [f"CuTe {swizzled(cute, numbers) if bits else cute}"]
    if bits:
        mask = -bits if bits < 0 else ((1 << bits) - 1) << (base + max(shift, 0))
        sign = f">> {shift}" if shift >= 0 else f"<< {-shift}"
        parts.append(f"byte address ^ ((byte address & {mask:#x}) {sign})")
    return "; ".join(parts)
