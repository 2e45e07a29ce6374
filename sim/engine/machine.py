"""One SM as a machine: the mechanisms put together around one SimPy clock."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import Program
from .agent import Agent
from .barrier import Barrier
from .clock import NEVER, Clock, Limit, LimitReached
from .code import Run
from .errors import CycleLimitError, DeadlockError
from .issue import Issue
from .lanes import Lanes
from .partition import Partition
from .port import Port
from .returns import Returns
from .slots import Slots
from .state import Warp
from .timing import Timing
from .waiting import who_waits

__all__ = ["Machine"]


class Machine:
    """An SM with the warps of one program; `run` lets the time pass.

    Everything that a mechanism needs of another is an attribute of this object, so that an agent can watch or
    replace a part before the start.
    """

    def __init__(
        self,
        program: Program,
        code: Sequence[tuple[Run, ...]],
        timing: Timing,
        starts: Sequence[int] | None = None,
        agents: Sequence[Agent] = (),
    ) -> None:
        self.program = program
        self.timing = timing
        self.env = env = Clock()
        self.ports = [Port(env, timing, number) for number in range(timing.partitions)]
        self.partitions = [Partition(port.number, port) for port in self.ports]
        self.slots = Slots(env, timing, self.ports)
        self.lanes = Lanes(env, timing, self.ports)
        self.returns = Returns(timing, self.partitions)
        self.issue = Issue(env, timing, self.partitions)
        self.warps = _warps(program, code, timing)
        self.barrier = Barrier(timing, self.warps)
        self.agents = tuple(agents)
        self.starts = tuple(starts) if starts is not None else _starts(program, timing)
        for agent in self.agents:
            agent.attach(self)
        self._connect()

    def _connect(self) -> None:
        for partition in self.partitions:
            partition.issue = self.issue
            partition.port.slots = self.slots
            partition.port.lanes = self.lanes
        self.lanes.slots = self.slots
        self.lanes.returns = self.returns
        self.issue.barrier = self.barrier
        self.barrier.issue = self.issue
        for port in self.ports:
            own = [warp for warp in self.warps if warp.partition == port.number]
            steals = any(op.steal for warp in own for op in warp.ops())
            port.undisturbed = (
                not (steals or port.shared) and self.timing.to_service >= self.timing.window_enter
            )
        for warp in reversed(self.warps):
            if warp.running:
                self.partitions[warp.partition].warps.append(warp)
                self.issue.live += 1

    def run(self, limit: int | None = None) -> None:
        """Let the time pass until every warp has ended and the memory path is empty.

        Raises DeadlockError when nothing can happen any more, CycleLimitError when `limit` cycles have passed.
        """
        for warp in self.warps:
            if warp.running:
                warp.start = warp.ready = self.starts[warp.id]
                warp.arm()
                self.partitions[warp.partition].wake(warp.when)
        if limit is not None:
            Limit(self.env, limit)
        more = False
        try:
            self.env.run()
        except LimitReached as reached:
            more = reached.more
        waiting = tuple(who_waits(self))
        if waiting and limit is not None and more:
            raise CycleLimitError(self.program.name, limit, waiting)
        if waiting:
            raise DeadlockError(self.program.name, self.last_cycle, waiting)

    def recheck(self, warp: Warp) -> None:
        """What the hook of a warp's next instruction waits for may have changed: look again."""
        if warp.when == NEVER and warp.op is not None and warp.op.hook is not None:
            warp.arm()
            self.partitions[warp.partition].wake(warp.when)

    @property
    def events(self) -> int:
        """SimPy events so far (its counter gives the next number to whoever asks)."""
        return self.env.scheduled

    @property
    def last_cycle(self) -> int:
        """The last cycle at which something is known to have happened."""
        ends = [max(warp.ready, warp.end, *warp.release) for warp in self.warps if warp.start >= 0]
        return max(ends, default=0)

    def ends(self, skipped: int = 0) -> tuple[int, ...]:
        """End of each warp in cycles, -1 for idle ones: its last issue and all its scoreboards at zero.

        `skipped` cycles were extrapolated beside the clock.
        """
        return tuple(skipped + max(warp.end, *warp.release) if warp.start >= 0 else -1 for warp in self.warps)


def _warps(program: Program, code: Sequence[tuple[Run, ...]], timing: Timing) -> list[Warp]:
    scoreboards = 1 + max(
        (
            number
            for *_, item in program.places()
            for number in (*item.waits, item.sets, item.sets_read)
            if number is not None
        ),
        default=0,
    )
    warps: list[Warp] = []
    for number, group in enumerate(program.groups):
        for _ in range(group.warps):
            partition = len(warps) % timing.partitions
            warps.append(Warp(len(warps), partition, number, code[number], scoreboards))
    return warps


def _starts(program: Program, timing: Timing) -> tuple[int, ...]:
    """When each warp leaves the initial barrier: rounds of four, the highest ids first, later groups later."""
    groups = [number for number, group in enumerate(program.groups) for _ in range(group.warps)]
    last = len(groups) - 1
    return tuple(
        timing.start_group * group + timing.start_round * ((last - warp) // timing.partitions)
        for warp, group in enumerate(groups)
    )
