"""The table of contents of the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

from ._errors import one_line_errors
from ._help import page

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
    app.callback(help=page(_options))(_options)
    for name in names:
        command: Callable[..., None] = getattr(import_module(f"{__package__}.{name}"), name)
        app.command(name, help=page(command))(one_line_errors(command))
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

    \b
    bankbench run transpose-pitch-32         a ready scenario, answer first
    bankbench run my-tile.yaml --out report  your own, with a page to pass on
    bankbench count 0,128,256 --op lds.32    one access, one line
    bankbench fix my-tile.yaml               the padding or swizzle that helps
    bankbench replay trace.csv               recorded accesses, worst first
    bankbench compare my-tile.yaml ncu.csv   modelled beside measured
    bankbench check kernels/                 the gate for CI

    Every command prints help with --help, and JSON with --json where it prints numbers. Errors are one line with the
    place on standard error.

    \b
    Exit codes
      0  the answer holds
      1  a limit of a scenario (expect:) is exceeded
      2  bad input; what could be read is answered all the same
      3  the answer is unknown: nothing that is known gives it
    """


def main() -> None:
    """Entry point of the `bankbench` command."""
    typed = [name for name in sys.argv[1:2] if name in COMMANDS]
    build(*(typed or COMMANDS))()
