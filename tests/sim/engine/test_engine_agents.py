"""Agents that are no warps: SimPy processes and stages beside the warps, on the same lanes."""

from __future__ import annotations

import pytest
from bankbench.sim.engine import EVENT, NEVER, Agent, DeadlockError, EngineError, Hook, Stage, simulate


class Thief(Agent):
    """Takes the data path for two cycles, every `period` cycles, `times` times: a SimPy process."""

    def __init__(self, period: int, times: int) -> None:
        self.period, self.times, self.taken = period, times, 0

    def attach(self, machine) -> None:
        self.machine = machine
        machine.lanes.early = False
        machine.env.process(self._run())

    def _run(self):
        for _ in range(self.times):
            yield self.machine.env.timeout(self.period)
            for lane in range(self.machine.lanes.number):
                self.machine.lanes.postpone(lane, 2)
            self.taken += 1

    def waits_for(self) -> str | None:
        return None if self.taken == self.times else "the thief has something left to take"

    def state(self, now: int) -> tuple[object, ...] | None:
        return None


class Silent(Stage, Agent):
    """An agent on a stage of its own that waits for a signal that nobody gives."""

    def __init__(self) -> None:
        self.acted = False

    def attach(self, machine) -> None:
        super().__init__(machine.env, EVENT)
        self.wake(5)

    def act(self, now: int) -> int:
        self.acted = True
        return NEVER

    def waits_for(self) -> str | None:
        return "the copy engine waits for the mbarrier of stage 0"

    def state(self, now: int) -> tuple[object, ...] | None:
        return ()


class Copier(Agent):
    """A copy engine with one signal: UBLKCP starts a copy of 100 cycles, SYNCS waits until it is done."""

    def attach(self, machine) -> None:
        self.machine = machine
        self.done = NEVER
        self.waiting = []
        self.start, self.wait = Start(self), WaitForCopy(self)

    def hook(self, item):
        if item.op.startswith("UBLKCP"):
            return Start(self)
        return WaitForCopy(self) if item.op.startswith("SYNCS") else None


class Start(Hook):
    name = "copy engine"

    def __init__(self, engine: Copier) -> None:
        self.engine = engine

    def issued(self, warp, op, now) -> None:
        self.engine.done = now + 100
        for waiting in self.engine.waiting:
            self.engine.machine.recheck(waiting)


class WaitForCopy(Start):
    def condition(self, warp, op) -> int:
        if self.engine.done == NEVER:
            self.engine.waiting.append(warp)
        return self.engine.done

    def issued(self, warp, op, now) -> None:
        pass

    def reason(self, warp, op) -> str:
        return "a copy that nobody started"


@pytest.fixture
def loads(make):
    code = [*[make.ins("LDS", 1, slot=0, sets=0)] * 8, make.ins("MOV", 1, waits=[0]), make.branch]
    return make.program(make.group(code, warps=4, patterns={"0": make.access("lds.32", 8)}), trips=20)


def test_an_agent_that_does_nothing_changes_nothing(loads):
    assert simulate(loads, agents=[Thief(10, 0)]).cycles == simulate(loads).cycles


def test_an_agent_on_the_data_path_makes_the_warps_slower(loads):
    alone = simulate(loads)
    thief = Thief(100, 20)
    beside = simulate(loads, agents=[thief])
    assert thief.taken == 20
    assert alone.cycles + 30 <= beside.cycles <= alone.cycles + 60
    assert beside.cycles == simulate(loads, agents=[Thief(100, 20)]).cycles


def test_loops_are_not_extrapolated_over_an_agent_without_a_state(loads):
    run = simulate(loads, agents=[Thief(100, 20)], fast=True)
    assert run.skipped_trips == 0
    assert run.cycles == simulate(loads, agents=[Thief(100, 20)]).cycles


def test_an_agent_that_waits_for_ever_is_a_deadlock_with_its_reason(loads):
    agent = Silent()
    with pytest.raises(DeadlockError, match="the copy engine waits for the mbarrier of stage 0"):
        simulate(loads, agents=[agent])
    assert agent.acted


def test_a_warp_waits_for_an_agent_that_another_warp_started(make):
    consumer = make.group([make.ins("SYNCS"), make.ins("MOV")])
    producer = make.group([*[make.ins("FFMA", 4)] * 10, make.ins("UBLKCP")])
    run = simulate(make.program(consumer, producer), starts=[0, 0], agents=[Copier()], timeline=True)
    at = {entry.op.text: entry.issue for entry in run.timeline}
    assert at["UBLKCP"] == 40
    assert (at["SYNCS"], at["MOV"]) == (140, 141)
    assert run.stalls["agent"] == 140


def test_a_signal_that_nobody_gives_is_a_deadlock(make):
    consumer = make.group([make.ins("MOV"), make.ins("SYNCS")])
    with pytest.raises(
        DeadlockError, match=r"warp 0 at loop\[1\] SYNCS waits for a copy that nobody started"
    ):
        simulate(make.program(consumer), agents=[Copier()])


def test_an_instruction_without_its_agent_is_an_error_with_the_place(make):
    with pytest.raises(EngineError, match=r"loop\[0\] \(HGMMA\): no agent"):
        simulate(make.program(make.group([make.ins("HGMMA")])))
