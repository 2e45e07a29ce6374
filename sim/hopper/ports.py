"""Memory ports beside a tensor core that reads and writes the register file."""

from __future__ import annotations

from collections.abc import Callable

from simpy import Environment

from ..engine.clock import NEVER
from ..engine.port import Port
from ..engine.state import Access
from ..engine.timing import Timing

__all__ = ["TensorPort"]


class TensorPort(Port):
    """A port that also stands still in the cycles that `held(begin, end)` counts; they are known only afterwards."""

    until: int
    stolen: int
    begun: int

    __slots__ = ("begun", "counted", "held")

    def __init__(
        self, env: Environment, timing: Timing, number: int, held: Callable[[int, int], int]
    ) -> None:
        super().__init__(env, timing, number)
        self.shared = True
        self.held = held
        self.begun = 0
        self.counted = 0
        """Held cycles that `until` contains already."""

    def send(self, access: Access, now: int) -> None:
        """The head has been granted a slot at `now`."""
        super().send(access, now)
        self.begun = self.until - access.op.transfer
        self.counted = 0

    def act(self, now: int) -> int:
        """The transfer ends, unless it was held up in the meantime."""
        if self.sending is not None and self.until <= now < NEVER:
            held = self.held(self.begun, now)
            if held > self.counted:
                self.until += held - self.counted
                self.stolen += held - self.counted
                self.counted = held
        return super().act(now)
