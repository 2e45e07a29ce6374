"""tcgen05.ld and st: which shapes exist, which registers they fill, and where every register lies in tensor memory.

    shape      lanes   columns of .xN   registers a thread
    .32x32b       32                N                    N
    .16x64b       16               2N                    N
    .16x128b      16               4N                   2N
    .16x256b      16               8N                   4N
    .16x32bx2     16   N + N (second half at the split)  N

With .pack::16b (ld) or .unpack::16b (st) a register holds the low 16 bits of two neighbouring columns, and the columns
double. Places come from `layouts.tmem_layouts.tcgen05_atom_layout`. Source: PTX ISA 9.1, 9.7.16.8, tables 49 and 50.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...layouts import IntArray, Iter, TileLayout, tile_offsets
from ...layouts.tmem_layouts import tcgen05_atom_layout
from ..chip import Chip, load_chip
from .errors import TmemError
from .geometry import DEFAULT_CHIP, check_window, geometry, split_address

__all__ = ["SHAPES", "FragmentMap", "LoadStore", "check_reduction", "registers"]

REPEATS = (1, 2, 4, 8, 16, 32, 64, 128)
# shape -> (lanes, columns of .x1, registers of .x1, largest repeat)
SHAPES: dict[str, tuple[int, int, int, int]] = {
    ".32x32b": (32, 1, 1, 128),
    ".16x64b": (16, 2, 1, 128),
    ".16x128b": (16, 4, 2, 64),
    ".16x256b": (16, 8, 4, 32),
    ".16x32bx2": (16, 2, 1, 128),
}
_REDUCIBLE = (".32x32b", ".16x32bx2")
_REDUCING_ARCHS = ("sm_101", "sm_103", "sm_110")


@lru_cache(maxsize=64)
def _shape(name: str) -> tuple[str, tuple[int, int, int, int]]:
    shape = name if name.startswith(".") else f".{name}"
    if shape not in SHAPES:
        raise TmemError(f"tcgen05.ld/st has no shape {name!r}; shapes: {', '.join(SHAPES)}")
    return shape, SHAPES[shape]


def registers(shape: str, num: int) -> int:
    """32-bit registers a thread of `shape.xnum`. Raises TmemError for a repeat that the shape does not have.

    >>> registers(".16x256b", 4), registers("16x128b", 64)
    (16, 128)
    """
    name, (_, _, per_repeat, largest) = _shape(shape)
    if num not in REPEATS or num > largest:
        raise TmemError(f"{name}.x{num}: repeats are the powers of two from 1 to {largest}")
    return per_repeat * num


@dataclass(frozen=True, slots=True)
class FragmentMap:
    """Where the registers of one instruction lie: arrays of shape (32 threads, registers).

    `lane` and `column` are absolute; with 16-bit packing `column` is the one of the low half and `high_column` that of
    the high half, otherwise the two are the same array.
    """

    lane: IntArray
    column: IntArray
    high_column: IntArray
    packed: bool

    def rows(self) -> IntArray:
        """(thread, register, lane, column[, column of the high half]) for every register, in that order."""
        thread, register = np.divmod(np.arange(self.lane.size), self.lane.size // 32)
        columns = [thread, register, self.lane.ravel(), self.column.ravel()]
        if self.packed:
            columns.append(self.high_column.ravel())
        return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True)
class LoadStore:
    """One tcgen05.ld or st by one warp.

    Args:
        op: "ld" or "st".
        shape, num: such as ".16x256b" and 8.
        warp: the warp of the block that issues it.
        lane, column: the address that all its threads pass.
        packed: .pack::16b for ld, .unpack::16b for st.
        split: immHalfSplitoff of .16x32bx2 in columns; default: the halves next to each other.
        reduction: "min" or "max" for ld.red.

    Raises TmemError when the hardware does not execute it: shape, repeat, window, lane offset or columns.

    >>> ld = LoadStore("ld", ".16x256b", 1, warp=1, lane=32, column=16)
    >>> ld.registers, ld.bytes_moved, ld.lanes, ld.columns
    (4, 512, (32, 47), 8)
    """

    op: str
    shape: str
    num: int
    warp: int = 0
    lane: int = 0
    column: int = 0
    packed: bool = False
    split: int | None = None
    reduction: str | None = None
    chip: str | Chip = DEFAULT_CHIP

    def __post_init__(self) -> None:
        if self.op not in ("ld", "st"):
            raise TmemError(f"op {self.op!r}: ld or st")
        object.__setattr__(self, "shape", _shape(self.shape)[0])
        _ = self.registers
        if self.split is not None:
            self._check_split(self.split)
        if self.reduction is not None:
            self._check_reduction()
        self._check_place()

    @classmethod
    def at(cls, op: str, shape: str, num: int, taddr: int, warp: int = 0, packed: bool = False) -> LoadStore:
        """The same from a 32-bit address."""
        lane, column = split_address(taddr)
        return cls(op, shape, num, warp, lane, column, packed)

    def _check_split(self, split: int) -> None:
        if self.shape != ".16x32bx2":
            raise TmemError(f"immHalfSplitoff goes with .16x32bx2, not with {self.shape}")
        if split < 0:
            raise TmemError(f"immHalfSplitoff {split}: 0 or more columns; a negative one is not documented")
        half = self.num * (2 if self.packed else 1)
        if self.op == "st" and split < half:
            raise TmemError(
                f"immHalfSplitoff {split}: the halves of {half} columns overlap, two threads would write one cell; "
                f"{half} at least"
            )

    def _check_reduction(self) -> None:
        if self.op != "ld" or self.packed:
            raise TmemError("a reduction goes with tcgen05.ld without packing")
        check_reduction(self.shape, self.num, load_chip(self.chip).arch)

    def _check_place(self) -> None:
        shape = geometry(self.chip)
        lanes = SHAPES[self.shape][0]
        step = shape.slab_lanes if lanes == shape.slab_lanes else shape.window_lanes
        if self.lane % step:
            within = self.lane % shape.window_lanes
            raise TmemError(
                f"{self.shape} begins at lane {'0 or 16' if step == 16 else '0'} of a window, not at {within}"
            )
        check_window(self.lane, self.lane + lanes - 1, self.warp, self.chip)
        first, last = self.column_range
        if first < 0 or last >= shape.columns:
            raise TmemError(
                f"{self.op} touches columns {first} to {last}; there are 0 to {shape.columns - 1}"
            )

    @property
    def registers(self) -> int:
        """32-bit registers a thread (one more is written by a reduction)."""
        return registers(self.shape, self.num)

    @property
    def bytes_moved(self) -> int:
        """Bytes between registers and tensor memory, all threads together."""
        return 32 * self.registers * 4

    @property
    def lanes(self) -> tuple[int, int]:
        """First and last lane touched."""
        return self.lane, self.lane + SHAPES[self.shape][0] - 1

    @property
    def columns(self) -> int:
        """Columns touched; halves of .16x32bx2 that overlap share some.

        >>> LoadStore("ld", ".16x32bx2", 8, split=2).columns
        10
        """
        wide = SHAPES[self.shape][1] * self.num * (2 if self.packed else 1)
        return wide if self.split is None else wide // 2 + min(self.split, wide // 2)

    @property
    def column_range(self) -> tuple[int, int]:
        """First and last column touched (with a split there may be untouched ones between)."""
        if self.shape != ".16x32bx2":
            return self.column, self.column + self.columns - 1
        half = self.num * (2 if self.packed else 1)
        return self.column, self.column + self.half_split + half - 1

    @property
    def half_split(self) -> int:
        """Columns from the first half of .16x32bx2 to the second."""
        return self.columns // 2 if self.split is None else self.split

    @property
    def bytes_of_tmem(self) -> int:
        """Bytes of the cells touched: twice what is moved when packing leaves the upper halves out."""
        return SHAPES[self.shape][0] * self.columns * geometry(self.chip).cell_bytes

    def fragment(self) -> FragmentMap:
        """Where each register of each thread lies."""
        lane, low, high = _relative(self.shape, self.num, self.packed)
        if self.shape == ".16x32bx2":
            half = np.arange(32)[:, None] // 16
            low, high = low + half * self.half_split, high + half * self.half_split
        return FragmentMap(lane + self.lane, low + self.column, high + self.column, self.packed)


@lru_cache(maxsize=128)
def _relative(shape: str, num: int, packed: bool) -> tuple[IntArray, IntArray, IntArray]:
    """(lane, column of the low half, of the high half) by (thread, register), relative to the address."""
    lanes, per_repeat, _, _ = SHAPES[shape]
    wide = 2 if packed else 1
    if shape == ".16x32bx2":
        # both halves alone: the split is added by the caller
        half = TileLayout.from_iters([Iter(lanes, 1, "laneid"), Iter(num * wide, 1, "m")])
        tile = tile_offsets(half, (lanes, num * wide))
        low, high, lane = _invert(tile["laneid"], tile["m"], lanes, packed)
        return np.tile(lane, (2, 1)), np.tile(low, (2, 1)), np.tile(high, (2, 1))
    columns = per_repeat * num * wide
    rows = 128 if lanes == 32 else 64
    layout = tcgen05_atom_layout(shape[1:], (rows, columns), "f16" if packed else "f32")
    # rows of warp 0: all its 32 lanes, or the 16 of one half of its window
    row, column = np.ogrid[:lanes, :columns]
    found = layout.evaluate(row, column, shape=(rows, columns))
    thread = np.broadcast_to(found["laneid"] if "laneid" in found else found["tid_in_wg"], (lanes, columns))
    low, high, lane = _invert(thread, np.broadcast_to(found["m"], (lanes, columns)), 32, packed)
    return lane, low, high


def _invert(
    thread: IntArray, unit: IntArray, threads: int, packed: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """Turns (row, column) -> (thread, register) round; registers of two halves give two columns."""
    rows, columns = thread.shape
    count = rows * columns // threads
    row = np.empty((threads, count), np.int64)
    column = np.empty((threads, count), np.int64)
    row[thread, unit] = np.arange(rows)[:, None]
    column[thread, unit] = np.arange(columns)[None, :]
    if not packed:
        return column, column, row
    return column[:, 0::2], column[:, 1::2], row[:, 0::2]


def check_reduction(shape: str, num: int, arch: str) -> None:
    """Raises TmemError unless `tcgen05.ld.red.shape.xnum` exists on the architecture. Source: PTX ISA 9.7.16.8.3.

    >>> check_reduction(".32x32b", 32, "sm_100a")
    Traceback (most recent call last):
    bankbench.sim.tmem.errors.TmemError: tcgen05.ld.red does not exist on sm_100a; it needs sm_101, sm_103 or sm_110
    """
    name, _ = _shape(shape)
    registers(name, num)
    if name not in _REDUCIBLE:
        raise TmemError(f"tcgen05.ld.red has the shapes {' and '.join(_REDUCIBLE)}, not {name}")
    if num < 2:
        raise TmemError(f"tcgen05.ld.red{name} repeats at least twice (.x2), not .x{num}")
    if not arch.startswith(_REDUCING_ARCHS):
        raise TmemError(f"tcgen05.ld.red does not exist on {arch}; it needs sm_101, sm_103 or sm_110")
