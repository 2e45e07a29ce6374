"""`bankbench fix`: the layout that takes the bank conflicts of a scenario away."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import _complete as complete
from . import _options as o
from ._show import show


def fix(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            autocompletion=complete.scenarios,
            help="A scenario file, or a name of the catalogue.",
        ),
    ],
    buffer: Annotated[
        list[str] | None,
        typer.Option("--buffer", metavar="NAME", help="Which buffer; default: all that accesses reach."),
    ] = None,
    align: Annotated[
        int,
        typer.Option("--align", min=1, help="Bytes that rows start at a multiple of, and chunks kept whole."),
    ] = 1,
    tma: Annotated[bool, typer.Option("--tma", help="Only what TMA writes: its modes, no padding.")] = False,
    ldmatrix: Annotated[
        bool,
        typer.Option("--ldmatrix", help="Keep rows of 16 bytes whole and aligned (the same as --align 16)."),
    ] = False,
    power_of_two: Annotated[
        bool, typer.Option("--power-of-two", help="Keep the pitch of rows a power of two.")
    ] = False,
    padding: Annotated[
        bool, typer.Option("--padding/--no-padding", help="Whether to propose padding.")
    ] = True,
    swizzle: Annotated[
        bool, typer.Option("--swizzle/--no-swizzle", help="Whether to propose a swizzle.")
    ] = True,
    max_bytes: Annotated[
        int | None, typer.Option("--max-bytes", min=1, help="Bytes that a buffer may take.")
    ] = None,
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip", autocompletion=complete.chips, help="Fix for this chip instead of the scenario's."
        ),
    ] = None,
    overrides: o.Overrides = None,
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="Write the fixed scenario to this new file."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write a report into this folder.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    plain: o.Plain = False,
) -> None:
    """Find the padding or swizzle with which all accesses to a buffer are free of bank conflicts.

    Searches every swizzle Sw<B,M,S> that keeps the vectors whole, row padding, and both; the best has the least
    excess, then the fewest bytes, then the simplest form. Says what is proved about it.
    """
    from ..errors import ScenarioError
    from ..fix import Limits, fix_scenario

    if align & (align - 1):
        raise ScenarioError(f"--align {align}: a power of two")
    if write is not None and write.exists():
        raise ScenarioError(f"--write {write}: exists already; name a new file")
    command = ["bankbench", "fix", scenario, *_given(chip, overrides, tma, ldmatrix, power_of_two)]
    command += [word for name in buffer or [] for word in ("--buffer", name)]
    command += ["--align", str(align)] if align > 1 else []
    command += ["--no-padding"] if not padding else []
    command += ["--no-swizzle"] if not swizzle else []
    command += ["--max-bytes", str(max_bytes)] if max_bytes is not None else []
    limits = Limits(max(align, 16 if ldmatrix else 1), tma, power_of_two, padding, swizzle, max_bytes)
    result = fix_scenario(
        scenario, buffers=buffer or [], limits=limits, chip=chip, overrides=overrides or [], command=command
    )
    if write is not None:
        from ...reports.folder import write_page

        write_page(result.extra["scenario"], write)
        print(f"fixed scenario: {write}", file=sys.stderr)
    if out is not None:
        from ...reports.folder import write_folder

        print(f"report: {write_folder(result, out) / 'report.html'}", file=sys.stderr)
    show(result, json=json, plain=plain, more={"buffers": result.extra["fields"]})
    raise typer.Exit(result.exit_code)


def _given(
    chip: str | None, overrides: list[str] | None, tma: bool, ldmatrix: bool, power_of_two: bool
) -> list[str]:
    words = ["--chip", chip] if chip else []
    words += [word for item in overrides or [] for word in ("--set", item)]
    flags = (("--tma", tma), ("--ldmatrix", ldmatrix), ("--power-of-two", power_of_two))
    return words + [flag for flag, on in flags if on]
