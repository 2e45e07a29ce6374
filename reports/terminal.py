"""Results in the terminal: the answer in a line, the reason, then tables that paste into Markdown."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ..sim.results import RunResult, Table
from .markdown import markdown_lines
from .text import mood

WIDTH = 100
_MAX_ROWS = 40
_JOINT = "\ue000"  # a sign of private use, as wide as the blank that it stands for
# What a terminal shows of a run; the others are in the output folder.
SUMMARY_TABLES = ("accesses", "buffers")


def make_console(*, plain: bool = False) -> Console:
    """A console on standard output of at most 100 columns, without colours when `plain`, in a pipe, or by NO_COLOR."""
    # None leaves the answer to the environment.
    console = Console(highlight=False, no_color=plain or None, force_terminal=False if plain else None)
    if not console.is_terminal or console.width > WIDTH:
        console = Console(
            highlight=False, no_color=plain or None, force_terminal=console.is_terminal, width=WIDTH
        )
    return console


def print_result(
    result: RunResult,
    console: Console | None = None,
    *,
    tables: Sequence[str] = SUMMARY_TABLES,
    plain: bool = False,
) -> None:
    """Prints a result: verdict, reasons, tables, assumptions, and the command that reproduces it.

    Tables named in `result.extra["terminal"]` are shown behind those of `tables`.
    """
    console = console or make_console(plain=plain)
    colour = {"fine": "green", "bad": "red"}.get(mood(result), "yellow")
    _say(console, result.headline, f"bold {colour}")
    for reason in result.reasons:
        _say(console, reason)
    names = [*tables, *result.extra.get("terminal", ())]
    for name in dict.fromkeys(names):
        for table in result.tables:
            if table.name == name and len(table):
                console.print()
                print_table(table, console)
    for title, lines, style in (
        ("Broken limits", result.violations, "red"),
        ("Unknown", result.unknowns, "yellow"),
        ("Rests on", result.assumptions, "yellow"),
    ):
        if lines:
            console.print()
            console.print(Text(title, f"bold {style}"))
            for line in lines:
                _say(console, line, lead="- ")
    if result.command:
        console.print()
        _say(console, f"status: {result.status}; again with: {result.command}", "dim")


def _say(console: Console, text: str, style: str = "", lead: str = "") -> None:
    """A sentence on lines as wide as the console: numbers keep their percent sign, points are indented by `lead`."""
    held = Text(re.sub(r"(?<=\d) (?=%)", _JOINT, re.sub(r"\s*\n\s*", " ", text)))
    lines = held.wrap(console, console.width - len(lead))
    for number, line in enumerate(lines):
        said = line.plain.rstrip().replace(_JOINT, " ")
        console.print(
            Text((" " * len(lead) if number else lead) + said, style),
            no_wrap=True,
            crop=False,
            overflow="ignore",
        )


def print_table(table: Table, console: Console) -> None:
    """One table as Markdown, a line a row; long tables are cut, and say so."""
    _say(console, table.title, "bold")
    lines = markdown_lines(table, console.width, _MAX_ROWS)
    for line in lines:
        console.print(Text(line), overflow="ignore", no_wrap=True, crop=False)
    if len(table) > _MAX_ROWS:
        _say(console, f"({len(table) - _MAX_ROWS:,} more rows; --out FOLDER writes them all)")


def render_text(result: RunResult) -> str:
    """What `print_result` prints, as plain text of at most 100 columns."""
    stream = io.StringIO()
    print_result(
        result, Console(file=stream, width=WIDTH, no_color=True, force_terminal=False, highlight=False)
    )
    return stream.getvalue()
