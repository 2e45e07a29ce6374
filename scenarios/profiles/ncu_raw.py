"""The raw page: one row a launch, one column a metric, a row of units below the header."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .ncu_common import LAUNCH_COLUMNS, has_launch_columns, launch_of, reading
from .numbers import Locale
from .rows import Row
from .values import Launch, Problem, Profile, Reading

_MOST_POOL = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Columns(Mapping[str, Reading]):
    """The metrics of one row; a cell becomes a `Reading` when it is asked for, since a launch has thousands."""

    index: Mapping[str, int]
    cells: Sequence[str]
    units: Sequence[str]
    locale: Locale

    def __getitem__(self, name: str) -> Reading:
        if name in LAUNCH_COLUMNS:
            raise KeyError(name)
        at = self.index[name]
        return reading(self.cells[at], self.units[at] if self.units else "", self.locale)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.index if name not in LAUNCH_COLUMNS)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def is_header(cells: Sequence[str]) -> bool:
    """Whether this record heads a raw page."""
    return has_launch_columns(cells) and "Metric Name" not in cells


def read(found: Iterable[Row | Problem], file: str, locale: Locale) -> Profile:
    """Launches of the records from the header on; a second header (exports joined into one file) starts anew."""
    launches: list[Launch] = []
    problems: list[Problem] = []
    names: list[str] = []
    units: list[str] = []
    index: dict[str, int] = {}
    pool: dict[str, str] = {}
    for row in found:
        if isinstance(row, Problem):
            problems.append(row)
            continue
        if row.chatter:
            continue
        if is_header(row.cells):
            names, units = [cell.strip() for cell in row.cells], []
            index = {name: at for at, name in enumerate(names)}
            continue
        if len(row.cells) != len(names):
            problems.append(_short(row, len(names)))
            continue
        key = row.cells[names.index("ID")].strip()
        if not key and not units:
            units = row.cells
            continue
        if not key.isdigit():
            problems.append(Problem(row.line, f"ID {key[:20]!r} is no number; the row is left out"))
            continue
        cells = [
            pool.setdefault(cell, cell) if len(cell) < 12 and len(pool) < _MOST_POOL else cell
            for cell in row.cells
        ]
        given = {name: cells[index[name]] for name in index if name in LAUNCH_COLUMNS}
        metrics = Columns(index, cells, units, locale)
        launches.append(replace(launch_of(given), metrics=metrics))
    return Profile(file, "Nsight Compute", "raw", tuple(launches), tuple(problems))


def _short(row: Row, columns: int) -> Problem:
    return Problem(row.line, f"{len(row.cells)} cells, the header has {columns}; the row is left out")
