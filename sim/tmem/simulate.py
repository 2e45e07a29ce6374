"""Time: roles of one block on the tensor pipe, the copy paths and the load and store ports of one SM, on SimPy's clock.

Each role is a SimPy process that executes its steps in order. Asynchronous work is placed on its resource when it is
issued: a resource serves in the order of issue and knows when it is free next. A role keeps its own time and runs ahead
of the clock until something of another role can concern it: a wait for a phase that is not complete, or a resource that
another role has used too. So an instruction costs at most one event, and most cost none.

Products of one thread follow each other at their interval; a commit arrives when all earlier products, copies and
shifts of its thread are complete. All figures come from the chip file; `Simulation.rests_on` lists those used.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from ..chip import Chip, load_chip
from ..engine.errors import CycleLimitError, DeadlockError
from ._barriers import Barriers
from ._role_state import Ready, RoleState
from .copy import Copy
from .errors import TmemError
from .geometry import DEFAULT_CHIP
from .happens import PROXY, Clock, Hazards, Track, join
from .loadstore import LoadStore
from .mma import MmaShape
from .outcome import Simulation, Span
from .program import Program, Step
from .timing import copy_cycles, load_store_cycles, mma_cycles, transfer_cycles

__all__ = ["Simulation", "Span", "simulate"]

_Steps = Generator[simpy.Event, Any, None]
_ASYNC = {"mma": "tc", "cp": "tc", "shift": "tc", "ld": "ld", "st": "st"}
_WORK = ("mma", "cp", "shift", "ld", "st", "tma")
_ROWS = {"mma": "tensor pipe", "cp": "tcgen05.cp", "shift": "tcgen05.shift", "tma": "TMA"}
_SPANS = 20_000
_KEPT = 4096


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
        self.env = simpy.Environment()
        self.bars = Barriers(self.env, program)
        self.states = [RoleState(role) for role in program.roles]
        self.free: dict[str, float] = {}
        self.busy: dict[str, float] = {}
        self.waits: dict[tuple[str, str], float] = {}
        self.idle: dict[str, float] = {}
        self.hazards = Hazards()
        self.check = check
        self.spans: list[Span] | None = [] if record else None
        self.rests: dict[str, None] = {}
        self.owner: dict[str, str] = {}
        self.shared: set[str] = set()
        self.figures: dict[str, float] = {}
        self.steps = 0
        self.products = 0
        self.mma_until = 0.0

    def run(self, limit: float) -> Simulation:
        for state in self.states:
            self.env.process(self._role(state))
        # not run(until=limit): SimPy would let the clock go on to the limit when nothing happens any more
        while self.env.peek() <= limit:
            self.env.step()
        waiting = tuple(f"{s.role.name} in {s.at}" for s in self.states if not s.finished)
        if waiting:
            if self.env.peek() < float("inf"):
                raise CycleLimitError(self.program.name, int(limit), waiting)
            raise DeadlockError(self.program.name, int(self._end()), waiting)
        return Simulation(
            self.program.name,
            self._end(),
            dict(sorted(self.busy.items(), key=lambda item: -item[1])),
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
        return max([*self.ends.values(), *self.free.values()], default=0.0)

    def _figure(self, path: str) -> float:
        if path not in self.figures:
            self.figures[path] = self.chip.number(path)
            self.rests[path] = None
        return self.figures[path]

    def _role(self, state: RoleState) -> _Steps:
        env = self.env
        issue = self._figure("tcgen05.issue_cycles")
        for step in state.role.steps:
            state.at = step
            self.steps += step.times
            op = step.op
            if op == "wait":
                bar, turn = self.bars[step.barrier], state.waited.get(step.barrier, 0)
                state.waited[step.barrier] = turn + 1
                if bar.completed <= turn:
                    while bar.completed <= turn:
                        if bar.event is None:
                            bar.event = env.event()
                        yield bar.event
                    self._waited(state, step, float(env.now))
                if self.check and turn >= bar.spec.initial:
                    join(state.known, bar.learned(turn))
            elif op in _WORK:
                ready = state.ready.get(id(step)) or self._prepare(state, step)
                if ready.row in self.shared and state.time > env.now:
                    yield env.timeout(state.time - env.now)
                self._async(state, ready)
                state.time += issue * step.times
            elif op == "commit":
                self._commit(state, step)
                state.time += issue
            else:
                state.time += self._sync(state, step)
        if state.time > env.now:
            yield env.timeout(state.time - env.now)
        state.finished = True
        state.done_at["end"] = state.time

    def _prepare(self, state: RoleState, step: Step) -> Ready:
        """Row, cycles and track of a step, kept for the next time that the same step comes."""
        name = state.role.name
        row = _ROWS.get(step.op) or f"tmem {step.op} window {state.role.warp % 4}"
        if self.owner.setdefault(row, name) != name:
            self.shared.add(row)
        busy, latency = self._price(step, step.item)
        track = (name, _ASYNC.get(step.op, step.barrier or step.op))
        ready = Ready(step, row, busy, latency, track, str(step), self.hazards.footprint(name, step, track))
        if len(state.ready) >= _KEPT:
            state.ready.clear()
        state.ready[id(step)] = ready
        return ready

    # waiting and telling

    def _waited(self, state: RoleState, step: Step, now: float) -> None:
        """Notes a wait that ended at `now`; one whose phase came before the role did costs nothing."""
        if now > state.time:
            key = (state.role.name, step.barrier)
            self.waits[key] = self.waits.get(key, 0.0) + now - state.time
            state.cause = step.barrier.split("[")[0]
            self._span(state.role.name, str(step), state.time, now, waiting=True)
            state.time = now

    def _tell(self, state: RoleState) -> Clock:
        """What an arrival carries: all that is known, own loads and stores as far as a fence has published them."""
        if not self.check:
            return {}
        clock = state.known.copy()
        for kind in ("ld", "st"):
            track = (state.role.name, kind)
            if track in clock:
                clock[track] = state.told.get(track, 0)
        return clock

    # asynchronous work

    def _async(self, state: RoleState, ready: Ready) -> None:
        step, row, busy, track = ready.step, ready.row, ready.busy, ready.track
        op = step.op
        free = self.free.get(row, -1.0)
        start = max(state.time, free)
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
            self.products += step.times
            state.since_commit += step.times
            if step.times > 1:
                last = (step.times - 1) * max(busy, self.figures["tcgen05.issue_cycles"])
                busy += last
            self.mma_until = max(self.mma_until, start + busy)
        elif op == "ld" and self.mma_until > start:
            busy /= 1 - self._figure("tmem.ld.mma_share")
        self.free[row] = start + busy
        self.busy[row] = self.busy.get(row, 0.0) + busy
        done = start + (last + ready.latency if last else max(ready.latency, busy))
        self._span(row, ready.text, start, start + busy)
        state.issued[track] = number = state.issued.get(track, 0) + step.times
        if done > done_at.get(track[1], 0.0):
            done_at[track[1]] = done
        if op == "cp":
            done_at["cp"] = start + max(busy, self._figure("tcgen05.cp.visible_to_mma"))
        if self.check:
            self.hazards.touch(ready.footprint, number, state.known, state.fenced)
        if op == "tma":
            bar = self.bars[step.barrier]
            self.bars.tell(bar, state.known | {track: number})
            bar.bytes_under_way += step.amount
            bar.landing = max(bar.landing, done)
            self.bars.settle(bar)

    def _stands_still(self, cause: str, cycles: float) -> None:
        if cycles > 0:
            self.idle[cause] = self.idle.get(cause, 0.0) + cycles

    def _price(self, step: Step, item: Copy | MmaShape | LoadStore | None) -> tuple[float, float]:
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

    def _commit(self, state: RoleState, step: Step) -> None:
        done = max(state.done_at.get("tc", 0.0), state.time)
        if state.since_commit > 1:
            done += self._figure("tcgen05.latency.burst_overhead")
        state.since_commit = 0
        track = (state.role.name, "tc")
        clock = state.known | {track: state.issued.get(track, 0)}
        self.bars.later(done, self.bars[step.barrier], clock)

    # what the role does itself

    def _sync(self, state: RoleState, step: Step) -> float:
        op = step.op
        now = state.time
        if op in ("wait_ld", "wait_st"):
            kind = op.removeprefix("wait_")
            track = (state.role.name, kind)
            state.known[track] = state.fenced[track] = state.issued.get(track, 0)
            cycles = max(self._figure(f"tmem.{op}_cycles"), state.done_at.get(kind, 0.0) - now)
            key = (state.role.name, f"tcgen05.wait::{kind}")
            self.waits[key] = self.waits.get(key, 0.0) + cycles
            self._span(state.role.name, f"wait::{kind}", now, now + cycles, waiting=True)
            return cycles
        if op == "fence_after":
            if self.check:
                state.fenced = state.known.copy()
            return self._figure("tmem.fence_cycles")
        if op == "fence_before":
            for kind in ("ld", "st"):
                track = (state.role.name, kind)
                if track in state.known:
                    state.told[track] = state.known[track]
            return self._figure("tmem.fence_cycles")
        if op == "fence_async":
            state.known[state.role.name, PROXY] = state.issued.get((state.role.name, "write"), 0)
            return self._figure("tmem.fence_cycles")
        if op == "arrive":
            self.bars.later(now, self.bars[step.barrier], self._tell(state))
            return 0
        if op == "expect":
            # at once: it cannot end a phase, whose bytes come later
            bar = self.bars[step.barrier]
            bar.bytes_due += step.amount
            self.bars.arrive(bar, self._tell(state))
            return 0
        if op in ("write", "read"):
            track = (state.role.name, op)
            state.issued[track] = number = state.issued.get(track, 0) + 1
            self._touch(state, step, track, number)
            state.known[track] = number
        if op == "alloc":
            return self._figure("tmem.alloc.cycles")
        if op == "dealloc":
            track = (state.role.name, op)
            state.issued[track] = number = state.issued.get(track, 0) + 1
            self._touch(state, step, track, number)
            return self._figure("tmem.alloc.dealloc_cycles")
        if op == "work" or (op in ("write", "read") and step.amount):
            self._span(state.role.name, str(step), now, now + step.amount)
        return step.amount if op in ("work", "write", "read") else 0

    def _touch(self, state: RoleState, step: Step, track: Track, number: int) -> None:
        if not self.check:
            return
        footprint = self.hazards.footprint(state.role.name, step, track)
        self.hazards.touch(footprint, number, state.known, state.fenced)

    def _span(self, row: str, text: str, start: float, end: float, waiting: bool = False) -> None:
        if self.spans is not None and len(self.spans) < _SPANS:
            self.spans.append(Span(row, text, start, end, waiting))
