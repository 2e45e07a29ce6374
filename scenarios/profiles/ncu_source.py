"""The source page: after each kernel's name a table with one row a machine instruction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .ncu_common import reading
from .numbers import Locale
from .rows import Row
from .values import Launch, Problem, Profile, SourceLine

_WANTED = {
    "Instructions Executed": "instructions",
    "L1 Wavefronts Shared": "wavefronts",
    "L1 Wavefronts Shared Ideal": "ideal_wavefronts",
    "L1 Wavefronts Shared Excessive": "excess_wavefronts",
    "L1 Conflicts Shared N-Way": "ways",
    "# Samples": "samples",
}


def is_header(cells: Sequence[str]) -> bool:
    """Whether this record starts a kernel of the source page, or heads its table."""
    return _names_kernel(cells) or _heads_table(cells)


def _names_kernel(cells: Sequence[str]) -> bool:
    return 2 <= len(cells) <= 4 and cells[0].strip() == "Kernel Name"


def _heads_table(cells: Sequence[str]) -> bool:
    return "Address" in cells and "Source" in cells and "Instructions Executed" in cells


def read(found: Iterable[Row | Problem], file: str, locale: Locale) -> Profile:
    """One launch a table; a table that repeats the one before it cell by cell is that table printed twice."""
    launches: list[Launch] = []
    problems: list[Problem] = []
    kernel, names = "", list[str]()
    lines: list[SourceLine] = []
    cells: list[list[str]] = []
    before: tuple[str, list[list[str]]] | None = None
    twice = 0

    def close() -> None:
        nonlocal before, twice, lines, cells
        if lines and before == (kernel, cells):
            twice += 1
            before = None  # a third copy would be a launch of its own again
        elif lines:
            launches.append(Launch(str(len(launches)), kernel, lines=tuple(lines)))
            before = (kernel, cells)
        lines, cells = [], []

    for row in found:
        if isinstance(row, Problem):
            problems.append(row)
        elif row.chatter:
            continue
        elif _names_kernel(row.cells):
            close()
            kernel, names = " ".join(row.cells[1].split()), []
        elif _heads_table(row.cells):
            if names:
                close()
            names = [cell.strip() for cell in row.cells]
        elif len(row.cells) != len(names) or not names:
            problems.append(
                Problem(row.line, f"{len(row.cells)} cells, the header has {len(names)}; left out")
            )
        else:
            lines.append(_line(dict(zip(names, row.cells, strict=True)), locale))
            cells.append(row.cells)
    close()
    notes = (f"{twice} tables are printed twice and count once",) if twice else ()
    return Profile(file, "Nsight Compute", "source", tuple(launches), tuple(problems), notes)


def _line(given: dict[str, str], locale: Locale) -> SourceLine:
    readings = {short: reading(given[name], "", locale) for name, short in _WANTED.items() if name in given}
    size = reading(given.get("Access Size", ""), "", locale).value
    return SourceLine(
        address=given["Address"].strip(),
        source=" ".join(given["Source"].split()),
        space=given.get("Access Space", given.get("Address Space", "")).strip(),
        operation=given.get("Access Operation", "").strip(),
        bits=None if size is None else int(size),
        readings=readings,
    )
