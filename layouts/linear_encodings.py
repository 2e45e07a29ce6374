"""Triton encodings by their parameters, and the linear layouts that they stand for on a shape.

Register encodings: `blocked`, `nvidia_mma` (versions 2 and 3), `dot_op` of these (version 3: A only), `slice`. Shared
encodings: `swizzled_shared`, `nvmma_shared`, `padded_shared` (not linear: padding is added to the offset).
One CTA only. Source: Triton, `LinearLayoutConversions.cpp` and `TritonGPUAttrDefs.td`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from ._notebook import NotebookRepr
from .linear import LinearLayout
from .protocol import ArrayLike, IntArray, Layout, LayoutError

Value: TypeAlias = "int | bool | tuple[Value, ...] | Encoding"

# encoding -> parameters that must be given, and those that may be (with their defaults)
PARAMETERS: dict[str, tuple[tuple[str, ...], dict[str, Value]]] = {
    "blocked": (("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order"), {}),
    "nvidia_mma": (("versionMajor", "warpsPerCTA", "instrShape"), {"versionMinor": 0}),
    "dot_op": (("opIdx", "parent", "kWidth"), {}),
    "slice": (("dim", "parent"), {}),
    "swizzled_shared": (("vec", "perPhase", "maxPhase", "order"), {}),
    "nvmma_shared": (
        ("swizzlingByteWidth", "transposed", "elementBitWidth"),
        {"fp4Padded": False, "rank": 2},
    ),
    "padded_shared": (("paddings", "order"), {}),
}


@dataclass(frozen=True, slots=True, repr=False)
class Encoding(NotebookRepr):
    """A Triton encoding: its kind, its parameters by name, and the shape that it is used on (None: not said).

    >>> layout = Encoding.make("swizzled_shared", vec=8, perPhase=1, maxPhase=8, order=(1, 0), shape=(8, 64))
    >>> layout.evaluate(1, 0)["m"]
    array(72)
    """

    kind: str
    parameters: tuple[tuple[str, Value], ...]
    tile: tuple[int, ...] | None = None

    @classmethod
    def make(cls, kind: str, shape: Sequence[int] | None = None, **given: Value) -> Encoding:
        """An encoding of named parameters; LayoutError for unknown, missing or unsupported ones."""
        if kind not in PARAMETERS:
            raise LayoutError(f"unknown encoding {kind!r}; known are {', '.join(PARAMETERS)}")
        needed, optional = PARAMETERS[kind]
        for name in list(given):
            if name in {"CTAsPerCGA", "CTASplitNum"}:
                if any(n != 1 for n in _integers(given.pop(name), name)):
                    raise LayoutError(f"{kind}: {name} above 1 (several CTAs) is not supported")
            elif name in {"CTAOrder", "CTALayout", "CGALayout"}:
                given.pop(name)
            elif name not in needed and name not in optional:
                raise LayoutError(
                    f"{kind} has no parameter {name!r}; it has {', '.join([*needed, *optional])}"
                )
        missing = [name for name in needed if name not in given]
        if missing:
            raise LayoutError(f"{kind} misses {', '.join(missing)}")
        values = {name: _freeze(given.get(name, optional.get(name, 0))) for name in [*needed, *optional]}
        tile = None if shape is None else tuple(int(n) for n in shape)
        return cls(kind, tuple(values.items()), tile)

    def __getitem__(self, name: str) -> Value:
        return dict(self.parameters)[name]

    @property
    def notation(self) -> str:
        return "linear"

    @property
    def logical_shape(self) -> tuple[int, ...]:
        """The shape that the encoding is used on; LayoutError when it was not said."""
        if self.tile is None:
            raise LayoutError(
                f"{self.kind} says nothing of the tile; give a shape beside it, or shape=[rows, columns] in it"
            )
        return self.tile

    @property
    def axes(self) -> tuple[str, ...]:
        """`m`, and for register encodings `laneid` and `warpid` where there are several."""
        if self.kind.endswith("_shared"):
            return ("m",)
        return self.linear().axes if self.tile is not None else ("m", "laneid", "warpid")

    def on(self, shape: Sequence[int]) -> Encoding:
        """The encoding used on a shape."""
        return Encoding(self.kind, self.parameters, tuple(int(n) for n in shape))

    def linear(self, shape: Sequence[int] | None = None) -> LinearLayout:
        """The linear layout on a shape (of powers of two); for `padded_shared` the one before padding."""
        return _linear(self, tuple(int(n) for n in (self.logical_shape if shape is None else shape)))

    def evaluate(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """As `LinearLayout.evaluate`; without a shape of its own, `shape` is the tile that the encoding is
        used on.
        """
        base = self.linear(shape if self.tile is None and shape is not None else None)
        found = base.evaluate(*coords, shape=shape)
        if self.kind == "padded_shared":
            found["m"] = self._padded(found["m"])
        return found

    def _padded(self, offset: IntArray) -> IntArray:
        total = offset
        for pair in _tuple(self["paddings"], "paddings"):
            interval, padding = _integers(pair, "paddings")
            if interval < 1 or interval & (interval - 1):
                raise LayoutError(f"a padding interval is a power of two, not {interval}")
            total = total + (offset >> (interval.bit_length() - 1)) * padding
        return total

    def replicas(self) -> dict[str, IntArray]:
        """Copies of an element, as `LinearLayout.replicas`; needs the shape."""
        return self.linear().replicas()

    def size(self) -> int:
        return self.linear().size()

    def __str__(self) -> str:
        parts = [f"{name}={_show(value)}" for name, value in self.parameters]
        if self.tile is not None:
            parts.append(f"shape={_show(self.tile)}")
        return f"{self.kind}({', '.join(parts)})"

    def __repr__(self) -> str:
        return str(self)


def _freeze(value: object) -> Value:
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (bool, int, Encoding)):
        return value
    raise LayoutError(f"a parameter is an integer, true or false, a list or an encoding, not {value!r}")


def _show(value: Value) -> str:
    if isinstance(value, tuple):
        return "[" + ",".join(_show(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tuple(value: Value, what: str) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise LayoutError(f"{what} must be a list, not {value}")
    return value


def _integers(value: Value, what: str) -> tuple[int, ...]:
    if not isinstance(value, tuple) or not all(isinstance(item, int) for item in value):
        raise LayoutError(f"{what} must be a list of integers, not {value}")
    return tuple(item for item in value if isinstance(item, int))


def _integer(value: Value, what: str) -> int:
    if not isinstance(value, int):
        raise LayoutError(f"{what} must be an integer, not {value}")
    return int(value)


class _Builder:
    """Bases collected the way Triton multiplies layouts: each factor goes on top of what a dimension has
    already.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.reach = [1] * rank
        self.bases: dict[str, list[list[int]]] = {}

    def vector(self, dim: int, value: int) -> list[int]:
        return [value if d == dim else 0 for d in range(self.rank)]

    def identity(self, name: str, count: int, dim: int) -> None:
        """`count` places of input `name` along `dim`."""
        _power(count, name)
        vectors = self.bases.setdefault(name, [])
        for _ in range(count.bit_length() - 1):
            vectors.append(self.vector(dim, self.reach[dim]))
            self.reach[dim] *= 2

    def zeros(self, name: str, count: int) -> None:
        """`count` places that hold the same elements."""
        _power(count, name)
        self.bases.setdefault(name, []).extend([[0] * self.rank] * (count.bit_length() - 1))

    def on_shape(self, shape: Sequence[int], order: Sequence[int], extend: str) -> LinearLayout:
        """Grown to a shape by more places of `extend`, minor dimension first, or cut (what lies outside
        repeats).
        """
        for dim in order:
            if self.reach[dim] < shape[dim]:
                self.identity(extend, shape[dim] // self.reach[dim], dim)
        bases = {
            name: [[v if v < n else 0 for v, n in zip(vector, shape, strict=True)] for vector in vectors]
            for name, vectors in self.bases.items()
        }
        return LinearLayout.from_bases(bases, shape)


def _power(count: int, what: str) -> None:
    if count < 1 or count & (count - 1):
        raise LayoutError(f"{what}: {count} is not a power of two")


def _registers(rank: int) -> _Builder:
    builder = _Builder(rank)
    builder.bases = {name: [] for name in ("register", "lane", "warp", "block")}
    return builder


@lru_cache(maxsize=256)
def used_on(layout: Layout, shape: Sequence[int] | None) -> Layout:
    """A layout as it is; an encoding that says nothing of its tile used on `shape`, where there is one."""
    if shape is None or not isinstance(layout, Encoding) or layout.tile is not None:
        return layout
    return layout.on(shape)


def _linear(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    for extent in shape:
        _power(extent, f"shape {shape}")
    if encoding.kind == "blocked":
        return _blocked(encoding, shape)
    if encoding.kind == "nvidia_mma":
        return _mma(encoding, shape)
    if encoding.kind == "dot_op":
        return _dot_operand(encoding, shape)
    if encoding.kind == "slice":
        return _slice(encoding, shape)
    if encoding.kind == "nvmma_shared":
        return _nvmma_shared(encoding, shape)
    return _row_swizzle(encoding, shape)


def _rank(given: Sequence[int], shape: tuple[int, ...], kind: str) -> int:
    if len(given) != len(shape):
        raise LayoutError(f"{kind} has {len(given)} dimensions, the shape {shape} has {len(shape)}")
    return len(shape)


def _order(encoding: Encoding, shape: tuple[int, ...]) -> tuple[int, ...]:
    order = _integers(encoding["order"], "order")
    if sorted(order) != list(range(len(shape))):
        raise LayoutError(f"order {list(order)} is not a permutation of the {len(shape)} dimensions")
    return order


def _blocked(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    order = _order(encoding, shape)
    builder = _registers(len(shape))
    names = {"register": "sizePerThread", "lane": "threadsPerWarp", "warp": "warpsPerCTA"}
    for name, parameter in names.items():
        counts = _integers(encoding[parameter], parameter)
        _rank(counts, shape, "blocked")
        for dim in order:
            builder.identity(name, counts[dim], dim)
    whole = builder.on_shape(shape, order, "register")
    # A thread holds an element once: registers beyond the shape are dropped, lanes and warps beyond it repeat.
    kept = {name: [v for v in vectors if name != "register" or any(v)] for name, vectors in whole.bases}
    return LinearLayout.from_bases(kept, shape)


def _mma_tile(builder: _Builder, tile: tuple[int, int], k_width: int, inner: int, outer: int) -> None:
    """One warp's tile: registers and lanes as the tensor core instruction wants them."""
    rows, cols = tile[outer], tile[inner]
    builder.identity("register", k_width, inner)
    builder.identity("lane", 4, inner)
    builder.identity("lane", 8, outer)
    builder.identity("register", max(rows // 8, 1), outer)
    builder.identity("register", max(cols // (4 * k_width), 1), inner)


_BOX = 256  # most elements of a TMA box in one dimension

# Version -> dimensions in which warps are numbered: of a wgmma the four warps of a warpgroup lie along the rows.
_WARP_ORDER = {2: (1, 0), 3: (0, 1)}


def _warps(encoding: Encoding) -> tuple[int, tuple[int, ...]]:
    """(version, warps a dimension) of an `nvidia_mma`; LayoutError for versions other than 2 and 3."""
    version = _integer(encoding["versionMajor"], "versionMajor")
    if version not in _WARP_ORDER:
        raise LayoutError(f"nvidia_mma version {version} is not supported; known are 2 (mma) and 3 (wgmma)")
    return version, _integers(encoding["warpsPerCTA"], "warpsPerCTA")


def _mma(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    version, warps = _warps(encoding)
    instruction = _integers(encoding["instrShape"], "instrShape")
    _rank(warps, shape, "nvidia_mma")
    if len(shape) != 2:
        raise LayoutError(f"nvidia_mma version {version} on {len(shape)} dimensions is not supported")
    if len(instruction) < 2:
        raise LayoutError("instrShape has rows and columns")
    builder = _registers(2)
    _mma_tile(builder, (16, instruction[1]), 2, 1, 0)
    for dim in _WARP_ORDER[version]:
        builder.identity("warp", warps[dim], dim)
    return builder.on_shape(shape, (1, 0), "register")


def _dot_operand(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    parent, k_width = encoding["parent"], _integer(encoding["kWidth"], "kWidth")
    operand = _integer(encoding["opIdx"], "opIdx")
    if not isinstance(parent, Encoding) or parent.kind != "nvidia_mma":
        raise LayoutError("dot_op is supported for a parent nvidia_mma")
    version, warps = _warps(parent)
    if version == 3 and operand == 1:
        raise LayoutError("dot_op: operand 1 of nvidia_mma version 3 (wgmma) is read from shared memory")
    if operand not in (0, 1) or len(shape) != 2:
        raise LayoutError("dot_op has opIdx 0 or 1 and two dimensions")
    _rank(warps, shape, "the parent of dot_op")
    inner, outer = (1, 0) if operand == 0 else (0, 1)
    builder = _registers(2)
    tile = (16, 8 * k_width) if operand == 0 else (8 * k_width, 8)
    _mma_tile(builder, tile, k_width, inner, outer)
    for dim in _WARP_ORDER[version]:
        if dim == inner:
            builder.zeros("warp", warps[dim])
        else:
            builder.identity("warp", warps[dim], dim)
    return builder.on_shape(shape, (inner, outer), "register")


def _slice(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    parent, dim = encoding["parent"], _integer(encoding["dim"], "dim")
    if not isinstance(parent, Encoding) or not 0 <= dim <= len(shape):
        raise LayoutError("slice needs a parent encoding and a dimension of it")
    whole = parent.linear((*shape[:dim], 1, *shape[dim:]))
    bases = {name: [[*v[:dim], *v[dim + 1 :]] for v in vectors] for name, vectors in whole.bases}
    registers = bases.get("register", [])
    bases["register"] = [vector for vector in registers if any(vector)]
    return LinearLayout.from_bases(bases, shape)


def _row_swizzle(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    """Offsets of `swizzled_shared`, and of `padded_shared` before its padding: minor dimension first."""
    order = _order(encoding, shape)
    builder = _Builder(len(shape))
    minor = order[0]
    builder.bases = {"offset": []}
    builder.identity("offset", shape[minor], minor)
    for number, dim in enumerate(order[1:]):
        start = len(builder.bases["offset"])
        builder.identity("offset", shape[dim], dim)
        if number == 0 and encoding.kind == "swizzled_shared":
            vec, per_phase, phases = (
                _integer(encoding[name], name) for name in ("vec", "perPhase", "maxPhase")
            )
            if min(vec, per_phase, phases) < 1:
                raise LayoutError(
                    f"swizzled_shared: vec {vec}, perPhase {per_phase}, maxPhase {phases}; all are at least 1"
                )
            for vector in builder.bases["offset"][start:]:
                vector[minor] = vec * (vector[dim] // per_phase % phases) % shape[minor]
    return LinearLayout.from_bases({**builder.bases, "block": []}, shape)


def _nvmma_shared(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    """TMA boxes: as wide as the swizzle (up to 256 columns without one) and up to 256 rows.

    Without a swizzle a box is plain row-major; with one it is 8-row swizzle tiles on top of each other.
    """
    width = _integer(encoding["swizzlingByteWidth"], "swizzlingByteWidth")
    bits = _integer(encoding["elementBitWidth"], "elementBitWidth")
    phases = {0: (1, 1), 32: (4, 2), 64: (2, 4), 128: (1, 8)}.get(width)
    if phases is None or encoding["fp4Padded"]:
        raise LayoutError(
            "nvmma_shared has swizzlingByteWidth 0, 32, 64 or 128, and is supported without fp4Padded"
        )
    if len(shape) != 2 or bits not in (8, 16, 32, 64):
        raise LayoutError("nvmma_shared is supported on two dimensions, elements of 8 to 64 bits")
    rows, cols = (1, 0) if encoding["transposed"] else (0, 1)
    builder = _Builder(2)
    builder.bases = {"offset": [], "block": []}
    if width == 0:
        builder.identity("offset", min(shape[cols], _BOX), cols)
    else:
        tile_cols, vec = 8 * width // bits, 128 // bits
        if shape[cols] < tile_cols or shape[rows] < 8:
            raise LayoutError(f"shape {shape} is smaller than the swizzle tile of 8 x {tile_cols}")
        builder.identity("offset", tile_cols, cols)
        start = len(builder.bases["offset"])
        builder.identity("offset", 8, rows)
        for vector in builder.bases["offset"][start:]:
            vector[cols] = vec * (vector[rows] // phases[0] % phases[1])
    builder.identity("offset", min(shape[rows], _BOX) // builder.reach[rows], rows)
    # Further boxes, transposed or not: the last dimension first without a swizzle, the first one with it.
    return builder.on_shape(shape, (1, 0) if width == 0 else (0, 1), "offset")
