"""Errors on the command line: one line with the place on stderr, exit code 2, never a traceback."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")

BAD_INPUT, UNKNOWN = 2, 3


def one_line_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Wraps a command: our own input errors become one line and exit code 2; unknown answers exit code 3."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ValueError as error:
            if not type(error).__module__.startswith("bankbench."):
                raise
            report(error)
            code = UNKNOWN if type(error).__name__ == "UnknownAnswerError" else BAD_INPUT
            raise typer.Exit(code) from None
        except BrokenPipeError:
            # The reader (head, less) has gone; Python would complain once more when it closes stdout.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except KeyboardInterrupt:
            print("bankbench: interrupted", file=sys.stderr)
            raise typer.Exit(130) from None

    return wrapped


def report(error: ValueError) -> None:
    """Prints `bankbench: message` and, for a text with a position, the text with a caret below."""
    caret = getattr(error, "caret", "")
    message = str(error)
    if callable(caret):  # an error of layouts/, which knows its text and position
        from ..errors import caret_lines

        message = getattr(error, "message", message)
        caret = caret_lines(getattr(error, "text", None), getattr(error, "position", None))
    print(f"bankbench: {' '.join(message.split())}", file=sys.stderr)
    if caret:
        print(caret, file=sys.stderr)
