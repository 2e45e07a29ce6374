"""SIMT warps and gather/scatter on the Unified Buffer of 3510: conflicts by 8-byte sub-banks.

Accesses to one sub-bank number of a bank group meet when they lie in different rows or in different banks; the
same row of the same sub-bank is served at once. Source: vendor page on 3510 bank conflicts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..chip import Chip
from .banks import IntArray, ub_geometry
from .errors import AscendError

__all__ = ["SubBankCounts", "count_lanes"]


@dataclass(frozen=True, slots=True)
class SubBankCounts:
    """Ways of every instruction (rows): the most distinct rows that meet in one sub-bank of one group.

    `group` and `sub_bank` name where; `lanes(row)` of the witness are those that touch it.
    """

    ways: IntArray
    group: IntArray
    sub_bank: IntArray

    @property
    def extra(self) -> IntArray:
        """Cycles above one."""
        return self.ways - 1


def count_lanes(addresses: IntArray, chip: Chip, width: int = 4) -> SubBankCounts:
    """Counts lanes of SIMT or gather/scatter instructions: `addresses` (instructions, lanes) in bytes, -1 inactive.

    `width` is bytes a lane (1 to 8). Raises AscendError on a chip without SIMT and for misaligned addresses.

    >>> from bankbench.sim.chip import load_chip
    >>> lanes = np.arange(32)[None]
    >>> [int(count_lanes(lanes * pitch, load_chip("950")).ways[0]) for pitch in (128, 132)]
    [16, 1]
    """
    if not chip["ub.simt"]:
        raise AscendError(f"{chip.title} has no sub-banks; gather, scatter and SIMT rules are those of 3510")
    if width not in (1, 2, 4, 8):
        raise AscendError(f"{width} bytes a lane; 1, 2, 4 or 8 are possible")
    geometry = ub_geometry(chip)
    addresses = np.atleast_2d(np.asarray(addresses, np.int64))
    geometry.check(addresses)
    used = addresses >= 0
    if (addresses[used] % width).any():
        raise AscendError(f"an address is no multiple of the {width} bytes of a lane")
    group, sub = geometry.group(addresses), geometry.sub_bank(addresses)
    slots = geometry.groups * geometry.sub_banks
    slot = group * geometry.sub_banks + sub
    # What must not differ inside a slot: bank and row together are the 8-byte word.
    word = addresses >> 3
    instruction = np.broadcast_to(np.arange(len(addresses))[:, None], addresses.shape)
    triples = np.unique(np.stack([instruction[used], slot[used], word[used]], axis=1), axis=0)
    per_slot = np.bincount(triples[:, 0] * slots + triples[:, 1], minlength=len(addresses) * slots)
    per_slot = per_slot.reshape(len(addresses), slots)
    worst = per_slot.argmax(1)
    return SubBankCounts(
        np.maximum(per_slot.max(1), 1), worst // geometry.sub_banks, worst % geometry.sub_banks
    )
