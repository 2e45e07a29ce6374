"""A program made ready to run: every instruction with the figures of the chip and the counts of its addresses.

All counting happens here, once a program and before any time passes; the engine only asks when.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..chip import Chip
from ..memory import count
from ..program import ACCESS_OPS, Group, Instruction, Kind, Pattern, Program, Unit, kind_of, registers_of
from .agent import Agent, Hook
from .errors import EngineError
from .timing import Timing

__all__ = ["Op", "Run", "compile_program"]

_GATED = (Kind.LOAD, Kind.STORE, Kind.BARRIER, Kind.BRANCH, Kind.TENSOR, Kind.NOP, Kind.AGENT)
_UNIT = {
    Kind.ALU: Unit.ALU,
    Kind.IMAD: Unit.IMAD,
    Kind.TENSOR: Unit.TENSOR,
    Kind.LOAD: Unit.QUEUE,
    Kind.STORE: Unit.QUEUE,
}


class Op:
    """One instruction of the code with everything that the engine asks of it."""

    __slots__ = (
        "data",
        "extra",
        "gated",
        "hold",
        "hook",
        "index",
        "kind",
        "memory",
        "next",
        "place",
        "plain",
        "read_delay",
        "reads",
        "returns",
        "segment",
        "sets",
        "slow",
        "stall",
        "steal",
        "store",
        "text",
        "transfer",
        "unit",
        "waits",
        "wavefronts",
    )

    def __init__(
        self,
        item: Instruction,
        cost: Cost | None,
        timing: Timing,
        place: tuple[str, int],
        hook: Hook | None = None,
    ) -> None:
        kind = kind_of(item.op)
        assert kind is not None, "checked when the program was read"
        self.text = item.op
        self.place = place
        self.index = 0
        self.segment = 0
        self.kind = kind
        self.stall = item.stall
        self.waits = item.waits
        self.sets = item.sets
        self.reads = item.sets_read
        self.memory = cost is not None
        self.store = kind is Kind.STORE
        self.unit = int(_UNIT.get(kind, Unit.NONE))
        self.hold = timing.hold.get(kind, 0)
        self.gated = kind in _GATED
        self.steal = _steal(item, kind, timing)
        self.next: Op | None = None
        self.hook = hook
        # a plain instruction is issued by unit and stall alone; a slow one waits for something
        self.plain = not (self.memory or self.steal or kind in (Kind.BARRIER, Kind.AGENT))
        self.slow = bool(item.waits) or hook is not None
        registers = cost.registers if cost else 0
        self.wavefronts = cost.wavefronts if cost else 0
        self.extra = cost.extra if cost else 0
        self.data = registers if self.store else 0
        self.transfer = timing.port_address + timing.port_register * self.data
        self.returns = timing.returns(registers, cost.matrix) if cost and not self.store else 0
        self.read_delay = timing.read_delay(self.store, any(name.startswith("UR") for name in item.src))

    def __repr__(self) -> str:
        return f"{self.place[0]}[{self.place[1]}] {self.text}"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one access costs: wavefronts, latency of a wide load beyond a narrow one, data registers a lane."""

    wavefronts: int
    extra: int
    registers: int
    matrix: bool


@dataclass(frozen=True, slots=True)
class Run:
    """A segment ready to run: its first instruction and how often it is executed."""

    first: Op
    trips: int

    def ops(self) -> Iterator[Op]:
        """Its instructions in order, once."""
        op: Op | None = self.first
        while op is not None:
            yield op
            op = op.next


def compile_program(
    program: Program, chip: Chip, timing: Timing, agents: Sequence[Agent] = ()
) -> tuple[tuple[Run, ...], ...]:
    """The code of every group, addresses counted, instructions of agents bound to them.

    Raises AccessError or ChipError from the counting model, EngineError for an instruction whose agent is missing.
    """
    patterns = [pattern for group in program.groups for pattern in group.patterns.values()]
    costs = dict(zip(map(id, patterns), _costs(patterns, chip), strict=True))
    return tuple(
        _group(group, {slot: costs[id(pattern)] for slot, pattern in group.patterns.items()}, timing, agents)
        for group in program.groups
    )


def _group(group: Group, costs: dict[str, Cost], timing: Timing, agents: Sequence[Agent]) -> tuple[Run, ...]:
    runs: list[Run] = []
    for segment in group.segments:
        if not segment.code or not segment.trips:
            continue
        ops = [
            Op(
                item,
                costs[item.slot] if item.slot is not None else None,
                timing,
                (segment.name, index),
                _hook(item, agents, f"{segment.name}[{index}]"),
            )
            for index, item in enumerate(segment.code)
        ]
        for index, op in enumerate(ops):
            op.index, op.segment = index, len(runs)
            op.next = ops[index + 1] if index + 1 < len(ops) else None
            if op.kind is Kind.BRANCH and segment.name == "loop" and op.next is not None:
                op.stall = timing.branch
        runs.append(Run(ops[0], segment.trips))
    return tuple(runs)


def _hook(item: Instruction, agents: Sequence[Agent], place: str) -> Hook | None:
    if kind_of(item.op) is not Kind.AGENT:
        return None
    for agent in agents:
        hook = agent.hook(item)
        if hook is not None:
            return hook
    raise EngineError(f"{place} ({item.op}): no agent of the simulation carries this instruction out")


def _costs(patterns: Sequence[Pattern], chip: Chip) -> list[Cost]:
    """One vectorised count for each kind of access in the program."""
    found: dict[int, Cost] = {}
    narrow = chip.number("shared_memory.latency.chain.load_narrow")
    slope = chip.number("shared_memory.latency.cycles_per_wavefront")
    for access in sorted({pattern.op for pattern in patterns}):
        of_kind = [index for index, pattern in enumerate(patterns) if pattern.op == access]
        op, width, variant = ACCESS_OPS[access]
        offsets = np.array([patterns[index].offsets for index in of_kind], dtype=np.int64)
        masks = np.array([patterns[index].mask for index in of_kind], dtype=np.uint32)
        counts = count(offsets, op, width, mask=masks, variant=variant or None, chip=chip)
        beyond = counts.latency_cycles - narrow - slope * counts.wavefronts
        for index, wavefronts, extra in zip(
            of_kind, counts.wavefronts.tolist(), np.nan_to_num(beyond).tolist(), strict=True
        ):
            found[index] = Cost(wavefronts, round(extra), registers_of(access), bool(variant))
    return [found[index] for index in range(len(patterns))]


def _steal(item: Instruction, kind: Kind, timing: Timing) -> int:
    """Cycles for which the instruction keeps the register file from the memory port."""
    if kind is Kind.TENSOR:
        return timing.tensor_reads
    registers = {name for name in item.src if name.startswith("R")}
    return timing.two_source_reads if kind in (Kind.IMAD, Kind.FMA) and len(registers) >= 2 else 0
