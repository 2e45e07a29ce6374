"""Help pages from docstrings: paragraphs flow to the width of the terminal, marked blocks stay as they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable


def page(command: Callable[..., object]) -> str:
    """The docstring of a command as a help page.

    A paragraph whose first line is `\\b` keeps its lines; in the others a line break is a blank, since the width of the
    source is not that of the reader's terminal.
    """
    text = inspect.cleandoc(command.__doc__ or "")
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        part if part.lstrip().startswith("\b") else " ".join(part.split())
        for part in paragraphs
        if part.strip()
    )
