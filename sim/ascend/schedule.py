"""When every instruction starts: the pipes as a max-plus recursion in program order, exact and without a clock.

Pipes are in order and flags point from an earlier to a later instruction, so the start of an instruction is the
largest of a few times that are known already. `pipes.py` runs the same rules as agents on SimPy; a test holds both to
the same cycles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from .core import Core
from .errors import FlagError
from .program import ALL, BARRIER, EXECUTE, PIPES, SET, WAIT, Op, Program

__all__ = ["PipeTimes", "Record", "flag_twice", "never_set", "schedule", "unit_start"]

Token = tuple[int, int]  # (start, complete) of the instruction that hands an L0C slot over


@dataclass(slots=True)
class Record:
    """What a run keeps of the instructions: index in the program, start and end cycle (timeline only)."""

    index: list[int] = field(default_factory=list[int])
    start: list[int] = field(default_factory=list[int])
    end: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class PipeTimes:
    """Cycles of a run.

    `cycles` to the completion of the last instruction; `busy[p]` cycles in which pipe p worked; `waits[p][cause]`
    cycles in which it had an instruction but stood still, by cause; `executed` instructions a pipe; `left` flags that
    were set and never waited for, with the index of the set.
    """

    cycles: int = 0
    busy: list[int] = field(default_factory=lambda: [0] * len(PIPES))
    executed: list[int] = field(default_factory=lambda: [0] * len(PIPES))
    waits: list[dict[str, int]] = field(default_factory=lambda: [{} for _ in PIPES])
    left: dict[tuple[int, int, int], int] = field(default_factory=dict[tuple[int, int, int], int])
    record: Record | None = None
    last_end: list[int] = field(default_factory=lambda: [0] * len(PIPES))

    def work(self, pipe: int, start: int, end: int) -> None:
        """Adds an execution to a pipe; overlaps of one pipe's instructions count once."""
        begin = max(start, self.last_end[pipe])
        if end > begin:
            self.busy[pipe] += end - begin
            self.last_end[pipe] = end
        self.executed[pipe] += 1
        self.cycles = max(self.cycles, end)

    def wait(self, pipe: int, cause: str, start: int, end: int) -> None:
        """Adds a time in which a pipe stood still for a cause; what it still works off in it does not count."""
        cycles = end - max(start, self.last_end[pipe])
        if cycles > 0:
            self.waits[pipe][cause] = self.waits[pipe].get(cause, 0) + cycles


def schedule(program: Program, core: Core, timeline: bool = False) -> PipeTimes:
    """Runs a program by arithmetic. Raises FlagError as the pipes do.

    A wait whose set stands later in the program never ends here, because the queues of real pipes would have to hold
    everything between; such a program is an error that names the wait.
    """
    count = len(PIPES)
    times = PipeTimes(record=Record() if timeline else None)
    free: list[int] = [0] * count
    done: list[int] = [0] * count
    start: int
    end: int
    queues: list[deque[int]] = [deque([0] * core.queue, core.queue) for _ in PIPES]
    flags: dict[tuple[int, int, int], tuple[int, int]] = {}
    consumed: dict[tuple[int, int, int], tuple[int, int]] = {}
    closed: dict[str, Token] = {}
    opened: dict[str, Token] = {}
    now: int = 0
    step, latency, record = core.dispatch, core.flag, times.record
    for index, op in enumerate(program.ops):
        pipe, kind = op.pipe, op.kind
        if pipe == ALL:
            now = max(now + step, *free, *done)
            free = [now] * count
            continue
        now += step
        if pipe == 0:
            now = _scalar(program, index, now, latency, flags, consumed, times)
            continue
        queue = queues[pipe]
        now = max(now, queue[0])
        ready = free[pipe]
        start = now if now > ready else ready
        if kind == EXECUTE:
            end = start + op.busy + op.tail
            if op.unit:
                start, end = unit_start(op, start, opened, closed, times)
            free[pipe] = end - op.tail
            done[pipe] = max(done[pipe], end)
            times.work(pipe, start, end)
            if record is not None:
                record.index.append(index)
                record.start.append(start)
                record.end.append(end)
        elif kind == SET:
            key = op.flag
            assert key is not None
            _set(program, index, max(done[pipe], start) + latency, flags, consumed)
        elif kind == BARRIER:
            times.wait(pipe, "barrier", start, done[pipe])
            start = free[pipe] = max(start, done[pipe])
        else:
            key = op.flag
            assert key is not None
            if key not in flags:
                raise never_set(program, index)
            at, source = flags.pop(key)
            if at > start:
                times.wait(pipe, f"flag from {PIPES[key[0]]}", start, at)
                start = at
            consumed[key] = (start, source)
            free[pipe] = start
        queue.append(start)
    times.cycles = max(times.cycles, now if program.ops and program.ops[-1].pipe == 0 else 0, *free, *done)
    times.left = {key: index for key, (_, index) in flags.items()}
    return times


def _set(
    program: Program,
    index: int,
    at: int,
    flags: dict[tuple[int, int, int], tuple[int, int]],
    consumed: dict[tuple[int, int, int], tuple[int, int]],
) -> None:
    key = program.ops[index].flag
    assert key is not None
    if key in flags or (key in consumed and consumed[key][0] > at):
        other = flags[key][1] if key in flags else consumed[key][1]
        raise flag_twice(program, index, other)
    flags[key] = (at, index)


def _scalar(
    program: Program,
    index: int,
    now: int,
    latency: int,
    flags: dict[tuple[int, int, int], tuple[int, int]],
    consumed: dict[tuple[int, int, int], tuple[int, int]],
    times: PipeTimes,
) -> int:
    """An instruction of the scalar unit itself: it holds up everything that is dispatched after it."""
    op = program.ops[index]
    if op.kind == EXECUTE:
        times.work(0, now, now + op.busy)
        if times.record is not None:
            times.record.index.append(index)
            times.record.start.append(now)
            times.record.end.append(now + op.busy)
        return now + op.busy
    if op.kind == SET:
        _set(program, index, now + latency, flags, consumed)
        return now
    assert op.flag is not None
    if op.flag not in flags:
        raise never_set(program, index)
    at, source = flags.pop(op.flag)
    times.wait(0, f"flag from {PIPES[op.flag[0]]}", now, at)
    consumed[op.flag] = (max(now, at), source)
    return max(now, at)


def unit_start(
    op: Op, start: int, opened: dict[str, Token], closed: dict[str, Token], times: PipeTimes
) -> Token:
    """(start, end) of an instruction that takes part in a hand-over of L0C by unit flags, 512 bytes at a time.

    FIX may follow the closing Mmad, and the next opening Mmad may follow FIX, one granule behind: both start once the
    other has started and cannot be complete before it is.
    """
    fix = PIPES[op.pipe] == "FIX"
    before = closed.get(op.unit) if fix else (opened.get(op.unit) if op.opens else None)
    begin, end = start, start + op.busy + op.tail
    if before is not None:
        begin = max(start, before[0] + 1)
        times.wait(op.pipe, "unit flag", start, begin)
        end = max(begin + op.busy + op.tail, before[1] + 1)
    if fix:
        opened[op.unit] = (begin, end)
    elif op.closes:
        closed[op.unit] = (begin, end)
    return begin, end


def flag_twice(program: Program, second: int, first: int) -> FlagError:
    """The error of a flag that is set while it is still set: names both sets."""
    flag = program.ops[second].flag
    between = next(
        (i for i in range(first + 1, second) if program.ops[i].kind == WAIT and program.ops[i].flag == flag),
        None,
    )
    why = "nothing waits for it in between"
    if between is not None:
        why = f"{program.describe(between)} has not happened yet, so the two pipes are not in step"
    return FlagError(
        f"{program.describe(second)}: the flag is set already by {program.describe(first)}; {why}"
    )


def never_set(program: Program, index: int) -> FlagError:
    """The error of a wait that never ends: names what it blocks, and a set that comes too late."""
    op = program.ops[index]
    assert op.flag is not None
    later = next((i for i in range(index + 1, len(program)) if _sets(program, i, op.flag)), None)
    blocked = next((i for i in _after(program, index) if program.ops[i].kind == EXECUTE), None)
    behind = f"; it blocks {program.describe(blocked)} for ever" if blocked is not None else ""
    if later is not None:
        return FlagError(
            f"{program.describe(index)}: the flag is set only later, by {program.describe(later)}{behind}"
        )
    return FlagError(f"{program.describe(index)}: the flag is never set{behind}")


def _sets(program: Program, index: int, flag: tuple[int, int, int]) -> bool:
    return program.ops[index].kind == SET and program.ops[index].flag == flag


def _after(program: Program, index: int) -> Iterator[int]:
    pipe = program.ops[index].pipe
    return (i for i in range(index + 1, len(program)) if program.ops[i].pipe == pipe)
