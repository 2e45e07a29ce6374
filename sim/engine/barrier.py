"""The barrier of the thread block: arrivals one after the other, then all warps are released at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .clock import NEVER
from .state import Warp
from .timing import Timing

if TYPE_CHECKING:
    from .issue import Issue

__all__ = ["Barrier"]


class Barrier:
    """BAR.SYNC over all warps of the block that have instructions.

    An arrival is processed 6 cycles after its issue at the earliest, 2 cycles after the one before it; the release
    comes 6 cycles after the last. The barrier does not stop a warp: arithmetic goes on, memory instructions, the next
    barrier, branches, tensor instructions and NOP wait. A warp that ends without arriving is still waited for.
    """

    __slots__ = ("arrived", "free", "issue", "members", "timing", "warps")

    issue: Issue

    def __init__(self, timing: Timing, warps: list[Warp]) -> None:
        self.timing = timing
        self.warps = [warp for warp in warps if warp.running]
        self.members = len(self.warps)
        self.arrived = 0
        self.free = 0

    def arrive(self, warp: Warp, now: int) -> None:
        """A warp issues its barrier instruction at `now`."""
        timing = self.timing
        warp.barrier = NEVER
        self.arrived += 1
        self.free = max(self.free, now + timing.barrier_arrive) + timing.barrier_step
        if self.arrived == self.members:
            self.arrived = 0
            self._release(self.free + timing.barrier_release)

    def _release(self, at: int) -> None:
        for warp in self.warps:
            warp.barrier = at
            if warp.when == NEVER and warp.running:
                warp.arm()
                self.issue.released = True
