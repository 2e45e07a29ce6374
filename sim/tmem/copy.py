"""tcgen05.cp: shared memory to tensor memory, with the replicas that a multicast writes, and the decompression.

    shape and multicast       source rows x bytes   lanes of source row s           copies
    .128x256b, .128x128b      128 x 32, 128 x 16    s                               1
    .4x256b                   4 x 32                32 s                            1
    .64x128b.warpx2::02_13    64 x 16               s, s + 64                       2
    .64x128b.warpx2::01_23    64 x 16               q = 64 (s/32) + s%32, q + 32    2
    .32x128b.warpx4           32 x 16               s, s + 32, s + 64, s + 96       4

Byte b of a row goes to column b/4, byte b%4. Source: PTX ISA 9.1, 9.7.16.9.1; lanes as CUTLASS and TVM have them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...layouts import IntArray, TileLayout
from ..chip import Chip
from ._tiles import iters, lanes_and_units, replica_lanes
from .errors import TmemError
from .geometry import DEFAULT_CHIP, geometry

if TYPE_CHECKING:
    from .descriptor import SmemDescriptor

__all__ = ["FORMATS", "Copy", "decompress"]

# (shape, multicast) -> (rows, bytes a row, shard triples of row and byte, replica triples)
_Triples = tuple[tuple[int, int, str], ...]
_SHAPES: dict[tuple[str, str], tuple[int, int, _Triples, _Triples]] = {
    (".128x256b", ""): (128, 32, ((128, 1, "TLane"),), ()),
    (".128x128b", ""): (128, 16, ((128, 1, "TLane"),), ()),
    (".4x256b", ""): (4, 32, ((4, 32, "TLane"),), ()),
    (".64x128b", ".warpx2::02_13"): (64, 16, ((64, 1, "TLane"),), ((2, 64, "TLane"),)),
    (".64x128b", ".warpx2::01_23"): (64, 16, ((2, 64, "TLane"), (32, 1, "TLane")), ((2, 32, "TLane"),)),
    (".32x128b", ".warpx4"): (32, 16, ((32, 1, "TLane"),), ((4, 32, "TLane"),)),
}
# format -> (bits of a code, bytes of data in 16, left shift of a code in its byte)
FORMATS: dict[str, tuple[int, int, int]] = {".b8x16.b4x16_p64": (4, 8, 2), ".b8x16.b6x16_p32": (6, 12, 0)}
_COLUMN_STEP = 4


@dataclass(frozen=True, slots=True)
class Copy:
    """One tcgen05.cp.

    Args:
        shape: ".128x256b" and so on; multicast: "" or ".warpx2::02_13", ".warpx2::01_23", ".warpx4".
        lane, column: the destination address. Only .4x256b has lanes to spare: at lane 31 it fills the last lane of
        each window, which tcgen05.shift leaves as it was.
        cta_group: 1 or 2; with 2 each block of the pair copies from its own shared memory into its own tensor memory.
        fmt: a decompression of `FORMATS`, or "".

    Raises TmemError when the combination does not exist or the columns are not there.

    >>> sf = Copy.parse("tcgen05.cp.cta_group::1.32x128b.warpx4")
    >>> sf.source_bytes, sf.written_bytes, sf.replicas, sf.columns
    (512, 2048, 4, 4)
    >>> Copy(".4x256b", lane=31).lanes_written().tolist()
    [31, 63, 95, 127]
    """

    shape: str
    multicast: str = ""
    lane: int = 0
    column: int = 0
    cta_group: int = 1
    fmt: str = ""
    chip: str | Chip = DEFAULT_CHIP

    def __post_init__(self) -> None:
        if (self.shape, self.multicast) not in _SHAPES:
            raise TmemError(_no_shape(self.shape, self.multicast))
        if self.cta_group not in (1, 2):
            raise TmemError(f"cta_group::{self.cta_group}: 1 or 2")
        if self.fmt and self.fmt not in FORMATS:
            raise TmemError(f"tcgen05.cp has no format {self.fmt!r}; formats: {', '.join(FORMATS)}")
        shape = geometry(self.chip)
        free = shape.lanes - 1 - _last_lane(self.shape, self.multicast)
        if not 0 <= self.lane <= free:
            raise TmemError(
                f"tcgen05.cp{self.shape} at lane {self.lane} leaves lanes 0 to {shape.lanes - 1}; the lane of its "
                f"address is {f'0 to {free}' if free else '0'}"
            )
        if self.column % _COLUMN_STEP:
            raise TmemError(
                f"tcgen05.cp needs a column that is a multiple of {_COLUMN_STEP}, not {self.column}"
            )
        if self.column < 0 or self.column + self.columns > shape.columns:
            raise TmemError(
                f"tcgen05.cp{self.shape} touches columns {self.column} to {self.column + self.columns - 1}; "
                f"there are 0 to {shape.columns - 1}"
            )

    @classmethod
    def parse(cls, text: str, column: int = 0, lane: int = 0, chip: str | Chip = DEFAULT_CHIP) -> Copy:
        """A copy from an instruction name such as "tcgen05.cp.cta_group::2.64x128b.warpx2::02_13.b8x16.b4x16_p64"."""
        found = re.fullmatch(
            r"tcgen05\.cp(?:\.cta_group::(?P<group>\d+))?(?P<shape>\.\d+x\d+b)(?P<cast>\.warpx\w+(?:::\w+)?)?"
            r"(?P<fmt>\.b8x16\.b\w+)?",
            text.strip(),
        )
        if found is None:
            raise TmemError(f"not a tcgen05.cp: {text!r}; for example tcgen05.cp.cta_group::1.32x128b.warpx4")
        group = int(found["group"] or 1)
        return cls(found["shape"], found["cast"] or "", lane, column, group, found["fmt"] or "", chip)

    @property
    def rows(self) -> int:
        """Rows of the source matrix in shared memory."""
        return _SHAPES[self.shape, self.multicast][0]

    @property
    def row_bytes(self) -> int:
        """Bytes of a source row, padding of a packed format included."""
        return _SHAPES[self.shape, self.multicast][1]

    @property
    def columns(self) -> int:
        """32-bit columns written."""
        return self.row_bytes // geometry(self.chip).cell_bytes

    @property
    def layout(self) -> TileLayout:
        """Source (row, byte) to TLane and TCol in bytes, with the multicast as replicas; relative to the address."""
        _, width, shard, replica = _SHAPES[self.shape, self.multicast]
        return iters([*shard, (width, 1, "TCol")], replica)

    @property
    def replicas(self) -> int:
        """How often every source byte is written."""
        return len(replica_lanes(self.layout))

    @property
    def source_bytes(self) -> int:
        """Bytes read from shared memory, a block."""
        return self.rows * self.row_bytes

    @property
    def data_bytes(self) -> int:
        """Source bytes without the padding of a packed format."""
        return self.source_bytes * (FORMATS[self.fmt][1] if self.fmt else 16) // 16

    @property
    def written_bytes(self) -> int:
        """Bytes written into tensor memory, a block."""
        return self.source_bytes * self.replicas

    def destination(self) -> tuple[IntArray, IntArray, IntArray]:
        """(lanes, column, byte): lanes of shape (rows, bytes, copies), the others (rows, bytes)."""
        lane, unit = lanes_and_units(self.layout, (self.rows, self.row_bytes))
        column, byte = np.divmod(unit, geometry(self.chip).cell_bytes)
        return lane[..., None] + replica_lanes(self.layout) + self.lane, column + self.column, byte

    def lanes_written(self) -> IntArray:
        """The lanes that are written, ascending."""
        return np.unique(self.destination()[0])

    def source_addresses(self, descriptor: SmemDescriptor) -> IntArray:
        """Shared-memory address of every 16-byte chunk, shape (rows, chunks): the K-major walk of the descriptor."""
        chunks = np.arange(self.row_bytes // 16) * 16
        return descriptor.addresses(
            np.arange(self.rows)[:, None], chunks[None, :], element_bytes=1, major="K"
        )


@lru_cache(maxsize=16)
def _last_lane(shape: str, multicast: str) -> int:
    """The highest lane that a copy at lane 0 writes: 96 for .4x256b, which fills one lane of each window, else 127."""
    _, _, shard, replica = _SHAPES[shape, multicast]
    return sum((extent - 1) * stride for extent, stride, axis in (*shard, *replica) if axis == "TLane")


def _no_shape(shape: str, multicast: str) -> str:
    casts = [cast for name, cast in _SHAPES if name == shape]
    if not casts:
        return (
            f"tcgen05.cp has no shape {shape!r}; shapes: {', '.join(sorted({name for name, _ in _SHAPES}))}"
        )
    if casts == [""]:
        return f"tcgen05.cp{shape} has no multicast, {multicast} does not go with it"
    return f"tcgen05.cp{shape} needs {' or '.join(casts)}, not {multicast or 'no multicast'}"


def decompress(groups: NDArray[np.uint8], fmt: str) -> NDArray[np.uint8]:
    """What a decompressing copy writes for 16-byte groups of packed codes, arrays of shape (..., 16).

    Codes lie from the low bits up, padding behind them; a 4-bit code c becomes the byte 4c, a 6-bit code its byte. The
    place of the code within the byte is known from one secondary source only (PTX shows it in a figure).

    >>> decompress(np.array([0x10, 0x32] + [0] * 14, np.uint8), ".b8x16.b4x16_p64")[:4].tolist()
    [0, 4, 8, 12]
    """
    if fmt not in FORMATS:
        raise TmemError(f"tcgen05.cp has no format {fmt!r}; formats: {', '.join(FORMATS)}")
    bits, data, shift = FORMATS[fmt]
    if groups.shape[-1] != 16:
        raise TmemError(f"a group has 16 bytes, not {groups.shape[-1]}")
    flat = np.unpackbits(groups[..., :data].astype(np.uint8), axis=-1, bitorder="little")
    codes = flat.reshape(*groups.shape[:-1], 16, bits)
    weights = (1 << np.arange(bits)).astype(np.uint8)
    return ((codes * weights).sum(axis=-1) << shift).astype(np.uint8)
