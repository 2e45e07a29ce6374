"""CuTe layouts: nested `shape:stride`, swizzles `Sw<B,M,S> o ...`, and coordinate strides `1@0`.

A coordinate is split colexicographically (first mode fastest: **column-major**, unlike TIRx). Units:
elements; a swizzle written over a typed pointer, `Sw<3,4,3> o smem_ptr[16b](unset) o ...`, counts bytes and
is converted. Source of the rules: CUTLASS's CuTe documentation and headers (`layout.hpp`, `swizzle.hpp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np

from ._arrays import as_coordinates, flatten_column_major, sum_terms
from ._notebook import NotebookRepr
from .int_tuple import colex_terms
from .protocol import ArrayLike, IntArray, LayoutError


@dataclass(frozen=True, slots=True)
class Basis:
    """A coordinate stride: `value` steps along dimension `axis` of a coordinate tensor, printed `1@0`.

    `axis` is the path as it is printed behind the first `@`, outermost dimension last ("0", or "0@1" when
    nested).
    """

    value: int
    axis: str

    def __repr__(self) -> str:
        return f"{self.value}@{self.axis}"

    def __mul__(self, factor: int) -> Basis:
        return Basis(self.value * factor, self.axis)


Shape: TypeAlias = "int | tuple[Shape, ...]"
Stride: TypeAlias = "int | Basis | tuple[Stride, ...]"


@dataclass(frozen=True, slots=True, repr=False)
class CuteLayout(NotebookRepr):
    """A CuTe layout: shape and stride nest alike.

    >>> layout = CuteLayout(((2, 4), 8), ((1, 16), 2))
    >>> layout.apply(3, 2)["m"], layout.size(), layout.cosize()
    (21, 64, 64)
    """

    shape: Shape
    stride: Stride

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _tuples(self.shape, "shape"))
        object.__setattr__(self, "stride", _tuples(self.stride, "stride"))
        if not alike(self.shape, self.stride):
            raise LayoutError(f"stride {show(self.stride)} does not nest like shape {show(self.shape)}")

    @property
    def notation(self) -> str:
        return "cute"

    @property
    def flat(self) -> tuple[tuple[int, int | Basis], ...]:
        """All (extent, stride) leaves, first fastest."""
        return tuple(zip(extents(self.shape), flatten(self.stride), strict=True))

    @property
    def modes(self) -> tuple[CuteLayout, ...]:
        """The top-level modes as layouts."""
        if isinstance(self.shape, tuple) and isinstance(self.stride, tuple):
            return tuple(CuteLayout(s, d) for s, d in zip(self.shape, self.stride, strict=True))
        return (self,)

    @property
    def rank(self) -> int:
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def logical_shape(self) -> tuple[int, ...]:
        """Sizes of the top-level modes."""
        return tuple(mode.size() for mode in self.modes)

    @property
    def axes(self) -> tuple[str, ...]:
        names = dict.fromkeys(d.axis for _, d in self.flat if isinstance(d, Basis))
        plain = any(not isinstance(d, Basis) and d != 0 for _, d in self.flat)
        return (*(["m"] if plain or not names else []), *sorted(names))

    def size(self) -> int:
        """Number of logical elements."""
        return product(self.shape)

    def cosize(self) -> int:
        """Last offset plus 1: the elements that the layout needs; LayoutError with coordinate strides."""
        total = 1
        for extent, step in self.flat:
            if isinstance(step, Basis):
                raise LayoutError(
                    "a layout with coordinate strides has no cosize: its codomain is not linear"
                )
            total += (extent - 1) * abs(step)
        return total if self.size() else 0

    def evaluate(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """Element offsets by axis (`m`, or the dimensions of a coordinate layout).

        One coordinate array a top-level mode, or a single linear coordinate, first mode fastest. With `shape`
        of the layout's own rank that fits its modes the coordinates are per mode; any other shape is
        flattened first dimension fastest (CuTe's order) and used as a linear coordinate. The last leaf takes
        no modulo.
        """
        arrays, own = coordinates_by_mode(as_coordinates(coords), self.logical_shape, shape)
        common = np.broadcast_shapes(*(array.shape for array in arrays))
        modes = self.modes if own else (self,)
        terms: dict[str, list[IntArray]] = {axis: [] for axis in self.axes}
        for array, mode in zip(arrays, modes, strict=True):
            sizes = extents(mode.shape)
            for axis in terms:
                terms[axis] += colex_terms(array, sizes, [_on(step, axis) for _, step in mode.flat])
        return {axis: sum_terms(found, common) for axis, found in terms.items()}

    def apply(self, *coord: int, shape: Sequence[int] | None = None) -> dict[str, int]:
        """`evaluate` of one element, as plain integers."""
        return {axis: int(value) for axis, value in self.evaluate(*coord, shape=shape).items()}

    def replicas(self) -> dict[str, IntArray]:
        """CuTe layouts are functions, so there are no copies: always {}."""
        return {}

    def __str__(self) -> str:
        return f"{show(self.shape)}:{show(self.stride)}"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True, repr=False)
class Swizzle:
    """`Sw<B,M,S>`: bits [M, M+B) are xor-ed with the B bits that stand S higher (S < 0: the other way round).

    >>> [Swizzle(2, 0, 2)(n) for n in (0, 4, 5, 9)]
    [0, 5, 4, 11]
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0:
            raise LayoutError(f"{self}: B and M count bits and cannot be negative")
        if abs(self.shift) < self.bits:
            raise LayoutError(f"{self}: the two bit fields overlap, |S| must be at least B")
        if self.bits + self.base + abs(self.shift) > 62:
            raise LayoutError(f"{self}: the bit fields do not fit a 64-bit offset")

    @property
    def source_mask(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def target_mask(self) -> int:
        """The bits that are changed."""
        return ((1 << self.bits) - 1) << (self.base - min(0, self.shift))

    def evaluate(self, offset: IntArray) -> IntArray:
        """Swizzled offsets of an array; its own inverse."""
        source = offset & self.source_mask
        return np.asarray(offset ^ (source >> self.shift if self.shift >= 0 else source << -self.shift))

    def __call__(self, offset: int) -> int:
        return int(self.evaluate(np.asarray(offset, np.int64)))

    def __repr__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"


@dataclass(frozen=True, slots=True, repr=False)
class SwizzledLayout(NotebookRepr):
    """`Sw<B,M,S> o offset o layout`: offsets of the inner layout plus a constant, then the swizzle.

    `pointer_bits` is the element width of a typed pointer between the two; the swizzle then counts bytes, and
    `element_swizzle` is the one that acts on element offsets.

    >>> from bankbench.layouts import parse
    >>> parse("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)").apply(1, 0)
    {'m': 72}
    """

    swizzle: Swizzle
    layout: CuteLayout
    offset: int = 0
    pointer_bits: int | None = None

    def __post_init__(self) -> None:
        if self.layout.axes != ("m",):
            raise LayoutError("a swizzle needs integer offsets, not coordinate strides")
        _ = self.element_swizzle

    @property
    def element_swizzle(self) -> Swizzle:
        """The swizzle on element offsets: M is lowered by log2(bytes an element) for a typed pointer."""
        if self.pointer_bits is None:
            return self.swizzle
        bits = self.pointer_bits
        if bits <= 0 or bits & (bits - 1):
            raise LayoutError(f"smem_ptr[{bits}b]: a byte swizzle needs elements of a power of two bits")
        base = self.swizzle.base + 3 - (bits.bit_length() - 1)
        if base < 0:
            raise LayoutError(f"{self.swizzle} in bytes splits elements of {bits} bits")
        return Swizzle(self.swizzle.bits, base, self.swizzle.shift)

    @property
    def notation(self) -> str:
        return "cute"

    @property
    def logical_shape(self) -> tuple[int, ...]:
        return self.layout.logical_shape

    @property
    def axes(self) -> tuple[str, ...]:
        return ("m",)

    def size(self) -> int:
        return self.layout.size()

    def evaluate(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """As `CuteLayout.evaluate`, then the swizzle (in element units)."""
        inner = self.layout.evaluate(*coords, shape=shape)["m"]
        return {"m": self.element_swizzle.evaluate(inner + self.offset if self.offset else inner)}

    def apply(self, *coord: int, shape: Sequence[int] | None = None) -> dict[str, int]:
        """`evaluate` of one element, as plain integers."""
        return {"m": int(self.evaluate(*coord, shape=shape)["m"])}

    def replicas(self) -> dict[str, IntArray]:
        return {}

    def __str__(self) -> str:
        pointer = f"smem_ptr[{self.pointer_bits}b](unset) o " if self.pointer_bits is not None else ""
        offset = f"{self.offset} o " if self.offset else ""
        return f"{self.swizzle} o {pointer}{offset}{self.layout}"

    def __repr__(self) -> str:
        return str(self)


def coordinates_by_mode(
    arrays: list[IntArray], own: tuple[int, ...], shape: Sequence[int] | None
) -> tuple[list[IntArray], bool]:
    """(coordinates, whether they are one a mode); a foreign shape becomes one colexicographic coordinate."""
    if shape is not None:
        sizes = tuple(int(n) for n in shape)
        if len(arrays) != len(sizes):
            raise LayoutError(
                f"{len(arrays)} coordinates given in a shape of {len(sizes)} dimensions {sizes}"
            )
        if len(sizes) == len(own) and all(a <= b for a, b in zip(sizes, own, strict=True)):
            return arrays, True
        if np.prod(sizes, dtype=object) > np.prod(own, dtype=object):
            raise LayoutError(f"shape {sizes} has more elements than the layout of shape {own}")
        return [flatten_column_major(arrays, sizes)], False
    if len(arrays) == len(own):
        return arrays, True
    if len(arrays) == 1:
        return arrays, False
    raise LayoutError(
        f"{len(arrays)} coordinates given to a layout of shape {own}; give {len(own)}, 1, or shape="
    )


def _on(step: int | Basis, axis: str) -> int:
    if isinstance(step, Basis):
        return step.value if step.axis == axis else 0
    return step if axis == "m" else 0


def flatten(value: Shape | Stride) -> tuple[int | Basis, ...]:
    """All leaves, left to right."""
    if isinstance(value, tuple):
        return tuple(leaf for item in value for leaf in flatten(item))
    return (value,)


def extents(shape: Shape) -> tuple[int, ...]:
    """All extents of a shape, left to right."""
    if isinstance(shape, tuple):
        return tuple(leaf for item in shape for leaf in extents(item))
    return (shape,)


def product(value: Shape) -> int:
    """Product of all leaves."""
    total = 1
    for item in value if isinstance(value, tuple) else ():
        total *= product(item)
    return total if isinstance(value, tuple) else value


def show(value: Shape | Stride) -> str:
    """Text of a tuple, without spaces as CuTe prints it."""
    if isinstance(value, tuple):
        return f"({','.join(show(item) for item in value)})"
    return repr(value)


def _tuples(value: object, what: str) -> Shape | Stride:
    if isinstance(value, (tuple, list)):
        return tuple(_tuples(item, what) for item in cast("Sequence[object]", value))
    if isinstance(value, Basis) and what == "stride":
        return value
    if hasattr(value, "__index__") and not isinstance(value, bool):
        number = int(cast("int", value))
        if what == "shape" and number < 0:
            raise LayoutError(f"an extent cannot be negative: {number}")
        return number
    raise LayoutError(f"a {what} is made of integers and tuples, not {value!r}")


def alike(left: Shape | Stride, right: Shape | Stride) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(alike(a, b) for a, b in zip(left, right, strict=True))
    return not isinstance(left, tuple) and not isinstance(right, tuple)
