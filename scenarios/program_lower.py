"""Steps of warp groups become a machine-level program: instructions, registers, address patterns.

What the steps leave open is decided here, and said in `ASSUMPTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..sim.chip import Chip
from ..sim.engine import timing_of
from ..sim.program import Group, Instruction, Pattern, Program, ProgramError, Segment, kind_of, scheduled
from .buffers import PlacedBuffer
from .errors import ScenarioError
from .hopper_lower import ENGINE_STEPS, Engines, block_barrier, lower_engine_step, named
from .lower import lower
from .lowered import LoweredAccess
from .model_program import AluStep, LoopStep, MmaStep, ProgramSection, Step, StoreStep, WarpGroup
from .specs import AccessSpec

ASSUMPTIONS = (
    "Instructions issue in the order of the steps; an access is done instruction by instruction in the order of its "
    "loops.",
    "Addresses are at hand: no instruction computes them. Registers never run out.",
    "A value is waited for at its first use: loads by a scoreboard of their own, arithmetic by its latency.",
)
_LOOP = (
    "A loop ends with a counter, a comparison and a branch (3 instructions); a loop in a loop or with `var` is "
    "unrolled."
)
_MMA = "mma reads whole fragments: it waits until all of their loads have returned."
_MOST_UNROLLED = 200_000


@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """A program for the engine, the cycle at which each warp starts, and what was assumed."""

    program: Program
    starts: tuple[int, ...]
    assumptions: tuple[str, ...]
    engines: Engines | None = None
    """What wgmma, copies and barriers of the program need; None when it has none."""


@dataclass
class Lowering:
    """The code of one group as it grows: finished segments and the one that is open.

    `names` holds the trip numbers of unrolled loops. Accesses are lowered for all warps of the group at once;
    an instruction of an access is written once for every warp, with the addresses of that warp.
    """

    group: WarpGroup
    buffers: Mapping[str, PlacedBuffer]
    folder: Path
    segments: list[tuple[str, int, list[Item]]] = field(default_factory=list)  # name, trips, code
    names: dict[str, int] = field(default_factory=dict)
    looping: bool = False
    notes: dict[str, None] = field(default_factory=dict)
    engines: Engines = field(default_factory=lambda: Engines({}, {}))

    def add_engine(self, instruction: Instruction, *, elect: bool) -> None:
        """Append an instruction of an engine, for all warps of the group or for its first alone."""
        self.add(Item(instruction, only=0 if elect else None))

    def add(self, item: Item) -> None:
        """Append to the open segment."""
        if not self.segments or (self.segments[-1][1] > 1 and not self.looping):
            self.segments.append((f"part{len(self.segments)}", 1, []))
        self.segments[-1][2].append(item)
        if sum(len(items) for _, _, items in self.segments) > _MOST_UNROLLED:
            raise ScenarioError(f"more than {_MOST_UNROLLED:,} instructions a warp after unrolling")


@dataclass(frozen=True, slots=True)
class Item:
    """An instruction; for accesses the pattern of each warp of the group (None: that warp does not execute it)."""

    instruction: Instruction
    patterns: tuple[Pattern | None, ...] = ()
    only: int | None = None
    """The one warp of the group that executes it; None: all of them."""


def lower_program(
    section: ProgramSection, buffers: Mapping[str, PlacedBuffer], folder: Path, chip: Chip, name: str
) -> LoweredProgram:
    """The machine-level program of a section. Raises ScenarioError with the key of the step."""
    groups: list[Group] = []
    owners: list[int] = []
    notes: dict[str, None] = {}
    engines = Engines(
        section.mbarriers, buffers, warps=sum(group.warps for group in section.groups if group.steps)
    )
    lowerings: list[Lowering] = []
    for number, group in enumerate(section.groups):
        where = f"groups.{number}"
        lowering = Lowering(group, buffers, folder, engines=engines)
        lowerings.append(lowering)
        _steps(lowering, group.steps, f"{where}.steps")
        notes |= lowering.notes
    for number, lowering in enumerate(lowerings):
        where = f"groups.{number}"
        for machine in _machine_groups(lowering, where, chip):
            groups.append(machine)
            owners += [number] * machine.warps
    timing = timing_of(chip)
    last = len(owners) - 1
    starts = tuple(
        timing.start_group * owner + timing.start_round * ((last - warp) // timing.partitions)
        for warp, owner in enumerate(owners)
    )
    found = Program(name, tuple(groups))
    return LoweredProgram(found, starts, (*ASSUMPTIONS, *notes), engines if engines.used else None)


def _steps(lowering: Lowering, steps: list[Step], where: str) -> None:
    for index, step in enumerate(steps):
        key = f"{where}.{index}.{step.kind}"
        try:
            LOWER[step.kind](lowering, step, key)
        except ScenarioError as error:
            if error.key.startswith("groups."):
                raise
            raise ScenarioError(
                error.message, key=f"{key}.{error.key}".rstrip("."), caret=error.caret
            ) from None


def _access(lowering: Lowering, step: Step, key: str) -> None:
    model = step.load or step.store or step.copy_
    assert model is not None
    spec: AccessSpec = replace(model.spec(), warps=lowering.group.warps)
    loops: dict[str, object] = {name: [value] for name, value in lowering.names.items()}
    lowered = lower(replace(spec, loops={**loops, **spec.loops}), lowering.buffers, lowering.folder)
    if lowered.op == "atoms":
        raise ScenarioError("the time of atomics is not known; count them in the section accesses", key="op")
    if lowered.op in ("sts", "stmatrix") and step.store is None:
        raise ScenarioError(f"{model.instruction or model.op} stores; use a store step", key="op")
    if lowered.op in ("lds", "ldmatrix") and step.store is not None:
        raise ScenarioError(f"{model.instruction or model.op} loads; use a load step", key="op")
    patterns = [_patterns_of_warp(lowered, warp) for warp in range(lowering.group.warps)]
    width = _registers(lowered)
    for index in range(max(map(len, patterns))):
        own = tuple(items[index] if index < len(items) else None for items in patterns)
        if isinstance(model, StoreStep):
            names = (f"R:{model.source}",) if model.source else ()
            item = Instruction(_opcode(lowered), src=names, slot="")
        else:
            item = Instruction(_opcode(lowered), dst=_fragment(model.to, index, width), slot="")
        lowering.add(Item(item, own))


def _fragment(name: str, index: int, width: int) -> tuple[str, ...]:
    """Registers that one instruction of an access fills; `R:name` alone stands for the whole fragment when read."""
    return tuple(f"R:{name}.{index}.{part}" for part in range(width))


def _mma(lowering: Lowering, step: Step, key: str) -> None:
    mma: MmaStep | None = step.mma
    assert mma is not None
    lowering.notes[_MMA] = None
    reads = tuple(f"R:{name}" for name in mma.reads)
    for index in range(mma.count):
        own = f"R:{mma.acc}.acc{index}"
        lowering.add(Item(Instruction("HMMA.16816.F32", dst=(own,), src=(*reads, own))))


def _alu(lowering: Lowering, step: Step, key: str) -> None:
    alu: AluStep | None = step.alu
    assert alu is not None
    if kind_of(alu.op) is None or alu.op.split(".")[0] in (
        "LDS",
        "STS",
        "LDSM",
        "STSM",
        "BAR",
        "BRA",
        "HMMA",
    ):
        raise ScenarioError(f"{alu.op!r} is no arithmetic instruction that has a time here", key="op")
    reads = tuple(f"R:{name}" for name in alu.reads)
    for index in range(alu.count):
        own = f"R:{alu.to}.0" if alu.chained else f"R:{alu.to}.{index}"
        sources = (*reads, own) if alu.chained else reads
        lowering.add(Item(Instruction(alu.op, dst=(own,), src=sources)))


def _barrier(lowering: Lowering, step: Step, key: str) -> None:
    lowering.add(Item(Instruction("BAR.SYNC.DEFER_BLOCKING")))


def _wait(lowering: Lowering, step: Step, key: str) -> None:
    lowering.add(Item(Instruction("NOP", src=(f"R:{step.wait}",))))


def _loop(lowering: Lowering, step: Step, key: str) -> None:
    loop: LoopStep | None = step.loop
    assert loop is not None
    lowering.notes[_LOOP] = None
    if loop.var is not None or lowering.looping or loop.trips == 1:
        for trip in range(loop.trips):
            if loop.var is not None:
                lowering.names[loop.var] = trip
            _steps(lowering, loop.steps, f"{key}.steps")
        lowering.names.pop(loop.var or "", None)
        return
    lowering.segments.append((f"loop{len(lowering.segments)}", loop.trips, []))
    lowering.looping = True
    _steps(lowering, loop.steps, f"{key}.steps")
    counter = "R:trip.0"
    lowering.add(Item(Instruction("IADD3", dst=(counter,), src=(counter,))))
    lowering.add(Item(Instruction("ISETP.NE.AND", dst=("P0",), src=(counter,))))
    lowering.add(Item(Instruction("BRA", pred="P0")))
    lowering.looping = False


LOWER: dict[str, Callable[[Lowering, Step, str], None]] = {
    "load": _access,
    "store": _access,
    "copy": _access,
    "mma": _mma,
    "alu": _alu,
    "barrier": _barrier,
    "wait": _wait,
    "loop": _loop,
    **dict.fromkeys(ENGINE_STEPS, lower_engine_step),
}
"""How each kind of step is lowered: `function(lowering, step, key)`. Other kinds of step add themselves here."""


def _patterns_of_warp(lowered: LoweredAccess, warp: int) -> list[Pattern]:
    own = np.flatnonzero(lowered.warp == warp)
    name = f"{lowered.op}.{lowered.variant}" if lowered.variant else f"{lowered.op}.{8 * lowered.width}"
    masks = lowered.mask
    return [
        Pattern(name, tuple(lowered.offsets[index].tolist()), lowered.name, int(masks[index]))
        for index in own
    ]


def _registers(lowered: LoweredAccess) -> int:
    return int(lowered.variant[1]) if lowered.variant else max(1, lowered.width // 4)


def _opcode(lowered: LoweredAccess) -> str:
    if lowered.variant:
        base = "LDSM" if lowered.op == "ldmatrix" else "STSM"
        count, _, trans = lowered.variant.partition(".")
        many = {"x1": "", "x2": ".2", "x4": ".4"}[count]
        return f"{base}.16.M{'T' if trans else ''}88{many}"
    base = "LDS" if lowered.op == "lds" else "STS"
    return base + {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}[lowered.width]


def _machine_groups(lowering: Lowering, where: str, chip: Chip) -> list[Group]:
    """One machine-level group a warp, neighbours with equal code and addresses joined."""
    found: list[Group] = []
    fragments = _fragments(lowering)
    for warp in range(lowering.group.warps):
        patterns: dict[str, Pattern] = {}
        slots: dict[Pattern, str] = {}
        segments = tuple(
            Segment(name, tuple(_of_warp(items, warp, patterns, slots, fragments, lowering.engines)), trips)
            for name, trips, items in lowering.segments
        )
        group = Group(1, segments, patterns, lowering.group.name)
        if found and (found[-1].segments, found[-1].patterns) == (group.segments, group.patterns):
            found[-1] = replace(found[-1], warps=found[-1].warps + 1)
        else:
            found.append(group)
    inputs = frozenset({"R:trip.0", *(f"R:{name}" for name in lowering.group.inputs)}) | _accumulators(
        lowering
    )
    try:
        return [item if item.idle else scheduled(item, "", inputs, chip) for item in found]
    except ProgramError as error:
        text = str(error).lstrip(", ").replace("R:", "").split(" (name it")[0]
        raise ScenarioError(f"{text}; name it in `inputs:` if it holds a value before", key=where) from None


def _of_warp(
    items: list[Item],
    warp: int,
    patterns: dict[str, Pattern],
    slots: dict[Pattern, str],
    fragments: Mapping[str, tuple[str, ...]],
    engines: Engines,
) -> list[Instruction]:
    code: list[Instruction] = []
    for item in items:
        if item.only not in (None, warp):
            continue
        sources = tuple(name for source in item.instruction.src for name in fragments.get(source, (source,)))
        instruction = replace(item.instruction, src=sources)
        if engines.used and item.instruction.op.startswith("BAR."):
            code += block_barrier(engines)
            continue
        if item.instruction.detail is not None:
            instruction = replace(instruction, detail=named(item.instruction.detail, engines))
        if item.patterns:
            pattern = item.patterns[warp]
            if pattern is None:
                continue
            slot = slots.setdefault(pattern, str(len(slots)))
            patterns[slot] = pattern
            instruction = replace(instruction, slot=slot)
        code.append(instruction)
    return code


def _fragments(lowering: Lowering) -> dict[str, tuple[str, ...]]:
    """Name of each fragment -> all registers that the group writes under this name."""
    found: dict[str, dict[str, None]] = {}
    for _, _, items in lowering.segments:
        for item in items:
            for name in item.instruction.dst:
                found.setdefault(name.split(".")[0], {})[name] = None
    return {fragment: tuple(names) for fragment, names in found.items()}


def _accumulators(lowering: Lowering) -> frozenset[str]:
    """Accumulators and chained values start with something in them."""
    return frozenset(
        name
        for _, _, items in lowering.segments
        for item in items
        for name in item.instruction.dst
        if name in item.instruction.src
    )
