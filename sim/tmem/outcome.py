"""What a simulated program of roles found."""

from __future__ import annotations

from dataclasses import dataclass

from .happens import Hazard

__all__ = ["Simulation", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time: a resource at work for an instruction, or a role waiting for a barrier."""

    row: str
    text: str
    start: float
    end: float
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a run found: cycles, busy cycles of every resource, waits of every role by cause, hazards.

    `idle` splits the cycles between the first and the last product in which the tensor pipe had nothing to do, by what
    the issuing role had waited for.

    `steps` counts executed steps, `products` the products among them; `spans` holds the first 20,000 for a timeline.
    `rests_on` are the paths of the constants that the time depends on.
    """

    program: str
    cycles: float
    busy: dict[str, float]
    waits: dict[tuple[str, str], float]
    idle: dict[str, float]
    ends: dict[str, float]
    steps: int
    products: int
    hazards: tuple[Hazard, ...]
    spans: tuple[Span, ...]
    rests_on: tuple[str, ...]

    @property
    def critical(self) -> str:
        """The resource that is busy for most of the time."""
        return max(self.busy, key=lambda name: self.busy[name]) if self.busy else ""

    def share(self, resource: str) -> float:
        """Part of the time that a resource is busy."""
        return self.busy.get(resource, 0.0) / self.cycles if self.cycles else 0.0
