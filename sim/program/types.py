"""Machine-level programs as values: what each warp of one thread block executes, instruction by instruction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Group", "Instruction", "Pattern", "Program", "ProgramError", "Segment"]

SCOREBOARDS = 6


def _no_patterns() -> Mapping[str, Pattern]:
    return {}


class ProgramError(ValueError):
    """A program that cannot be simulated; the message names the place: `p001: group 0, loop[3] (FROB): ...`."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction.

    `stall` is the number of cycles to the warp's next issue that the compiler encoded. `sets` and `sets_read` are
    the scoreboards that the result and the read of the sources release, `waits` those that must be at zero before
    it issues. `slot` names the address pattern of a memory instruction, `detail` what an agent has to know about one of
    its instructions.
    """

    op: str
    dst: tuple[str, ...] = ()
    src: tuple[str, ...] = ()
    stall: int = 1
    sets: int | None = None
    sets_read: int | None = None
    waits: tuple[int, ...] = ()
    pred: str | None = None
    slot: str | None = None
    stamp: bool = False
    detail: object = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """Addresses of one access: operation such as `lds.128` and 32 byte offsets into shared memory, one a lane.

    `mask` has a bit for each active lane (matrix instructions: for each lane that supplies a row address).
    """

    op: str
    offsets: tuple[int, ...]
    name: str = ""
    mask: int = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Segment:
    """Straight code that a warp executes `trips` times before it goes on to the next segment."""

    name: str
    code: tuple[Instruction, ...]
    trips: int = 1


@dataclass(frozen=True, slots=True)
class Group:
    """Warps with consecutive ids that execute the same segments."""

    warps: int
    segments: tuple[Segment, ...]
    patterns: Mapping[str, Pattern] = field(default_factory=_no_patterns)
    name: str = ""

    @property
    def idle(self) -> bool:
        """Whether its warps execute nothing and only take up warp ids."""
        return not any(segment.code and segment.trips for segment in self.segments)

    @property
    def instructions(self) -> int:
        """Instructions that one warp of the group issues, all trips included."""
        return sum(len(segment.code) * segment.trips for segment in self.segments)


@dataclass(frozen=True, slots=True)
class Program:
    """The instructions of one thread block that runs alone on one SM.

    Groups take consecutive warp ids: the first has warps 0 .. n-1. Warp w runs on partition w mod 4.
    """

    name: str
    groups: tuple[Group, ...]
    title: str = ""

    @property
    def warps(self) -> int:
        """Warps of the block, idle ones included."""
        return sum(group.warps for group in self.groups)

    @property
    def instructions(self) -> int:
        """Warp instructions that the whole block issues."""
        return sum(group.warps * group.instructions for group in self.groups)

    def places(self) -> Iterator[tuple[int, Segment, int, Instruction]]:
        """Every instruction of the code with group number, segment and index."""
        for number, group in enumerate(self.groups):
            for segment in group.segments:
                for index, instruction in enumerate(segment.code):
                    yield number, segment, index, instruction
