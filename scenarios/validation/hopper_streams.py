"""The measured streams of wgmma, loads and stores as programs, with the clock stores that the measurement added.

Each warp of a stream reads the clock every so many operations and stores it to global memory; that store goes through
the memory queue of its partition like any other, which is half of what the measured contention shows. The order of
instructions, their stall counts and scoreboards are those of the compiled kernels.

Notation of the listings: `op:stall`, `@n` a scoreboard waited for, `>n` one that the result releases, `<n` one that the
read of the sources releases, `*n` repetitions.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...sim.chip import Chip
from ...sim.engine import timing_of
from ...sim.hopper import Wgmma
from ...sim.memory import count
from ...sim.program import ACCESS_OPS, Group, Instruction, Pattern, Segment, registers_of

__all__ = [
    "OPERATIONS",
    "access_pattern",
    "chase_group",
    "idle_group",
    "least_cycles",
    "lsu_group",
    "wgmma_group",
]

_ITEM = re.compile(r"(?P<op>[A-Z0-9.]+):(?P<stall>\d+)(?P<marks>(?:[@<>]\d)*)(?:\*(?P<times>\d+))?$")

_STAMP = "CS2R"
# an uncounted global store: two registers and one wavefront of the path, in no half of shared memory
_CLOCK_STORE = "STS.64"
_CLOCK = Pattern("sts.64", tuple(8 * lane for lane in range(32)), "global", 1)

_WGMMA_HEAD = (
    "LDC:1@1>1 IADD3:5 IADD3:13@1 BRA:10 CS2R:2 IADD3:1 LDC:12>1 LDC:1>2 IADD3:4 IADD3:2 IADD3:4@2 IADD3:2 "
    "IADD3:3@1 STG:10<1 UMOV:5 UMOV:1 UMOV:1 UMOV:5"
)
_WGMMA_BODY = "UMOV:1 UMOV:1 UMOV:1 UMOV:3 HGMMA:3 IADD3:1 HGMMA:4*6 HGMMA:1 BRA:5"

_STORES_128 = "IADD3:2 IADD3:2 IADD3:2 IADD3:1 X:1"
_BODIES = {
    "sts32": "X:1@2<2 UMOV:3 X:3<2 IADD3:1 X:4<2*13 X:1<2 BRA:5",
    "lds": "X:1@1@2>3<2 UMOV:3 X:3>4<2 IADD3:1 X:4>1<2*13 X:1>1<2 BRA:5@3@4",
    "sts128": (
        "IADD3:1@2 UMOV:1 IADD3:2@1 IADD3:2 IADD3:1 IADD3:1 IADD3:1 X:1<2 "
        + " ".join([_STORES_128.replace("X:1", "X:1<2")] * 4)
        + " IADD3:2 IADD3:1 X:4<2*10 X:1<2 BRA:5"
    ),
}


def _matrix_loads() -> str:
    """ldmatrix keeps five results under way; each is used before its scoreboard is taken again."""
    first = "UMOV:5 X:1>2 IADD3:3 X:2>3 IADD3:2 X:4>4 X:4>1@1 X:1>5"
    use = ["IADD3:3@2 X:1>2 IADD3:4"]
    use += [f"IADD3:2@{board} X:2>{board} IADD3:4" for board in (3, 4, 1, 5, 2, 3, 4, 1, 5)]
    last = (
        "IADD3:2@2 X:2>2 IADD3:4 "
        + "IADD3:4@3 IADD3:4 IADD3:4@4 IADD3:4 IADD3:4@1 IADD3:4 IADD3:4@5 IADD3:4 IADD3:4@2 IADD3:4"
    )
    return " ".join([first, *use, last, "BRA:5"])


_BODIES["ldsm4"] = _matrix_loads()
_BODIES["stsm4"] = _BODIES["sts128"]
_OPCODE = {
    "lds32": "LDS",
    "lds128": "LDS.128",
    "sts32": "STS",
    "sts128": "STS.128",
    "ldsm4": "LDSM.16.M88.4",
    "stsm4": "STSM.16.M88.4",
}
# what the constant load before a clock store waits for and releases, and what the clock read itself waits for
_HEADS = {
    "sts32": ((), 3, (1,)),
    "lds32": ((), 3, (1,)),
    "lds128": ((2,), 2, (1,)),
    "sts128": ((), 2, (1, 2)),
    "stsm4": ((1,), 1, (1, 2)),
    "ldsm4": ((), 1, (1,)),
}

OPERATIONS = tuple(_HEADS)
"""Accesses whose measuring loops are known."""


def wgmma_group(n: int, registers: bool, per_chunk: int, chunks: int, a_at: int, b_at: int) -> Group:
    """Four warps that issue `chunks` times `per_chunk` wgmma in groups of 8, a clock store before each chunk."""
    product = Wgmma(n, registers, a_at, b_at)
    last = Wgmma(n, registers, a_at, b_at, commits=True)
    body: list[Instruction] = []
    for item in _code(_WGMMA_BODY):
        if item.op == "HGMMA":
            issued = sum(other.op == "HGMMA" for other in body)
            item = _with(item, detail=last if issued == 7 else product)  # noqa: PLW2901
        body.append(item)
    return _group(4, _code(_WGMMA_HEAD), tuple(body), per_chunk // 8, chunks, {})


def lsu_group(op: str, ways: int, warps: int, per_chunk: int, chunks: int, at: int = 0) -> Group:
    """Warps that load or store again and again, 16 accesses a round, a clock store before each chunk."""
    waits, sets, stamp = _HEADS[op]
    marks = "".join(f"@{n}" for n in waits)
    head = (
        f"IADD3:5 IADD3:13 BRA:10 CS2R:2{''.join(f'@{n}' for n in stamp)} IADD3:13 LDC:1{marks}>{sets} IADD3:4 "
        f"IADD3:2@1 IADD3:4@{sets} IADD3:2 IADD3:3 STG:10<1 UMOV:5 UMOV:5"
    )
    body = _BODIES["lds" if op in ("lds32", "lds128") else op].replace("X:", f"{_OPCODE[op]}:")
    return _group(
        warps, _code(head), _code(body), per_chunk // 16, chunks, {"x": access_pattern(op, ways, at)}
    )


def chase_group(per_chunk: int, chunks: int, at: int = 0) -> Group:
    """One warp that loads with the address that it loaded before."""
    head = (
        "IADD3:5 IADD3:13 BRA:10 CS2R:2@1 IADD3:13 LDC:1>2 IADD3:4 IADD3:2 IADD3:4@2 IADD3:2 IADD3:3 STG:10<1 "
        "UMOV:5 UMOV:5"
    )
    body = "LDS:1@3>1 UMOV:6 IADD3:1 LDS:4@1>1*14 LDS:1@1>3 BRA:5"
    pattern = access_pattern("lds32", 1, at)
    return _group(1, _code(head), _code(body), per_chunk // 16, chunks, {"x": pattern})


def idle_group(warps: int) -> Group:
    """Warps that only take up numbers."""
    return Group(warps, ())


def access_pattern(op: str, ways: int, at: int = 0) -> Pattern:
    """Lanes a power-of-two stride apart, so that each wavefront of the conflict-free access becomes `ways`."""
    kinds = {
        "lds32": ("lds.32", 4),
        "sts32": ("sts.32", 4),
        "lds128": ("lds.128", 16),
        "sts128": ("sts.128", 16),
        "ldsm4": ("ldmatrix.x4", 16),
        "stsm4": ("stmatrix.x4", 16),
    }
    name, width = kinds[op]
    return Pattern(name, tuple(at + width * ways * lane for lane in range(32)))


def least_cycles(op: str, ways: int, chip: Chip) -> int:
    """Cycles that one warp needs for an access at least: a wavefront every two cycles, and its way into the SM.

    >>> from bankbench.sim import load_chip
    >>> [least_cycles(op, ways, load_chip("h200")) for op, ways in (("lds32", 1), ("sts128", 1), ("sts32", 32))]
    [2, 10, 64]
    """
    pattern, timing = access_pattern(op, ways), timing_of(chip)
    name, width, variant = ACCESS_OPS[pattern.op]
    (wavefronts,) = count(
        [pattern.offsets], name, width, variant=variant or None, chip=chip
    ).wavefronts.tolist()
    registers = registers_of(pattern.op) if name.startswith("st") else 0
    return max(timing.wavefront * wavefronts, timing.port_address + timing.port_register * registers)


def _group(
    warps: int,
    head: tuple[Instruction, ...],
    body: tuple[Instruction, ...],
    rounds: int,
    chunks: int,
    patterns: dict[str, Pattern],
) -> Group:
    segments = (Segment("head", head), Segment("loop", body, rounds)) * chunks
    return Group(warps, segments, {"clock": _CLOCK, **patterns})


@lru_cache(maxsize=64)
def _code(text: str) -> tuple[Instruction, ...]:
    found: list[Instruction] = []
    for word in text.split():
        item = _ITEM.match(word)
        assert item is not None, word
        op = item["op"]
        marks = re.findall(r"([@<>])(\d)", item["marks"])
        memory = op.split(".")[0] in ("LDS", "STS", "LDSM", "STSM")
        instruction = Instruction(
            _CLOCK_STORE if op == "STG" else op,
            stall=int(item["stall"]),
            waits=tuple(int(n) for mark, n in marks if mark == "@"),
            sets=next((int(n) for mark, n in marks if mark == ">"), None),
            sets_read=next((int(n) for mark, n in marks if mark == "<"), None),
            slot="clock" if op == "STG" else "x" if memory else None,
            stamp=op == _STAMP,
        )
        found += [instruction] * int(item["times"] or 1)
    return tuple(found)


def _with(item: Instruction, detail: object) -> Instruction:
    from dataclasses import replace

    return replace(item, detail=detail)
