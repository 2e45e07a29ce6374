"""The table of contents of the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

from ._errors import one_line_errors

# In the order of the help page. A command's function has the name of its module.
COMMANDS = (
    "run",
    "count",
    "explain",
    "ub",
    "compare",
    "convert",
    "replay",
    "fix",
    "sweep",
    "view",
    "schema",
    "scenarios",
    "validate",
    "check",
    "doctor",
)


def build(*names: str) -> typer.Typer:
    """The application with these commands; typing one command builds that one alone, which is quicker."""
    app = typer.Typer(
        name="bankbench",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_options)
    for name in names:
        command: Callable[..., None] = getattr(import_module(f"{__package__}.{name}"), name)
        app.command(name)(one_line_errors(command))
    return app


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        print(f"bankbench {version('bankbench')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """What a data layout does on real hardware: bank conflicts, replica traffic and time.

    Exit codes: 0, 1 when a limit of a scenario is exceeded, 2 for bad input, 3 when the answer is unknown.
    """


def main() -> None:
    """Entry point of the `bankbench` command."""
    typed = [name for name in sys.argv[1:2] if name in COMMANDS]
    build(*(typed or COMMANDS))()
