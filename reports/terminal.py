"""Results in the terminal: the answer in a line, the reason, then tables that paste into Markdown."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from ..sim.results import RunResult, Table
from .text import heading, is_numeric, show

WIDTH = 100
_MAX_ROWS = 40
# What a terminal shows of a run; the others are in the output folder.
SUMMARY_TABLES = ("accesses", "conflicts", "buffers")


def print_result(
    result: RunResult,
    console: Console | None = None,
    *,
    tables: Sequence[str] = SUMMARY_TABLES,
    plain: bool = False,
) -> None:
    """Prints a result: verdict, reasons, tables, assumptions, and the command that reproduces it."""
    console = console or Console(
        width=None if not plain else WIDTH, no_color=plain, highlight=False, soft_wrap=plain
    )
    colour = {0: "green", 1: "red", 3: "yellow"}.get(result.exit_code, "white")
    console.print(f"[bold {colour}]{escape(result.headline)}[/]", highlight=False)
    for reason in result.reasons:
        console.print(escape(reason), highlight=False)
    shown = [table for name in tables for table in result.tables if table.name == name and len(table)]
    shown += [
        table
        for table in result.tables
        if table.name not in tables and table.name in result.extra.get("terminal", ())
    ]
    for table in shown:
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
                console.print(f"- {escape(line)}", highlight=False)
    if result.command:
        console.print()
        console.print(
            f"[dim]status: {escape(result.status)}; again with: {escape(result.command)}[/]", highlight=False
        )


def print_table(table: Table, console: Console) -> None:
    """One table as Markdown; long tables are cut, and say so."""
    console.print(f"[bold]{escape(table.title)}[/]", highlight=False)
    console.print(
        markdown_table(table, _MAX_ROWS, console.options.max_width if console.is_terminal else WIDTH)
    )
    if len(table) > _MAX_ROWS:
        console.print(
            f"({len(table) - _MAX_ROWS:,} more rows; --out FOLDER writes them all)", highlight=False
        )


def markdown_table(table: Table, limit: int | None = None, width: int = WIDTH) -> RichTable:
    """The table as a rich table in Markdown form, at most `width` characters wide."""
    rich_table = RichTable(box=box.MARKDOWN, width=None, pad_edge=True, show_edge=True, header_style="bold")
    rich_table.min_width = None
    for column in table.columns:
        rich_table.add_column(
            escape(heading(column)), justify="right" if is_numeric(table, column) else "left", overflow="fold"
        )
    for index, row in enumerate(table.rows()):
        if limit is not None and index >= limit:
            break
        rich_table.add_row(*(escape(show(row[column.name]).replace("|", "\\|")) for column in table.columns))
    if width:
        rich_table.width = None
    return rich_table


def render_text(result: RunResult) -> str:
    """What `print_result` prints, as plain text of at most 100 columns."""
    stream = io.StringIO()
    print_result(
        result, Console(file=stream, width=WIDTH, no_color=True, force_terminal=False, highlight=False)
    )
    return stream.getvalue()
