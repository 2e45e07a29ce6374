"""The table of contents of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from ._errors import one_line_errors
from .compare import compare
from .convert import convert
from .count import count
from .explain import explain
from .fix import fix
from .replay import replay
from .run import run
from .scenarios import scenarios
from .schema import schema
from .sweep import sweep
from .validate import validate
from .view import view

app = typer.Typer(
    name="bankbench",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        print(f"bankbench {version('bankbench')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """What a data layout does on real hardware: bank conflicts, replica traffic and time.

    Exit codes: 0, 1 when a limit of a scenario is exceeded, 2 for bad input, 3 when the answer is unknown.
    """


_COMMANDS: tuple[Callable[..., None], ...] = (
    run,
    count,
    explain,
    compare,
    convert,
    replay,
    fix,
    sweep,
    view,
    schema,
    scenarios,
    validate,
)
for _command in _COMMANDS:
    app.command()(one_line_errors(_command))


def main() -> None:
    """Entry point of the `bankbench` command."""
    app()
