"""How a simulation ends that does not end: deadlocks and the cycle limit, named to the warp."""

from __future__ import annotations

import pytest
from bankbench.sim.engine import CycleLimitError, DeadlockError, simulate


def test_a_barrier_that_one_warp_never_reaches_is_a_deadlock_with_names(make):
    waiting = make.group([make.ins("BAR.SYNC"), make.ins("NOP")], warps=2)
    absent = make.group([make.ins("FFMA", 4)] * 10)
    with pytest.raises(DeadlockError) as caught:
        simulate(make.program(waiting, absent, name="hang"))
    message = str(caught.value)
    assert "hang: deadlock at cycle" in message
    assert "warp 0 at loop[1] NOP waits for the barrier, which warp 2 has not reached" in message
    assert "ended without it: 2" in message
    assert "warp 1" in message
    assert caught.value.cycle < 200


def test_a_barrier_that_a_warp_left_before_is_a_deadlock_too(make):
    absent = make.group([make.ins("MOV")])
    waiting = make.group([make.ins("FFMA", 4)] * 50 + [make.ins("BAR.SYNC"), make.ins("NOP")])
    with pytest.raises(DeadlockError, match="warp 0 has not reached"):
        simulate(make.program(absent, waiting))


def test_idle_warps_take_no_part_in_barriers(make):
    busy = make.group([make.ins("BAR.SYNC"), make.ins("NOP")])
    assert simulate(make.program(busy, make.group(warps=3))).cycles > 0


def test_a_deadlock_is_found_at_once_in_the_middle_of_a_long_loop(make):
    many = make.group([make.ins("BAR.SYNC"), make.branch], trips=1_000_000)
    few = make.group([make.ins("BAR.SYNC"), make.branch], trips=10)
    with pytest.raises(DeadlockError, match=r"trip 1[01] of 1000000"):
        simulate(make.program(many, few))


def test_the_cycle_limit_cuts_a_run_off(make):
    loop = make.group([make.ins("FFMA", 4), make.branch], trips=1_000_000)
    with pytest.raises(CycleLimitError, match=r"p: not finished after 5000 cycles; then: warp 0 at loop"):
        simulate(make.program(loop), limit=5000)


def test_a_limit_that_is_not_reached_changes_nothing(make):
    loop = make.group([make.ins("FFMA", 4), make.branch], trips=100)
    assert simulate(make.program(loop), limit=100_000).cycles == simulate(make.program(loop)).cycles


def test_a_deadlock_under_a_limit_is_a_deadlock(make):
    waiting = make.group([make.ins("BAR.SYNC"), make.ins("NOP")])
    with pytest.raises(DeadlockError):
        simulate(make.program(waiting, make.group([make.ins("MOV")])), limit=100_000)
