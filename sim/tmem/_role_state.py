"""The state of a role while its program runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from .happens import Clock, Footprint, Track
from .program import Role, Step

__all__ = ["Ready", "RoleState"]


@dataclass(slots=True)
class RoleState:
    """State of a role: what it knows, what it may rely on for tcgen05, and its own asynchronous work."""

    role: Role
    known: Clock = field(default_factory=dict[Track, int])
    fenced: Clock = field(default_factory=dict[Track, int])
    told: Clock = field(default_factory=dict[Track, int])
    issued: Clock = field(default_factory=dict[Track, int])
    done_at: dict[str, float] = field(default_factory=dict[str, float])
    waited: dict[str, int] = field(default_factory=dict[str, int])
    ready: dict[int, Ready] = field(default_factory=dict[int, "Ready"])
    since_commit: int = 0
    cause: str = ""
    finished: bool = False
    at: Step | None = None
    time: float = 0.0


@dataclass(slots=True, eq=False)
class Ready:
    """A step with everything that does not change from one execution to the next."""

    step: Step
    row: str
    busy: float
    latency: float
    track: Track
    text: str
    footprint: Footprint
