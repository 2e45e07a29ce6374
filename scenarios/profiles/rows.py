"""Records of a CSV text with the line that each starts on; a broken one does not take others with it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from .values import Problem

_MOST_LINES = 12  # of one record: cells of exports hold a few line breaks at most


@dataclass(frozen=True, slots=True)
class Row:
    """A record: its first line (from 1) and its cells.

    `chatter` is true of a line without quotes and separators: what a profiled program printed in between.
    """

    line: int
    cells: list[str]
    chatter: bool = False


def records(text: str, delimiter: str = ",", first: int = 1) -> Iterator[Row | Problem]:
    """The records in order; a quote that never closes is a `Problem` of its line, reading goes on with the next line.

    `first` is the line to begin with. Banner lines of the profiler (`==PROF== ...`) and empty lines are left out.
    """
    number = at = 0
    while at < len(text):
        line, at = _line(text, at)
        number += 1
        if number < first or not line.strip() or line.startswith("=="):
            continue
        if line.count('"') % 2 == 0:
            yield _split(line, number, delimiter)
            continue
        # An open quote: the cell goes on in the next lines, or the record is broken.
        start, rest = number, _rest(text, at)
        if not rest:
            yield Problem(number, "a quote opens and does not close; the row is left out")
            continue
        for _ in rest:
            number, at = number + 1, _line(text, at)[1]
        yield _split("\n".join([line, *rest]), start, delimiter)


def _line(text: str, at: int) -> tuple[str, int]:
    """(the line that starts here without its end, where the next one starts)."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return text[at:end].rstrip("\r"), end + 1


def _rest(text: str, at: int) -> list[str]:
    """The lines that go on with an open quote up to the one that closes it; none when nothing does."""
    found: list[str] = []
    for _ in range(_MOST_LINES):
        if at >= len(text):
            break
        line, at = _line(text, at)
        # A continuation that starts like a record of its own is one: the quote before it was broken.
        if line.startswith("==") or (
            line.startswith('"') and line.count('"') % 2 == 0 and line.count('","') > 1
        ):
            break
        found.append(line)
        if line.count('"') % 2 == 1:
            return found
    return []


def _split(text: str, number: int, delimiter: str) -> Row | Problem:
    try:
        cells = next(csv.reader([text + "\n"], delimiter=delimiter), [])
    except csv.Error as error:  # a cell beyond 128 KiB, a stray carriage return
        return Problem(number, f"{error}; the row is left out")
    return Row(number, cells, len(cells) <= 1 and '"' not in text)


def delimiter_of(text: str) -> str:
    """`,`, `;` or tab: what separates the cells of the header, the first line with one of the words below."""
    for line in text[: 4 << 20].split("\n", 2000)[:2000]:
        if line.startswith("==") or not any(
            word in line for word in ("Kernel Name", "Address", "time(us)", "block_id")
        ):
            continue
        return max(",;\t", key=lambda sign: (line.count(f'"{sign}"'), line.count(sign)))
    return ","
