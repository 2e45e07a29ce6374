"""Cycles of tcgen05 instructions, from the figures of the chip file.

The interval between products is the larger of two: the accumulator columns written, two a cycle, and the bytes of A
and B that are read from shared memory, 128 a cycle. The latency (issue to the return of the wait on the mbarrier) is a
constant plus N/2 (N/4 where a pair with M = 128 writes half the columns) plus the bytes of A over 128 when A lies in
shared memory. Every term carries its source in the chip file. Sparse products, .ws, and fewer than 64 columns were not
measured by anybody: they rest on factors of the chip file that say so.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..chip import Chip, load_chip
from .copy import Copy
from .geometry import DEFAULT_CHIP
from .loadstore import LoadStore
from .mma import MmaShape, mma_kind

__all__ = [
    "MmaCycles",
    "copy_cycles",
    "load_loop_cycles",
    "load_store_cycles",
    "mma_cycles",
    "transfer_cycles",
]

_SMALL_N = {256: 80, 128: 96}  # columns up to which a pair needs its extra cycles
_MX_WIDE = 256
_MEASURED_N = 64  # the narrowest product of the public tables


@dataclass(frozen=True, slots=True)
class MmaCycles:
    """Cycles of one product: `interval` between products, `latency` of one, and what bounds the interval.

    `accumulator` and `operands` are the two terms of the interval; `rests_on` the paths of the constants used.
    """

    interval: float
    latency: float
    accumulator: float
    operands: float
    operand_bytes: int
    rests_on: tuple[str, ...]

    @property
    def bound(self) -> str:
        """What the interval is bound by."""
        return "shared-memory operands" if self.operands > self.accumulator else "tensor datapath"

    @property
    def operand_share(self) -> float:
        """Part of the shared-memory read port that the operands take at this interval."""
        return self.operands / self.interval


def mma_cycles(shape: MmaShape, operands: str = "SS", chip: str | Chip = DEFAULT_CHIP) -> MmaCycles:
    """Interval and latency of a product. `operands` is "SS" (A in shared memory) or "TS" (A in tensor memory).

    >>> [mma_cycles(MmaShape("f16", 128, n), "SS").interval for n in (64, 96, 128, 256)]
    [48.0, 56.0, 64.0, 128.0]
    >>> mma_cycles(MmaShape("f16", 128, 64), "TS").bound, mma_cycles(MmaShape("f16", 128, 64)).latency
    ('tensor datapath', 168.0)
    """
    machine = load_chip(chip)
    pair = shape.cta_group == 2
    narrow = pair and shape.M == 128
    base = shape.N / machine.number("tcgen05.interval.columns_per_cycle") / (2 if narrow else 1)
    rests = ["tcgen05.interval.columns_per_cycle"]
    for path, applies in (("sparse", shape.sparse), ("ws", shape.ws)):
        if applies:
            rests.append(f"tcgen05.interval.{path}")
            base *= machine.number(rests[-1])
    if shape.N < _MEASURED_N:
        rests.append("tcgen05.interval.narrow_floor")
        base = max(base, machine.number(rests[-1]))
    size = shape.b_bytes + (shape.a_bytes if operands == "SS" else 0)
    fetch = size / machine.number("tcgen05.operand_bytes_per_cycle")
    if operands == "SS":
        rests.append("tcgen05.operand_bytes_per_cycle")
        if pair and _SMALL_N[shape.M] >= shape.N:
            extra = "tcgen05.interval.pair_m128_extra" if narrow else "tcgen05.interval.pair_m256_extra"
            fetch += machine.number(extra)
            rests.append(extra)
    elif narrow:
        floor = "tcgen05.interval.pair_m128_ts_floor"
        base = max(base, machine.number(floor))
        rests.append(floor)
    latency, paths = _latency(shape, operands, machine)
    return MmaCycles(max(base, fetch), latency, base, fetch, size, (*rests, *paths))


def _latency(shape: MmaShape, operands: str, chip: Chip) -> tuple[float, list[str]]:
    paths: list[str] = []

    def term(path: str) -> float:
        paths.append(f"tcgen05.latency.{path}")
        return chip.number(paths[-1])

    n, a_in_smem = shape.N, operands == "SS"
    if shape.cta_group == 2 and shape.M == 128:
        # below N = 128 the fetch of A overlaps with less of the product
        cycles = (term("pair_m128_ss") - max(0, 16 - n / 8) if a_in_smem else term("pair_m128_ts")) + n / 4
    else:
        cycles = term("pair_m256" if shape.cta_group == 2 else "single") + n / 2
        cycles += shape.a_bytes / chip.number("tcgen05.operand_bytes_per_cycle") if a_in_smem else 0
    kind = mma_kind(shape.kind)
    single = shape.cta_group == 1
    if kind.block_scaled:
        cycles += term("mx_single_ss" if single and a_in_smem else "mx")
        if not a_in_smem and n == _MX_WIDE and not (shape.cta_group == 2 and shape.M == 128):
            cycles += term("mx_ts_n256")
    elif kind.name == "i8":
        cycles += term("i8_single" if single else "i8_pair")
    return cycles, paths


def burst_cycles(shape: MmaShape, count: int, operands: str = "SS", chip: str | Chip = DEFAULT_CHIP) -> float:
    """Issue of `count` products with one commit to the return of the wait.

    >>> burst_cycles(MmaShape("f16", 128, 256), 4)
    660.0
    """
    one = mma_cycles(shape, operands, chip)
    overhead = load_chip(chip).number("tcgen05.latency.burst_overhead") if count > 1 else 0
    return one.latency + (count - 1) * one.interval + overhead


def copy_cycles(copy: Copy, chip: str | Chip = DEFAULT_CHIP) -> tuple[float, float]:
    """(cycles that a tcgen05.cp occupies the copy path, issue to completion)."""
    machine = load_chip(chip)
    share = machine.number("tcgen05.cp.replica_share")
    busy = machine.number("tcgen05.cp.cycles_per_copy") * (1 + (copy.replicas - 1) * share)
    return busy, machine.number("tcgen05.cp.latency")


def load_store_cycles(item: LoadStore, chip: str | Chip = DEFAULT_CHIP) -> tuple[float, float]:
    """(cycles that a ld or st occupies the port of its window, issue to completion).

    >>> load_store_cycles(LoadStore("ld", ".32x32b", 128))
    (128.0, 282.0)
    """
    machine = load_chip(chip)
    busy = item.bytes_moved / machine.number(f"tmem.{item.op}.bytes_per_cycle")
    if item.op == "st":
        busy = max(busy, machine.number("tmem.st.issue_floor"))
    return busy, busy + machine.number(f"tmem.{item.op}.latency")


def load_loop_cycles(item: LoadStore, chip: str | Chip = DEFAULT_CHIP) -> float:
    """Cycles an instruction in a loop of one warp that uses every loaded register (the form of the public sweep).

    For st the port alone counts.
    """
    machine = load_chip(chip)
    busy, _ = load_store_cycles(item, chip)
    if item.op == "st":
        return busy
    used = (
        machine.number("tmem.ld.loop_overhead") + machine.number("tmem.ld.loop_per_register") * item.registers
    )
    return max(machine.number("tmem.ld.loop_floor"), used, busy)


def transfer_cycles(size: int, chip: str | Chip = DEFAULT_CHIP) -> tuple[float, float]:
    """(cycles that a TMA copy of `size` bytes occupies the engine, issue to completion)."""
    machine = load_chip(chip)
    busy = size / machine.number("tma.bytes_per_cycle")
    return max(busy, machine.number("tma.issue_cycles")), busy + machine.number("tma.latency")
