"""What an export holds, as plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric of one launch: the number (None where the profiler gave none), its unit, and the text as it stood.

    `exact` is false when the profiler had scaled and rounded the number (`1.05 Mbyte`); `--print-units base` avoids it.
    """

    value: float | None
    unit: str = ""
    text: str = ""
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the details page that had something to say."""

    name: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A row of the source page: one machine instruction and its own counters, summed over the launch."""

    address: str
    source: str
    space: str
    operation: str
    bits: int | None
    readings: Mapping[str, Reading]


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel (msprof: one core of it) with everything that the export says about it."""

    key: str
    kernel: str
    block: str = ""
    grid: str = ""
    device: str = ""
    metrics: Mapping[str, Reading] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    lines: tuple[SourceLine, ...] = ()

    def matches(self, part: str) -> bool:
        """Whether `part` occurs in the kernel's name, without regard to spaces, case and casts of template arguments.

        >>> Launch("0", "void transpose<(int)32, (bool)0>(const float *)").matches("transpose<32,0>")
        True
        """
        return plain_name(part) in plain_name(self.kernel)


@dataclass(frozen=True, slots=True)
class Problem:
    """A row that could not be read, and why."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Profile:
    """A read export: which tool and page, its launches in order, and the rows that could not be read."""

    file: str
    tool: str
    page: str
    launches: tuple[Launch, ...]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    def select(self, part: str) -> tuple[Launch, ...]:
        """The launches whose kernel's name contains `part`."""
        return tuple(launch for launch in self.launches if launch.matches(part))


_CAST = re.compile(r"\((?:unsigned )?(?:int|bool|char|short|long|unsigned|size_t|unsigned long|long long)\)")


def plain_name(name: str) -> str:
    """A kernel's name without spaces, case, and the casts that only some pages print; true and false as 1 and 0."""
    text = re.sub(r"\btrue\b", "1", re.sub(r"\bfalse\b", "0", _CAST.sub("", name)))
    return "".join(text.split()).lower()
