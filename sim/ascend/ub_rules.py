"""Bank conflicts of the Unified Buffer by the documented rules: how many cycles every repeat needs.

What one bank group can do in a cycle (vendor pages on avoiding bank conflicts):

    2201: one read and one write, in different banks          3510: two reads, or one read and one write, in
          (a bank does one read or one write)                       different banks

Equal addresses merge into one read: inside an operand on 2201 (a block stride of 0 reads once), over all operands of
a repeat on 3510. On 2201 a write reaches the banks one repeat after its read, so it meets the reads of the next one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..chip import Chip
from .banks import IntArray, UbGeometry, ub_geometry
from .vector import VectorOp

__all__ = ["CycleCounts", "UbCounts", "UbWitness", "count_cycles", "count_vector", "explain_vector"]


@dataclass(frozen=True, slots=True)
class CycleCounts:
    """Accesses that want to happen in one cycle, row by row; arrays of shape (rows,).

    `cycles` is what the busiest bank group needs (1 without conflict), `read_read`, `write_write` and `read_write` the
    extra cycles that each kind alone would cost, `reads` the reads that are left after equal addresses are merged.
    """

    cycles: IntArray
    read_read: IntArray
    write_write: IntArray
    read_write: IntArray
    reads: IntArray
    group: IntArray

    @property
    def conflict(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether a row needs more than one cycle."""
        return self.cycles > 1


def count_cycles(reads: IntArray, writes: IntArray, chip: Chip, operands: int = 1) -> CycleCounts:
    """Counts rows of simultaneous block accesses: `reads` (rows, r) and `writes` (rows, w) in bytes, -1 unused.

    `operands` says into how many equal parts the columns of `reads` fall (2201 merges equal addresses inside an
    operand only). Raises AscendError for addresses outside the buffer, ChipError where the mapping is unknown.

    >>> from bankbench.sim.chip import load_chip
    >>> rows = np.array([[0x10020, 0x20020]])
    >>> int(count_cycles(rows, np.zeros((1, 0), int), load_chip("a2"), operands=2).cycles[0])
    2
    """
    geometry = ub_geometry(chip)
    geometry.check(reads)
    geometry.check(writes)
    merged = merge(reads, 1 if geometry.reads_per_group > 1 else operands)
    read = _per_bank(merged, geometry)
    write = _per_bank(writes, geometry)
    shape = (len(reads), geometry.per_group, geometry.groups)
    read, write = read.reshape(shape), write.reshape(shape)
    read_total, write_total = read.sum(1), write.sum(1)
    by_read = read_total if geometry.reads_per_group == 1 else np.maximum(read.max(1), -(-read_total // 2))
    by_bank = (read + write).max(1)
    alone = np.maximum(by_read, write_total)
    needed = np.maximum(alone, by_bank)
    if geometry.reads_per_group > 1:
        # two accesses a cycle and group, at most one of them a write
        needed = np.maximum(needed, -(-(read_total + write_total) // 2))
    top = needed.max(1)
    return CycleCounts(
        cycles=np.maximum(top, 1),
        read_read=np.maximum(by_read.max(1) - 1, 0),
        write_write=np.maximum(write_total.max(1) - 1, 0),
        read_write=np.maximum(top - np.maximum(alone.max(1), 1), 0),
        reads=(merged >= 0).sum(1),
        group=needed.argmax(1),
    )


def merge(addresses: IntArray, operands: int) -> IntArray:
    """Equal addresses inside each of `operands` column parts count once: the others become -1."""
    rows, columns = addresses.shape
    if not columns:
        return addresses
    parts = np.sort(addresses.reshape(rows, operands, columns // operands), axis=2)
    again = np.zeros(parts.shape, bool)
    again[:, :, 1:] = parts[:, :, 1:] == parts[:, :, :-1]
    return np.where(again, -1, parts).reshape(rows, columns)


def _per_bank(addresses: IntArray, geometry: UbGeometry) -> IntArray:
    """Accesses by row and bank, shape (rows, banks); -1 addresses are left out."""
    rows = len(addresses)
    used = addresses >= 0
    slot = np.arange(rows)[:, None] * geometry.banks + geometry.bank(addresses)
    return np.bincount(slot[used], minlength=rows * geometry.banks).reshape(rows, geometry.banks)


@dataclass(frozen=True, slots=True)
class UbCounts:
    """A vector instruction by the static rules; arrays over its repeats.

    `counts.cycles` is what each repeat needs; on 2201 row r holds the reads of repeat r and the write of repeat r - 1
    (the last write stands in a row of its own).
    """

    op: VectorOp
    counts: CycleCounts

    @property
    def cycles(self) -> int:
        """Cycles of the whole instruction by the static rules, without its fixed overhead."""
        delayed = len(self.counts.cycles) > self.op.repeats
        # The row that only drains the delayed write is part of the fixed overhead; its extra cycles are not.
        return int(self.counts.cycles.sum()) - (1 if delayed else 0)

    @property
    def extra(self) -> int:
        """Cycles above one a repeat: the conflicts."""
        return self.cycles - self.op.repeats


def count_vector(op: VectorOp, chip: Chip) -> UbCounts:
    """Counts one vector instruction by the documented rules. Errors as `count_cycles`.

    >>> from bankbench.sim.chip import load_chip
    >>> from bankbench.sim.ascend import Operand
    >>> op = VectorOp((), (Operand(0x1FE00, block_stride=16),))
    >>> count_vector(op, load_chip("a2")).cycles
    8
    """
    reads, writes = op.read_addresses(), op.write_addresses()
    if ub_geometry(chip).delayed_write and op.reads and op.writes:
        reads = np.concatenate([reads, np.full((1, reads.shape[1]), -1)])
        writes = np.concatenate([np.full((1, writes.shape[1]), -1), writes])
    return UbCounts(op, count_cycles(reads, writes, chip, max(len(op.reads), 1)))


@dataclass(frozen=True, slots=True)
class UbWitness:
    """The worst repeat of a vector instruction and the blocks that meet in its busiest bank group.

    `accesses` lists (what, repeat, block, address, bank, row) with `what` such as "read src0" or "write dst".
    """

    repeat: int
    group: int
    cycles: int
    accesses: tuple[tuple[str, int, int, int, int, int], ...]

    def sentence(self) -> str:
        """The witness in one line."""
        if self.cycles <= 1:
            return "no two blocks of a repeat meet in a bank"
        parts = [
            f"{what} block {block} of repeat {repeat} ({address:#x}, bank {bank}, row {row})"
            for what, repeat, block, address, bank, row in self.accesses[:4]
        ]
        more = f" and {len(self.accesses) - 4} more" if len(self.accesses) > 4 else ""
        return f"bank group {self.group}, {self.cycles} cycles: " + "; ".join(parts) + more


def explain_vector(op: VectorOp, chip: Chip) -> UbWitness:
    """Which block of which repeat meets which, for the worst repeat (the first of the worst)."""
    geometry = ub_geometry(chip)
    found = count_vector(op, chip).counts
    at = int(found.cycles.argmax())
    group = int(found.group[at])
    delayed = len(found.cycles) > op.repeats
    accesses: list[tuple[str, int, int, int, int, int]] = []
    for what, operands, repeat in (("read", op.reads, at), ("write", op.writes, at - 1 if delayed else at)):
        if not 0 <= repeat < op.repeats:
            continue
        for index, operand in enumerate(operands):
            default = f"src{index}" if what == "read" else "dst"
            addresses = operand.blocks(op.repeats, op.blocks)[repeat]
            seen: set[int] = set()
            for block, address in enumerate(addresses.tolist()):
                if address in seen:  # a merged read
                    continue
                if what == "read":
                    seen.add(address)
                if int(geometry.group(address)) == group:
                    bank, row = int(geometry.bank(address)), int(geometry.row(address))
                    accesses.append((f"{what} {operand.name or default}", repeat, block, address, bank, row))
    return UbWitness(at, group, int(found.cycles[at]), tuple(accesses))
