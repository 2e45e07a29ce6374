"""Instructions for the pipes of an AI Core, in the program order in which the scalar unit dispatches them.

An `Op` is immutable and shared by all its executions; a `Program` is a list of references to them, so that a loop of a
hundred thousand instructions costs a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import FlagError

__all__ = [
    "ALL",
    "BARRIER",
    "EXECUTE",
    "LEGAL_PAIRS",
    "NOWHERE",
    "PIPES",
    "SET",
    "WAIT",
    "Op",
    "Program",
    "Span",
    "Where",
    "barrier",
    "pipe_index",
    "set_flag",
    "wait_flag",
]

PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")
"""Pipes of a core: scalar, vector, cube, L1 -> L0, GM -> L1/UB, UB -> GM, L0C -> out."""
EXECUTE, SET, WAIT, BARRIER = 0, 1, 2, 3
ALL = -1
"""A barrier over all pipes."""

# (source, destination) pipes of flags; the cube side is documented for 2201, the vector side for every chip.
LEGAL_PAIRS = frozenset(
    (a, b)
    for a, targets in {
        "M": ("MTE1", "MTE2", "FIX", "S"),
        "MTE1": ("M", "MTE2", "MTE3", "FIX", "S"),
        "MTE2": ("M", "MTE1", "MTE3", "V", "S"),
        "MTE3": ("MTE1", "MTE2", "V", "S"),
        "FIX": ("M", "MTE1", "S"),
        "V": ("MTE2", "MTE3", "S"),
        "S": ("V", "M", "MTE1", "MTE2", "MTE3", "FIX"),
    }.items()
    for b in targets
)


def pipe_index(name: str) -> int:
    """Index of a pipe in `PIPES`. FlagError for another name."""
    if name not in PIPES:
        raise FlagError(f"no pipe {name!r}; pipes are {', '.join(PIPES)}")
    return PIPES.index(name)


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of a buffer that an instruction reads or writes: `[start, end)` in a memory, `buffer` for messages."""

    memory: str
    start: int
    end: int
    buffer: str


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One instruction: its pipe, what it does, how long it keeps the pipe busy and how long its result takes.

    `busy` and `tail` are cycles (see `Cost`). `flag` is (source pipe, destination pipe, event id) of a set or a wait.
    `unit` names an L0C slot that is handed over by unit flags, `opens` an Mmad that overwrites it, `closes` the Mmad
    after which FIX may read, or the FIX after which it may be overwritten.
    """

    pipe: int
    kind: int
    name: str
    busy: int = 0
    tail: int = 0
    flag: tuple[int, int, int] | None = None
    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()
    unit: str = ""
    opens: bool = False
    closes: bool = False
    path: str = ""
    valid: int = 0
    moved: int = 0
    work: float = 0.0


Where = tuple[tuple[str, ...], tuple[int, ...]]
"""Names and values of the loop variables of an instruction."""
NOWHERE: Where = ((), ())


@dataclass(slots=True)
class Program:
    """Instructions in program order. `where[i]` are the loop variables of instruction i, for messages."""

    ops: list[Op] = field(default_factory=list[Op])
    where: list[Where] = field(default_factory=list[Where])

    def add(self, op: Op, where: Where = NOWHERE) -> None:
        """Appends an instruction."""
        self.ops.append(op)
        self.where.append(where)

    def describe(self, index: int) -> str:
        """An instruction for a message: `#12 load A1 -> A2 (k=64)`."""
        place = ", ".join(f"{name}={value}" for name, value in zip(*self.where[index], strict=True))
        place = f" ({place})" if place else ""
        return f"#{index} {self.ops[index].name}{place}"

    def __len__(self) -> int:
        return len(self.ops)


def set_flag(source: str, target: str, event: int, ids: int = 8) -> Op:
    """SetFlag<source_target>(event). FlagError for an illegal pair of pipes or an id that the chip does not have."""
    flag = _flag(source, target, event, ids, "set_flag")
    return Op(flag[0], SET, f"set_flag {source}->{target} {event}", flag=flag)


def wait_flag(source: str, target: str, event: int, ids: int = 8) -> Op:
    """WaitFlag<source_target>(event): blocks the target pipe until the flag is set, then clears it."""
    flag = _flag(source, target, event, ids, "wait_flag")
    return Op(flag[1], WAIT, f"wait_flag {source}->{target} {event}", flag=flag)


def barrier(pipe: str) -> Op:
    """PipeBarrier: later instructions of the pipe start when its earlier ones are complete; "ALL" for every pipe."""
    if pipe == "ALL":
        return Op(ALL, BARRIER, "barrier ALL")
    if pipe == "S":
        raise FlagError("barrier S: the scalar unit has no barrier; use ALL or another pipe")
    return Op(pipe_index(pipe), BARRIER, f"barrier {pipe}")


def _flag(source: str, target: str, event: int, ids: int, what: str) -> tuple[int, int, int]:
    pair = (pipe_index(source), pipe_index(target))
    if (source, target) not in LEGAL_PAIRS:
        allowed = sorted(b for a, b in LEGAL_PAIRS if a == source)
        raise FlagError(
            f"{what} {source}->{target}: no such pair of pipes; from {source} to {', '.join(allowed)}"
        )
    if not 0 <= event < ids:
        raise FlagError(f"{what} {source}->{target}: event id {event}; this chip has ids 0 to {ids - 1}")
    return (*pair, event)
