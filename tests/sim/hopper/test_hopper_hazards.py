"""Hazards that are made on purpose: each is found and named, and the sound program has none."""

from __future__ import annotations

import pytest
from bankbench.sim.engine import DeadlockError, EngineError
from bankbench.sim.hopper import BulkCopy, Commit, CopyWait
from bankbench.sim.program import Pattern


def kinds(sm) -> set[str]:
    return {item.kind for item in sm.hazards.found}


def test_the_sound_loop_has_none(hopper):
    groups, barriers = hopper.gemm(3, 12)
    _, sm = hopper.run(*groups, barriers=barriers)
    assert kinds(sm) == set()


def test_reading_a_stage_before_its_phase(hopper):
    groups, barriers = hopper.gemm(3, 12, waits=False)
    _, sm = hopper.run(*groups, barriers=barriers)
    found = next(item for item in sm.hazards.found if item.kind == "read before full")
    assert "warp" in found.text
    assert found.region.startswith(("A[", "B["))


def test_arriving_before_the_reads_have_ended_lets_the_stage_be_refilled_too_early(hopper):
    groups, barriers = hopper.gemm(2, 12, early=True)
    _, sm = hopper.run(*groups, barriers=barriers)
    assert "refilled too early" in kinds(sm)


def test_luck_in_time_is_a_hazard_too(hopper):
    """The reader comes long after the copy and never waited for it."""
    code = [hopper.arrive("full", 1024), hopper.load(1024, "full", "tile")]
    late = [hopper.ins("MOV", stall=10)] * 200 + hopper.wgmma(8, reads=("tile",)) + [hopper.wait_wgmma()]
    _, sm = hopper.run(hopper.group(late, 4), hopper.group(code), barriers={"full": 1})
    (found,) = sm.hazards.found
    assert "by luck" in found.text


@pytest.mark.parametrize("waits", [True, False])
def test_overwriting_the_source_of_a_store(hopper, waits):
    pattern = Pattern("sts.128", tuple(16 * lane for lane in range(32)))
    code = [
        hopper.ins("UTMASTG", BulkCopy(8192, 0, True, region="out")),
        hopper.ins("UTMACMDFLUSH", Commit()),
        *([hopper.ins("UTMACMDFLUSH.WAIT", CopyWait(0, True))] if waits else []),
        hopper.ins("STS.128", slot="x"),
    ]
    _, sm = hopper.run(hopper.group(code, patterns={"x": pattern}))
    assert kinds(sm) == (set() if waits else {"source overwritten"})


def test_too_many_announced_bytes_hang_and_the_missing_ones_are_counted(hopper):
    code = [hopper.arrive("full", 49152), hopper.load(32768, "full"), hopper.wait("full")]
    with pytest.raises(DeadlockError, match="16384 of 49152 announced bytes") as caught:
        hopper.run(hopper.group(code), barriers={"full": 1})
    assert "parity 0 of mbarrier full" in str(caught.value)


def test_too_few_announced_bytes(hopper):
    groups, barriers = hopper.gemm(2, 8, expect=32768)
    try:
        _, sm = hopper.run(*groups, barriers=barriers)
    except DeadlockError as error:
        assert "an announcement of" in str(error)  # noqa: PT017
    else:
        assert "wrong byte count" in kinds(sm) or "read before full" in kinds(sm)


def test_a_wrong_parity_hangs_and_says_which(hopper):
    groups, barriers = hopper.gemm(2, 8, parity=0)
    with pytest.raises(DeadlockError, match=r"parity 0 of mbarrier empty\[0\].*is parity 1 meant"):
        hopper.run(*groups, barriers=barriers)


def test_an_unknown_mbarrier_is_an_error_with_the_place(hopper):
    with pytest.raises(EngineError, match=r"loop\[0\] SYNCS.ARRIVE: no mbarrier 'fulll' \(known: full\)"):
        hopper.run(hopper.group([hopper.arrive("fulll")]), barriers={"full": 1})


def test_a_wgmma_that_one_warp_does_not_issue(hopper):
    some = hopper.group([*hopper.wgmma(64), hopper.wait_wgmma()], 3)
    more = hopper.group([hopper.wait("never"), *hopper.wgmma(64), hopper.wait_wgmma()])
    with pytest.raises(DeadlockError, match="waits for warp 3 to issue it"):
        hopper.run(some, more, barriers={"never": 1})
