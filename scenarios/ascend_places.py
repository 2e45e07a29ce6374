"""Names in a schedule: matrices in global memory, tiles in the buffers, and references such as `A[m, k]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..layouts import TlaLayout, dtype_bits, from_tag, parse_tla
from ..layouts.int_tuple import integers
from ..sim.ascend import Buffer, MemoryUse, place_buffers
from ..sim.chip import Chip, chip_names, load_chip
from .ascend_model import Ascend, Matrix
from .errors import ScenarioError
from .expressions import evaluate_vector

IntArray = NDArray[np.int64]
_REFERENCE = re.compile(r"\s*([A-Za-z_]\w*)\s*(\[.*\])?\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MatrixData:
    """A matrix in global memory; `bytes` as stored."""

    name: str
    layout: TlaLayout
    dtype: str
    bits: int
    l2_hit: float

    @property
    def bytes(self) -> int:
        """Bytes of the whole matrix."""
        return self.layout.cosize() * self.bits // 8

    @property
    def order(self) -> str:
        """ "row" or "column" for plain matrices, "" for fractal ones."""
        if self.layout.rank == 1:
            return "row"
        if self.layout.depth > 1:
            return ""
        return "row" if integers(self.layout.stride)[-1] == 1 else "column"


@dataclass(slots=True)
class TileState:
    """A tile while the schedule is walked: the slot filled last, and how much of it is valid."""

    buffer: Buffer
    shape: tuple[int, ...]
    tag: str
    slot: int = -1
    valid: tuple[int, ...] = ()

    def rotate(self) -> int:
        """The slot that the next fill takes."""
        self.slot = (self.slot + 1) % self.buffer.slots
        return self.slot


@dataclass(slots=True)
class Places:
    """Everything that a schedule can name, and how the memories are used."""

    chip: Chip
    arch: int
    matrices: dict[str, MatrixData] = field(default_factory=dict)
    tiles: dict[str, TileState] = field(default_factory=dict)
    memories: dict[str, MemoryUse] = field(default_factory=dict)


def make_places(ascend: Ascend, chip: Chip) -> Places:
    """Lays the tiles out in their memories. Raises CapacityError, LayoutError."""
    if not chip.arch.startswith("dav-"):
        names = [name for name in chip_names() if load_chip(name).arch.startswith("dav-")]
        raise ScenarioError(
            f"ascend: needs an Ascend chip, {chip.name} is none; choose one of {', '.join(names)}"
        )
    arch = int(chip.arch.removeprefix("dav-"))
    wanted = [
        (name, tile.memory, tuple(tile.shape), tile.dtype, tile.layout, tile.slots, tile.at)
        for name, tile in ascend.tiles.items()
    ]
    memories = place_buffers(
        wanted, chip, mixed=ascend.mixed, framework=ascend.framework, simt_cache=ascend.simt_cache
    )
    places = Places(chip, arch, memories=memories)
    for use in memories.values():
        for buffer in use.buffers:
            tile = ascend.tiles[buffer.name]
            tag = tile.layout or default_tag(tile.memory, chip)
            places.tiles[buffer.name] = TileState(buffer, tuple(tile.shape), tag)
    for name, matrix in ascend.matrices.items():
        if name in places.tiles:
            raise ScenarioError(f"'{name}' names a matrix and a tile; choose two names")
        hit = matrix.l2_hit if isinstance(matrix.l2_hit, float | int) else 0.0
        places.matrices[name] = MatrixData(
            name, _layout(matrix, arch), matrix.dtype, dtype_bits(matrix.dtype), float(hit)
        )
    return places


def default_tag(memory: str, chip: Chip) -> str:
    """The layout tag of a memory when the tile names none."""
    plain = {"L1": "zN", "UB": "RowMajor", "BT": "VectorLayout", "FB": "VectorLayout"}
    return plain[memory] if memory in plain else str(chip[f"format.{memory}"])


def _layout(matrix: Matrix, arch: int) -> TlaLayout:
    text = matrix.layout or ("VectorLayout" if len(matrix.shape) == 1 else "RowMajor")
    if ":" in text:
        return parse_tla(text)
    rows, cols = (1, matrix.shape[0]) if len(matrix.shape) == 1 else matrix.shape
    return from_tag(text, rows, cols, matrix.dtype, arch)


@dataclass(frozen=True, slots=True)
class Reference:
    """A name, and the coordinate behind it for every iteration (one array a dimension); () for a bare name."""

    name: str
    coords: tuple[IntArray, ...]


def read_reference(text: str, names: Mapping[str, IntArray], count: int) -> Reference:
    """`A[m, k + 64]` or `A1`. Raises ScenarioError; ExpressionError inside the brackets."""
    found = _REFERENCE.match(text)
    if not found:
        raise ScenarioError(f"{text!r} is no reference; write a name, or a name with a coordinate: A[m, k]")
    name, bracket = found.group(1), found.group(2)
    if not bracket:
        return Reference(name, ())
    values = evaluate_vector(bracket, names)
    return Reference(name, tuple(np.broadcast_to(value, (count,)).astype(np.int64) for value in values))
