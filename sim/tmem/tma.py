"""TMA swizzle modes, base offsets, and what a tensor map accepts as box and interleave.

All modes move 16-byte chunks (or 32- and 64-byte atoms) of a 128-byte line by its line number:

    32B  a ^ (((a>>7)&1)<<4)    64B  a ^ (((a>>7)&3)<<4)    128B  a ^ (((a>>7)&7)<<4)    96B as 32B
    128B_ATOM_32B  a ^ (((a>>7)&3)<<5)    128B_ATOM_64B  a ^ (((a>>7)&1)<<6)
    128B_ATOM_32B_FLIP_8B  as ATOM_32B, and the 8-byte halves of every 16 bytes change places on odd lines

Sources: CUDA driver API (cuTensorMapEncode*), PTX ISA 9.1, 5.5.6 and 5.5.7. That FLIP_8B acts on odd lines is assumed:
the text does not say which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...layouts import IntArray, Swizzle
from .errors import TmemError

__all__ = ["MODES", "SwizzleMode", "TmaBox", "base_offset", "chunk_table", "swizzle_mode"]

_LINE = 128


@dataclass(frozen=True, slots=True)
class SwizzleMode:
    """One swizzle mode: the XORs on byte addresses, the bytes after which the pattern repeats, the widest inner box."""

    name: str
    steps: tuple[Swizzle, ...]
    period: int
    inner_bytes: int | None
    alignment: int = 16
    assumed: str = ""

    def evaluate(self, address: IntArray) -> IntArray:
        """Physical byte addresses of logical ones; its own inverse."""
        for step in self.steps:
            address = step.evaluate(address)
        return address


def _modes() -> dict[str, SwizzleMode]:
    atom32 = Swizzle(2, 5, 2)
    flip = "FLIP_8B is taken to act on odd 128-byte lines; the documents do not say which"
    return {
        mode.name: mode
        for mode in (
            SwizzleMode("NONE", (), _LINE, None),
            SwizzleMode("32B", (Swizzle(1, 4, 3),), 256, 32),
            SwizzleMode("64B", (Swizzle(2, 4, 3),), 512, 64),
            SwizzleMode("96B", (Swizzle(1, 4, 3),), 256, 96),
            SwizzleMode("128B", (Swizzle(3, 4, 3),), 1024, 128),
            SwizzleMode("128B_ATOM_32B", (atom32,), 512, 128, 32),
            SwizzleMode("128B_ATOM_32B_FLIP_8B", (atom32, Swizzle(1, 3, 4)), 512, 128, 32, flip),
            SwizzleMode("128B_ATOM_64B", (Swizzle(1, 6, 1),), 256, 128, 64),
        )
    }


MODES = _modes()
_PREFIX = "CU_TENSOR_MAP_SWIZZLE_"


def swizzle_mode(name: str) -> SwizzleMode:
    """A mode by name, with or without the driver's prefix.

    >>> int(swizzle_mode("CU_TENSOR_MAP_SWIZZLE_128B").evaluate(np.array(128)))
    144
    """
    key = name.upper().removeprefix(_PREFIX)
    if key not in MODES:
        raise TmemError(f"unknown TMA swizzle {name!r}; modes: {', '.join(MODES)}")
    return MODES[key]


def chunk_table(name: str) -> IntArray:
    """Which 16-byte chunk of a line lies in which of its 8 slots, for the lines of one period: shape (lines, 8).

    >>> chunk_table("64B")[1].tolist()
    [1, 0, 3, 2, 5, 4, 7, 6]
    """
    mode = swizzle_mode(name)
    slots = np.arange(mode.period // 16).reshape(-1, _LINE // 16) * 16
    return mode.evaluate(slots) % _LINE // 16


def base_offset(name: str, destination: int) -> int:
    """Line within the pattern at which a destination begins that is not aligned to the pattern.

    >>> base_offset("128B", 1152), base_offset("64B", 384)
    (1, 3)
    """
    if destination < 0:
        raise TmemError(f"shared-memory address {destination}: not negative")
    return destination // _LINE % (swizzle_mode(name).period // _LINE)


@dataclass(frozen=True, slots=True)
class TmaBox:
    """A tensor map's box, its swizzle and its interleave. `problems` lists every rule that it breaks.

    Args:
        swizzle, interleave: names, "NONE" for none; interleave "16B" or "32B".
        inner_bytes: bytes of the box along the innermost dimension.
        box: elements along each dimension, innermost first; may be left empty.
        strides: bytes between rows of the global tensor, one less than dimensions; may be left empty.

    >>> TmaBox("64B", inner_bytes=128).problems
    ('the inner box has 128 bytes; swizzle 64B allows 64',)
    """

    swizzle: str = "NONE"
    interleave: str = "NONE"
    inner_bytes: int | None = None
    box: Sequence[int] = ()
    strides: Sequence[int] = ()
    address: int = 0

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence for each rule that is broken; () for a legal box."""
        mode = swizzle_mode(self.swizzle)
        interleave = self.interleave.upper().removeprefix("CU_TENSOR_MAP_").removeprefix("INTERLEAVE_")
        if interleave not in ("NONE", "16B", "32B"):
            raise TmemError(f"unknown interleave {self.interleave!r}; NONE, 16B or 32B")
        found: list[str] = []
        inner = self.inner_bytes
        if interleave == "NONE" and inner is not None:
            if mode.inner_bytes is not None and inner > mode.inner_bytes:
                found.append(
                    f"the inner box has {inner} bytes; swizzle {mode.name} allows {mode.inner_bytes}"
                )
            if inner % 16:
                found.append(f"the inner box has {inner} bytes; multiples of 16 only")
        if interleave == "32B" and mode.name != "32B":
            found.append(f"interleave 32B goes with swizzle 32B only, not with {mode.name}")
        rank = len(self.box)
        if interleave != "NONE" and rank and not 3 <= rank <= 5:
            found.append(f"interleave needs 3 to 5 dimensions, not {rank}")
        if rank > 5:
            found.append(f"a tensor map has at most 5 dimensions, not {rank}")
        found += [
            f"box dimension {n} of {size} elements; 1 to 256"
            for n, size in enumerate(self.box)
            if not 1 <= size <= 256
        ]
        step = 32 if interleave == "32B" else 16
        if self.address % step:
            found.append(f"the global address {self.address} is no multiple of {step}")
        found += [
            f"global stride {stride}; a multiple of {step} below 2^40"
            for stride in self.strides
            if stride % step or not 0 <= stride < 1 << 40
        ]
        return tuple(found)

    @property
    def legal(self) -> bool:
        """Whether the driver accepts it."""
        return not self.problems
