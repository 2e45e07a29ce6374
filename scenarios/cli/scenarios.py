"""`bankbench scenarios`: the catalogue."""

from __future__ import annotations

from typing import Annotated

import typer

_WIDTH = 100


def scenarios(
    json: Annotated[bool, typer.Option("--json", help="One JSON list instead of a table.")] = False,
    show: Annotated[
        str | None, typer.Option("--show", help="Print the file of this scenario, to copy and change.")
    ] = None,
) -> None:
    """List the ready scenarios; each runs as it is with `bankbench run NAME`."""
    from ..load import catalogue, load

    if show is not None:
        print(load(show).source.text, end="")
        return
    loaded = [load(path).scenario for path in catalogue()]
    if json:
        import json as text

        print(text.dumps([{"name": item.name, "title": item.title, "chip": item.chip} for item in loaded]))
        return
    width = max(len(item.name) for item in loaded)
    chip = max(len(item.chip) for item in loaded)
    for item in loaded:
        line = f"{item.name:<{width}}  {item.chip:<{chip}}  {item.title}"
        print(line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…")
