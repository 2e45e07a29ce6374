"""Pipes: agents on SimPy against the recursion, queues, flags, barriers, unit flags, hazards."""

from __future__ import annotations

import random

import pytest
from bankbench.sim.ascend import (
    PIPES,
    Core,
    FlagError,
    Op,
    Program,
    Span,
    Step,
    barrier,
    find_hazards,
    mmad_cost,
    place_flags,
    read_core,
    schedule,
    set_flag,
    simulate,
    wait_flag,
)
from bankbench.sim.chip import ChipError, load_chip

A2 = read_core(load_chip("a2"))
EXECUTE = 0


def op(pipe: str, busy: int, tail: int = 0, name: str = "", **more) -> Op:
    return Op(PIPES.index(pipe), EXECUTE, name or f"{pipe} {busy}", busy, tail, **more)


def program(*ops: Op) -> Program:
    return Program(list(ops), [((), ())] * len(ops))


def both(given: Program, core: Core = A2):
    slow, fast = simulate(given, core, timeline=True), schedule(given, core, timeline=True)
    assert (slow.cycles, slow.busy, slow.waits, slow.executed, slow.left) == (
        fast.cycles,
        fast.busy,
        fast.waits,
        fast.executed,
        fast.left,
    )
    assert slow.record is not None
    assert fast.record is not None
    pairs = [
        sorted(zip(record.index, record.start, record.end, strict=True))
        for record in (slow.record, fast.record)
    ]
    assert pairs[0] == pairs[1]
    return fast


def test_pipes_run_beside_each_other_and_in_order() -> None:
    found = both(program(op("MTE2", 100), op("M", 50), op("MTE2", 30)))
    assert found.busy[PIPES.index("MTE2")] == 130
    assert found.cycles == 131  # one cycle of dispatch, then both copies
    assert found.record is not None
    assert found.record.start == [1, 2, 101]


def test_a_flag_holds_back_its_pipe_only() -> None:
    found = both(
        program(
            op("MTE2", 100),
            set_flag("MTE2", "MTE1", 0),
            wait_flag("MTE2", "MTE1", 0),
            op("MTE1", 10),
            op("M", 5),
        )
    )
    assert found.record is not None
    starts = dict(zip(found.record.index, found.record.start, strict=True))
    assert starts[3] == 101 + A2.flag
    assert starts[4] == 5
    assert found.waits[PIPES.index("MTE1")] == {"flag from MTE2": 104}


def test_a_set_covers_everything_before_it_even_a_long_tail() -> None:
    found = both(
        program(
            op("M", 10, 500), op("M", 10), set_flag("M", "FIX", 0), wait_flag("M", "FIX", 0), op("FIX", 1)
        )
    )
    assert found.record is not None
    assert found.record.start[-1] == 511 + A2.flag


def test_a_full_queue_stops_the_dispatch_for_all_pipes() -> None:
    stuck = [op("MTE1", 1000) for _ in range(A2.queue + 2)]
    found = both(program(*stuck, op("M", 1)))
    assert found.record is not None
    starts = dict(zip(found.record.index, found.record.start, strict=True))
    # The cube's instruction waits until the second load has left the queue of 32.
    assert starts[len(stuck)] == 1002


def test_barriers() -> None:
    found = both(program(op("M", 10, 90), barrier("M"), op("M", 5), barrier("ALL"), op("V", 3)))
    assert found.record is not None
    assert found.record.start == [1, 101, 107]


def test_scalar_work_holds_up_what_comes_after_it() -> None:
    found = both(program(op("S", 400), op("M", 5), op("S", 10)))
    assert found.record is not None
    assert sorted(zip(found.record.index, found.record.start, strict=True)) == [(0, 1), (1, 402), (2, 403)]


def test_unit_flags_let_fixpipe_follow_the_cube() -> None:
    closing = op("M", 100, 50, unit="C[0]", opens=True, closes=True)
    out = op("FIX", 60, unit="C[0]", closes=True)
    found = both(program(closing, out, closing, out))
    assert found.record is not None
    starts = dict(zip(found.record.index, found.record.start, strict=True))
    assert starts == {0: 1, 1: 2, 2: 101, 3: 152}
    assert found.cycles == 252
    by_events = program(
        *(
            item
            for _ in range(2)
            for item in (
                op("M", 100, 50),
                set_flag("M", "FIX", 0),
                wait_flag("M", "FIX", 0),
                op("FIX", 60),
                set_flag("FIX", "M", 0),
                wait_flag("FIX", "M", 0),
            )
        )
    )
    assert found.cycles < both(by_events).cycles


def random_program(seed: int) -> Program:
    """Steps that fill and read slots at random; flags are placed by themselves, so every seed is a legal program."""
    random.seed(seed)
    steps: list[Step] = []
    slots = [("L1", i) for i in range(3)] + [("L0", i) for i in range(2)] + [("C", 0)]
    filled: set[tuple[str, int]] = set()
    for index in range(random.randint(5, 60)):
        kind = random.choice(["fill", "load", "mmad", "fix", "scalar"])
        key, other = random.choice(slots[:3]), random.choice(slots[3:5])
        if kind == "fill":
            steps.append(Step(op("MTE2", random.randint(1, 90)), ((), ()), fills=key))
            filled.add(key)
        elif kind == "load" and key in filled:
            steps.append(Step(op("MTE1", random.randint(1, 60)), ((), ()), fills=other, uses=(key,)))
            filled.add(other)
        elif kind == "mmad" and other in filled:
            busy, tail = random.randint(1, 80), random.randint(0, 60)
            steps.append(Step(op("M", busy, tail), ((), ()), updates=slots[5], uses=(other,)))
            filled.add(slots[5])
        elif kind == "fix" and slots[5] in filled:
            steps.append(Step(op("FIX", random.randint(1, 50)), ((), ()), uses=(slots[5],)))
        elif kind == "scalar" and index % 3 == 0:
            steps.append(Step(op("S", random.randint(1, 40))))
    return place_flags(steps, A2.event_ids)


@pytest.mark.parametrize("seed", range(60))
def test_agents_and_recursion_agree_on_every_cycle(seed: int) -> None:
    both(random_program(seed))


@pytest.mark.parametrize("queue", [1, 2, 5])
def test_they_agree_with_short_queues(queue: int) -> None:
    core = read_core(load_chip("a2").override({"pipes.queue": queue, "pipes.dispatch": 3}))
    for seed in range(20):
        both(random_program(100 + seed), core)


def test_placed_flags_leave_no_hazard_and_are_few() -> None:
    spans = {name: Span(name, 0, 1024, name) for name in ("L1", "L0A", "L0C")}
    steps = [
        Step(op("MTE2", 50, writes=(spans["L1"],)), ((), ()), fills=("a", 0)),
        Step(
            op("MTE1", 20, reads=(spans["L1"],), writes=(spans["L0A"],)),
            ((), ()),
            fills=("b", 0),
            uses=(("a", 0),),
        ),
        Step(
            op("M", 30, reads=(spans["L0A"],), writes=(spans["L0C"],), opens=True),
            ((), ()),
            fills=("c", 0),
            uses=(("b", 0),),
        ),
    ] * 5
    made = place_flags(steps, 8)
    assert find_hazards(made, A2) == []
    assert (
        sum(item.kind == 1 for item in made.ops) == 4 * 5 - 2
    )  # two forward and two back, but not before the first
    assert {item.flag[2] for item in made.ops if item.flag} == {0}
    bare = Program([step.op for step in steps], [((), ())] * len(steps))
    kinds = {(hazard.kind, hazard.memory) for hazard in find_hazards(bare, A2)}
    expected = {("read after write", "L1"), ("read after write", "L0A"), ("write after read", "L1")}
    assert kinds == expected | {("write after read", "L0A"), ("write after write", "L1")}


def test_a_hazard_names_both_instructions_and_the_flag() -> None:
    span = Span("L1", 0x100, 0x300, "A1")
    given = program(
        op("MTE2", 50, name="nd2nz A -> A1", writes=(span,)),
        op("MTE1", 5, name="load A1 -> A2", reads=(span,)),
    )
    found = find_hazards(given, A2)
    assert [hazard.sentence(given) for hazard in found] == [
        "read after write: #1 load A1 -> A2 reads what #0 nd2nz A -> A1 still writes (A1, L1 0x100..0x300); "
        "a flag MTE2->MTE1 between them is missing"
    ]


def test_two_copies_to_one_place_need_a_barrier() -> None:
    span = Span("UB", 0, 512, "x")
    copies = [op("MTE2", 50, name="copy X -> x", writes=(span,))] * 2
    assert "a barrier MTE2 between them is missing" in find_hazards(program(*copies), A2)[0].sentence(
        program(*copies)
    )
    assert find_hazards(program(copies[0], barrier("MTE2"), copies[1]), A2) == []


def test_short_accumulations_need_a_barrier() -> None:
    small, large = Span("L0C", 0, 9 * 1024, "c"), Span("L0C", 0, 10 * 1024, "c")
    for span, number in ((small, 1), (large, 0)):
        first, second = op("M", 9, writes=(span,), opens=True), op("M", 9, writes=(span,))
        assert len(find_hazards(program(first, second), A2)) == number


@pytest.mark.parametrize("run", [simulate, schedule])
class TestFlagErrors:
    def test_set_twice(self, run) -> None:
        given = program(
            op("MTE2", 5), set_flag("MTE2", "MTE1", 3), op("MTE2", 5), set_flag("MTE2", "MTE1", 3)
        )
        with pytest.raises(FlagError) as error:
            run(given, A2)
        assert str(error.value) == (
            "#3 set_flag MTE2->MTE1 3: the flag is set already by #1 set_flag MTE2->MTE1 3; "
            "nothing waits for it in between"
        )

    def test_set_again_before_the_wait_happened(self, run) -> None:
        given = program(
            op("MTE1", 500),
            set_flag("MTE2", "MTE1", 0),
            wait_flag("MTE2", "MTE1", 0),
            op("MTE2", 5),
            set_flag("MTE2", "MTE1", 0),
        )
        with pytest.raises(
            FlagError, match=r"#4 .* set already by #1 .*; #2 wait_flag .* has not happened yet"
        ):
            run(given, A2)

    def test_never_set(self, run) -> None:
        given = program(wait_flag("MTE2", "MTE1", 1), op("MTE1", 5, name="load A1 -> A2"))
        with pytest.raises(FlagError) as error:
            run(given, A2)
        assert str(error.value) == (
            "#0 wait_flag MTE2->MTE1 1: the flag is never set; it blocks #1 load A1 -> A2 for ever"
        )

    def test_what_is_left_is_reported(self, run) -> None:
        assert run(program(set_flag("M", "MTE1", 2)), A2).left == {(2, 3, 2): 0}


def test_ids_and_pairs_are_checked() -> None:
    with pytest.raises(FlagError, match="event id 8; this chip has ids 0 to 7"):
        set_flag("M", "MTE1", 8)
    with pytest.raises(FlagError, match=r"event id 4; .* ids 0 to 3"):
        wait_flag("M", "MTE1", 4, load_chip("910").integer("core.event_ids"))
    with pytest.raises(FlagError, match="M->MTE3: no such pair"):
        set_flag("M", "MTE3", 0)
    with pytest.raises(FlagError, match="no pipe 'MTE4'"):
        set_flag("MTE4", "M", 0)


def test_too_few_ids_are_an_error() -> None:
    steps = [Step(op("MTE2", 1000), ((), ()), fills=("a", i)) for i in range(9)]
    steps += [Step(op("MTE1", 1), ((), ()), uses=(("a", i),)) for i in range(9)]
    with pytest.raises(FlagError, match="more than the 8 event ids of MTE2->MTE1"):
        place_flags(steps, 8)


def test_a_stream_of_mmads_pays_its_start_once() -> None:
    cost = mmad_cost(A2, 128, 256, 64, "f16")
    stream = program(*[op("M", cost.busy, cost.tail)] * 8)
    assert both(stream).busy[PIPES.index("M")] == 8 * 512 + 60 + 7 * 7
    assert (cost.busy, cost.tail, cost.valid, cost.moved) == (519, 53, 128 * 256 * 64, 128 * 256 * 64)


def test_chips_without_public_times_say_which() -> None:
    for name in ("310p", "910"):
        with pytest.raises(ChipError, match=r"time is unknown, not public are .*pipes.queue"):
            read_core(load_chip(name))
