"""Missing synchronisation: pairs of instructions that touch the same bytes and that nothing puts in order.

Order comes from one pipe's own sequence, from flags (a set covers everything that its pipe did before) and from
barriers. It is followed with vector clocks, so a pair is found even when the cycles of this run happen to be harmless.
Two kinds of pairs on one pipe need a barrier as well: overlapping destinations of MTE2 or MTE3, and short
accumulations into one L0C tile (both documented).
"""

from __future__ import annotations

from dataclasses import dataclass

from .core import Core
from .program import ALL, BARRIER, EXECUTE, PIPES, SET, WAIT, Op, Program, Span

__all__ = ["Hazard", "find_hazards"]

_MOST = 50


@dataclass(frozen=True, slots=True)
class Hazard:
    """Two instructions (indices in the program) that meet in a buffer without an order between them."""

    first: int
    second: int
    kind: str
    buffer: str
    memory: str
    start: int
    end: int

    def sentence(self, program: Program) -> str:
        """The hazard in one line, with what would put it right."""
        a, b = program.ops[self.first], program.ops[self.second]
        source, target = PIPES[a.pipe], PIPES[b.pipe]
        if source == target:
            fix = f"a barrier {source} between them"
        else:
            fix = f"a flag {source}->{target} between them"
        verbs = {"read after write": "reads what", "write after read": "overwrites what"}
        verb = verbs.get(self.kind, "writes what")
        other = {"read after write": "still writes", "write after read": "still reads"}.get(
            self.kind, "still writes"
        )
        return (
            f"{self.kind}: {program.describe(self.second)} {verb} {program.describe(self.first)} {other} "
            f"({self.buffer}, {self.memory} {self.start:#x}..{self.end:#x}); {fix} is missing"
        )


@dataclass(slots=True)
class _Use:
    span: Span
    writer: tuple[int, int, int] | None  # (pipe, sequence number on it, index)
    readers: dict[int, tuple[int, int]]


def find_hazards(program: Program, core: Core, most: int = _MOST) -> list[Hazard]:
    """The first hazards of a program, one for each pair of instruction names and buffer, at most `most`."""
    count = len(PIPES)
    clocks = [[0] * count for _ in PIPES]  # clocks[q][p]: how many instructions of p are complete, as q knows
    issued = [0] * count
    flags: dict[tuple[int, int, int], list[int]] = {}
    uses: dict[str, dict[tuple[int, int], _Use]] = {}
    found: dict[tuple[str, str, str, str], Hazard] = {}
    small = core.chip.integer("cube.barrier_below") if core.chip.has("cube.barrier_below") else 0
    for index, op in enumerate(program.ops):
        pipe = op.pipe
        if op.kind == EXECUTE:
            issued[pipe] += 1
            if op.reads or op.writes:
                for hazard in _meetings(op, index, clocks[pipe], issued, uses, program, small):
                    names = (program.ops[hazard.first].name, op.name, hazard.kind, hazard.buffer)
                    if names not in found and len(found) < most:
                        found[names] = hazard
        elif op.kind == SET and op.flag is not None:
            known = clocks[pipe][:]
            known[pipe] = issued[pipe]
            flags[op.flag] = known
        elif op.kind == WAIT and op.flag is not None:
            known = flags.pop(op.flag, None)
            if known is not None:
                mine = clocks[pipe]
                clocks[pipe] = [max(a, b) for a, b in zip(mine, known, strict=True)]
        elif op.kind == BARRIER:
            if pipe == ALL:
                clocks = [issued[:] for _ in PIPES]
            else:
                clocks[pipe][pipe] = issued[pipe]
    return list(found.values())


def _meetings(
    op: Op,
    index: int,
    clock: list[int],
    issued: list[int],
    uses: dict[str, dict[tuple[int, int], _Use]],
    program: Program,
    small: int,
) -> list[Hazard]:
    pipe, mine = op.pipe, issued[op.pipe]
    hazards: list[Hazard] = []
    for write, spans in ((False, op.reads), (True, op.writes)):
        for span in spans:
            memory = uses.setdefault(span.memory, {})
            for (start, end), use in memory.items():
                if start >= span.end or span.start >= end:
                    continue
                if use.writer is not None and not _ordered(
                    use.writer[:2], pipe, clock, op, write, program, use, small
                ):
                    kind = "write after write" if write else "read after write"
                    hazards.append(_hazard(use.writer[2], index, kind, span, use.span))
                if write:
                    for other, (number, first) in use.readers.items():
                        if other != pipe and clock[other] < number and not op.unit:
                            hazards.append(_hazard(first, index, "write after read", span, use.span))
            key = (span.start, span.end)
            use = memory.get(key)
            if use is None:
                use = memory[key] = _Use(span, None, {})
            if write:
                use.writer = (pipe, mine, index)
                use.readers = {}
                # A write over several known pieces makes their older writers and readers history.
                for (start, end), other in memory.items():
                    if span.start <= start and end <= span.end and other is not use:
                        other.writer, other.readers = None, {}
            else:
                use.readers[pipe] = (mine, index)
    return hazards


def _ordered(
    writer: tuple[int, int],
    pipe: int,
    clock: list[int],
    op: Op,
    write: bool,
    program: Program,
    use: _Use,
    small: int,
) -> bool:
    source, number = writer
    if clock[source] >= number:
        return True
    if source != pipe:
        return bool(op.unit) and use.span.memory == "L0C"  # handed over by unit flags
    name = PIPES[pipe]
    if name in ("MTE2", "MTE3"):
        return not write
    if name == "M" and write and not op.opens:
        return (use.span.end - use.span.start) // 1024 >= small
    return True


def _hazard(first: int, second: int, kind: str, span: Span, other: Span) -> Hazard:
    return Hazard(
        first, second, kind, span.buffer, span.memory, max(span.start, other.start), min(span.end, other.end)
    )
