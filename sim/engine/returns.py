"""The way back: results of loads return to their partition one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .state import Access
from .timing import Timing

if TYPE_CHECKING:
    from .partition import Partition

__all__ = ["Returns"]


class Returns:
    """One return port a partition; results come back in the order of service, each keeping the port for a while.

    A result is usable 13 cycles after its last wavefront, wide loads 1 to 3 later; the port takes 1 + registers
    cycles a load and 1 a register of a matrix load.
    """

    __slots__ = ("busy", "free", "partitions", "result")

    def __init__(self, timing: Timing, partitions: list[Partition]) -> None:
        self.result = timing.result
        self.partitions = partitions
        self.free = [0] * timing.partitions
        self.busy = [0] * timing.partitions

    def served(self, access: Access, last: int) -> None:
        """The last wavefront of an access moved at cycle `last`: its result comes back, if it has one."""
        op = access.op
        if op.store:
            return
        number = access.warp.partition
        at = last + self.result + op.extra
        earliest = self.free[number] + op.returns
        if earliest > at:
            at = earliest
        self.free[number] = access.returned = at
        self.busy[number] += op.returns
        if op.sets is not None:
            self.partitions[number].released(access.warp, op.sets, at)
