"""`bankbench run`: a scenario file (or a catalogue name) to the answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import _complete as complete
from . import _options as o
from ._show import show


def run(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            autocompletion=complete.scenarios,
            help="A scenario file, or a name of the catalogue.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Write report.html, pictures and tables into this folder."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    plain: o.Plain = False,
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip", autocompletion=complete.chips, help="Run on this chip instead of the scenario's."
        ),
    ] = None,
    overrides: o.Overrides = None,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write the timeline of a program; Perfetto opens it."),
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Extrapolate the loops of a program from their steady state.")
    ] = False,
) -> None:
    """Run a scenario: count its accesses, print the answer, write a report.

    Exit code 1 when a limit under `expect:` is exceeded, 3 when something asked is unknown.
    """
    from ...reports.progress import working
    from ..load import load
    from ..run import run_scenario

    command = ["bankbench", "run", scenario]
    command += ["--chip", chip] if chip else []
    for item in overrides or []:
        command += ["--set", item]
    command += ["--fast"] if fast else []
    loaded = load(scenario)
    if fast:
        from ..program_trace import as_fast

        loaded = as_fast(loaded)
    with working(f"running {loaded.scenario.name}"):
        result = run_scenario(loaded, chip=chip, overrides=overrides or [], command=command)
    if trace is not None:
        from ..program_trace import write_trace

        write_trace(loaded, trace, chip=chip, overrides=overrides or [])
        print(f"timeline: {trace} (open it at https://ui.perfetto.dev)", file=sys.stderr)
    if out is not None:
        from ...reports.folder import write_folder

        with working("writing the report") as work:
            target = write_folder(result, out, work.step)
        print(f"report: {target / 'report.html'}", file=sys.stderr)
    show(result, json=json, plain=plain)
    raise typer.Exit(result.exit_code)
