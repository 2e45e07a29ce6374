"""`bankbench validate`: the models against measurements of real hardware."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import _complete as complete
from ._show import show


def validate(
    sets: Annotated[
        list[str] | None, typer.Argument(metavar="[SET]...", help="Names of sets; without any, all of them.")
    ] = None,
    programs: Annotated[
        list[Path] | None,
        typer.Option(
            "--programs", metavar="FILE", help="Measured programs (format of h200_programs.jsonl.gz)."
        ),
    ] = None,
    accesses: Annotated[
        list[Path] | None,
        typer.Option("--accesses", metavar="FILE", help="Measured accesses (format of h200_smem.jsonl.gz)."),
    ] = None,
    engines: Annotated[
        list[Path] | None,
        typer.Option(
            "--async",
            metavar="FILE",
            help="Measured wgmma, copies, barriers (format of h200_async.jsonl.gz).",
        ),
    ] = None,
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip",
            autocompletion=complete.chips,
            help="Only measurements of this chip; for FILE: the chip to predict.",
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object a row: id, measured, predicted, ...")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write report.html, pictures and tables there."),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="No colours, 100 columns.")] = False,
) -> None:
    """Compare the models with measurements that come with bankbench, or with your own.

    The set `sweep` takes many minutes and runs only when it is named.
    """
    from ..validate import compare, json_rows, validation_result

    files = [("programs", path) for path in programs or []] + [("accesses", path) for path in accesses or []]
    files += [(kind, path) for path in engines or [] for kind in ("async", "contention")]
    compared = compare(chip=chip, sets=sets or [], files=files)
    command = ["bankbench", "validate", *(sets or [])]
    for name, path in files:
        if name != "contention":
            command += [f"--{name}", str(path)]
    command += ["--chip", chip] if chip else []
    result = validation_result(compared, command)
    if out is not None:
        from ...reports.folder import write_folder

        target = write_folder(result, out)
        print(f"report: {target / 'report.html'}", file=sys.stderr)
    if json:
        from json import dumps

        for row in json_rows(compared):
            print(dumps(row))
    else:
        show(result, json=False, plain=plain)
    raise typer.Exit(result.exit_code)
