"""How long a vector instruction takes on the Unified Buffer, conflicts of reads with delayed writes included.

2201: a small machine, found by search over the eight published scenarios (it is not stated by the vendor):

* reads issue one repeat a cycle; a read-read conflict makes a repeat take more, operand after operand;
* the write of a repeat reaches the banks `ub.write_delay` (15) cycles after its last read;
* a read and a due write that meet in a bank take turns: who lost last goes first, the loser waits a cycle;
* the instruction ends with its last write; `ub.overhead` (22) contains the delay.

It gives 0/64/64/0/49/0/41/0 extra cycles where 0/64/64/0/49/0/43/0 were measured; the last two of row 7 are open.
3510: loads and stores are instructions of their own inside a vector function and overlap, so every repeat takes what
the busier of the two needs by the static rules, plus the overhead of the function (fitted). Where the load of one
iteration meets the store of another is not public and costs nothing here.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..chip import Chip
from .banks import UbGeometry, ub_geometry
from .ub_rules import count_vector
from .vector import Operand, VectorOp

__all__ = ["VectorTime", "vector_time"]


@dataclass(frozen=True, slots=True)
class VectorTime:
    """Cycles of a vector instruction: `streaming` one a repeat, `conflict` extra, `overhead` fixed."""

    streaming: int
    conflict: int
    overhead: int

    @property
    def cycles(self) -> int:
        """All three together."""
        return self.streaming + self.conflict + self.overhead


def vector_time(op: VectorOp, chip: Chip) -> VectorTime:
    """Cycles of one vector instruction that runs alone. ChipError where the chip's UB mapping is unknown.

    >>> from bankbench.sim.chip import load_chip
    >>> from bankbench.sim.ascend import Operand
    >>> op = VectorOp((Operand(0), Operand(0x10100)), (Operand(0x4020),), repeats=64)
    >>> vector_time(op, load_chip("a2"))
    VectorTime(streaming=64, conflict=49, overhead=22)
    """
    return _time(op, chip)


@lru_cache(maxsize=4096)
def _time(op: VectorOp, chip: Chip) -> VectorTime:
    geometry = ub_geometry(chip)
    geometry.check(op.read_addresses())
    geometry.check(op.write_addresses())
    overhead = chip.integer("ub.overhead")
    if not geometry.delayed_write or not (op.reads and op.writes):
        counts = count_vector(op, chip).counts
        busier = np.maximum(counts.read_read, counts.write_write)
        return VectorTime(op.repeats, int(busier.sum()), overhead)
    delay = chip.integer("ub.write_delay")
    return VectorTime(op.repeats, max(_run(op, geometry, delay) - op.repeats, 0), overhead)


def _run(op: VectorOp, geometry: UbGeometry, delay: int) -> int:
    """Cycles from the first read to the last write, less the delay of the write."""
    reads: list[tuple[int, bool]] = []  # banks of a read cycle as a bit mask, whether it ends its repeat
    writes: list[list[int]] = []
    for repeat in range(op.repeats):
        phases = _read_phases(op.reads, repeat, op.blocks, geometry)
        reads += [(mask, index == len(phases) - 1) for index, mask in enumerate(phases)]
        writes.append(_split([a for o in op.writes for a in _row(o, repeat, op.blocks)], geometry))
    due: deque[tuple[int, int]] = deque()  # (cycle from which it can go, banks)
    now = at = repeat = last = 0
    write_lost = False
    while at < len(reads) or due:
        can_read = at < len(reads)
        if due and due[0][0] <= now:
            meets = can_read and due[0][1] & reads[at][0]
            if not meets or write_lost:
                due.popleft()
                last = now
                can_read = can_read and not meets
            if meets:
                write_lost = not write_lost
        if can_read:
            if reads[at][1]:
                due.extend((now + delay, mask) for mask in writes[repeat])
                repeat += 1
            at += 1
        now += 1
    return last + 1 - delay


def _row(operand: Operand, repeat: int, blocks: int) -> list[int]:
    start = operand.base + 32 * repeat * operand.repeat_stride
    return [start + 32 * block * operand.block_stride for block in range(blocks)]


def _read_phases(operands: tuple[Operand, ...], repeat: int, blocks: int, geometry: UbGeometry) -> list[int]:
    """The cycles in which a repeat reads: together when no group is asked twice, else operand after operand."""
    per_operand = [list(dict.fromkeys(_row(operand, repeat, blocks))) for operand in operands]
    together = _split([address for part in per_operand for address in part], geometry)
    if len(together) == 1:
        return together
    return [mask for part in per_operand for mask in _split(part, geometry)]


def _split(addresses: list[int], geometry: UbGeometry) -> list[int]:
    """Bank masks of as few cycles as the groups allow, one access a group and cycle."""
    seen: dict[int, int] = {}
    masks: list[int] = []
    for address in addresses:
        group = address >> 5 & geometry.groups - 1
        cycle = seen.get(group, 0)
        seen[group] = cycle + 1
        if cycle == len(masks):
            masks.append(0)
        bank = group + geometry.groups * (address >> geometry.bank_shift & 3)
        masks[cycle] |= 1 << bank
    return masks or [0]
