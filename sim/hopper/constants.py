"""The constants of Hopper's asynchronous engines that the simulation uses, from the chip file (`async:`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..chip import Chip, ChipError

__all__ = ["Async", "async_of"]


@dataclass(frozen=True, slots=True)
class Async:
    """Cycles, bytes, frames or points; what each means stands beside it in the chip file under `async:`."""

    boundary: int
    window_offset: int
    columns: int
    b_period: int
    a_frames: int
    a_window: int
    rs_interval: int
    group_gap: int
    rs_group_gap: int
    depth: int
    latency_ss: int
    latency_rs: int
    latency_widest: int
    second: int
    further: int
    fresh_after: int
    register_reads: int
    one_lane: int
    two_lanes: int
    starved: int
    store_frames: int
    return_b: int
    return_load: int
    return_ahead: int
    constant_load: int

    def half(self, offset: int) -> int:
        """Half of shared memory (0 or 1) in which a byte of dynamic shared memory lies.

        >>> from bankbench.sim import load_chip
        >>> [async_of(load_chip("h200")).half(kib * 1024) for kib in (0, 126, 127, 160)]
        [0, 0, 1, 1]
        """
        return int(offset + self.window_offset >= self.boundary)

    def spans(self, offset: int, size: int) -> list[tuple[int, int]]:
        """The parts of a piece of dynamic shared memory in each half: (half, bytes).

        >>> from bankbench.sim import load_chip
        >>> async_of(load_chip("h200")).spans(98304, 32768)
        [(0, 31744), (1, 1024)]
        """
        low = min(max(self.boundary - self.window_offset - offset, 0), size)
        return [(half, part) for half, part in ((0, low), (1, size - low)) if part]


_ARCH = "sm_90"
_PATHS = {
    "boundary": "halves.boundary",
    "window_offset": "halves.window_offset",
    "columns": "wgmma.columns_per_frame",
    "b_period": "wgmma.b_period",
    "a_frames": "wgmma.a_frames",
    "a_window": "wgmma.a_window",
    "rs_interval": "wgmma.rs_interval",
    "group_gap": "wgmma.group_gap",
    "rs_group_gap": "wgmma.rs_group_gap",
    "depth": "wgmma.depth",
    "latency_ss": "wgmma.latency_ss",
    "latency_rs": "wgmma.latency_rs",
    "latency_widest": "wgmma.latency_widest",
    "second": "wgmma.second",
    "further": "wgmma.further",
    "fresh_after": "wgmma.fresh_after",
    "register_reads": "wgmma.register_reads",
    "one_lane": "starvation.one_lane",
    "two_lanes": "starvation.two_lanes",
    "starved": "starvation.limit",
    "store_frames": "starvation.store_frames",
    "return_b": "returns.b_frame",
    "return_load": "returns.load",
    "return_ahead": "returns.ahead",
    "constant_load": "queue.constant_load",
}


@lru_cache(maxsize=16)
def async_of(chip: Chip) -> Async:
    """The constants of a chip. Raises ChipError, naming the constant, for a chip whose engines were not measured.

    >>> from bankbench.sim import load_chip
    >>> async_of(load_chip("h200")).rs_interval
    13
    """
    if not chip.arch.startswith(_ARCH):
        raise ChipError(
            f"{chip.title} ({chip.arch}) has no wgmma: the engines of {_ARCH} were measured, on an H200"
        )
    return Async(**{name: chip.integer(f"async.{path}") for name, path in _PATHS.items()})
