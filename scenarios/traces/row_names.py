"""Names of the columns of row files, and how their small values are read."""

from __future__ import annotations

from typing import Any

LANE_COLUMNS = tuple(f"o{lane}" for lane in range(32))
NAMES = frozenset(["op", "width", "width_bytes", "variant", "mask", "offsets", "pc", "warp", *LANE_COLUMNS])

NO_OFFSETS = "no offsets; 1 to 32 are needed"


def plain_value(value: Any, name: str) -> Any:
    """One value of a plain column: numbers of any base as integers. Raises ValueError when it does not fit."""
    if value is None or name in ("op", "variant"):
        return value
    if isinstance(value, str):
        text = value.strip()
        if name == "pc" and not text[:1].isdigit():
            return text
        if len(text) > 40:
            raise ValueError(f"{name} {text[:20]}...: a whole number is needed")
        return int(text, 0) if text else None
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} {value!r}: a whole number is needed")
    return value


def opcode_head(op: Any) -> str:
    """The opcode without modifiers, as other instructions are counted."""
    return str(op).strip().split(".")[0].split(" ")[0][:40] or "(no op)"


def one_line(error: BaseException) -> str:
    """An error as one short line."""
    return " ".join(str(error).split())[:200]
