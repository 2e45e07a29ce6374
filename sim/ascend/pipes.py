"""The pipes of an AI Core as agents on SimPy: a scalar unit that dispatches, queues, and pipes that execute in order.

Each pipe is one process with a bounded queue. An instruction costs at most two SimPy events: one for the time that the
pipe is busy, and one when the queue or a flag makes somebody wait. The rules are those of `schedule.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator

import simpy
from simpy.events import Event

from .core import Core
from .errors import FlagError
from .program import ALL, BARRIER, EXECUTE, PIPES, SET, WAIT, Program
from .schedule import PipeTimes, Record, Token, flag_twice, never_set, unit_start

__all__ = ["simulate"]

Flag = tuple[int, int, int]
Steps = Generator[Event, None, None]


def simulate(program: Program, core: Core, timeline: bool = False) -> PipeTimes:
    """Runs a program on SimPy and returns its times.

    Raises FlagError for a flag that is set twice, and for a wait that never ends (with what it blocks).
    """
    machine = _Machine(program, core, timeline)
    return machine.run()


class _Machine:
    """One run: the environment, the state of the flags, and the agents."""

    def __init__(self, program: Program, core: Core, timeline: bool) -> None:
        self.program = program
        self.core = core
        self.env = simpy.Environment()
        self.times = PipeTimes(record=Record() if timeline else None)
        self.flags: dict[Flag, tuple[int, int]] = {}
        self.consumed: dict[Flag, tuple[int, int]] = {}
        self.waiting: dict[Flag, Event] = {}
        self.opened: dict[str, Token] = {}
        self.closed: dict[str, Token] = {}
        self.handed: dict[tuple[str, bool], int] = {}
        self.unit_waits: dict[tuple[str, bool], Event] = {}
        self.scalar_waits = -1
        self.clock = 0
        self.pipes = [_Pipe(self, index) for index in range(len(PIPES))]

    @property
    def now(self) -> int:
        return self.env.now  # pyright: ignore[reportReturnType]

    def run(self) -> PipeTimes:
        scalar = self.env.process(self._dispatch())
        self.env.run()
        blocked = [pipe for pipe in self.pipes if pipe.queue]
        if blocked or scalar.is_alive:
            raise self._deadlock(blocked)
        ends = [max(pipe.free, pipe.done) for pipe in self.pipes]
        if self.program.ops and self.program.ops[-1].pipe == 0:
            ends.append(self.clock)
        self.times.cycles = max(self.times.cycles, *ends)
        self.times.left = {key: index for key, (_, index) in self.flags.items()}
        return self.times

    def _dispatch(self) -> Steps:
        """The scalar unit: puts every instruction into its pipe's queue, in program order, and stops at a full one."""
        env, step, depth = self.env, self.core.dispatch, self.core.queue
        clock = 0
        for index, op in enumerate(self.program.ops):
            clock += step
            if op.pipe == ALL:
                yield env.timeout(clock - self.now)
                for pipe in self.pipes:
                    if pipe.queue:
                        pipe.drained = env.event()
                        yield pipe.drained
                clock = max(clock, *(max(pipe.free, pipe.done) for pipe in self.pipes))
                for pipe in self.pipes:
                    pipe.free = clock
                continue
            if op.pipe == 0:
                clock = yield from self._scalar(index, clock)
                continue
            pipe = self.pipes[op.pipe]
            if len(pipe.queue) >= depth:
                # The oldest entry may leave before this instruction could be dispatched anyway.
                pipe.room = env.event()
                yield pipe.room
                clock = max(clock, self.now)
            pipe.put(index, clock)
        self.clock = clock

    def _scalar(self, index: int, clock: int) -> Generator[Event, None, int]:
        """An instruction of the scalar unit itself: it holds up everything that is dispatched after it."""
        op, times = self.program.ops[index], self.times
        if clock > self.now:
            yield self.env.timeout(clock - self.now)
        if op.kind == EXECUTE:
            times.work(0, clock, clock + op.busy)
            if times.record is not None:
                times.record.index.append(index)
                times.record.start.append(clock)
                times.record.end.append(clock + op.busy)
            return clock + op.busy
        assert op.flag is not None
        if op.kind == SET:
            self.set(op.flag, clock + self.core.flag, index)
            return clock
        if op.flag not in self.flags:
            self.scalar_waits = index
            self.waiting[op.flag] = self.env.event()
            yield self.waiting[op.flag]
            self.scalar_waits = -1
        at, source = self.flags.pop(op.flag)
        times.wait(0, f"flag from {PIPES[op.flag[0]]}", clock, at)
        self.consumed[op.flag] = (max(clock, at), source)
        return max(clock, at)

    def set(self, flag: Flag, at: int, index: int) -> None:
        """A flag becomes 1 at cycle `at`; checked against the wait that cleared it last."""
        if flag in self.flags:
            raise flag_twice(self.program, index, self.flags[flag][1])
        if flag in self.consumed and self.consumed[flag][0] > at:
            raise flag_twice(self.program, index, self.consumed[flag][1])
        self.flags[flag] = (at, index)
        if flag in self.waiting:
            self.waiting.pop(flag).succeed()

    def hand(self, unit: str, to_fix: bool) -> None:
        """An L0C slot changes sides by unit flag."""
        key = (unit, to_fix)
        self.handed[key] = self.handed.get(key, 0) + 1
        if key in self.unit_waits:
            self.unit_waits.pop(key).succeed()

    def _deadlock(self, blocked: list[_Pipe]) -> FlagError:
        heads = [
            (pipe.queue[0][0], pipe) for pipe in blocked if self.program.ops[pipe.queue[0][0]].kind == WAIT
        ]
        first = min(heads, key=lambda head: head[0], default=None)
        if self.scalar_waits >= 0 and (first is None or self.scalar_waits < first[0]):
            return never_set(self.program, self.scalar_waits)
        if first is not None:
            # The first in program order is the cause; the others wait for what it blocks.
            return never_set(self.program, first[0])
        stuck = ", ".join(self.program.describe(pipe.queue[0][0]) for pipe in blocked)
        return FlagError(f"the pipes stand still: {stuck or 'the scalar unit waits'}")


class _Pipe:
    """One pipe: a queue of (instruction, dispatch cycle), and the cycle from which it is free."""

    def __init__(self, machine: _Machine, index: int) -> None:
        self.machine = machine
        self.index = index
        self.queue: deque[tuple[int, int]] = deque()
        self.free = 0
        self.done = 0
        self.idle: Event | None = None
        self.room: Event | None = None
        self.drained: Event | None = None
        machine.env.process(self._run())

    def put(self, index: int, clock: int) -> None:
        """A dispatched instruction enters the queue."""
        self.queue.append((index, clock))
        if self.idle is not None:
            self.idle.succeed()
            self.idle = None

    def _leave(self) -> None:
        self.queue.popleft()
        if self.room is not None:
            self.room.succeed()
            self.room = None
        if self.drained is not None and not self.queue:
            self.drained.succeed()
            self.drained = None

    def _run(self) -> Steps:
        machine, env = self.machine, self.machine.env
        ops, times = machine.program.ops, machine.times
        latency, units = machine.core.flag, dict[tuple[str, bool], int]()
        while True:
            if not self.queue:
                self.idle = env.event()
                yield self.idle
                continue
            index, clock = self.queue[0]
            op = ops[index]
            start = max(clock, self.free)
            if start > machine.now:
                yield env.timeout(start - machine.now)
            if op.kind == EXECUTE:
                end = start + op.busy + op.tail
                if op.unit:
                    yield from self._unit_turn(op.unit, op.opens, units)
                    start, end = unit_start(op, start, machine.opened, machine.closed, times)
                    if op.closes:
                        machine.hand(op.unit, PIPES[self.index] != "FIX")
                    if start > machine.now:
                        yield env.timeout(start - machine.now)
                self.free = end - op.tail
                self.done = max(self.done, end)
                times.work(self.index, start, end)
                if times.record is not None:
                    times.record.index.append(index)
                    times.record.start.append(start)
                    times.record.end.append(end)
            elif op.kind == SET:
                assert op.flag is not None
                machine.set(op.flag, max(self.done, start) + latency, index)
            elif op.kind == BARRIER:
                times.wait(self.index, "barrier", start, self.done)
                self.free = max(start, self.done)
                if self.free > machine.now:
                    yield env.timeout(self.free - machine.now)
            else:
                assert op.flag is not None
                if op.flag not in machine.flags:
                    machine.waiting[op.flag] = env.event()
                    yield machine.waiting[op.flag]
                at, source = machine.flags.pop(op.flag)
                if at > start:
                    times.wait(self.index, f"flag from {PIPES[op.flag[0]]}", start, at)
                    start = at
                if start > machine.now:
                    yield env.timeout(start - machine.now)
                machine.consumed[op.flag] = (start, source)
                self.free = start
            self._leave()

    def _unit_turn(self, unit: str, opens: bool, taken: dict[tuple[str, bool], int]) -> Steps:
        """Waits until the other side has handed the L0C slot over; the first opening Mmad finds it free."""
        fix = PIPES[self.index] == "FIX"
        if not fix and not opens:
            return
        machine, key = self.machine, (unit, fix)
        if not fix and key not in taken:
            taken[key] = 0
            return
        while machine.handed.get(key, 0) <= taken.get(key, 0):
            machine.unit_waits[key] = machine.env.event()
            yield machine.unit_waits[key]
        taken[key] = taken.get(key, 0) + 1
