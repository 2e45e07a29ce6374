"""The state of a role and of a resource while a program runs. Clocks are never changed in place, so they are shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ._barriers import Bar
from .happens import Clock, Footprint, Track
from .program import Role, Step

__all__ = ["Ready", "RoleState", "Row"]


@dataclass(slots=True, eq=False)
class RoleState:
    """State of a role: what it knows, what it may rely on for tcgen05, and its own asynchronous work.

    `resume` continues the role after something that it waited for.
    """

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
    resume: Callable[[], object] = lambda: None
    loads: Track = ("", "ld")
    stores: Track = ("", "st")
    tensor: Track = ("", "tc")

    def __post_init__(self) -> None:
        name = self.role.name
        self.loads, self.stores, self.tensor = (name, "ld"), (name, "st"), (name, "tc")


@dataclass(slots=True, eq=False)
class Row:
    """A resource: the role that used it first, whether others do too, when it is free, and its busy cycles."""

    name: str
    owner: str
    shared: bool = False
    free: float = -1.0
    busy: float = 0.0


@dataclass(slots=True, eq=False)
class Ready:
    """A step with everything that does not change from one execution to the next.

    `row`, `busy` and `latency` belong to asynchronous work, `bar` to steps that name a barrier, `cycles` to those that
    the role executes itself, `text` is left out where no spans are recorded.
    """

    step: Step
    op: str
    track: Track
    text: str
    footprint: Footprint | None
    bar: Bar | None = None
    row: Row | None = None
    busy: float = 0.0
    latency: float = 0.0
    cycles: float = 0.0
