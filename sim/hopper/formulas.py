"""Times of wgmma, copies and barriers that have an SM to themselves, in closed form.

Source of every rule: streams, batches and chains on one H200; the constants stand in the chip file under `async:`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from ..chip import Chip
from .constants import async_of

__all__ = [
    "Copy",
    "barrier_cycles",
    "cluster_round_trip",
    "copy_latency",
    "cp_async_cycles",
    "slower",
    "wgmma_bytes",
    "wgmma_interval",
    "wgmma_latency",
]

_WIDEST = 192
_MOST_COLUMNS = 256
_K_BYTES = 32
_FASTEST = 8
"""Warps with which a stream of cp.async past L1 is fastest; 1, 2, 4, 8 and 16 were measured."""
_ROWS = 64


def wgmma_bytes(n: int, operands: str) -> int:
    """Bytes of shared memory that one wgmma m64nN(32 bytes of K) reads.

    >>> wgmma_bytes(128, "SS"), wgmma_bytes(128, "RS")
    (6144, 4096)
    """
    return _K_BYTES * n + (_K_BYTES * _ROWS if _from_memory(operands) else 0)


def wgmma_interval(n: int, operands: str, chip: Chip, warpgroups: int = 2, group: int = 8) -> float:
    """Cycles between two wgmma of the SM, all warpgroups together.

    max(N / 2, 16 + N / 4) with both operands in shared memory, max(N / 2, 13) with A in registers; dtype, swizzle and
    majorness do not matter. One warpgroup alone loses a few cycles at the end of each committed group of `group`
    wherever the tensor core does not hide them; with two warpgroups the other fills the gap.

    >>> from bankbench.sim import load_chip
    >>> [wgmma_interval(n, "SS", load_chip("h200")) for n in (8, 64, 256)]
    [18.0, 32.0, 128.0]
    """
    if n < 8 or n % 8 or n > _MOST_COLUMNS:
        raise ValueError(f"wgmma with N = {n}: a multiple of 8 up to {_MOST_COLUMNS} is needed")
    if warpgroups < 1 or group < 1:
        raise ValueError(f"wgmma by {warpgroups} warpgroups in groups of {group}")
    own = async_of(chip)
    tensor = n * own.b_period / own.columns
    reads = 2 * (n / own.columns + own.a_frames) if _from_memory(operands) else own.rs_interval
    interval = max(tensor, reads)
    if warpgroups > 1:
        return float(interval)
    if _from_memory(operands):
        # half of the gap lies beside what the tensor core still has to do
        return float(max(tensor, reads + own.group_gap / group / 2))
    return float(interval + own.rs_group_gap / group if tensor < 2 * own.rs_interval else tensor)


def wgmma_latency(n: int, operands: str, count: int, chip: Chip) -> float:
    """Cycles from the issue of `count` wgmma in one group, into an idle tensor core, to the return of the wait.

    >>> from bankbench.sim import load_chip
    >>> wgmma_latency(64, "SS", 1, load_chip("h200")), wgmma_latency(64, "RS", 4, load_chip("h200"))
    (110.0, 209.0)
    """
    if count < 1:
        raise ValueError(f"{count} wgmma in a group")
    own = async_of(chip)
    first = (own.latency_ss if _from_memory(operands) else own.latency_rs) + n / 2
    if n > _WIDEST:
        first += own.latency_widest
    late = 0 if count == 1 else own.second if count == 2 else own.further
    return float(first + (count - 1) * wgmma_interval(n, operands, chip) + late)


@dataclass(frozen=True, slots=True)
class Copy:
    """A bulk copy of the TMA unit: bytes, and for a tensor box the rows and bytes a row (0: one-dimensional)."""

    bytes: int
    store: bool = False
    rows: int = 0
    row_bytes: int = 0

    @property
    def tensor(self) -> bool:
        """Whether it is a box of two or more dimensions."""
        return self.rows > 0

    def busy(self, chip: Chip) -> float:
        """Cycles for which the unit moves its data."""
        if self.store:
            cycles = self.bytes / chip.number("async.tma.store_rate")
            if self.tensor and self.row_bytes <= 16:
                cycles = max(cycles, chip.number("async.tma.store_short_row") * self.rows)
            return cycles
        cycles = self.bytes / chip.number("async.tma.load_rate")
        return max(cycles, float(self.rows)) if self.tensor else cycles


def copy_latency(copy: Copy, chip: Chip, *, source_read: bool = False) -> float:
    """Cycles from the issue of one copy on an idle unit to its completion: the mbarrier's phase for a load, the return
    of wait_group for a store (of wait_group.read with `source_read`).

    >>> from bankbench.sim import load_chip
    >>> chip = load_chip("h200")
    >>> copy_latency(Copy(8192, store=True), chip), round(copy_latency(Copy(8192), chip))
    (386.0, 442)
    """
    figure = chip.number
    if copy.store:
        if copy.tensor:
            read = max(
                figure("async.tma.store_least_tensor"),
                figure("async.tma.store_latency_tensor") + copy.busy(chip),
            )
        else:
            read = max(figure("async.tma.store_least"), figure("async.tma.store_latency") + copy.busy(chip))
        return read if source_read else read + figure("async.tma.store_wait_all")
    if copy.tensor:
        moved = max(figure("async.tma.row") * copy.rows, copy.bytes / figure("async.tma.latency_rate"))
        if copy.bytes > 32 * 1024:
            moved = max(moved, copy.bytes / figure("async.tma.latency_rate_linear") - 26)
        return figure("async.tma.load_latency_tensor") + moved
    return figure("async.tma.load_latency") + copy.bytes / figure("async.tma.latency_rate_linear")


def cluster_round_trip(size: int, copies: int, chip: Chip) -> float:
    """Cycles of `copies` bulk copies of `size` bytes to the other CTA of a cluster and its arrive back.

    >>> from bankbench.sim import load_chip
    >>> round(cluster_round_trip(8192, 1, load_chip("h200")))
    1035
    """
    if size < 1 or copies < 1:
        raise ValueError(f"{copies} copies of {size} bytes")
    figure = chip.number
    each = size / figure("async.cluster.rate")
    return figure("async.cluster.round_trip") + each + (copies - 1) * max(each, figure("async.cluster.issue"))


def cp_async_cycles(op: str, warps: int, chip: Chip, *, in_l1: bool = False) -> float:
    """Cycles a warp instruction of the SM for a stream of cp.async (`ca4`, `ca8`, `ca16`, `cg16`).

    Few warps are bound by latency, many by the path. What comes from L2 (`cg` always) takes a little longer with each
    doubling of the warps; 16-byte copies past L1 slow down again beyond 8 warps (between 8 and 16 the line is a guess).

    >>> from bankbench.sim import load_chip
    >>> [round(cp_async_cycles("ca16", warps, load_chip("h200")), 1) for warps in (1, 4, 16)]
    [18.0, 6.9, 6.9]
    """
    if warps < 1:
        raise ValueError(f"cp.async by {warps} warps")
    where = "l1" if in_l1 else "l2"
    latency = float(chip[f"async.cp_async.one_warp_{where}"][op]) / warps
    if op.startswith("cg") or not in_l1:
        latency *= 1 + chip.number("async.cp_async.doubling") * log2(warps)
    floor = float(chip[f"async.cp_async.floor_{where}"][op])
    if op.startswith("cg"):
        floor += chip.number("async.cp_async.crowded") * max(warps - _FASTEST, 0)
    return slower(latency, floor, chip)


def slower(one: float, other: float, chip: Chip) -> float:
    """The slower of two bounds on a rate, rounded off where they are close: each then meets the other's variations.

    >>> from bankbench.sim import load_chip
    >>> [round(slower(100, other, load_chip("h200")), 1) for other in (50, 95, 100)]
    [100.0, 102.3, 104.4]
    """
    exponent = chip.number("async.rounding")
    high = max(one, other)
    return high * (1 + (min(one, other) / high) ** exponent) ** (1 / exponent) if high else 0.0


def barrier_cycles(kind: str, chip: Chip, warps: int = 1, same_partition: bool = False) -> float | None:
    """Cycles of one round of a barrier pattern, None for one that was not measured.

    >>> from bankbench.sim import load_chip
    >>> barrier_cycles("syncthreads", load_chip("h200"), warps=16)
    45.25
    """
    figure = chip.number
    each = figure("async.named_barrier.warp")
    together = {
        "bar_sync": figure("async.named_barrier.register") + each * warps,
        "syncthreads": figure("async.named_barrier.block") + each * warps,
        "bar_pingpong": figure("async.named_barrier.pair")
        + same_partition * figure("async.named_barrier.pair_partition"),
        "bar_arrive_sync_pingpong": figure("async.named_barrier.pair_arrive")
        + same_partition * figure("async.named_barrier.pair_arrive_partition"),
        "arrive_issue": figure("async.mbarrier.arrive"),
        "arrive_return_issue": figure("async.mbarrier.arrive"),
        "arrive_chain": figure("async.mbarrier.arrive_result"),
        "test_wait_chain": figure("async.mbarrier.test"),
        "try_wait_chain": figure("async.mbarrier.test"),
        "try_wait_fail": figure("async.mbarrier.give_up"),
        "pingpong_try_wait": 2 * figure("async.mbarrier.hand_off"),
        "pingpong_try_wait_warp": 2 * figure("async.mbarrier.hand_off_warp"),
        "pingpong_test_wait": 2 * figure("async.mbarrier.hand_off_test"),
        "pingpong_flag": 2 * figure("async.mbarrier.hand_off_flag"),
        "fence_proxy_async": figure("async.named_barrier.proxy_fence"),
    }
    return together.get(kind)


def _from_memory(operands: str) -> bool:
    if operands not in ("SS", "RS"):
        raise ValueError(f"wgmma operands {operands!r}: SS (both in shared memory) or RS (A in registers)")
    return operands == "SS"
