"""Errors on the command line: one line with the place on stderr, exit code 2, never a traceback."""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")

BAD_INPUT, UNKNOWN = 2, 3


def one_line_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Wraps a command: our own input errors become one line and exit code 2; unknown answers exit code 3.

    So do files that cannot be read or written, and questions that need more memory than there is.
    """

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        _print_anything()
        try:
            return command(*args, **kwargs)
        except BrokenPipeError:
            # The reader (head, less) has gone; Python would complain once more when it closes stdout.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except UnicodeEncodeError as error:
            report(ValueError(f"{error.object[:80]!r} is not text that a file can hold: {error.reason}"))
            raise typer.Exit(BAD_INPUT) from None
        except ValueError as error:
            if not type(error).__module__.startswith("bankbench."):
                raise
            report(error)
            code = UNKNOWN if type(error).__name__ == "UnknownAnswerError" else BAD_INPUT
            raise typer.Exit(code) from None
        except OSError as error:
            name = f"{str(error.filename)[:80]}: " if error.filename is not None else ""
            report(ValueError(f"{name}{error.strerror or error}"))
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError as error:
            report(ValueError(f"more than the memory of this machine: {error or 'out of memory'}"))
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            print("bankbench: interrupted", file=sys.stderr)
            raise typer.Exit(130) from None

    return wrapped


def _print_anything() -> None:
    """File names that are no text, and terminals that know ASCII alone, are no reason to fail: \\x escapes there."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


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
