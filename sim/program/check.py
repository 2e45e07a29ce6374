"""What makes a program impossible to simulate, found before any time passes."""

from __future__ import annotations

from .types import Group, Instruction, ProgramError
from .vocabulary import Kind, kind_of, opcode_base

__all__ = ["check_group"]

_ALWAYS = frozenset({"PT", "UPT", "!PT", "!UPT", ""})


def check_group(group: Group, where: str) -> None:
    """Raise ProgramError for an unknown opcode, a slot without a pattern, a predicate that nothing sets, and so on.

    Registers and scoreboards that the code reads but never sets are accepted in code that a compiler scheduled:
    such code is cut out of a kernel, and the part before it may have set them.
    """
    set_predicates = {
        name for segment in group.segments for item in segment.code for name in item.dst if "P" in name
    }
    for segment in group.segments:
        for index, item in enumerate(segment.code):
            place = f"{where}, {segment.name}[{index}] ({item.op})"
            kind = kind_of(item.op)
            if kind is None:
                raise ProgramError(
                    f"{place}: unknown instruction {item.op!r}; its unit and rate are not known"
                )
            _memory(item, kind, group, place)
            if item.pred is not None and item.pred.lstrip("!") not in set_predicates | _ALWAYS:
                raise ProgramError(f"{place}: predicate {item.pred} is never written in this group")


def _memory(item: Instruction, kind: Kind, group: Group, place: str) -> None:
    memory = kind in (Kind.LOAD, Kind.STORE)
    if not memory:
        if item.slot is not None:
            raise ProgramError(f"{place}: slot {item.slot} on an instruction that accesses no memory")
        return
    if item.slot is None:
        raise ProgramError(f"{place}: a memory instruction needs a slot (which pattern it accesses)")
    pattern = group.patterns.get(item.slot)
    if pattern is None:
        known = ", ".join(group.patterns) or "none"
        raise ProgramError(f"{place}: slot {item.slot} has no pattern (patterns of the group: {known})")
    if opcode_base(pattern.op) != item.op.split(".", 1)[0]:
        raise ProgramError(
            f"{place}: slot {item.slot} is a {pattern.op} pattern, {item.op} does not perform it"
        )
    if _size(item.op) != pattern.op.removesuffix(".trans").rsplit(".", 1)[-1]:
        raise ProgramError(
            f"{place}: slot {item.slot} is a {pattern.op} pattern, {item.op} has another width"
        )


def _size(op: str) -> str:
    """What the name of an access pattern ends in that an opcode performs: bits a lane, or number of matrices.

    >>> [_size(op) for op in ("LDS", "STS.U16", "LDS.128", "LDSM.16.M88", "STSM.16.MT88.4")]
    ['32', '16', '128', 'x1', 'x4']
    """
    base, *modifiers = op.split(".")
    last = modifiers[-1] if modifiers else ""
    if base in ("LDSM", "STSM"):
        return f"x{last}" if last in ("2", "4") else "x1"
    size = last.removeprefix("U").removeprefix("S")
    return size if size in ("8", "16", "64", "128") else "32"
