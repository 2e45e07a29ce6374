"""The opcodes that a machine-level program may use, and which unit of an SM partition each one keeps busy.

The sets are those of the SASS that the open H200 programs consist of; an opcode outside them is an error, since
its unit and its rate would be a guess.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ACCESS_OPS", "Kind", "Unit", "kind_of", "registers_of"]


class Kind(IntEnum):
    """What an instruction is to the issue stage."""

    LOAD = 0
    STORE = 1
    BARRIER = 2
    BRANCH = 3
    TENSOR = 4
    ALU = 5
    IMAD = 6
    FMA = 7
    NOP = 8
    OTHER = 9
    AGENT = 10


class Unit(IntEnum):
    """What a partition can run out of: index of its list of times at which each is free again."""

    NONE = 0
    ALU = 1
    IMAD = 2
    TENSOR = 3
    QUEUE = 4


_MOVES = frozenset({"MOV", "SEL", "PRMT", "R2UR"})
_INTEGER = frozenset({"IADD3", "VIADD", "LOP3", "LOP", "LEA", "SHF", "IMNMX", "VIADDMNMX", "IABS"})
_COMPARE = frozenset({"ISETP", "FSETP", "PLOP3", "FMNMX"})
_ALU = _MOVES | _INTEGER | _COMPARE
_FMA = frozenset({"FFMA", "FADD", "FMUL", "HFMA2", "HADD2", "HMUL2"})
_CONTROL = frozenset({"CS2R", "S2R", "S2UR", "WARPSYNC", "BSSY", "BSYNC", "DEPBAR", "EXIT"})
_UNIFORM = frozenset({"UMOV", "UIADD3", "ULOP3", "USHF", "UIMAD", "ULEA", "USEL", "ULDC"})
_OTHER = _CONTROL | _UNIFORM
# Carried out by something that is no warp: a copy engine, the asynchronous tensor core, an mbarrier unit.
_AGENT = frozenset(
    {
        "HGMMA",
        "LDC",
        "WARPGROUP",
        "UTMALDG",
        "UTMASTG",
        "UTMAREDG",
        "UTMACMDFLUSH",
        "UBLKCP",
        "SYNCS",
        "LDGSTS",
        "LDGDEPBAR",
    }
)
_MEMORY = {"LDS": Kind.LOAD, "LDSM": Kind.LOAD, "STS": Kind.STORE, "STSM": Kind.STORE}
_SINGLE = {
    "BAR": Kind.BARRIER,
    "BRA": Kind.BRANCH,
    "HMMA": Kind.TENSOR,
    "IMAD": Kind.IMAD,
    "NOP": Kind.NOP,
}

ACCESS_OPS = {
    f"{name}.{size}": (name, width, "")
    for name in ("lds", "sts")
    for size, width in (("8", 1), ("16", 2), ("32", 4), ("64", 8), ("128", 16))
} | {
    f"{name}.{count}{suffix}": (name, 16, f"{count}{suffix}")
    for name in ("ldmatrix", "stmatrix")
    for count in ("x1", "x2", "x4")
    for suffix in ("", ".trans")
}
"""Operation of an address pattern -> (operation, bytes a lane, variant) as the counting model wants them."""

_BASES = {"lds": "LDS", "sts": "STS", "ldmatrix": "LDSM", "stmatrix": "STSM"}


def kind_of(op: str) -> Kind | None:
    """Kind of a SASS opcode with its modifiers, None for an opcode that nobody described.

    >>> kind_of("IMAD.MOV.U32"), kind_of("LDS.128"), kind_of("FROB")
    (<Kind.IMAD: 6>, <Kind.LOAD: 0>, None)
    """
    base = op.split(".", 1)[0]
    if base in _MEMORY:
        return _MEMORY[base]
    if base in _SINGLE:
        return _SINGLE[base]
    if base in _ALU:
        return Kind.ALU
    if base in _FMA:
        return Kind.FMA
    if base in _AGENT:
        return Kind.AGENT
    return Kind.OTHER if base in _OTHER else None


def registers_of(access: str) -> int:
    """32-bit data registers a lane of one access: 1 up to 4 bytes, then width / 4; matrices 1 each.

    >>> [registers_of(op) for op in ("lds.16", "sts.128", "ldmatrix.x2.trans")]
    [1, 4, 2]
    """
    _, width, variant = ACCESS_OPS[access]
    return int(variant[1]) if variant else max(1, width // 4)


def opcode_base(access: str) -> str:
    """The SASS opcode that performs an access: `ldmatrix.x4` is an LDSM."""
    return _BASES[ACCESS_OPS[access][0]]
