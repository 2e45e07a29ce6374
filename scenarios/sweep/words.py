"""How results of a sweep are called, with their units."""

from __future__ import annotations

from typing import Any

DOCS = {
    "point": ("", "number of the point: the same for the same sweep, however it is run"),
    "wavefronts": ("", "of all accesses together"),
    "ideal_wavefronts": ("", "the fewest that these widths, masks and pairings can take"),
    "excess_wavefronts": ("", "wavefronts above the ideal"),
    "bank_conflicts": ("", "what the hardware's bank-conflict counter shows"),
    "worst_ways": ("", "the most distinct words in one bank of one group of lanes"),
    "instructions": ("", "warp instructions"),
    "bytes": ("bytes", "footprint of all buffers, padding counted"),
    "cycles": ("cycles", "simulated time"),
    "status": ("", "how the rules are known: measured, documented, assumed, unknown"),
    "error": ("", "why this point has no result"),
}


def words(name: str) -> str:
    """`excess wavefronts` for excess_wavefronts."""
    return name.replace("_", " ")


def heading(name: str) -> str:
    """A result's name with its unit."""
    unit = DOCS.get(name, ("", ""))[0]
    return f"{words(name)} ({unit})" if unit and unit != name else words(name)


def number(value: Any) -> str:
    """A number with thousands separators, fractions to four places."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"
