"""What people read first: the answer in one line, and one sentence a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..sim.chip import Chip
from ..sim.memory import parse_op
from .counted import CountedAccess

if TYPE_CHECKING:
    from .ask import Answer

_MOST_REASONS = 5


def plural(count: int, noun: str) -> str:
    """`1 wavefront`, `1,024 wavefronts`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def headline(counted: Sequence[CountedAccess], chip: Chip) -> str:
    """The answer for all accesses together, in one line."""
    known = [item for item in counted if item.known]
    if not known:
        return f"unknown on {chip.name}"
    wavefronts = sum(item.total("wavefronts") for item in known)
    ideal = sum(item.total("ideal_wavefronts") for item in known)
    tail = (
        f" ({len(counted) - len(known)} of {len(counted)} accesses unknown)"
        if len(known) < len(counted)
        else ""
    )
    if wavefronts == ideal:
        return f"{plural(wavefronts, 'wavefront')}, the ideal: no excess on {chip.name}{tail}"
    worst = max(known, key=lambda item: item.total("excess_wavefronts"))
    text = f"{plural(wavefronts, 'wavefront')}, {ideal:,} ideal, {wavefronts - ideal:,} excess on {chip.name}"
    if len(known) == 1:
        return f"{text}: {worst.worst_ways}-way{tail}"
    return (
        f"{text}; worst: {worst.access.name} ({worst.total('wavefronts'):,} instead of "
        f"{worst.total('ideal_wavefronts'):,}, {worst.worst_ways}-way){tail}"
    )


def reasons(counted: Sequence[CountedAccess]) -> list[str]:
    """One sentence for each access with excess, the worst first, naming lanes and bank."""
    bad = [item for item in counted if item.known and item.total("excess_wavefronts")]
    bad.sort(key=lambda item: -item.total("excess_wavefronts"))
    lines = [f"{item.access.name}: {meeting_sentence(item)}" for item in bad[:_MOST_REASONS]]
    if len(bad) > _MOST_REASONS:
        lines.append(f"{len(bad) - _MOST_REASONS} more accesses have excess wavefronts; see the tables.")
    return lines


def meeting_sentence(item: CountedAccess) -> str:
    """`lanes 0, 1, 2, ... meet on bank 0 with 8 distinct words`: the fullest bank of the worst instruction."""
    meeting = max(item.meetings(), key=lambda m: m.ways)
    many = len(meeting.lanes) > 8
    lanes = ", ".join(map(str, meeting.lanes[: 6 if many else 8])) + (", ..." if many else "")
    if item.access.op == "atoms":
        return f"lanes {lanes} meet on bank {meeting.bank}; {_turns(item, meeting.ways)}"
    group = "" if meeting.phases == 1 else f" (phase {meeting.phase} of {meeting.phases})"
    return f"lanes {lanes} meet on bank {meeting.bank} with {meeting.ways} distinct words{group}"


def _turns(item: CountedAccess, ways: int) -> str:
    kind = parse_op(item.access.op, item.access.width, item.access.variant)
    if kind.serves == "loop":
        return (
            f"a loop of load and swap, in which one lane of a bank succeeds a round: {plural(ways, 'round')}"
        )
    return "atomics take one lane after the other"


def answer_line(answer: Answer) -> str:
    """The line of `bankbench count`: wavefronts, ideal, excess, who meets where, what would help, how it is known."""
    item, chip = answer.counted, answer.chip
    name = parse_op(item.access.op, item.access.width, item.access.variant).name
    tail = f"[{name} on {chip.name}, {item.status}]"
    if not item.known:
        return f"unknown: {'; '.join(item.counts.reasons)} {tail}"
    wavefronts, ideal = item.total("wavefronts"), item.total("ideal_wavefronts")
    many = f"{plural(len(item.access), 'instruction')}: " if len(item.access) > 1 else ""
    text = f"{many}{plural(wavefronts, 'wavefront')}, {ideal:,} ideal"
    if wavefronts > ideal:
        text += f", {wavefronts - ideal:,} excess ({item.worst_ways}-way): {meeting_sentence(item)}"
    else:
        text += ", no excess"
    for extra in (answer.hint, answer.note):
        text += f"; {extra}" if extra else ""
    if item.counts.assumptions:
        text += f"; assumed: {'; '.join(item.counts.assumptions)}"
    return f"{text} {tail}"
