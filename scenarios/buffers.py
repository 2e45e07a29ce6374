"""Buffers placed in a memory: layout, first byte, footprint; and the byte address of every element."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..layouts import (
    ComposeLayout,
    CuteLayout,
    Layout,
    LayoutError,
    SwizzledLayout,
    TileLayout,
    dtype_bits,
    parse,
    with_swizzle,
)
from ..layouts.linear_encodings import used_on
from ..sim.chip import Chip
from .errors import ScenarioError, caret_lines
from .specs import BufferSpec

# A swizzle permutes the addresses of 1024 bytes; a buffer that starts there keeps the pattern of its layout.
ALIGNMENT = 1024
_MAX_ELEMENTS = 1 << 24


@dataclass(frozen=True, slots=True)
class PlacedBuffer:
    """A buffer with its layout and its place in shared memory.

    `base` and `footprint` are bytes; `footprint` reaches from `base` to the last byte that any element
    uses, so it counts padding and holes. `valid` counts the bytes of the elements alone.
    """

    name: str
    dtype: str
    bits: int
    shape: tuple[int, ...]
    layout: Layout
    base: int
    footprint: int
    valid: int

    @property
    def itemsize(self) -> int:
        """Whole bytes of an element (1 for packed 4-bit types, whose address is that of their byte)."""
        return max(self.bits // 8, 1)

    def addresses(self, *coords: NDArray[np.int64]) -> NDArray[np.int64]:
        """Byte addresses in shared memory of the elements at these coordinates (one array a dimension)."""
        offsets = self.layout.evaluate(*coords, shape=self.shape)["m"]
        return self.base + (offsets * self.bits) // 8


def place_buffers(specs: Mapping[str, BufferSpec], chip: Chip | None) -> dict[str, PlacedBuffer]:
    """Places buffers one behind the other, 1024-aligned, where they state no offset of their own.

    `chip` says how many bytes there are; None places without a limit.

    Raises `ScenarioError` whose `key` names the field: bad layout or dtype, a layout that does not cover
    the shape, overlap, or more bytes than a block of the chip has.
    """
    placed: dict[str, PlacedBuffer] = {}
    end = 0
    for name, spec in specs.items():
        try:
            item = _place(name, spec, end)
        except LayoutError as error:
            caret = caret_lines(error.text, error.position) if spec.layout else ""
            field = "layout" if spec.layout else "shape"
            raise ScenarioError(error.message, key=f"buffers.{name}.{field}", caret=caret) from None
        if chip is not None:
            _check_capacity(item, chip)
        for other in placed.values():
            if item.base < other.base + other.footprint and other.base < item.base + item.footprint:
                raise ScenarioError(
                    f"bytes {item.base} to {item.base + item.footprint - 1} overlap buffer '{other.name}' "
                    f"(bytes {other.base} to {other.base + other.footprint - 1})",
                    key=f"buffers.{name}",
                )
        placed[name] = item
        end = max(end, item.base + item.footprint)
    return placed


def _place(name: str, buffer: BufferSpec, end: int) -> PlacedBuffer:
    try:
        bits = dtype_bits(buffer.dtype)
    except ValueError as error:
        raise ScenarioError(str(error), key=f"buffers.{name}.dtype") from None
    layout, shape = layout_of(name, buffer)
    _check_elements(name, shape)  # before a swizzle looks at every one of them
    layout = swizzled(name, layout, buffer)
    last, smallest = _extremes(layout, shape)
    if smallest < 0:
        raise ScenarioError(
            f"the layout reaches element {smallest}, before the buffer's start; offsets must not be negative",
            key=f"buffers.{name}.layout",
        )
    base = buffer.offset if buffer.offset is not None else -(-end // ALIGNMENT) * ALIGNMENT
    return PlacedBuffer(
        name=name,
        dtype=buffer.dtype,
        bits=bits,
        shape=shape,
        layout=layout,
        base=base,
        footprint=((last + 1) * bits + 7) // 8,
        valid=(math.prod(shape) * bits + 7) // 8,
    )


def layout_of(name: str, buffer: BufferSpec) -> tuple[Layout, tuple[int, ...]]:
    """Layout and logical shape of a buffer, without its swizzle. Raises `ScenarioError`."""
    if buffer.layout is None:
        shape = tuple(buffer.shape or ())
        pitch = shape[-1] + buffer.pad
        strides = [1]
        for extent in reversed(shape[1:]):
            strides.insert(0, strides[0] * (pitch if len(strides) == 1 else extent))
        extents = ",".join(map(str, shape))
        return parse(f"S[({extents},):({','.join(map(str, strides))},)]"), shape
    layout = used_on(parse(buffer.layout), buffer.shape)
    if tuple(layout.axes) not in ((), ("m",)):
        raise ScenarioError(
            f"a shared-memory layout has the axis m alone; this one has {', '.join(layout.axes)}",
            key=f"buffers.{name}.layout",
        )
    shape = tuple(buffer.shape) if buffer.shape else tuple(layout.logical_shape)
    if math.prod(shape) > math.prod(layout.logical_shape):
        raise ScenarioError(
            f"shape {list(shape)} has {math.prod(shape)} elements, "
            f"the layout places {math.prod(layout.logical_shape)}",
            key=f"buffers.{name}.shape",
        )
    return layout, shape


def swizzled(name: str, layout: Layout, spec: BufferSpec) -> Layout:
    """The layout under its swizzle: a named mode for the dtype, or `Sw<B,M,S>` counted in elements."""
    text = spec.swizzle.replace("Swizzle<", "Sw<").replace(" ", "")
    try:
        if not text.startswith("Sw<"):
            return with_swizzle(layout, spec.swizzle, spec.dtype)
        found = parse(f"{text} o 1:0")
        assert isinstance(found, SwizzledLayout)
        bits = found.swizzle
        if isinstance(layout, TileLayout):
            return ComposeLayout(bits.base, bits.bits, bits.shift, layout)
        if isinstance(layout, CuteLayout):
            return SwizzledLayout(bits, layout)
        raise LayoutError(
            f"a {layout.notation} layout takes no swizzle here; write the buffer's layout as TIRx or CuTe"
        )
    except LayoutError as error:
        raise ScenarioError(error.message, key=f"buffers.{name}.swizzle") from None


def _check_elements(name: str, shape: tuple[int, ...]) -> None:
    elements = math.prod(shape)
    if elements < 1:
        raise ScenarioError(
            f"shape {list(shape)} has no elements, so no lane can touch one", key=f"buffers.{name}.layout"
        )
    if elements > _MAX_ELEMENTS:
        raise ScenarioError(
            f"shape {list(shape)} has {elements} elements, more than any shared memory",
            key=f"buffers.{name}.shape",
        )


def _extremes(layout: Layout, shape: tuple[int, ...]) -> tuple[int, int]:
    coords = np.ogrid[tuple(slice(0, extent) for extent in shape)]
    offsets = layout.evaluate(*coords, shape=shape).get("m", np.zeros(1, dtype=np.int64))
    return int(offsets.max()), int(offsets.min())


def constant(chip: Chip, path: str) -> Any:
    """A constant of a chip; None where it is unknown, or where the chip has no such memory at all."""
    return chip[path] if chip.has(path) else None


def _check_capacity(buffer: PlacedBuffer, chip: Chip) -> None:
    limit = constant(chip, "shared_memory.max_bytes_per_block")
    if limit is None:
        return
    end = buffer.base + buffer.footprint
    if end <= limit:
        return
    rows = buffer.shape[0]
    fits = max((limit - buffer.base) * rows // max(buffer.footprint, 1), 0)
    shape = "x".join(map(str, (fits, *buffer.shape[1:])))
    raise ScenarioError(
        f"{buffer.footprint} bytes from byte {buffer.base} on end at {end}; a block on {chip.name} has {limit}"
        + (f"; {shape} {buffer.dtype} would fit" if fits else ""),
        key=f"buffers.{buffer.name}.{'offset' if buffer.base > limit else 'shape'}",
    )
