"""Who waits for what: the sentences of a deadlock and of a run that was cut off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .clock import NEVER
from .state import QUEUE, Warp

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["who_waits"]


def who_waits(machine: Machine) -> Iterator[str]:
    """One sentence for each warp that has not ended and each agent that has something left to do."""
    for warp in machine.warps:
        if warp.running:
            yield f"warp {warp.id} at {_place(warp)} waits for {_reason(machine, warp)}"
        elif any(warp.pending):
            open_boards = [number for number, open_ in enumerate(warp.pending) if open_]
            yield f"warp {warp.id} has issued everything and waits for scoreboard {open_boards[0]}"
    for agent in machine.agents:
        reason = agent.waits_for()
        if reason is not None:
            yield reason


def _place(warp: Warp) -> str:
    trips = warp.runs[warp.run].trips
    return f"{warp.op} (trip {warp.trip + 1} of {trips})" if trips > 1 else str(warp.op)


def _reason(machine: Machine, warp: Warp) -> str:
    op = warp.op
    assert op is not None
    if warp.when < NEVER:
        return "its turn"
    open_boards = [number for number in op.waits if warp.pending[number]]
    if open_boards:
        return f"scoreboard {open_boards[0]}"
    if warp.barrier == NEVER and op.gated:
        missing = [other for other in machine.barrier.warps if other.barrier < NEVER]
        ended = [other.id for other in missing if not other.running]
        late = ", ".join(str(other.id) for other in missing) or "nobody"
        text = f"the barrier, which warp {late} has not reached"
        return f"{text} (ended without it: {', '.join(map(str, ended))})" if ended else text
    if op.hook is not None and op.hook.condition(warp, op) == NEVER:
        return op.hook.reason(warp, op)
    return "a free entry of the memory queue" if warp.why == QUEUE else "an unknown event"
