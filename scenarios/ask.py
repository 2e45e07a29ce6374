"""Answering one question of the command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..layouts import LayoutError
from ..sim.chip import Chip
from .counted import CountedAccess, count_access
from .errors import ScenarioError
from .question import Question

_MODES = ("32B", "64B", "128B")


@dataclass(frozen=True, slots=True)
class Answer:
    """A counted access, what was taken where nothing was said, and the named swizzle that would help ("" if none)."""

    counted: CountedAccess
    chip: Chip
    note: str
    hint: str

    def as_json(self) -> dict[str, Any]:
        """The answer as plain JSON values; unknown numbers are null."""
        item = self.counted
        names = ("wavefronts", "bank_conflicts", "ideal_wavefronts", "excess_wavefronts", "floor_wavefronts")
        numbers: dict[str, Any] = {name: item.total(name) if item.known else None for name in names}
        return {
            **numbers,
            "worst_ways": item.worst_ways if item.known else None,
            "instructions": len(item.access),
            "op": item.access.op,
            "width_bytes": item.access.width,
            "variant": item.access.variant,
            "chip": self.chip.name,
            "status": item.status,
            "reasons": list(item.counts.reasons),
            "assumptions": list(item.counts.assumptions),
            "meetings": [meeting.as_json() for meeting in item.meetings()],
            "note": self.note,
            "hint": self.hint,
        }


def ask(question: Question, chip: Chip) -> Answer:
    """Counts the access of a question; with excess it also tries the three named swizzles."""
    access, note = question.lower(chip)
    counted = count_access(access, chip)
    return Answer(counted, chip, note, _hint(question, counted, chip))


def _hint(question: Question, counted: CountedAccess, chip: Chip) -> str:
    """`with --swizzle 128B: 1`, for the mode that takes the fewest wavefronts, if one takes fewer."""
    if not counted.known or not counted.total("excess_wavefronts") or counted.access.buffer is None:
        return ""
    if question.swizzle != "none":
        return ""
    best, wavefronts = "", counted.total("wavefronts")
    for mode in _MODES:
        try:
            other = count_access(replace(question, swizzle=mode).lower(chip)[0], chip)
        except (ScenarioError, LayoutError):
            continue  # this mode does not fit the layout, or breaks the alignment of the access
        if other.total("wavefronts") < wavefronts:
            best, wavefronts = mode, other.total("wavefronts")
    return f"with --swizzle {best}: {wavefronts:,}" if best else ""
