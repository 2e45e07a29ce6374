"""Steps of Hopper's engines become instructions whose details the simulation of the SM understands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..layouts import ComposeLayout
from ..sim.chip import Chip
from ..sim.hopper import (
    Arrive,
    BulkCopy,
    ClusterCopy,
    Commit,
    CopyWait,
    CpAsync,
    GroupWait,
    HopperSm,
    NamedArrive,
    NamedWait,
    PhaseWait,
    Wgmma,
)
from ..sim.program import Instruction
from .buffers import PlacedBuffer
from .errors import ScenarioError
from .hopper_check import buffer_of, check_box, check_operand, place_of, stage_of
from .hopper_model import Mbarriers, TmaLoadStep, TmaStep

if TYPE_CHECKING:
    from .model_program import Step
    from .program_lower import Lowering

__all__ = ["ENGINE_STEPS", "Engines", "lower_engine_step"]

_NOTES = {
    "wgmma": "wgmma: the accumulators stay in registers, dtype and swizzle do not change its time.",
    "cluster_copy": "Both CTAs of the cluster are simulated on the issue slots of one SM; half of the measured round "
    "trip is taken for each way.",
    "cp_async": "cp.async: a warp instruction at the measured rate of the SM and one latency; it takes no place in the "
    "lanes.",
}


@dataclass
class Engines:
    """What the steps of all groups need of the engines: mbarriers with their counts, and regions of shared memory."""

    rings: Mapping[str, Mbarriers]
    buffers: Mapping[str, PlacedBuffer]
    regions: dict[str, tuple[int, int]] = field(default_factory=dict)
    operands: dict[str, int] = field(default_factory=dict)
    """Buffers that wgmma reads -> a byte of each."""
    stores: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Sources of TMA stores: region -> first byte, bytes."""
    warps: int = 0
    """Warps of the block that do something."""
    used: bool = False

    def barriers(self) -> dict[str, int]:
        """Every mbarrier with its arrival count."""
        return {
            f"{name}[{stage}]": ring.count
            for name, ring in self.rings.items()
            for stage in range(ring.stages)
        }

    def agent(self, chip: Chip) -> HopperSm:
        """A fresh SM for one simulation."""
        return HopperSm(chip, self.barriers(), self.regions)

    def barrier(self, name: str, stage: int | str, names: Mapping[str, int]) -> str:
        """The mbarrier of a ring. Raises ScenarioError when there is none."""
        ring = self.rings.get(name)
        if ring is None:
            known = ", ".join(self.rings) or "none"
            raise ScenarioError(f"no mbarriers {name!r} (under mbarriers: {known})", key="barrier")
        number = stage_of(stage, names)
        if not 0 <= number < ring.stages:
            raise ScenarioError(f"stage {number}; mbarriers {name!r} has {ring.stages}", key="stage")
        return f"{name}[{number}]"

    def region(self, buffer: PlacedBuffer, start: int, size: int) -> str:
        """The name of a piece of a buffer that copies use; pieces of one buffer are counted by size."""
        number = (start - buffer.base) // max(size, 1)
        name = f"{buffer.name}[{number}]" if size < buffer.footprint else buffer.name
        self.regions[name] = (start, size)
        return name

    def touching(self, begin: int, end: int) -> tuple[str, ...]:
        """Regions that overlap some bytes."""
        return tuple(
            name for name, (first, size) in self.regions.items() if begin < first + size and first < end
        )


def lower_engine_step(lowering: Lowering, step: Step, key: str) -> None:
    """Lower one step of `ENGINE_STEPS`; every warp of the group executes it, or warp 0 alone with `elect`."""
    engines: Engines = lowering.engines
    engines.used = True
    kind = step.kind
    if kind in _NOTES:
        lowering.notes[_NOTES[kind]] = None
    for op, detail in ENGINE_STEPS[kind](engines, step.value, lowering.names):
        lowering.add_engine(Instruction(op, detail=detail, stall=2), elect=bool(step.elect))


_Found = list[tuple[str, Any]]


def _wgmma(engines: Engines, step: Any, names: Mapping[str, int]) -> _Found:
    b = buffer_of(step.b.buffer, engines.buffers)
    b_at = check_operand(step.b, b, place_of(step.b.at, b, names), step.n, step.k)
    touched = [(b_at, b_at + 32 * step.n * step.k)]
    engines.operands[b.name] = b_at
    a_at = 0
    if step.a is not None:
        a = buffer_of(step.a.buffer, engines.buffers)
        a_at = check_operand(step.a, a, place_of(step.a.at, a, names), 64, step.k)
        touched.append((a_at, a_at + 32 * 64 * step.k))
        engines.operands[a.name] = a_at
    # regions are known only when all steps were lowered: byte spans now, names when the program is complete
    found: _Found = [("WARPGROUP.ARRIVE", None)]
    for number in range(step.k):
        last = number == step.k - 1
        found.append(
            (
                "HGMMA",
                _Spans(Wgmma(step.n, step.a is None, a_at, b_at, step.commit and last), tuple(touched)),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class _Spans:
    """A wgmma with the bytes that it reads, until regions have names."""

    detail: Wgmma
    spans: tuple[tuple[int, int], ...]


def block_barrier(engines: Engines) -> list[Instruction]:
    """The barrier of the block beside engines: all warps, and what they know of copies is passed on."""
    name = "of the block"
    return [
        Instruction("SYNCS.BAR.ARV", detail=NamedArrive(name, engines.warps, True)),
        Instruction("SYNCS.BAR.SYNC", detail=NamedWait(name, engines.warps, True)),
    ]


def named(detail: object, engines: Engines) -> object:
    """The detail with the regions that it reads by name."""
    if not isinstance(detail, _Spans):
        return detail
    own = detail.detail
    reads = tuple(dict.fromkeys(name for span in detail.spans for name in engines.touching(*span)))
    return Wgmma(own.n, own.registers, own.a_at, own.b_at, own.commits, reads)


def _tma(engines: Engines, step: TmaStep, names: Mapping[str, int]) -> BulkCopy:
    buffer = buffer_of(step.buffer, engines.buffers)
    at = place_of(step.at, buffer, names)
    start, rows, row_bytes = check_box(step, buffer, at, step.swizzle or _swizzle_of(buffer))
    size = max(rows, 1) * row_bytes
    store = not isinstance(step, TmaLoadStep)
    region = engines.region(buffer, start, size)
    if store:
        engines.stores[region] = (start, size)
        return BulkCopy(size, start, True, "", rows, row_bytes, region)
    barrier = engines.barrier(step.barrier, step.stage, names)
    return BulkCopy(size, start, False, barrier, rows, row_bytes, region)


def _swizzle_of(buffer: PlacedBuffer) -> str:
    """The mode of a buffer whose layout is under one of the named swizzles, `none` for any other."""
    layout = buffer.layout
    if (
        not isinstance(layout, ComposeLayout)
        or layout.atom_len != 3
        or buffer.itemsize << layout.per_element != 16
    ):
        return "none"
    return {3: "128B", 2: "64B", 1: "32B"}.get(layout.swizzle_len, "none")


def _tma_load(engines: Engines, step: Any, names: Mapping[str, int]) -> _Found:
    return [("UTMALDG", _tma(engines, step, names))]


def _tma_store(engines: Engines, step: Any, names: Mapping[str, int]) -> _Found:
    return [("UTMASTG", _tma(engines, step, names))]


def _arrive(engines: Engines, step: Any, names: Mapping[str, int]) -> _Found:
    barrier = engines.barrier(step.barrier, step.stage, names)
    return [("SYNCS.ARRIVE", Arrive(barrier, step.expect, step.count, step.remote))]


def _await(engines: Engines, step: Any, names: Mapping[str, int]) -> _Found:
    barrier = engines.barrier(step.barrier, step.stage, names)
    return [("SYNCS.PHASECHK", PhaseWait(barrier, step.parity))]


def _cp_async(engines: Engines, step: Any, names: Mapping[str, int]) -> _Found:
    buffer = buffer_of(step.buffer, engines.buffers)
    stages = buffer.shape[0] if len(buffer.shape) > 2 else 1
    size = buffer.footprint // stages
    number = stage_of(step.stage, names)
    if not 0 <= number < stages:
        raise ScenarioError(f"stage {number}; buffer '{buffer.name}' has {stages}", key="stage")
    region = engines.region(buffer, buffer.base + number * size, size)
    first = [("LDGSTS", CpAsync(step.op, region, step.in_l1))]
    return first + [("LDGSTS", CpAsync(step.op, "", step.in_l1))] * (step.count - 1)


def _sync(engines: Engines, step: Any, names: Mapping[str, int]) -> _Found:
    arrive = ("SYNCS.BAR.ARV", NamedArrive(str(step.id), step.warps))
    return [arrive] if step.arrive else [arrive, ("SYNCS.BAR.SYNC", NamedWait(str(step.id), step.warps))]


def _cluster(engines: Engines, step: Any, names: Mapping[str, int]) -> _Found:
    return [("UBLKCP.S.S", ClusterCopy(step.bytes, engines.barrier(step.barrier, step.stage, names)))]


ENGINE_STEPS: dict[str, Callable[[Engines, Any, Mapping[str, int]], _Found]] = {
    "wgmma": _wgmma,
    "wait_wgmma": lambda engines, step, names: [("WARPGROUP.DEPBAR", GroupWait(step.pending))],
    "tma_load": _tma_load,
    "tma_store": _tma_store,
    "commit_stores": lambda engines, step, names: [("UTMACMDFLUSH", Commit(True))],
    "wait_stores": lambda engines, step, names: [
        ("UTMACMDFLUSH.WAIT", CopyWait(step.pending, step.read, True))
    ],
    "arrive": _arrive,
    "await": _await,
    "cp_async": _cp_async,
    "commit_copies": lambda engines, step, names: [("LDGDEPBAR", Commit(False))],
    "wait_copies": lambda engines, step, names: [("LDGDEPBAR.WAIT", CopyWait(step.pending, False, False))],
    "sync": _sync,
    "cluster_copy": _cluster,
}
"""Kind of step -> opcodes and details, given the engines, the step and the trip numbers of unrolled loops."""
