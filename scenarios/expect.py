"""Expectations of a scenario against what was counted: one sentence for each that does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..sim.chip import Chip
from .counted import CountedAccess

if TYPE_CHECKING:
    from .model import Expect
    from .model_access import AccessExpect


def check_access(item: CountedAccess, expect: AccessExpect, chip: Chip, place: str) -> list[str]:
    """Broken expectations of one access; none for an access whose answer is unknown (that is said elsewhere)."""
    if not item.known:
        return []
    found: dict[str, int] = {
        name: item.total(name)
        for name in ("wavefronts", "ideal_wavefronts", "excess_wavefronts", "bank_conflicts")
    }
    found["worst_ways"] = item.worst_ways
    found["instructions"] = item.executed
    broken = _compare(found, expect.model_dump(exclude={"banks"}, exclude_none=True), item.access.name, place)
    if expect.banks is not None:
        banks = touched_banks(item, chip)
        if banks != sorted(set(expect.banks)):
            broken.append(
                _line(place, item.access.name, "banks", banks, f"expected {sorted(set(expect.banks))}")
            )
    return broken


def check_totals(totals: Mapping[str, float], expect: Expect, place: str) -> list[str]:
    """Broken limits on the sums over all accesses; fields of other sections are left to them."""
    limits = {
        name: limit
        for name, limit in expect.model_dump(exclude_none=True).items()
        if name.removeprefix("max_") in totals
    }
    return _compare(totals, limits, "all accesses", place)


def touched_banks(item: CountedAccess, chip: Chip) -> list[int]:
    """The banks that an access touches, ascending."""
    banks, bank_bytes = int(chip["shared_memory.banks"]), int(chip["shared_memory.bank_bytes"])
    width = item.access.width
    starts = item.access.offsets[item.access.active]
    words = np.unique((starts[:, None] + np.arange(0, width, min(bank_bytes, width))) // bank_bytes)
    return sorted({int(word) % banks for word in words})


def _compare(found: Mapping[str, float], expected: Mapping[str, int], name: str, place: str) -> list[str]:
    broken: list[str] = []
    for key, limit in expected.items():
        value = found[key.removeprefix("max_")]
        if key.startswith("max_") and value > limit:
            broken.append(_line(place, name, key.removeprefix("max_"), value, f"at most {limit:,}"))
        elif not key.startswith("max_") and value != limit:
            broken.append(_line(place, name, key, value, f"expected {limit:,}"))
    return broken


def _line(place: str, name: str, what: str, value: object, limit: str) -> str:
    shown = f"{value:,}" if isinstance(value, int | float) else str(value)
    return f"{place}: {name}: {what.replace('_', ' ')} {shown}, {limit}"
