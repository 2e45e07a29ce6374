"""tcgen05.shift: 8 columns (32 bytes) of every lane move down by one lane within each window of 32.

Source: PTX ISA 9.1, 9.7.16.9.2, for the rule and the alignment; that lane r receives lane r + 1 and the last lane
of each window keeps its value is known from one secondary implementation, and fits CUTLASS' use of the 4-lane copy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...layouts import IntArray
from ..chip import Chip, load_chip
from .errors import TmemError
from .geometry import DEFAULT_CHIP, geometry

__all__ = ["Shift"]

_COLUMNS = 8
_ARCHS = ("sm_100", "sm_101", "sm_103", "sm_110")


@dataclass(frozen=True, slots=True)
class Shift:
    """One tcgen05.shift.down at an address. Raises TmemError when its lane is not a multiple of 32.

    >>> Shift(0, 64).sources()[:2].tolist(), int(Shift(0, 64).sources()[31])
    ([1, 2], 31)
    """

    lane: int
    column: int
    chip: str | Chip = DEFAULT_CHIP

    def __post_init__(self) -> None:
        shape = geometry(self.chip)
        if self.lane % shape.window_lanes or not 0 <= self.lane < shape.lanes:
            raise TmemError(f"tcgen05.shift needs lane 0, 32, 64 or 96, not {self.lane}")
        if not 0 <= self.column <= shape.columns - _COLUMNS:
            raise TmemError(f"tcgen05.shift moves {_COLUMNS} columns; column {self.column} leaves fewer")
        if not load_chip(self.chip).arch.startswith(_ARCHS):
            raise TmemError(f"tcgen05.shift does not exist on {load_chip(self.chip).arch}")

    @property
    def columns(self) -> int:
        """Columns moved."""
        return _COLUMNS

    @property
    def bytes_per_lane(self) -> int:
        """Bytes of a lane that move."""
        return _COLUMNS * geometry(self.chip).cell_bytes

    def sources(self) -> IntArray:
        """For every lane from the address on, the lane whose value it has afterwards."""
        shape = geometry(self.chip)
        lanes = np.arange(self.lane, shape.lanes)
        last = lanes % shape.window_lanes == shape.window_lanes - 1
        return np.where(last, lanes, lanes + 1)
