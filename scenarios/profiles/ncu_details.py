"""The details page and the long form: one row a metric, with the remarks of rules between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .ncu_common import has_launch_columns, launch_of, reading
from .numbers import Locale
from .rows import Row
from .values import Launch, Problem, Profile, Reading, Rule


def is_header(cells: Sequence[str]) -> bool:
    """Whether this record heads a table of one metric a row."""
    return has_launch_columns(cells) and "Metric Name" in cells and "Metric Value" in cells


def read(found: Iterable[Row | Problem], file: str, locale: Locale) -> Profile:
    """Launches in the order in which they first appear; metrics of one name keep the first value."""
    launches: dict[tuple[str, str], Launch] = {}
    metrics: dict[tuple[str, str], dict[str, Reading]] = {}
    rules: dict[tuple[str, str], list[Rule]] = {}
    problems: list[Problem] = []
    names: list[str] = []
    for row in found:
        if isinstance(row, Problem):
            problems.append(row)
            continue
        if row.chatter:
            continue
        if is_header(row.cells):
            names = [cell.strip() for cell in row.cells]
            continue
        given = dict(zip(names, row.cells, strict=False))
        name = given.get("Metric Name", "").strip()
        # Rows of metrics end behind the value; the columns of rules are not written for them.
        needed = names.index("Metric Value") + 1 if name else len(names)
        if len(row.cells) < needed or len(row.cells) > len(names):
            problems.append(
                Problem(row.line, f"{len(row.cells)} cells, at least {needed} are needed; left out")
            )
            continue
        if not given["ID"].strip().isdigit():
            problems.append(Problem(row.line, f"ID {given['ID'][:20]!r} is no number; the row is left out"))
            continue
        key = (given.get("Process ID", ""), given["ID"])
        if key not in launches:
            launches[key], metrics[key], rules[key] = launch_of(given), {}, []
        if name:
            metrics[key].setdefault(
                name, reading(given["Metric Value"], given.get("Metric Unit", ""), locale)
            )
        elif given.get("Rule Name", "").strip():
            rules[key].append(
                Rule(
                    given["Rule Name"].strip(), given.get("Rule Type", ""), given.get("Rule Description", "")
                )
            )
    done = tuple(
        replace(launch, metrics=metrics[key], rules=tuple(rules[key])) for key, launch in launches.items()
    )
    return Profile(file, "Nsight Compute", "details", done, tuple(problems))
