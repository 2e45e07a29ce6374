"""Time: roles of one block on the tensor pipe, the copy paths and the load and store ports of one SM, on SimPy's clock.

Each role is a generator that executes its steps in order. Asynchronous work is placed on its resource when it is
issued: a resource serves in the order of issue and knows when it is free next. A role keeps its own time and runs ahead
of the clock until something of another role can concern it: a wait for a phase that is not complete, or a resource that
another role has used too. So an instruction costs at most one event, and most cost none.

Products of one thread follow each other at their interval; a commit arrives when all earlier products, copies and
shifts of its thread are complete. All figures come from the chip file; `Simulation.rests_on` lists those used.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..chip import Chip, load_chip
from ..engine.errors import CycleLimitError, DeadlockError
from ._barriers import Barriers
from ._clock import EventClock
from ._role_state import Ready, RoleState, Row
from .copy import Copy
from .errors import TmemError
from .geometry import DEFAULT_CHIP
from .happens import PROXY, Clock, Hazards, joined
from .loadstore import LoadStore
from .mma import MmaShape
from .outcome import Simulation, Span
from .program import Program, Step
from .timing import copy_cycles, load_store_cycles, mma_cycles, transfer_cycles

__all__ = ["Simulation", "Span", "simulate"]

_ASYNC = {"mma": "tc", "cp": "tc", "shift": "tc", "ld": "ld", "st": "st"}
_WORK = ("mma", "cp", "shift", "ld", "st", "tma")
_TOUCH = (*_WORK, "write", "read", "dealloc")
_TELL = ("wait", "tma", "commit", "arrive", "expect")
# what the role pays for steps that it executes itself
_CYCLES = {
    "wait_ld": "tmem.wait_ld_cycles",
    "wait_st": "tmem.wait_st_cycles",
    "fence_after": "tmem.fence_cycles",
    "fence_before": "tmem.fence_cycles",
    "fence_async": "tmem.fence_cycles",
    "alloc": "tmem.alloc.cycles",
    "dealloc": "tmem.alloc.dealloc_cycles",
}
_ROWS = {"mma": "tensor pipe", "cp": "tcgen05.cp", "shift": "tcgen05.shift", "tma": "TMA"}
_SPANS = 20_000
_KEPT = 4096
_NOTHING: Clock = {}


def simulate(
    program: Program,
    chip: str | Chip = DEFAULT_CHIP,
    *,
    limit: float = 50_000_000,
    record: bool = True,
    check: bool = True,
) -> Simulation:
    """Runs a program to its end.

    Raises DeadlockError when roles wait for something that never comes, CycleLimitError after `limit` cycles.
    `record` False leaves the spans out, `check` False the search for hazards; the time is the same.
    """
    return _Machine(program, load_chip(chip), record, check).run(limit)


class _Machine:
    """One SM and the roles of a block on it."""

    def __init__(self, program: Program, chip: Chip, record: bool, check: bool) -> None:
        self.program = program
        self.chip = chip
        self.clock = EventClock()
        self.bars = Barriers(self.clock, program)
        self.states = [RoleState(role) for role in program.roles]
        self.rows: dict[str, Row] = {}
        self.waits: dict[tuple[str, str], float] = {}
        self.idle: dict[str, float] = {}
        self.hazards = Hazards()
        self.check = check
        self.spans: list[Span] | None = [] if record else None
        self.rests: dict[str, None] = {}
        self.figures: dict[str, float] = {}
        self.prices: dict[tuple[object, ...], tuple[float, float]] = {}
        self.steps = 0
        self.products = 0
        self.mma_until = 0.0

    def run(self, limit: float) -> Simulation:
        for state in self.states:
            state.resume = self._role(state).__next__
            self.clock.at(0.0, state.resume)
        more = self.clock.advance(limit)
        waiting = tuple(f"{s.role.name} in {s.at}" for s in self.states if not s.finished)
        if waiting:
            if more:
                raise CycleLimitError(self.program.name, int(limit), waiting)
            raise DeadlockError(self.program.name, int(self._end()), waiting)
        return Simulation(
            self.program.name,
            self._end(),
            dict(sorted(((r.name, r.busy) for r in self.rows.values()), key=lambda item: -item[1])),
            self.waits,
            self.idle,
            dict(self.ends),
            self.steps,
            self.products,
            self.hazards.found,
            tuple(self.spans or ()),
            tuple(self.rests),
        )

    @property
    def ends(self) -> dict[str, float]:
        """When each role executed its last step."""
        return {state.role.name: state.done_at.get("end", 0.0) for state in self.states}

    def _end(self) -> float:
        return max([*self.ends.values(), *(row.free for row in self.rows.values())], default=0.0)

    def _figure(self, path: str) -> float:
        if path not in self.figures:
            self.figures[path] = self.chip.number(path)
            self.rests[path] = None
        return self.figures[path]

    def _role(self, state: RoleState) -> Iterator[None]:
        """Executes the steps; yields where it waits for something that has been asked to resume it."""
        clock, check, waited, prepared = self.clock, self.check, state.waited, state.ready
        issue = self._figure("tcgen05.issue_cycles")
        steps = 0
        for step in state.role.steps:
            state.at = step
            steps += step.times
            ready = prepared.get(id(step)) or self._prepare(state, step)
            op = ready.op
            if op == "wait":
                bar = ready.bar
                assert bar is not None
                turn = waited.get(step.barrier, 0)
                waited[step.barrier] = turn + 1
                if bar.completed <= turn:
                    while bar.completed <= turn:
                        bar.waiting.append(state.resume)
                        yield
                    returns = clock.now + self._figure("mbarrier.wait_cycles")
                    if returns > state.time:
                        self._waited(state, ready, returns)
                if check and turn >= bar.spec.initial:
                    state.known = joined(state.known, bar.learned(turn))
            elif ready.row is not None:
                if ready.row.shared and state.time > clock.now:
                    self._resume_at(state)
                    yield
                self._async(state, ready, ready.row, step.times)
                state.time += issue * step.times
            elif op == "fence_after":
                if check:
                    state.fenced = state.known
                state.time += ready.cycles
            elif op == "commit":
                self._commit(state, ready)
                state.time += issue
            else:
                state.time += self._sync(state, ready)
        if state.time > clock.now:
            self._resume_at(state)
            yield
        state.finished = True
        state.done_at["end"] = state.time
        self.steps += steps
        yield  # for good: nothing resumes a role that has ended

    def _resume_at(self, state: RoleState) -> None:
        """Asks for the role to go on when the clock has come to its own time."""
        now = self.clock.now
        self.clock.at(now + (state.time - now), state.resume)

    def _prepare(self, state: RoleState, step: Step) -> Ready:
        """What the step needs at every execution, kept for the next time that the same step comes."""
        name, op = state.role.name, step.op
        text = "" if self.spans is None else str(step)
        if op in _WORK:
            row = self._row(_ROWS.get(op) or f"tmem {op} window {state.role.warp % 4}", name)
            ready = Ready(step, op, (name, _ASYNC.get(op, step.barrier or op)), text, None, row=row)
            ready.busy, ready.latency = self._price(step, step.item)
        else:
            ready = Ready(step, op, (name, op), text, None)
            if op in _CYCLES:
                ready.cycles = self._figure(_CYCLES[op])
            elif op in ("work", "write", "read"):
                ready.cycles = step.amount
        if op in _TELL:
            ready.bar = self.bars[step.barrier]
        if self.check and op in _TOUCH:
            ready.footprint = self.hazards.footprint(name, step, ready.track)
        if len(state.ready) >= _KEPT:
            state.ready.clear()
        state.ready[id(step)] = ready
        return ready

    def _row(self, name: str, role: str) -> Row:
        row = self.rows.get(name)
        if row is None:
            row = self.rows[name] = Row(name, role)
        elif row.owner != role:
            row.shared = True
        return row

    # waiting and telling

    def _waited(self, state: RoleState, ready: Ready, now: float) -> None:
        """Notes a wait that ended at `now`; one whose phase came before the role did costs nothing."""
        barrier = ready.step.barrier
        key = (state.role.name, barrier)
        self.waits[key] = self.waits.get(key, 0.0) + now - state.time
        state.cause = barrier.split("[")[0]
        if self.spans is not None:
            self._span(state.role.name, ready.text, state.time, now, waiting=True)
        state.time = now

    def _tell(self, state: RoleState) -> Clock:
        """What an arrival carries: all that is known, own loads and stores as far as a fence has published them."""
        if not self.check:
            return _NOTHING
        clock = state.known
        for track in (state.loads, state.stores):
            if track in clock:
                clock = {**clock, track: state.told.get(track, 0)}
        return clock

    # asynchronous work

    def _async(self, state: RoleState, ready: Ready, row: Row, times: int) -> None:
        op, track, busy = ready.op, ready.track, ready.busy
        free, time = row.free, state.time
        start = free if free > time else time
        done_at = state.done_at
        last = 0.0  # start of the last product of a run, from the first
        if op == "mma":
            # a copy that was issued before is complete when the product reads it
            copied = done_at.get("cp", 0.0)
            if free >= 0 and (start > free or copied > free):
                self._stands_still(state.cause or "issue", start - free)
                self._stands_still("scale-factor copies", copied - start)
            state.cause = ""
            start = max(start, copied)
            self.products += times
            state.since_commit += times
            if times > 1:
                last = (times - 1) * max(busy, self.figures["tcgen05.issue_cycles"])
                busy += last
            self.mma_until = max(self.mma_until, start + busy)
        elif op == "ld" and self.mma_until > start:
            busy /= 1 - self._figure("tmem.ld.mma_share")
        row.free = start + busy
        row.busy += busy
        done = start + (last + ready.latency if last else max(ready.latency, busy))
        if self.spans is not None:
            self._span(row.name, ready.text, start, start + busy)
        state.issued[track] = number = state.issued.get(track, 0) + times
        if done > done_at.get(track[1], 0.0):
            done_at[track[1]] = done
        if op == "cp":
            done_at["cp"] = start + max(busy, self._figure("tcgen05.cp.visible_to_mma"))
        if ready.footprint is not None:
            self.hazards.touch(ready.footprint, number, state.known, state.fenced)
        bar = ready.bar
        if bar is not None:
            if self.check:
                bar.tell(state.known)
                bar.clock = {**bar.clock, track: number}
            bar.bytes_under_way += ready.step.amount
            bar.landing = max(bar.landing, done)
            if bar.bytes_due == bar.bytes_under_way:
                self.bars.settle(bar)

    def _stands_still(self, cause: str, cycles: float) -> None:
        if cycles > 0:
            self.idle[cause] = self.idle.get(cause, 0.0) + cycles

    def _price(self, step: Step, item: Copy | MmaShape | LoadStore | None) -> tuple[float, float]:
        """(busy, latency) of a step, worked out once for all that cost the same."""
        if step.op == "mma" and isinstance(item, MmaShape):
            key = (item, step.operands)
        elif step.op == "cp" and isinstance(item, Copy):
            key = ("cp", item.shape, item.multicast)
        elif step.op in ("ld", "st") and isinstance(item, LoadStore):
            key = (step.op, item.op, item.bytes_moved)
        else:
            key = (step.op, step.amount)
        found = self.prices.get(key)
        if found is None:
            found = self.prices[key] = self._new_price(step, item)
        return found

    def _new_price(self, step: Step, item: Copy | MmaShape | LoadStore | None) -> tuple[float, float]:
        if step.op == "mma" and isinstance(item, MmaShape):
            found = mma_cycles(item, step.operands, self.chip)
            self.rests |= dict.fromkeys(found.rests_on)
            return found.interval, found.latency
        if step.op == "cp" and isinstance(item, Copy):
            self._rest("tcgen05.cp.cycles_per_copy", "tcgen05.cp.latency", "tcgen05.cp.replica_share")
            return copy_cycles(item, self.chip)
        if step.op in ("ld", "st") and isinstance(item, LoadStore):
            self._rest(f"tmem.{step.op}.bytes_per_cycle", f"tmem.{step.op}.latency")
            return load_store_cycles(item, self.chip)
        if step.op == "tma":
            self._rest("tma.bytes_per_cycle", "tma.latency", "tma.issue_cycles")
            return transfer_cycles(int(step.amount), self.chip)
        if step.op == "shift":
            cycles = self._figure("tcgen05.shift.cycles")
            return cycles, cycles
        raise TmemError(f"step {step}: {step.op} needs its instruction")

    def _rest(self, *paths: str) -> None:
        self.rests |= dict.fromkeys(paths)

    def _commit(self, state: RoleState, ready: Ready) -> None:
        done = max(state.done_at.get("tc", 0.0), state.time)
        if state.since_commit > 1:
            done += self._figure("tcgen05.latency.burst_overhead")
        done += self._figure("tcgen05.commit_cycles")
        state.since_commit = 0
        clock = _NOTHING
        if self.check:
            clock = {**state.known, state.tensor: state.issued.get(state.tensor, 0)}
        assert ready.bar is not None
        self.bars.later(done, ready.bar, clock)

    # what the role does itself

    def _sync(self, state: RoleState, ready: Ready) -> float:
        """Executes the step and says how long the role takes."""
        op, step, bar = ready.op, ready.step, ready.bar
        now = state.time
        if op == "expect" and bar is not None:
            # at once: it cannot end a phase, whose bytes come later
            bar.bytes_due += step.amount
            self.bars.arrive(bar, self._tell(state))
        elif op == "arrive" and bar is not None:
            self.bars.later(now, bar, self._tell(state))
        elif op in ("wait_ld", "wait_st"):
            kind = op.removeprefix("wait_")
            track = (state.role.name, kind)
            done = {track: state.issued.get(track, 0)}
            state.known, state.fenced = state.known | done, state.fenced | done
            cycles = max(ready.cycles, state.done_at.get(kind, 0.0) - now)
            key = (state.role.name, f"tcgen05.wait::{kind}")
            self.waits[key] = self.waits.get(key, 0.0) + cycles
            self._span(state.role.name, f"wait::{kind}", now, now + cycles, waiting=True)
            return cycles
        elif op == "fence_before":
            for track in (state.loads, state.stores):
                if track in state.known:
                    state.told[track] = state.known[track]
        elif op == "fence_async":
            written = state.issued.get((state.role.name, "write"), 0)
            state.known = {**state.known, (state.role.name, PROXY): written}
        elif op in ("write", "read", "dealloc"):
            track = ready.track
            state.issued[track] = number = state.issued.get(track, 0) + 1
            if ready.footprint is not None:
                self.hazards.touch(ready.footprint, number, state.known, state.fenced)
            state.known = {**state.known, track: number}
            if op == "dealloc":  # synchronous: what the role does afterwards comes behind it
                state.fenced = {**state.fenced, track: number}
        if op == "work" or (op in ("write", "read") and step.amount):
            self._span(state.role.name, ready.text, now, now + step.amount)
        return ready.cycles

    def _span(self, row: str, text: str, start: float, end: float, waiting: bool = False) -> None:
        if self.spans is not None and len(self.spans) < _SPANS:
            self.spans.append(Span(row, text, start, end, waiting))
