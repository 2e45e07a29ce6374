"""Results as values: what a run hands to reports, free of any physics and of any file format.

A result holds tables (columns of numbers with units), pictures (a kind and the data to draw), and the
sentences that a reader needs: the headline, why, what was assumed, which limits broke and what is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _html

if TYPE_CHECKING:
    import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

__all__ = ["Column", "Picture", "RunResult", "Table"]


def _no_entries() -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its name, its unit ("" for a count or a name) and one sentence about it."""

    name: str
    unit: str
    doc: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table with documented columns; `data` maps every column name to a sequence, all of one length.

    >>> table = Table("conflicts", "Conflicts by access", (Column("wavefronts", "", "as counted"),),
    ...               {"wavefronts": [1, 8]})
    >>> len(table), list(table.rows())
    (2, [{'wavefronts': 1}, {'wavefronts': 8}])

    Raises ValueError when a column has no data, data has no column, or lengths differ.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    data: Mapping[str, Sequence[Any] | NDArray[Any]]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if sorted(names) != sorted(self.data):
            raise ValueError(f"table {self.name}: columns {names} but data {list(self.data)}")
        lengths = {name: len(self.data[name]) for name in names}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"table {self.name}: columns of different length {lengths}")

    def __len__(self) -> int:
        return len(self.data[self.columns[0].name]) if self.columns else 0

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries of plain Python values, in order."""
        names = [column.name for column in self.columns]
        plain = [_plain(self.data[name]) for name in names]
        return (dict(zip(names, values, strict=True)) for values in zip(*plain, strict=True))

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """The first rows as a piece of HTML, which notebooks show; all texts are escaped."""
        names = [f"{c.name} ({c.unit})" if c.unit else c.name for c in self.columns]
        first = [_plain(self.data[c.name][: _html.MOST_ROWS]) for c in self.columns]
        return _html.table(self.title, names, zip(*first, strict=True), len(self))

    def frame(self) -> pd.DataFrame:
        """The table as a pandas data frame (pandas is imported here and nowhere else)."""
        import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

        return pd.DataFrame({column.name: self.data[column.name] for column in self.columns})


@dataclass(frozen=True, slots=True)
class Picture:
    """Something to draw: `kind` names the way of drawing, `data` its numbers, `alt` says it in words."""

    kind: str
    title: str
    alt: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunResult:
    """All that one run of a scenario found.

    `status` is measured, documented, assumed or unknown: the weakest answer in the result. `reasons` are
    sentences for the reader in order of weight, `violations` the broken limits of the scenario, `unknowns`
    what could not be answered, `command` the command that reproduces the result, `inputs` the text of every
    input file by name.
    """

    name: str
    title: str
    chip: str
    chip_title: str
    status: str
    headline: str
    reasons: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    assumptions: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=_no_entries)
    inputs: Mapping[str, str] = field(default_factory=_no_entries)
    extra: Mapping[str, Any] = field(default_factory=_no_entries)

    @property
    def exit_code(self) -> int:
        """1 when a limit broke, else 3 when something is unknown, else 0."""
        if self.violations:
            return 1
        return 3 if self.unknowns else 0

    def _repr_html_(self) -> str:
        """Verdict, reasons and the tables of the terminal as HTML, for notebooks."""
        lines = [
            *self.reasons,
            *(f"broken limit: {line}" for line in self.violations),
            *(f"unknown: {line}" for line in self.unknowns),
            *(f"rests on: {line}" for line in self.assumptions),
            f"status: {self.status}; again with: {self.command}",
        ]
        wanted = {"accesses", "buffers", *self.extra.get("terminal", ())}
        shown = [table.html() for table in self.tables if table.name in wanted]
        return _html.fragment(self.headline, lines, shown)

    def table(self, name: str) -> Table:
        """The table of that name. Raises KeyError with the names that exist."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"no table {name!r}; tables: {[table.name for table in self.tables]}")


def _plain(values: Sequence[Any] | NDArray[Any]) -> list[Any]:
    if isinstance(values, np.ndarray):
        return values.tolist()
    return [value.item() if isinstance(value, np.generic) else value for value in values]
