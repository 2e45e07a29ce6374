"""Numbers as people and locales write them: `1,048,576`, `1.048.576`, `59,04`, `1 048 576`, `n/a`, `3 (a: 1)`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

_NONE = {
    "",
    "-",
    "--",
    "n/a",
    "na",
    "nan",
    "-nan",
    "none",
    "null",
    "no data",
    "inf",
    "-inf",
    "not available",
    "(!) nan",
    "(!) n/a",
}
_SPACES = dict.fromkeys(map(ord, "\u00a0\u202f\u2009' "), None)
_PLAIN = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?|[+-]?\.\d+([eE][+-]?\d+)?")
_NUMBER = re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?")
_TAIL = re.compile(r"\s*[(;{].*$", re.S)
_COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_ADDRESS = re.compile(r"\d{1,3}(\.\d{1,3}){3}")  # of a host, not a number
_POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?")


@dataclass(frozen=True, slots=True)
class Locale:
    """Which sign separates the decimals; the other of `.` and `,` then groups thousands."""

    decimal: str = "."

    def read(self, text: str) -> float | None:
        """The number, None for the many ways to say that there is none. Raises ValueError for anything else.

        >>> Locale().read("1,048,576"), Locale(",").read("1.048,5"), Locale().read("n/a")
        (1048576.0, 1048.5, None)
        """
        if len(text) > 400:
            text = text[:400]
        text = text.strip()
        if text.lower() in _NONE:
            return None
        text = _TAIL.sub("", text) or text
        text = text.translate(_SPACES).removesuffix("%")
        group = "," if self.decimal == "." else "."
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"{text[:40]!r} is no number")
        if self._grouped(text, group):
            text = text.replace(group, "")
        text = text.replace(self.decimal, ".")
        if not _PLAIN.fullmatch(text):
            raise ValueError(f"{text[:40]!r} is no number")
        value = float(text)
        return value if math.isfinite(value) else None

    def _grouped(self, text: str, group: str) -> bool:
        return bool((_COMMA_GROUPS if group == "," else _POINT_GROUPS).fullmatch(text))


def locale_of(cells: Iterable[str], otherwise: str = ".") -> Locale:
    """The locale that the cells of a file speak for; `otherwise` for decimals when nothing decides.

    A number decides when only one reading is possible: two separators, a group that is not three digits long, or a
    repeated separator. `1,234` alone decides nothing.

    >>> locale_of(["7.424", "59,04"]).decimal, locale_of(["1,234"]).decimal
    (',', '.')
    """
    point = comma = 0
    for cell in cells:
        text = cell.strip().translate(_SPACES)
        if not text or not (text[0].isdigit() or text[0] in "+-") or not _NUMBER.fullmatch(text):
            continue
        points, commas = text.count("."), text.count(",")
        if points and commas:
            comma += text.rfind(",") > text.rfind(".")
            point += text.rfind(".") > text.rfind(",")
        elif commas > 1 or points > 1:
            if not _ADDRESS.fullmatch(text):
                point += bool(_COMMA_GROUPS.fullmatch(text))
                comma += bool(_POINT_GROUPS.fullmatch(text))
        elif commas and not _COMMA_GROUPS.fullmatch(text):
            comma += 1
        elif points and not _POINT_GROUPS.fullmatch(text):
            point += 1
    return Locale(otherwise if comma == point else "," if comma > point else ".")


_PREFIX = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_SCALED = ("byte", "second", "hz", "inst", "request", "sector", "cycle", "wavefront", "warp", "thread")


def base_unit(unit: str) -> tuple[str, float]:
    """(unit, factor): prefixes that the profiler puts before a unit are taken off (K is 1000, as it prints them).

    >>> base_unit("Kbyte"), base_unit("usecond"), base_unit("Gbyte/s"), base_unit("inst")
    (('byte', 1000.0), ('second', 1e-06), ('byte/s', 1000000000.0), ('inst', 1.0))
    """
    head, slash, rest = unit.partition("/")
    if len(head) > 1 and head[0] in _PREFIX and head[1:].lower().rstrip("s") in _SCALED:
        return head[1:].lower() + slash + rest, _PREFIX[head[0]]
    return unit, 1.0
