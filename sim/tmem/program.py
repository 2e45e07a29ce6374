"""Programs of warp roles: what a copy warp, a product warp and the epilogue warps of a kernel do, step after step.

A role is a name, a warp, and steps. Steps name barriers, and regions of tensor or shared memory; a role's n-th wait on
a barrier waits for its n-th phase, so that loops need no phase bits (`initial` phases of a barrier count as completed:
the empty slots of a ring).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .copy import Copy
from .errors import TmemError
from .loadstore import LoadStore
from .mma import MmaShape
from .plan import Placement

__all__ = ["Barrier", "Program", "Region", "Role", "Step", "region_of", "shared_region"]

_SLABS = 8
ALL_SLABS = (1 << _SLABS) - 1
HALVES = {0: 0b01010101, 16: 0b10101010}


@dataclass(frozen=True, slots=True)
class Region:
    """Part of a memory: columns and 16-lane slabs of tensor memory, or bytes of a shared-memory buffer.

    `slabs` has a bit for each 16 lanes (bit 0: lanes 0 to 15); 1 for shared memory.
    """

    space: str
    first: int
    end: int
    slabs: int = ALL_SLABS

    def meets(self, other: Region) -> bool:
        """Whether the two share a cell."""
        return (
            self.space == other.space
            and self.first < other.end
            and other.first < self.end
            and bool(self.slabs & other.slabs)
        )

    def covers(self, other: Region) -> bool:
        """Whether every cell of the other is in this one."""
        return (
            self.space == other.space
            and self.first <= other.first
            and other.end <= self.end
            and other.slabs & ~self.slabs == 0
        )

    def __str__(self) -> str:
        if self.space != "tmem":
            return f"{self.space} bytes {self.first} to {self.end - 1}"
        return f"columns {self.first} to {self.end - 1}"


def region_of(placement: Placement, warps: Sequence[int] | None = None) -> Region:
    """The region of a placed buffer; with `warps` the part in their windows."""
    slabs = HALVES[placement.lane] if placement.piece.half else ALL_SLABS
    if warps is not None:
        windows = 0
        for warp in warps:
            windows |= 0b11 << 2 * (warp % 4)
        slabs &= windows
    return Region("tmem", placement.column, placement.end, slabs)


def shared_region(buffer: str, first: int, size: int) -> Region:
    """Bytes of a named shared-memory buffer."""
    return Region(f"smem {buffer}", first, first + size, 1)


@dataclass(frozen=True, slots=True)
class Barrier:
    """An mbarrier: arrivals that complete a phase, and phases that count as completed before the start."""

    name: str
    arrivals: int = 1
    initial: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a role.

    op: alloc, dealloc, relinquish, wait, arrive, expect, tma, cp, mma, shift, commit, ld, st, wait_ld, wait_st,
    fence_before, fence_after, fence_async, write, read, work.

    `barrier` is what wait, arrive, expect, tma and commit name; `amount` is columns, bytes or cycles; `reads` and
    `writes` are the regions touched; `item` is the instruction behind cp, mma, ld and st; `operands` SS or TS;
    `times` counts products that follow each other without anything between.
    """

    op: str
    barrier: str = ""
    amount: float = 0
    reads: tuple[Region, ...] = ()
    writes: tuple[Region, ...] = ()
    item: Copy | MmaShape | LoadStore | None = None
    operands: str = "SS"
    text: str = ""
    times: int = 1

    def __post_init__(self) -> None:
        if self.times < 1 or (self.times > 1 and self.op != "mma"):
            raise TmemError(f"step {self.op}: {self.times} times; only products repeat, once at least")
        if self.op not in STEPS:
            raise TmemError(f"unknown step {self.op!r}; steps: {', '.join(STEPS)}")

    def __str__(self) -> str:
        return self.text or " ".join(part for part in (self.op, self.barrier) if part)


STEPS = (
    "alloc",
    "dealloc",
    "relinquish",
    "wait",
    "arrive",
    "expect",
    "tma",
    "cp",
    "mma",
    "shift",
    "commit",
    "ld",
    "st",
    "wait_ld",
    "wait_st",
    "fence_before",
    "fence_after",
    "fence_async",
    "write",
    "read",
    "work",
)


@dataclass(frozen=True, slots=True)
class Role:
    """A warp (or warps that run in step and count as one) and what it does; `warp` chooses its window."""

    name: str
    steps: Iterable[Step]
    warp: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """Barriers and roles of one block (or of the even block of a pair)."""

    name: str
    barriers: tuple[Barrier, ...]
    roles: tuple[Role, ...]

    def __post_init__(self) -> None:
        for what, names in (
            ("barriers", [b.name for b in self.barriers]),
            ("roles", [r.name for r in self.roles]),
        ):
            if len(set(names)) < len(names):
                raise TmemError(f"program {self.name}: two {what} have one name")
