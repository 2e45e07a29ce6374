"""The 64-bit shared-memory descriptor of tcgen05: fields, validity, and the address of every element that it describes.

    bits    field                         bits    field
    0-13    start address / 16            46-48   0b001
    16-29   leading dimension offset/16   49-51   base offset
    32-45   stride dimension offset/16    52      leading mode (1: absolute, K = 96 of sm_103 only)
                                          61-63   0 none, 1 128B with 32B atoms, 2 128B, 4 64B, 6 32B

Sources: PTX ISA 9.1, table 40 and 9.7.16.10.1; the addresses as CUTLASS' canonical layouts give them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...layouts import IntArray, Layout, TileLayout
from ._tiles import iters
from .errors import TmemError, TmemUnknown
from .tma import SwizzleMode, swizzle_mode

__all__ = [
    "SWIZZLES",
    "Difference",
    "SmemDescriptor",
    "check_layout",
    "check_valid",
    "encode_field",
    "expected_strides",
]

# name -> (code in bits 61-63, TMA mode with the same XOR, bytes of a row)
SWIZZLES: dict[str, tuple[int, str, int]] = {
    "none": (0, "NONE", 16),
    "128B_base32B": (1, "128B_ATOM_32B", 128),
    "128B": (2, "128B", 128),
    "64B": (4, "64B", 64),
    "32B": (6, "32B", 32),
}
_BY_CODE = {code: name for name, (code, _, _) in SWIZZLES.items()}
_CONSTANT = 0b001
_ADDRESS_BITS = 18


def encode_field(value: int) -> int:
    """A byte address or offset as the descriptor's 14-bit field: its low 18 bits over 16.

    >>> encode_field(1024), encode_field(74560)
    (64, 4660)
    """
    return (value & ((1 << _ADDRESS_BITS) - 1)) >> 4


def swizzle_of_code(code: int) -> str:
    """The swizzle of bits 61-63. Raises TmemError for the codes that are not assigned (3, 5, 7)."""
    if code not in _BY_CODE:
        raise TmemError(f"descriptor bits 61-63 are {code}; assigned are {sorted(_BY_CODE)}")
    return _BY_CODE[code]


def check_valid(major: str, element_bits: int, swizzle: str) -> None:
    """Raises TmemError unless the swizzle exists for this majorness and element width. Source: PTX ISA 9.1, table 54.

    >>> check_valid("MN", 32, "128B")
    Traceback (most recent call last):
    bankbench.sim.tmem.errors.TmemError: MN-major elements of 32 bits need swizzle 128B_base32B, not 128B
    """
    _known(swizzle)
    if _major(major) == "K":
        return
    if element_bits == 32 and swizzle != "128B_base32B":
        raise TmemError(f"MN-major elements of 32 bits need swizzle 128B_base32B, not {swizzle}")
    if element_bits in (8, 16) and swizzle == "128B_base32B":
        raise TmemError(f"swizzle 128B_base32B is for MN-major elements of 32 bits, not of {element_bits}")
    if element_bits not in (8, 16, 32):
        raise TmemError(f"elements of {element_bits} bits are K-major only")


def _known(swizzle: str) -> tuple[int, str, int]:
    if swizzle not in SWIZZLES:
        raise TmemError(f"unknown descriptor swizzle {swizzle!r}; {', '.join(SWIZZLES)}")
    return SWIZZLES[swizzle]


def _major(major: str) -> str:
    if major not in ("K", "MN"):
        raise TmemError(f"major {major!r}: K or MN")
    return major


@dataclass(frozen=True, slots=True)
class SmemDescriptor:
    """A shared-memory matrix as tcgen05.mma and cp read it; all sizes in bytes.

    `lbo` and `sbo` are the leading and stride dimension byte offsets. Raises TmemError for addresses that the fields
    cannot hold (multiples of 16 below 2^18).

    >>> d = SmemDescriptor(start=0, lbo=16, sbo=1024, swizzle="128B")
    >>> hex(d.encode()), SmemDescriptor.decode(d.encode()) == d
    ('0x4000404000010000', True)
    """

    start: int
    lbo: int
    sbo: int
    swizzle: str = "none"
    base: int = 0
    absolute: bool = False

    def __post_init__(self) -> None:
        _known(self.swizzle)
        for name in ("start", "lbo", "sbo"):
            value = getattr(self, name)
            if value % 16 or not 0 <= value < 1 << _ADDRESS_BITS:
                raise TmemError(f"descriptor {name} {value}: a multiple of 16 below {1 << _ADDRESS_BITS}")
        if not 0 <= self.base < 8:
            raise TmemError(f"descriptor base offset {self.base}: 0 to 7")
        if self.absolute and (self.swizzle != "128B" or self.base):
            raise TmemError(
                "an absolute leading dimension goes with swizzle 128B and base offset 0 (K = 96, sm_103)"
            )

    @property
    def mode(self) -> SwizzleMode:
        """The XOR that is laid over the addresses."""
        return swizzle_mode(_known(self.swizzle)[1])

    def encode(self) -> int:
        """The 64 bits."""
        return (
            encode_field(self.start)
            | encode_field(self.lbo) << 16
            | encode_field(self.sbo) << 32
            | _CONSTANT << 46
            | self.base << 49
            | int(self.absolute) << 52
            | _known(self.swizzle)[0] << 61
        )

    @classmethod
    def decode(cls, bits: int) -> SmemDescriptor:
        """The descriptor of 64 bits. Raises TmemError for bits that have no meaning."""
        if not 0 <= bits < 1 << 64:
            raise TmemError(f"a descriptor has 64 bits: {bits:#x}")
        constant = bits >> 46 & 7
        if constant != _CONSTANT:
            raise TmemError(
                f"descriptor bits 46-48 are {constant:#05b}; tcgen05 needs 0b001 (Hopper's descriptor differs)"
            )
        if bits >> 53 & 0xFF:
            raise TmemError("descriptor bits 53-60 are not 0")
        field = (1 << 14) - 1
        return cls(
            start=(bits & field) << 4,
            lbo=(bits >> 16 & field) << 4,
            sbo=(bits >> 32 & field) << 4,
            swizzle=swizzle_of_code(bits >> 61),
            base=bits >> 49 & 7,
            absolute=bool(bits >> 52 & 1),
        )

    def layout(self, major: str, element_bytes: int, mn: int, k: int) -> TileLayout:
        """The layout in bytes before start and swizzle: logical (mn, k) elements to `m`, one byte stride each element.

        Raises TmemError when the tile does not divide into the descriptor's blocks, or K leaves a swizzled row.
        """
        e = element_bytes
        width = _known(self.swizzle)[2]
        if _major(major) == "K":
            if self.swizzle != "none" and k * e > width:
                raise TmemError(
                    f"{k} elements of K are {k * e} bytes; a K-major row of swizzle {self.swizzle} has {width}"
                )
            inner = 16 // e if self.swizzle == "none" else k
            rows = [*_split(mn, 8, self.sbo, width, "rows of M or N")]
            return iters([*rows, *_split(k, inner, self.lbo, e, "elements of K")])
        height = 4 if self.swizzle == "128B_base32B" else 8
        outer, across = (self.sbo, self.lbo) if self.swizzle == "none" else (self.lbo, self.sbo)
        columns = [*_split(mn, width // e, outer, e, "elements of M or N")]
        return iters([*columns, *_split(k, height, across, width, "rows of K")])

    def addresses(
        self, mn: IntArray | int, k: IntArray | int, *, element_bytes: int, major: str, checked: bool = True
    ) -> IntArray:
        """Physical byte address of elements (mn, k): arrays that broadcast.

        With a base offset other than 0 the documents do not say how it enters: TmemUnknown, unless `checked` is False,
        which ignores it.
        """
        if self.base and checked:
            raise TmemUnknown("how a non-zero base offset enters the swizzle is not documented: unknown")
        rows, columns = np.asarray(mn, np.int64), np.asarray(k, np.int64)
        shape = _covering(rows, columns, self, element_bytes, major)
        layout = self.layout(major, element_bytes, *shape)
        logical = layout.evaluate(rows, columns, shape=shape)
        return self.mode.evaluate(logical["m"] + self.start)

    def banks(self, mn: IntArray | int, k: IntArray | int, *, element_bytes: int, major: str) -> IntArray:
        """Shared-memory bank (32 banks of 4 bytes) of the first byte of elements (mn, k)."""
        return self.addresses(mn, k, element_bytes=element_bytes, major=major) // 4 % 32


def _split(count: int, block: int, outer: int, inner: int, what: str) -> list[tuple[int, int, str]]:
    if count <= block:
        return [(count, inner, "m")]
    if count % block:
        raise TmemError(f"{count} {what} are no multiple of {block}")
    return [(count // block, outer, "m"), (block, inner, "m")]


def _covering(
    rows: IntArray, columns: IntArray, item: SmemDescriptor, element_bytes: int, major: str
) -> tuple[int, int]:
    """The smallest legal tile that holds the coordinates asked for."""
    width = _known(item.swizzle)[2]
    if major == "K":
        block = (8, 16 // element_bytes if item.swizzle == "none" else 1)
    else:
        block = (width // element_bytes, 4 if item.swizzle == "128B_base32B" else 8)
    most = (int(rows.max(initial=0)) + 1, int(columns.max(initial=0)) + 1)
    return (-(-most[0] // block[0]) * block[0], -(-most[1] // block[1]) * block[1])


def expected_strides(major: str, swizzle: str, element_bytes: int, mn: int) -> tuple[int, int]:
    """(LBO, SBO) of a dense tile of `mn` rows in the canonical arrangement; LBO 16 where the hardware ignores it.

    Rows that do not fill the last block of the arrangement take a whole one.

    >>> expected_strides("K", "128B", 2, 64), expected_strides("MN", "128B", 2, 128)
    ((16, 1024), (1024, 2048))
    """
    width = _known(swizzle)[2]
    if mn < 1:
        raise TmemError(f"a tile of {mn} rows: one at least")
    if _major(major) == "K":
        return (-(-mn // 8) * 128, 128) if swizzle == "none" else (16, 8 * width)
    blocks = -(-mn * element_bytes // width)
    height = 4 if swizzle == "128B_base32B" else 8
    block = width * height
    return (block * blocks, block) if swizzle == "none" else (block, block * blocks)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first element at which a layout and a descriptor disagree, and how many do."""

    mn: int
    k: int
    layout_byte: int
    descriptor_byte: int
    count: int
    elements: int

    def __str__(self) -> str:
        return (
            f"element (mn {self.mn}, k {self.k}): the layout has it at byte {self.layout_byte}, the descriptor expects "
            f"byte {self.descriptor_byte}; {self.count} of {self.elements} elements differ"
        )


def check_layout(
    layout: Layout,
    descriptor: SmemDescriptor,
    *,
    element_bytes: int,
    major: str = "K",
    shape: tuple[int, int] | None = None,
    base: int = 0,
) -> Difference | None:
    """Compares a tile's layout with what a descriptor expects; None when they agree on every element.

    Args:
        layout: offsets in elements on axis m, logical (mn, k).
        base: byte address at which the layout's buffer starts.
        shape: the (mn, k) to compare; the layout's own shape when left out.

    >>> from bankbench.layouts import parse, with_swizzle
    >>> tile = with_swizzle(parse("S[(64,64):(64,1)]"), "128B", "f16")
    >>> d = SmemDescriptor(0, 16, 1024, "128B")
    >>> check_layout(tile, d, element_bytes=2) is None
    True
    >>> print(check_layout(tile, SmemDescriptor(0, 16, 1024, "64B"), element_bytes=2, shape=(64, 32)))
    element (mn 1, k 0): the layout has it at byte 144, the descriptor expects byte 64; 1792 of 2048 elements differ
    """
    full = tuple(layout.logical_shape)
    size = full if shape is None else shape
    if len(full) != 2 and shape is not None and prod(full) == prod(shape):
        full = shape
    if len(full) != 2:
        raise TmemError(
            f"a descriptor describes a tile of (mn, k); the layout has shape {full}, say which (mn, k)"
        )
    mn, k = np.ogrid[: size[0], : size[1]]
    found = layout.evaluate(mn, k, shape=full)
    if set(found) != {"m"}:
        raise TmemError(f"a descriptor describes linear memory; the layout has axes {sorted(found)}")
    ours: NDArray[Any] = np.broadcast_to(found["m"], size) * element_bytes + base
    theirs = np.broadcast_to(descriptor.addresses(mn, k, element_bytes=element_bytes, major=major), size)
    wrong = ours != theirs
    if not wrong.any():
        return None
    at = int(np.argmax(wrong.ravel()))
    row, column = divmod(at, size[1])
    return Difference(
        row, column, int(ours[row, column]), int(theirs[row, column]), int(wrong.sum()), wrong.size
    )
