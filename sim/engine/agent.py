"""Agents that are no warps, and the instructions by which warps talk to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Instruction

if TYPE_CHECKING:
    from .code import Op
    from .machine import Machine
    from .state import Warp

__all__ = ["Agent", "Hook"]


class Hook:
    """What an instruction of kind `AGENT` does; the base class does nothing and waits for nothing.

    When the condition of a waiting warp may have changed, the agent calls `machine.recheck(warp)`.
    """

    name = "agent"
    """Who carries the instruction out, as tables name it."""

    def condition(self, warp: Warp, op: Op) -> int:
        """The cycle from which the instruction may issue, NEVER while that is not known."""
        return 0

    def issued(self, warp: Warp, op: Op, now: int) -> None:
        """The warp has issued the instruction at cycle `now`."""

    def reason(self, warp: Warp, op: Op) -> str:
        """What a warp waits for that cannot issue it, for the report of a deadlock."""
        return "an agent"


class Agent:
    """Something that uses the machine and is no warp: a copy engine, the operand reads of a tensor core.

    `attach` is called once before the clock starts. There the agent keeps the machine, starts SimPy processes or
    stages on `machine.env`, and may put its own mechanisms in place of `machine.lanes`, `machine.returns` and others:
    the parts learn of each other only afterwards.
    """

    def attach(self, machine: Machine) -> None:
        """The machine is complete except for the connections between its parts."""

    def hook(self, item: Instruction) -> Hook | None:
        """What an instruction of kind `AGENT` does, None when it belongs to another agent."""
        return None

    def waits_for(self) -> str | None:
        """None once nothing is left to do, otherwise one sentence for the report of a deadlock."""
        return None

    def state(self, now: int) -> tuple[object, ...] | None:
        """What the agent's future depends on, cycles relative to `now`; None forbids the extrapolation of loops."""
        return None

    def skipped(self, periods: int, cycles: int) -> None:
        """Loops were extrapolated: `periods` periods of `cycles` cycles in all lie between now and the next cycle."""
