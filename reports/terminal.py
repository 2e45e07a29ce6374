"""Results in the terminal: the answer in a line, the reason, then tables that paste into Markdown."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from ..sim.results import RunResult, Table
from .markdown import markdown_lines

WIDTH = 100
_MAX_ROWS = 40
# What a terminal shows of a run; the others are in the output folder.
SUMMARY_TABLES = ("accesses", "buffers")


def make_console(*, plain: bool = False) -> Console:
    """A console on standard output of at most 100 columns; without colours when `plain` or not a terminal."""
    console = Console(highlight=False, no_color=plain, force_terminal=False if plain else None)
    if not console.is_terminal or console.width > WIDTH:
        console = Console(highlight=False, no_color=plain, force_terminal=console.is_terminal, width=WIDTH)
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
    colour = {0: "green", 1: "red", 3: "yellow"}.get(result.exit_code, "white")
    console.print(f"[bold {colour}]{escape(result.headline)}[/]")
    for reason in result.reasons:
        console.print(escape(reason))
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
            console.print(f"[bold {style}]{title}[/]")
            for line in lines:
                console.print(f"- {escape(line)}")
    if result.command:
        console.print()
        console.print(f"[dim]status: {escape(result.status)}; again with: {escape(result.command)}[/]")


def print_table(table: Table, console: Console) -> None:
    """One table as Markdown, a line a row; long tables are cut, and say so."""
    console.print(f"[bold]{escape(table.title)}[/]")
    lines = markdown_lines(table, console.width, _MAX_ROWS)
    for line in lines:
        console.print(escape(line), overflow="ignore", no_wrap=True, crop=False)
    if len(table) > _MAX_ROWS:
        console.print(f"({len(table) - _MAX_ROWS:,} more rows; --out FOLDER writes them all)")


def render_text(result: RunResult) -> str:
    """What `print_result` prints, as plain text of at most 100 columns."""
    stream = io.StringIO()
    print_result(
        result, Console(file=stream, width=WIDTH, no_color=True, force_terminal=False, highlight=False)
    )
    return stream.getvalue()
