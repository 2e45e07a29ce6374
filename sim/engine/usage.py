"""How busy every part of the machine was, and which one sets the pace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..program import Kind, Unit

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["Usage", "critical_resource", "usage_of"]

_FULL = 0.85


@dataclass(frozen=True, slots=True)
class Usage:
    """One part of the machine: busy cycles of all cycles, and what passed through it."""

    name: str
    busy: int
    cycles: int
    passed: int
    unit: str

    @property
    def share(self) -> float:
        """Busy share of the run, 0 to 1."""
        return self.busy / self.cycles if self.cycles else 0.0


def usage_of(machine: Machine, cycles: int) -> tuple[Usage, ...]:
    """The parts of the SM in the order of the way of an access. What each instruction costs is known beforehand."""
    timing = machine.timing
    rows: list[Usage] = []
    wavefronts = grants = 0
    lanes: Counter[int] = Counter()
    for partition in machine.partitions:
        number = partition.number
        sums: Counter[str] = Counter()
        for warp in machine.warps:
            if warp.partition != number:
                continue
            own: Counter[str] = Counter()
            for run in warp.runs:
                for op in run.ops():
                    own["instructions"] += run.trips
                    for unit in (Unit.ALU, Unit.IMAD, Unit.TENSOR):
                        own[unit.name] += run.trips * op.hold * (op.unit == unit)
                    if op.memory:
                        own["accesses"] += run.trips
                        own["transfer"] += run.trips * op.transfer
                        own["wavefronts"] += run.trips * op.wavefronts
                        own["grants"] += run.trips * max(1, timing.store_bus * op.data)
            lanes[warp.id] = own["wavefronts"]
            sums += own
        wavefronts += sums["wavefronts"]
        grants += sums["grants"]
        of = f"of partition {number}"
        rows += [
            Usage(f"issue slot {of}", sums["instructions"], cycles, sums["instructions"], "instructions"),
            Usage(
                f"integer unit {of}",
                sums["ALU"],
                cycles,
                sums["ALU"] // timing.hold[Kind.ALU],
                "instructions",
            ),
            Usage(
                f"multiply-add unit {of}",
                sums["IMAD"],
                cycles,
                sums["IMAD"] // timing.hold[Kind.IMAD],
                "instructions",
            ),
            Usage(
                f"tensor unit {of}",
                sums["TENSOR"],
                cycles,
                sums["TENSOR"] // timing.hold[Kind.TENSOR],
                "instructions",
            ),
            Usage(
                f"memory port {of}",
                sums["transfer"] + partition.port.stolen,
                cycles,
                sums["accesses"],
                "accesses",
            ),
            Usage(
                f"return port {of}",
                machine.returns.busy[number],
                cycles,
                machine.returns.busy[number],
                "cycles",
            ),
        ]
    rows.append(Usage("slot arbiter", grants, cycles, grants, "cycles"))
    rows.append(Usage("shared-memory data path", wavefronts, cycles, wavefronts, "wavefronts"))
    if lanes:
        busiest, most = max(lanes.items(), key=lambda item: (item[1], -item[0]))
        rows.append(Usage(f"lane of warp {busiest}", most * timing.wavefront, cycles, most, "wavefronts"))
    return tuple(rows)


def critical_resource(usage: tuple[Usage, ...], stalls: dict[str, int]) -> str:
    """One sentence: the part that sets the pace, or what the warps wait for when no part is full."""
    if not usage:
        return "Nothing was executed."
    path = next(row for row in usage if row.name == "shared-memory data path")
    busiest = max(usage, key=lambda row: row.share)
    if path.share >= _FULL:
        busiest = path
    if busiest.share >= _FULL:
        return (
            f"The {busiest.name} sets the pace: busy {busiest.share:.0%} of {busiest.cycles:,} cycles "
            f"with {busiest.passed:,} {busiest.unit}."
        )
    total = sum(stalls.values())
    most = max(stalls, key=lambda reason: stalls[reason], default="")
    if not total:
        return (
            f"The stall counts of the code set the pace; no part of the SM is full "
            f"(busiest: {busiest.name}, {busiest.share:.0%})."
        )
    return (
        f"No part of the SM is full (busiest: {busiest.name}, {busiest.share:.0%}); "
        f"warps wait most for: {most} ({stalls[most] / total:.0%} of {total:,} warp cycles waited)."
    )
