"""Pictures of counted accesses: wavefronts against the ideal, and a bank map of each access."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ..sim.chip import Chip
from ..sim.results import Picture
from .counted import CountedAccess
from .sentences import plural

_MOST_MAPS = 12


def access_pictures(counted: Sequence[CountedAccess], chip: Chip) -> tuple[Picture, ...]:
    """One bar chart of all accesses, then the bank map of the worst instruction of each (twelve at most)."""
    known = [item for item in counted if item.known]
    if not known:
        return ()
    by_excess = sorted(range(len(known)), key=lambda i: -known[i].total("excess_wavefronts"))
    worst = set(by_excess[:_MOST_MAPS])
    maps = [bank_map_picture(item, chip) for i, item in enumerate(known) if i in worst]
    return (_bars(known), *maps)


def _bars(counted: Sequence[CountedAccess]) -> Picture:
    ideal = [item.total("ideal_wavefronts") for item in counted]
    excess = [item.total("excess_wavefronts") for item in counted]
    said = "; ".join(
        f"{item.access.name}: {plural(i + e, 'wavefront')}, {e:,} of them excess"
        for item, i, e in zip(counted[:12], ideal, excess, strict=False)
    )
    return Picture(
        "wavefronts",
        "Wavefronts against ideal",
        f"Bars of wavefronts by access. {said}.",
        {"names": [item.access.name for item in counted], "ideal": ideal, "excess": excess},
    )


def bank_map_picture(item: CountedAccess, chip: Chip) -> Picture:
    """Line x bank map of the access's worst instruction; a cell is one word, with the lanes that touch it."""
    assert item.witness is not None
    banks, bank_bytes = int(chip["shared_memory.banks"]), int(chip["shared_memory.bank_bytes"])
    base = item.access.buffer.base if item.access.buffer else 0
    cells: dict[int, list[int]] = defaultdict(list)
    ways: dict[int, int] = {}
    for phase in item.witness.phases:
        for use in phase.banks:
            for word in use.words:
                index = word.offset // bank_bytes
                cells[index] += [lane for lane in word.lanes if lane not in cells[index]]
                ways[index] = max(ways.get(index, 0), use.ways)
    words = np.asarray(sorted(cells), dtype=np.int64)
    line = words // banks - base // (banks * bank_bytes)
    where = item.access.label(item.worst)
    meetings = item.meetings()
    what = "distinct words" if item.witness.operation.serves == "words" else "lanes"
    said = (
        f"up to {item.worst_ways} {what} meet in one bank, first on bank {meetings[0].bank}"
        if meetings
        else f"no two {what} meet in a bank within a phase"
    )
    return Picture(
        "bank_map",
        f"{item.access.name}: {where}",
        f"Map of lines and banks for {item.access.name} ({where}): {said}.",
        {
            "banks": banks,
            "bank_bytes": bank_bytes,
            "line": line.tolist(),
            "bank": (words % banks).tolist(),
            "ways": [ways[int(word)] for word in words],
            "lanes": [" ".join(map(str, cells[int(word)])) for word in words],
        },
    )
