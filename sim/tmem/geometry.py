"""The shape of tensor memory: lanes, columns, addresses, and the window of lanes that each warp may touch.

A lane is a row (0 to 127), a column one 32-bit cell of every lane (0 to 511). Source: PTX ISA 9.1, 9.7.16.1; the
figures are read from the chip file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..chip import Chip, load_chip
from .errors import TmemError

__all__ = ["DEFAULT_CHIP", "Geometry", "Window", "geometry", "split_address", "tmem_address", "window_of"]

DEFAULT_CHIP = "b200"
_COLUMN_BITS = 16


@dataclass(frozen=True, slots=True)
class Geometry:
    """Extents of the tensor memory of one SM and the unit in which it is allocated."""

    lanes: int
    columns: int
    cell_bytes: int
    window_lanes: int
    slab_lanes: int
    alloc_unit: int

    @property
    def cell_bits(self) -> int:
        """Bits of one cell (one lane of one column)."""
        return 8 * self.cell_bytes

    @property
    def windows(self) -> int:
        """Number of lane windows: 4 on every chip that has tensor memory."""
        return self.lanes // self.window_lanes

    @property
    def capacity_bytes(self) -> int:
        """Bytes of the whole tensor memory of an SM."""
        return self.lanes * self.columns * self.cell_bytes

    @property
    def column_bytes(self) -> int:
        """Bytes of one column over all lanes."""
        return self.lanes * self.cell_bytes


def geometry(chip: str | Chip = DEFAULT_CHIP) -> Geometry:
    """The tensor memory of a chip. Raises TmemError when the chip has none.

    >>> geometry("b200").capacity_bytes
    262144
    """
    return _geometry(chip) if isinstance(chip, str) else _read(chip)


@lru_cache(maxsize=16)
def _geometry(name: str) -> Geometry:
    return _read(load_chip(name))


def _read(chip: Chip) -> Geometry:
    if not chip.has("tmem.columns"):
        raise TmemError(f"{chip.title} has no tensor memory; chips with it: b200, b300")
    return Geometry(
        lanes=chip.integer("tmem.lanes"),
        columns=chip.integer("tmem.columns"),
        cell_bytes=chip.integer("tmem.cell_bytes"),
        window_lanes=chip.integer("tmem.window_lanes"),
        slab_lanes=chip.integer("tmem.slab_lanes"),
        alloc_unit=chip.integer("tmem.alloc.unit"),
    )


def tmem_address(lane: int, column: int, chip: str | Chip = DEFAULT_CHIP, *, checked: bool = True) -> int:
    """The 32-bit address of a cell: lane in bits 31:16, column in bits 15:0.

    Raises TmemError for a cell that does not exist, unless `checked` is False.

    >>> hex(tmem_address(127, 0))
    '0x7f0000'
    """
    shape = geometry(chip)
    if checked and not (0 <= lane < shape.lanes and 0 <= column < shape.columns):
        raise TmemError(
            f"lane {lane}, column {column} does not exist: lanes 0 to {shape.lanes - 1}, "
            f"columns 0 to {shape.columns - 1}"
        )
    return (lane << _COLUMN_BITS) | column


def split_address(address: int) -> tuple[int, int]:
    """(lane, column) of an address.

    >>> split_address(0x7F0010)
    (127, 16)
    """
    return address >> _COLUMN_BITS, address & ((1 << _COLUMN_BITS) - 1)


@dataclass(frozen=True, slots=True)
class Window:
    """The lanes that a warp may read and write with tcgen05.ld and st; all columns are open to it."""

    warp: int
    first: int
    last: int

    def __str__(self) -> str:
        return f"lanes {self.first} to {self.last}"


def window_of(warp: int, chip: str | Chip = DEFAULT_CHIP) -> Window:
    """The window of a warp: warp_id % 4 chooses one of four windows of 32 lanes. Source: PTX ISA 9.7.16.8.1.

    >>> str(window_of(6))
    'lanes 64 to 95'
    """
    if warp < 0:
        raise TmemError(f"warp {warp}: warps of a block count from 0")
    shape = geometry(chip)
    first = shape.window_lanes * (warp % shape.windows)
    return Window(warp, first, first + shape.window_lanes - 1)


def check_window(first: int, last: int, warp: int, chip: str | Chip = DEFAULT_CHIP) -> None:
    """Raises TmemError when lanes `first` to `last` are not all in the window of the warp.

    The message names the window and the warps (modulo 4) that the lanes need.

    >>> try:
    ...     check_window(0, 31, 1)
    ... except TmemError as error:
    ...     print(error)
    warp 1 may touch lanes 32 to 63 only, not lanes 0 to 31; these need warp 0 (modulo 4)
    """
    shape = geometry(chip)
    if not (0 <= first <= last < shape.lanes):
        raise TmemError(f"lanes {first} to {last} do not exist: lanes 0 to {shape.lanes - 1}")
    wide = shape.window_lanes
    # both ends in one window, the warp's own
    if warp >= 0 and first // wide == last // wide == warp % shape.windows:
        return
    own = window_of(warp, chip)
    raise TmemError(
        f"warp {warp} may touch {own} only, not lanes {first} to {last}; these need "
        f"{_warps(warps_for_lanes(first, last, chip))} (modulo {shape.windows})"
    )


def warps_for_lanes(first: int, last: int, chip: str | Chip = DEFAULT_CHIP) -> tuple[int, ...]:
    """The warps, modulo 4, whose windows together hold lanes `first` to `last`.

    >>> warps_for_lanes(0, 127)
    (0, 1, 2, 3)
    """
    wide = geometry(chip).window_lanes
    return tuple(range(first // wide, last // wide + 1))


def _warps(numbers: tuple[int, ...]) -> str:
    if len(numbers) == 1:
        return f"warp {numbers[0]}"
    return f"warps {', '.join(str(n) for n in numbers[:-1])} and {numbers[-1]}"
