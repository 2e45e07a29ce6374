"""Vector instructions on the Unified Buffer: which 32-byte blocks every repeat reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .banks import IntArray
from .errors import AscendError

__all__ = ["Operand", "VectorOp"]

BLOCK = 32


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand: start address in bytes, block stride and repeat stride in 32-byte blocks.

    Block b of repeat r lies at `base + 32 * (r * repeat_stride + b * block_stride)`.
    """

    base: int
    block_stride: int = 1
    repeat_stride: int = 8
    name: str = ""

    def blocks(self, repeats: int, blocks: int) -> IntArray:
        """Addresses of all blocks, shape (repeats, blocks)."""
        r, b = np.arange(repeats)[:, None], np.arange(blocks)[None, :]
        return self.base + BLOCK * (r * self.repeat_stride + b * self.block_stride)


@dataclass(frozen=True, slots=True)
class VectorOp:
    """A vector instruction: operands read and written, repeats, and blocks a repeat that the mask leaves active.

    Raises AscendError for misaligned addresses, negative strides and counts outside the instruction's fields.

    >>> op = VectorOp((Operand(0), Operand(0x10100)), (Operand(0x20000),), repeats=64)
    >>> op.read_addresses().shape, op.bytes_moved
    ((64, 16), 49152)
    """

    reads: tuple[Operand, ...]
    writes: tuple[Operand, ...]
    repeats: int = 1
    blocks: int = 8
    name: str = "vector"

    def __post_init__(self) -> None:
        if not 1 <= self.repeats <= 255:
            raise AscendError(f"{self.name}: {self.repeats} repeats; an instruction has 1 to 255")
        if not 1 <= self.blocks <= 8:
            raise AscendError(f"{self.name}: {self.blocks} blocks a repeat; a repeat has 1 to 8 of 32 bytes")
        for operand in (*self.reads, *self.writes):
            if operand.base % BLOCK or operand.base < 0:
                raise AscendError(
                    f"{self.name}: {operand.name or 'operand'} at {operand.base:#x}; a vector operand starts "
                    f"at a multiple of 32, the nearest is {max(operand.base, 0) // BLOCK * BLOCK:#x}"
                )
            if operand.block_stride < 0 or operand.repeat_stride < 0:
                raise AscendError(f"{self.name}: strides count blocks from 0 up, found a negative one")

    def read_addresses(self) -> IntArray:
        """Block addresses that are read, shape (repeats, blocks * operands), operand after operand."""
        return self._addresses(self.reads)

    def write_addresses(self) -> IntArray:
        """Block addresses that are written, shape (repeats, blocks * operands)."""
        return self._addresses(self.writes)

    def _addresses(self, operands: tuple[Operand, ...]) -> IntArray:
        parts = [operand.blocks(self.repeats, self.blocks) for operand in operands]
        return np.concatenate(parts, axis=1) if parts else np.zeros((self.repeats, 0), np.int64)

    @property
    def bytes_moved(self) -> int:
        """Bytes of all blocks that are read and written, merged ones counted every time."""
        return BLOCK * self.blocks * self.repeats * (len(self.reads) + len(self.writes))
