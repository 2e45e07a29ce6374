"""How a simulation can fail to come to its end."""

from __future__ import annotations

__all__ = ["CycleLimitError", "DeadlockError", "EngineError"]


class EngineError(ValueError):
    """A simulation that cannot go on; the message is one line."""


class DeadlockError(EngineError):
    """Nothing can happen any more although warps have not ended. `waiting` holds one sentence a waiter."""

    def __init__(self, program: str, cycle: int, waiting: tuple[str, ...]) -> None:
        self.program = program
        self.cycle = cycle
        self.waiting = waiting
        super().__init__(f"{program}: deadlock at cycle {cycle}: {'; '.join(waiting)}")


class CycleLimitError(EngineError):
    """The cycle limit of the run was reached before the program ended."""

    def __init__(self, program: str, limit: int, waiting: tuple[str, ...]) -> None:
        self.program = program
        self.limit = limit
        self.waiting = waiting
        super().__init__(f"{program}: not finished after {limit} cycles; then: {'; '.join(waiting)}")
