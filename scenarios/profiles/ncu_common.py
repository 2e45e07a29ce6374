"""What the pages of Nsight Compute share: the columns that tell launches apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .numbers import Locale, base_unit
from .values import Launch, Reading

_ID_COLUMNS = ("ID", "Kernel Name")
LAUNCH_COLUMNS = frozenset(
    [
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream"),
        *("Block Size", "Grid Size", "Device", "CC", "Invocations"),
    ]
)


def has_launch_columns(cells: Sequence[str]) -> bool:
    """Whether a record heads a table of launches."""
    names = {cell.strip() for cell in cells}
    return names.issuperset(_ID_COLUMNS)


def launch_of(row: Mapping[str, str]) -> Launch:
    """A launch without metrics, from the columns that every row repeats."""
    return Launch(
        key=row.get("ID", "").strip(),
        kernel=" ".join(row.get("Kernel Name", "").split()),
        block=row.get("Block Size", "").strip(),
        grid=row.get("Grid Size", "").strip(),
        device=row.get("CC", "").strip(),
    )


def reading(text: str, unit: str, locale: Locale) -> Reading:
    """A cell as a reading in its base unit; text that is no number is kept as text with the value None."""
    unit, factor = base_unit(unit.strip())
    try:
        value = locale.read(text)
    except ValueError:
        value = None
    if value is None:
        return Reading(None, unit, text.strip())
    return Reading(value * factor, unit, text.strip(), exact=factor == 1)
