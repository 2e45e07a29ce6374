"""The order of tcgen05 work: what needs no wait, what does, and the cycles of small programs."""

from __future__ import annotations

import pytest
from bankbench.sim.engine.errors import DeadlockError
from bankbench.sim.tmem import (
    Barrier,
    Copy,
    GemmLoop,
    LoadStore,
    MmaShape,
    Program,
    Region,
    Role,
    burst_cycles,
    load_store_cycles,
    simulate,
)
from bankbench.sim.tmem.program import Step, shared_region

SHAPE = MmaShape("f16", 128, 128)
D = Region("tmem", 0, 128)
SF = Region("tmem", 128, 132)
A = shared_region("a", 0, 4096)
MMA = Step("mma", reads=(A,), writes=(D,), item=SHAPE, text="mma d")
SCALED = Step("mma", reads=(A, SF), writes=(D,), item=SHAPE, text="mma d")
CP = Step("cp", writes=(SF,), item=Copy(".32x128b", ".warpx4", 0, 128), text="cp sf")
LD = Step("ld", reads=(Region("tmem", 0, 32, 0b11),), item=LoadStore("ld", ".32x32b", 32), text="ld d")
ST = Step("st", writes=(Region("tmem", 0, 32, 0b11),), item=LoadStore("st", ".32x32b", 32), text="st d")
DONE = Barrier("done")


def run(*roles, barriers=(DONE,)):
    return simulate(Program("p", barriers, tuple(Role(f"r{n}", steps) for n, steps in enumerate(roles))))


def kinds(*roles, barriers=(DONE,)):
    return [(h.kind, h.first, h.second) for h in run(*roles, barriers=barriers).hazards]


COMMIT, WAIT = Step("commit", "done"), Step("wait", "done")
AFTER, BEFORE = Step("fence_after"), Step("fence_before")


@pytest.mark.parametrize(
    "steps",
    [
        [MMA, MMA, COMMIT],
        [CP, SCALED, COMMIT],
        [Step("shift", reads=(D,), writes=(D,), text="shift"), MMA, COMMIT],
        [MMA, Step("shift", reads=(D,), writes=(D,), text="shift"), COMMIT],
    ],
)
def test_pairs_that_the_hardware_keeps_in_order(steps):
    assert kinds(steps) == []


def test_products_of_another_shape_are_not_in_order():
    other = Step("mma", writes=(D,), item=MmaShape("f16", 128, 64), text="mma other")
    assert kinds([MMA, other, COMMIT]) == [("write after write", "mma d", "mma other")]


def test_products_of_one_shape_with_other_accumulators_are_not_in_order():
    """A of the second product is what the first one writes: the order holds for one accumulator only."""
    other = Region("tmem", 256, 384)
    chained = Step("mma", reads=(D,), writes=(other,), item=SHAPE, operands="TS", text="mma o")
    assert kinds([MMA, chained, COMMIT]) == [("read before the write is complete", "mma d", "mma o")]
    assert kinds([chained, MMA, COMMIT]) == [("overwritten while it is read", "mma o", "mma d")]
    assert kinds([MMA, COMMIT, WAIT, AFTER, chained, COMMIT]) == []
    shifted = Step("mma", writes=(Region("tmem", 8, 136),), item=SHAPE, text="mma shifted")
    assert kinds([MMA, shifted, COMMIT]) == [("write after write", "mma d", "mma shifted")]
    again = Step(
        "mma", reads=(A,), writes=(Region("tmem", 0, 128),), item=MmaShape("f16", 128, 128), text="d"
    )
    assert kinds([MMA, again, MMA, COMMIT]) == []


def test_a_copy_does_not_wait_for_a_product():
    assert ("overwritten while it is read", "mma d", "cp sf") in kinds([CP, SCALED, CP, SCALED, COMMIT])
    waited = [CP, SCALED, COMMIT, WAIT, AFTER, CP, SCALED]
    assert kinds(waited) == []


def test_an_accumulator_read_before_its_commit_was_waited_for():
    late = run([MMA, COMMIT], [Step("work", amount=1000), LD])
    assert [str(h) for h in late.hazards] == [
        "read before the write is complete: ld d (r1) does not wait for mma d (r0), columns 0 to 31; wait for the "
        "mbarrier of its commit"
    ]
    assert kinds([MMA, COMMIT], [WAIT, AFTER, LD]) == []


def test_the_fence_behind_the_wait_is_asked_for():
    found = run([MMA, COMMIT], [WAIT, LD]).hazards
    assert len(found) == 1
    assert "fence::after_thread_sync is missing" in found[0].advice


def test_stores_are_told_by_wait_and_fence():
    barriers = (DONE, Barrier("stored"))
    ready = [Step("wait_st"), BEFORE, Step("arrive", "stored")]
    product = [Step("wait", "stored"), AFTER, MMA, COMMIT]
    assert kinds([ST, *ready], product, barriers=barriers) == []
    assert len(kinds([ST, *ready[1:]], product, barriers=barriers)) == 1
    assert len(kinds([ST, ready[0], ready[2]], product, barriers=barriers)) == 1


def test_plain_stores_to_shared_memory_need_the_proxy_fence():
    barriers = (DONE, Barrier("stored"))
    write = Step("write", amount=10, writes=(A,), text="write a")
    product = [Step("wait", "stored"), AFTER, MMA, COMMIT]
    arrive = Step("arrive", "stored")
    assert kinds([write, Step("fence_async"), arrive], product, barriers=barriers) == []
    missing = run([write, arrive], product, barriers=barriers).hazards
    assert "fence.proxy.async" in missing[0].advice


def test_windows_of_different_warps_do_not_meet():
    other = Step(
        "st", writes=(Region("tmem", 0, 32, 0b1100),), item=LoadStore("st", ".32x32b", 32, 1, 32), text="st"
    )
    assert kinds([LD], [other]) == []
    assert len(kinds([LD], [ST])) == 1


@pytest.mark.parametrize("count", [1, 2, 8])
def test_a_burst_takes_the_measured_time(count):
    found = run([*[MMA] * count, COMMIT, WAIT])
    assert found.cycles == pytest.approx(burst_cycles(SHAPE, count))


def test_loads_of_one_window_queue_and_those_of_others_do_not():
    busy, latency = load_store_cycles(LD.item)
    alone = run([LD, Step("wait_ld")]).cycles
    queued = run([LD, LD, Step("wait_ld")]).cycles
    assert alone == pytest.approx(latency)
    assert queued == pytest.approx(latency + busy)


def test_a_product_that_reads_what_it_writes_still_meets_earlier_reads():
    wide, other = Region("tmem", 64, 160), Region("tmem", 256, 320)
    first = Step("mma", reads=(wide,), writes=(other,), item=SHAPE, operands="TS", text="mma first")
    second = Step(
        "mma", reads=(wide,), writes=(Region("tmem", 64, 128),), item=SHAPE, operands="TS", text="mma second"
    )
    assert kinds([first, second, COMMIT]) == [("overwritten while it is read", "mma first", "mma second")]


def test_columns_that_were_freed_and_allocated_again_are_free_of_hazards():
    """Freeing is synchronous, so the role's next allocation and its products come behind it."""
    free = Step("dealloc", amount=128, writes=(D,), text="dealloc 128")
    take = Step("alloc", amount=128, text="alloc 128")
    done = [COMMIT, WAIT, AFTER]
    assert kinds([take, MMA, *done, free, take, MMA, *done, free]) == []
    early = kinds([take, MMA, free])
    assert early == [("write after write", "mma d", "dealloc 128")]


def test_a_wait_that_never_ends_is_named():
    with pytest.raises(DeadlockError, match="r0 in wait done"):
        run([WAIT])


@pytest.mark.parametrize("n", [64, 128, 256])
@pytest.mark.parametrize("operands", ["SS", "TS"])
def test_main_loops_have_no_hazards(n, operands):
    loop = GemmLoop(N=n, operands=operands, acc_stages=1 if n == 256 else 2, k_steps=6, tiles=3)
    found = simulate(loop.program())
    assert found.hazards == ()
    assert found.products == loop.products == 6 * 4 * 3
    assert found.busy["tensor pipe"] == pytest.approx(
        loop.products
        * {
            ("SS", 64): 48,
            ("TS", 64): 32,
            ("SS", 128): 64,
            ("TS", 128): 64,
            ("SS", 256): 128,
            ("TS", 256): 128,
        }[operands, n]
    )


def test_a_missing_slot_for_scale_factors_is_found():
    loop = GemmLoop("mxf8f6f4", 128, 128, k_per_stage=128, k_steps=6, sf_stages=1)
    found = simulate(loop.program()).hazards
    assert any(h.kind == "overwritten while it is read" and h.second.startswith("cp sfa") for h in found)
    assert simulate(GemmLoop("mxf8f6f4", 128, 128, k_per_stage=128, k_steps=6).program()).hazards == ()


def test_a_second_accumulator_hides_the_epilogue():
    times = [
        simulate(
            GemmLoop(N=128, acc_stages=a, k_steps=8, tiles=6, stages=8, epilogue_cycles=100).program()
        ).cycles
        for a in (1, 2)
    ]
    assert times[1] < times[0]
