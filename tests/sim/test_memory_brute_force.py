"""The counting rules once more, lane by lane in plain Python, written apart from the package, against it."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
import pytest
from bankbench.sim import Trace, count_trace, load_chip
from bankbench.sim.memory import OPERATIONS, batch
from hypothesis import given, settings
from hypothesis import strategies as st

H200 = load_chip("h200")
KINDS = [kind for kind in OPERATIONS if "minmax" not in str(kind.variant)]


@dataclass
class Expected:
    wavefronts: int
    bank_conflicts: int
    ideal_wavefronts: int
    floor_wavefronts: int
    worst_ways: int
    merged: bool


def count_one(op, width, variant, mask, offsets, banks=32, word_bytes=4):
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    if op.endswith("matrix"):
        lanes = [lane for lane in lanes if lane < 8 * int(variant[1])]

    def words(lane):
        first = offsets[lane] // word_bytes
        return range(first, (offsets[lane] + width - 1) // word_bytes + 1)

    def most_words(group):
        by_bank = {}
        for lane in group:
            for word in words(lane):
                by_bank.setdefault(word % banks, set()).add(word)
        return max((len(found) for found in by_bank.values()), default=0)

    def most_lanes(group):
        by_bank = {}
        for lane in group:
            bank = words(lane)[0] % banks
            by_bank[bank] = by_bank.get(bank, 0) + 1
        return max(by_bank.values(), default=0)

    def groups(size):
        return [
            group
            for start in range(0, 32, size)
            if (group := [lane for lane in lanes if start <= lane < start + size])
        ]

    touched = {word for lane in lanes for word in words(lane)}
    floor = -(-len(touched) // banks)
    if op == "atoms":
        return _atomic(
            variant, lanes, groups, most_words, most_lanes, words, offsets, banks, floor, word_bytes
        )
    size, merged = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width], False
    if op.endswith("matrix"):
        size = 8
    elif op == "lds" and width > 4:
        active = set(lanes)
        merged = any(
            all(offsets[lane] == offsets[lane ^ distance] for lane in active if lane ^ distance in active)
            for distance in (1, 2)
        )
        size *= 2 if merged else 1
    ways = [most_words(group) for group in groups(size)]
    return Expected(sum(ways), sum(ways) - len(ways), len(ways), floor, max(ways, default=0), merged)


def _atomic(variant, lanes, groups, most_words, most_lanes, words, offsets, banks, floor, word_bytes):
    kind = next(kind for kind in OPERATIONS if kind.variant == variant)
    if kind.serves == "loop":
        return _loop(kind.width, lanes, most_words, words, offsets, banks, floor, word_bytes)
    # An access wider than a bank lies in several, so fewer lanes find banks of their own.
    width = kind.width
    served = groups(16 if width == 8 else 32)
    columns = banks // max(1, width // word_bytes)
    passes = 2 if "cas" in variant else 1
    ways = [most_lanes(group) for group in served]
    ideal = passes * sum(-(-len(group) // columns) for group in served)
    return Expected(passes * sum(ways), sum(ways) - len(ways), ideal, floor, max(ways, default=0), False)


def _loop(width, lanes, most_words, words, offsets, banks, floor, word_bytes):
    """Load, operate, swap, until no lane is left; 8-byte accesses in two halves, whose loads may merge."""
    size = 16 if width == 8 else 32

    def split(left, lanes_a_group):
        found = {}
        for lane in left:
            found.setdefault(lane // lanes_a_group, []).append(lane)
        return list(found.values())

    left, wavefronts, conflicts, rounds, first = list(lanes), 0, 0, 0, None
    while left:
        pairs = size == 16 and any(
            all(offsets[lane] == offsets[lane ^ distance] for lane in left if lane ^ distance in left)
            for distance in (1, 2)
        )
        loads = [most_words(group) for group in split(left, 32 if pairs else size)]
        first = (len(loads), pairs) if first is None else first
        wavefronts += sum(loads)
        conflicts += sum(loads) - len(loads)
        rounds += 1
        kept = []
        for group in split(left, size):
            wavefronts += 2
            seen = set()
            for lane in group:
                bank = words(lane)[0] % banks
                if bank in seen:
                    kept.append(lane)
                seen.add(bank)
        left = kept
    columns = banks // max(1, width // word_bytes)
    best = [-(-len(group) // columns) for group in split(lanes, size)]
    loads, merged = first or (0, size == 16)
    ideal = 2 * sum(best) + loads + max(max(best, default=1) - 1, 0)
    return Expected(wavefronts, conflicts, ideal, floor, rounds, merged)


@st.composite
def accesses(draw, highest=2048):
    """An operation, a mask and offsets of the kinds that matter: strides, crowds, pairs, chance."""
    kind = draw(st.sampled_from(KINDS))
    unit = st.integers(0, highest // kind.width - 1)
    how = draw(st.sampled_from(["stride", "crowd", "pairs", "chance"]))
    if how == "stride":
        step, start = draw(st.integers(0, 64)), draw(unit)
        units = [(start + step * lane) % (highest // kind.width) for lane in range(32)]
    elif how == "crowd":
        few = draw(st.lists(unit, min_size=1, max_size=4))
        units = [
            few[index % len(few)] for index in draw(st.lists(st.integers(0, 3), min_size=32, max_size=32))
        ]
    elif how == "pairs":
        distance = draw(st.sampled_from([1, 2, 4]))
        some = draw(st.lists(unit, min_size=32, max_size=32))
        units = [some[min(lane, lane ^ distance)] for lane in range(32)]
        if draw(st.booleans()):
            units[draw(st.integers(0, 31))] = draw(unit)
    else:
        units = draw(st.lists(unit, min_size=32, max_size=32))
    mask = draw(
        st.one_of(st.just(2**32 - 1), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 0x10001, 0x55555555]))
    )
    return kind, mask, [unit * kind.width for unit in units]


def counted(sample, chip=H200):
    """What the package counts for a list of accesses, as tuples in the order of `Expected`."""
    trace = Trace.of(
        np.array([offsets for _, _, offsets in sample]),
        op=np.array([kind.code for kind, _, _ in sample]),
        mask=np.array([mask for _, mask, _ in sample], dtype=np.uint32),
    )
    counts = count_trace(trace, chip)
    names = ("wavefronts", "bank_conflicts", "ideal_wavefronts", "floor_wavefronts", "worst_ways", "merged")
    return list(zip(*(getattr(counts, name).tolist() for name in names), strict=True))


def expected(sample, banks=32, word_bytes=4):
    return [
        astuple(count_one(kind.op, kind.width, kind.variant, mask, offsets, banks, word_bytes))
        for kind, mask, offsets in sample
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(accesses(), min_size=1, max_size=40))
def test_mixed_traces(sample):
    assert counted(sample) == expected(sample)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(accesses(highest=8192), min_size=1, max_size=20),
    st.sampled_from([(64, 4), (32, 8), (16, 4), (33, 4), (24, 4), (8, 8), (32, 1)]),
)
def test_other_banks(sample, banks):
    """An architect's chips: more, fewer, wider banks, and numbers of banks that are no power of two."""
    number, size = banks
    chip = H200.override({"shared_memory.banks": number, "shared_memory.bank_bytes": size})
    assert counted(sample, chip) == expected(sample, number, size)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(accesses(highest=1 << 20), min_size=1, max_size=20), st.sampled_from([1 << 16, 1 << 18, 1 << 20])
)
def test_high_offsets(sample, highest):
    """Keys change their type at 64 KiB and 256 KiB."""
    sample = [(kind, mask, [offset % highest for offset in offsets]) for kind, mask, offsets in sample]
    assert counted(sample) == expected(sample)


def test_highest_offset_that_is_taken():
    last = 2**31 - 16
    for kind in KINDS:
        sample = [(kind, 2**32 - 1, [last - kind.width * lane for lane in range(32)])]
        assert counted(sample) == expected(sample)


@pytest.mark.parametrize("highest", [2048, 227 << 10])
def test_several_blocks_in_any_order(highest):
    """More accesses than a block holds: the way through keys equals the way through words, row by row."""
    rng = np.random.default_rng(1)
    count = batch.BLOCK + 1500
    code = rng.choice([0, 3, 4, 9, 14, 22, 26], count).astype(np.uint8)
    width = np.array([kind.width for kind in OPERATIONS])[code]
    offsets = rng.integers(0, highest // 16, (count, 32)) * width[:, None]
    offsets[::3] = offsets[::3, np.arange(32) & 30]
    mask = np.where(rng.random(count) < 0.5, 2**32 - 1, rng.integers(0, 2**32, count))
    trace = Trace.of(offsets, code, mask=mask)
    counts = count_trace(trace)
    order = rng.permutation(count)
    shuffled = count_trace(trace[order])
    picked = rng.choice(count, 300, replace=False)
    sample = [(OPERATIONS[code[row]], int(mask[row]), offsets[row].tolist()) for row in picked]
    names = ("wavefronts", "bank_conflicts", "ideal_wavefronts", "floor_wavefronts", "worst_ways", "merged")
    table = [getattr(counts, name) for name in names]
    assert all(
        np.array_equal(one[order], getattr(shuffled, name)) for one, name in zip(table, names, strict=True)
    )
    assert [tuple(one[row].item() for one in table) for row in picked] == expected(sample)


@settings(max_examples=60, deadline=None)
@given(accesses())
def test_what_always_holds(access):
    kind, mask, offsets = access
    ((wavefronts, conflicts, ideal, floor, ways, merged),) = counted([access])
    assert floor <= wavefronts
    assert ideal <= wavefronts
    assert ways <= wavefronts
    if kind.serves == "words":
        assert wavefronts - ideal == conflicts
        assert merged <= (kind.op == "lds" and kind.width > 4)
    # Whole rows of the banks further on, everything is the same; one lane less is never slower, for plain accesses.
    moved = (kind, mask, [offset + 128 * 24 for offset in offsets])
    assert counted([moved]) == counted([access])
    if mask and not (kind.op == "lds" and kind.width > 4):
        fewer = (kind, mask & (mask - 1), offsets)
        assert counted([fewer])[0][0] <= wavefronts


def test_one_lane_more_can_be_faster():
    """The pair rule is decided for the warp: a lane that breaks a pair makes the load slower when it is active."""
    offsets = [16 * (lane // 2) for lane in range(32)]
    offsets[1] = 512
    (kind,) = (kind for kind in OPERATIONS if kind.name == "lds.128")
    with_lane, without = counted([(kind, 2**32 - 1, offsets), (kind, 2**32 - 3, offsets)])
    assert (with_lane[0], without[0]) == (5, 2)
