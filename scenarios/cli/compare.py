"""`bankbench compare`: two runs, or a run and a profiler export, side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import _complete as complete
from ._errors import BAD_INPUT
from ._show import show


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            autocompletion=complete.scenarios,
            help="Before: a scenario, the folder of an earlier run, or its result.json.",
        ),
    ],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B",
            autocompletion=complete.scenarios,
            help="After: the same, or a profiler export (CSV).",
        ),
    ],
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip",
            autocompletion=complete.chips,
            help="Run both scenarios on this chip instead of their own.",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel", metavar="NAME", help="Launches of a profiler export: a part of their kernel's name."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write report and tables here too.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="No colours, 100 columns: for pipes and files.")
    ] = False,
) -> None:
    """Compare two runs: the before/after table for a pull request, in Markdown.

    \b
    bankbench compare fp16-column-plain fp16-column-128B
    bankbench compare old-report/ my-tile.yaml
    bankbench compare my-tile.yaml ncu.csv

    Beside an export of Nsight Compute (any page, plain or compressed) or of msprof op, each counter is split into
    what the addresses of the scenario explain and what is left over. `kernel:` of an access says which launches
    it belongs to.

    Exit code 1 when a limit of the run after is exceeded, 2 when rows of an export could not be read (the others are
    compared), 3 when something asked is unknown.
    """
    from ...reports.progress import working
    from ..compare import compare as compare_sides

    with working("running both sides"):
        result = compare_sides(a, b, chip=chip, kernel=kernel)
    if out is not None:
        from ...reports.folder import write_folder

        print(f"report: {write_folder(result, out) / 'report.html'}", file=sys.stderr)
    show(result, json=json, plain=plain, tables=("totals", "accesses", "differences"))
    if result.extra.get("problems"):
        raise typer.Exit(BAD_INPUT)
    raise typer.Exit(result.exit_code)
