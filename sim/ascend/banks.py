"""Addresses of the Unified Buffer and of L1 as banks: bit fields of the chip file, for whole arrays at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..chip import Chip, ChipError
from .errors import AscendError

__all__ = ["IntArray", "UbGeometry", "l1_bank", "ub_geometry", "unknown_mapping"]

_MAPPING = ("bank_shift", "row_shift", "rows", "reads_per_group", "delayed_write")

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class UbGeometry:
    """How an address of the Unified Buffer (bytes) becomes a bank.

    group = address bits above the 5 offset bits; bank number = group + groups * bank id. Source: the vendor's pages on
    avoiding bank conflicts, one for each architecture.

    >>> from bankbench.sim.chip import load_chip
    >>> g = ub_geometry(load_chip("a2"))
    >>> [int(g.bank(a)) for a in (0x10020, 0x20020, 0x10E20)], int(g.group(0x10020))
    ([17, 33, 17], 1)
    """

    chip: str
    bytes: int
    groups: int
    banks: int
    bank_shift: int
    row_shift: int
    rows: int
    reads_per_group: int
    sub_banks: int
    delayed_write: bool

    @property
    def per_group(self) -> int:
        """Banks of one group."""
        return self.banks // self.groups

    def group(self, address: IntArray | int) -> IntArray:
        """Bank group of an address."""
        return np.asarray(address, np.int64) >> 5 & self.groups - 1

    def bank(self, address: IntArray | int) -> IntArray:
        """Bank number of an address: group + groups * bank id."""
        at = np.asarray(address, np.int64)
        mask = 3 if self.per_group > 2 else self.per_group - 1
        return (at >> 5 & self.groups - 1) + self.groups * (at >> self.bank_shift & mask)

    def row(self, address: IntArray | int) -> IntArray:
        """Row of an address inside its bank."""
        return np.asarray(address, np.int64) >> self.row_shift & self.rows - 1

    def sub_bank(self, address: IntArray | int) -> IntArray:
        """8-byte sub-bank of an address; 0 where the banks are not divided."""
        return np.asarray(address, np.int64) >> 3 & self.sub_banks - 1

    def check(self, address: IntArray) -> None:
        """Raises AscendError for an address outside the Unified Buffer."""
        used = address[address >= 0]
        if used.size and int(used.max()) >= self.bytes:
            worst = int(used.max())
            raise AscendError(
                f"UB: byte {worst:#x} is accessed, the Unified Buffer of {self.chip} ends at {self.bytes:#x}"
            )


def unknown_mapping(chip: Chip) -> str:
    """Why the banks of an address are not known on this chip, and what would have to be set; "" where they are.

    >>> from bankbench.sim.chip import load_chip
    >>> unknown_mapping(load_chip("a2")), unknown_mapping(load_chip("310p"))[:48]
    ('', 'the address mapping of this Unified Buffer is no')
    """
    missing = [f"ub.{name}" for name in _MAPPING if chip.has(f"ub.{name}") and chip[f"ub.{name}"] is None]
    if not missing:
        return ""
    note = chip.constant(missing[0]).note
    return f"{note} (not known are {', '.join(missing)}; set them in overrides: to count with figures of your own)"


@lru_cache(maxsize=64)
def ub_geometry(chip: Chip) -> UbGeometry:
    """The geometry of a chip's Unified Buffer. Raises ChipError where the address mapping is not public."""
    if not chip.has("ub.groups"):
        raise ChipError(f"chip {chip.name}: has no Unified Buffer; choose one of ascend910b, ascend950")
    reason = unknown_mapping(chip)
    if reason:
        raise ChipError(f"chip {chip.name}: {reason}")
    return UbGeometry(
        chip=chip.name,
        bytes=chip.integer("buffers.UB"),
        groups=chip.integer("ub.groups"),
        banks=chip.integer("ub.banks"),
        bank_shift=chip.integer("ub.bank_shift"),
        row_shift=chip.integer("ub.row_shift"),
        rows=chip.integer("ub.rows"),
        reads_per_group=chip.integer("ub.reads_per_group"),
        sub_banks=chip.integer("ub.sub_banks"),
        delayed_write=bool(chip["ub.delayed_write"]),
    )


def l1_bank(address: IntArray | int, chip: Chip) -> IntArray:
    """Which half of L1 an address lies in (0 or 1): the bank of every group. ChipError where it is not public.

    A bank serves one read or one write at a time; a write of MTE2 and a read of MTE1 meet only inside one half.
    """
    return np.asarray(address, np.int64) >> chip.integer("l1.bank_shift") & 1
