"""mbarriers by phase, and the named barriers of a block, as warps and copies use them.

A phase of an mbarrier completes when its arrivals and the announced bytes have come. A wait names a parity: it passes
when the phase of that parity has completed, that is when the current phase has the other one; a fresh barrier
lets a wait for parity 1 pass. Each execution of a wait in a loop turns its parity, as a ring of stages does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..engine.clock import NEVER
from ..engine.state import Warp

__all__ = ["Arrive", "Clock", "Mbarrier", "NamedBarrier", "PhaseWait", "merge"]

Clock = dict[tuple[str, int], int]
"""What somebody knows to have happened: (kind, who) -> the last number of it."""


def merge(into: Clock, other: Clock) -> None:
    """Learn what another knows."""
    for key, number in other.items():
        if into.get(key, -1) < number:
            into[key] = number


@dataclass(frozen=True, slots=True)
class Arrive:
    """Detail of a SYNCS.ARRIVE: `count` arrivals, `expect` bytes announced; `remote`: in the other CTA of a cluster."""

    barrier: str
    expect: int = 0
    count: int = 1
    remote: bool = False


@dataclass(frozen=True, slots=True)
class PhaseWait:
    """Detail of a SYNCS.PHASECHK (try_wait in a loop): the first execution waits for `parity`, the next for the other.

    Waits with the same `ring` of one warp share the count of executions.
    """

    barrier: str
    parity: int = 0
    ring: str = ""


@dataclass(slots=True)
class Mbarrier:
    """State of one mbarrier. `count` arrivals complete a phase together with its bytes."""

    name: str
    count: int
    phase: int = 0
    pending: int = 0
    bytes: int = 0
    """Bytes announced and not yet come; negative when more came than were announced."""
    completed: int = 0
    """Cycle at which the last phase completed."""
    waiting: dict[int, Warp] = field(default_factory=dict)
    knows: Clock = field(default_factory=dict)
    """What those know that arrived in the current phase."""
    told: Clock = field(default_factory=dict)
    """What a wait for the last completed phase learns."""
    moved: int = 0
    announced: int = 0
    arrivals: int = 0

    def __post_init__(self) -> None:
        self.pending = self.count

    def arrive(self, count: int, expect: int, clock: Clock, now: int) -> bool:
        """Arrivals and announced bytes; whether the phase is complete."""
        self.pending -= count
        self.bytes += expect
        self.announced += expect
        self.arrivals += count
        merge(self.knows, clock)
        return self.complete(now)

    def came(self, amount: int, clock: Clock, now: int) -> bool:
        """Bytes of a copy came; whether the phase is complete."""
        self.bytes -= amount
        self.moved += amount
        merge(self.knows, clock)
        return self.complete(now)

    def complete(self, now: int) -> bool:
        """Go on to the next phase when nothing is missing."""
        if self.pending > 0 or self.bytes:
            return False
        self.phase += 1
        self.pending += self.count
        self.completed = now
        self.told = self.knows
        self.knows = dict(self.told)
        return True

    def missing(self) -> str:
        """What the current phase still needs.

        >>> barrier = Mbarrier("full[0]", 1)
        >>> barrier.arrive(1, 49152, {}, 0), barrier.came(32768, {}, 400)
        (False, False)
        >>> barrier.missing()
        'phase 0 of mbarrier full[0] lacks 16384 of 49152 announced bytes'
        """
        parts: list[str] = []
        if self.pending > 0:
            parts.append(f"{self.pending} of {self.count} arrivals")
        if self.bytes > 0:
            parts.append(f"{self.bytes} of {self.announced} announced bytes")
        if self.bytes < 0:
            parts.append(f"an announcement of {-self.bytes} bytes that came")
        return f"phase {self.phase} of mbarrier {self.name} lacks {' and '.join(parts) or 'nothing'}"

    def state(self, now: int) -> tuple[object, ...]:
        """All that its future depends on."""
        return (self.phase & 1, self.phase > 0, self.pending, self.bytes, max(self.completed - now, -256))


@dataclass(slots=True)
class NamedBarrier:
    """bar.sync and bar.arrive with a number and a count of warps.

    As at the barrier of the block (`engine/barrier.py`), arrivals are processed one after the other, `step` cycles each
    and `first` cycles after their issue at the earliest; `last` cycles after the last one all go on.
    """

    number: str
    warps: int
    first: int
    step: int
    last: int
    arrived: int = 0
    round: int = 0
    free: int = 0
    """When the arrivals so far have been processed."""
    release: int = 0
    waiting: dict[int, Warp] = field(default_factory=dict)
    knows: Clock = field(default_factory=dict)
    told: Clock = field(default_factory=dict)

    def arrive(self, clock: Clock, now: int) -> bool:
        """One warp arrives; whether it was the last."""
        self.arrived += 1
        self.free = max(self.free, now + self.first) + self.step
        merge(self.knows, clock)
        if self.arrived < self.warps:
            return False
        self.arrived = 0
        self.round += 1
        self.release = self.free + self.last
        self.told = self.knows
        self.knows = dict(self.told)
        return True

    def until(self, round_: int) -> int:
        """From when a warp that arrived in this round may go on."""
        return self.release if self.round > round_ else NEVER

    def state(self, now: int) -> tuple[object, ...]:
        """All that its future depends on."""
        return (self.arrived, max(self.free - now, 0), max(self.release - now, -64))
