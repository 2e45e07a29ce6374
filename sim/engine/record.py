"""The timeline of a run: what is written down, instruction by instruction, when somebody asks for it."""

from __future__ import annotations

from .code import Op
from .state import NOT_BLOCKED, Access, Warp

__all__ = ["Issued", "Recorder"]


class Issued:
    """One issued instruction: when it could have issued, when it did, and what held it up."""

    __slots__ = ("access", "armed", "gate", "issue", "op", "ready", "trip", "warp", "why")

    access: Access | None

    def __init__(self, warp: Warp, op: Op, now: int) -> None:
        self.warp = warp.id
        self.op = op
        self.trip = warp.trip
        self.issue = now
        self.ready = warp.ready
        self.armed = warp.armed
        self.gate = warp.gate
        self.why = warp.why if now > self.armed else NOT_BLOCKED
        self.access = None


class Recorder:
    """Collects one entry an issued instruction, in order of issue."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[Issued] = []

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        """The warp issues this instruction at `now`; its wait is still in its fields."""
        self.entries.append(Issued(warp, op, now))

    def accessed(self, access: Access) -> None:
        """The instruction issued last went into a memory queue."""
        self.entries[-1].access = access
