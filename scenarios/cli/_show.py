"""The end of a command that has a result: as JSON or as text on standard output, and its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...sim.results import RunResult


def show(
    result: RunResult,
    *,
    json: bool,
    plain: bool = False,
    tables: Sequence[str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Prints a result; `tables` are those that the terminal shows first, `more` is added to the JSON.

    A reader that has enough (head, less) changes nothing about the result, and so nothing about the exit code.
    """
    try:
        if json:
            from ...reports.files import dumps, result_json

            print(dumps(result_json(result) | dict(more or {})), flush=True)
        else:
            from ...reports.terminal import SUMMARY_TABLES, print_result

            print_result(result, plain=plain, tables=SUMMARY_TABLES if tables is None else tables)
    except (BrokenPipeError, SystemExit):  # the terminal's printer ends the program where its reader has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
