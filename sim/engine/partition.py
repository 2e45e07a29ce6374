"""An SM partition: its warps in the order of their last issue, its units, and its memory port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Unit
from .clock import NEVER
from .port import Port
from .state import Warp

if TYPE_CHECKING:
    from .issue import Issue

__all__ = ["Partition"]


class Partition:
    """State of one partition; `Issue` decides which of its warps issues."""

    __slots__ = ("free", "issue", "last", "number", "port", "warps")

    issue: Issue

    def __init__(self, number: int, port: Port) -> None:
        self.number = number
        self.port = port
        port.partition = self
        self.free = [0] * len(Unit)
        """Cycle at which each unit can take an instruction again, by `Unit`."""
        self.warps: list[Warp] = []
        """Warps that have instructions left, longest without an issue first; at the start the highest id first."""
        self.last: Warp | None = None

    def wake(self, cycle: int) -> None:
        """One of its warps may issue at this cycle."""
        issue = self.issue
        if cycle < issue.dues[self.number]:
            issue.dues[self.number] = cycle
            issue.wake(cycle)

    def released(self, warp: Warp, scoreboard: int, at: int) -> None:
        """A scoreboard of a warp will be released once more, at cycle `at`."""
        warp.pending[scoreboard] -= 1
        if at > warp.release[scoreboard]:
            warp.release[scoreboard] = at
        op = warp.op
        # a warp that waits for something else, a free entry of the queue say, is not to be looked at: its stall count
        # has run out long ago, and waking it then would turn the clock back
        if warp.when == NEVER and not warp.pending[scoreboard] and op is not None and scoreboard in op.waits:
            warp.arm()
            self.wake(warp.when)
