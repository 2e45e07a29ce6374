"""Agents that are no warps: SimPy processes and stages beside the warps, on the same lanes."""

from __future__ import annotations

import pytest
from bankbench.sim.engine import EVENT, NEVER, DeadlockError, Stage, simulate


class Thief:
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


class Silent(Stage):
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
