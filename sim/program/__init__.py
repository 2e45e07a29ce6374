"""Machine-level programs: the instructions that the warps of one thread block execute."""

from .dependences import scheduled
from .reader import parse_program, read_programs, read_rows
from .types import Group, Instruction, Pattern, Program, ProgramError, Segment
from .vocabulary import ACCESS_OPS, Kind, Unit, kind_of, registers_of

__all__ = [
    "ACCESS_OPS",
    "Group",
    "Instruction",
    "Kind",
    "Pattern",
    "Program",
    "ProgramError",
    "Segment",
    "Unit",
    "kind_of",
    "parse_program",
    "read_programs",
    "read_rows",
    "registers_of",
    "scheduled",
]
