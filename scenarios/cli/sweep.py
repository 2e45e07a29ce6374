"""`bankbench sweep`: a design space evaluated into a folder, safely and on as many workers as there are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import _complete as complete
from . import _options as o
from ._show import show


def sweep(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            autocompletion=complete.scenarios,
            help="A scenario file with a section sweep:, or a catalogue name.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Where the results lie. Default: NAME-sweep here."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=1024, help="Processes on this machine.")
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="tcp://HOST:PORT", help="A Dask scheduler (bankbench[cluster])."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a sweep that was interrupted.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over, whatever lies in the folder.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Start a sweep of any size without asking.")
    ] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="Say how large it is, and stop.")] = False,
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip", autocompletion=complete.chips, help="Sweep on this chip instead of the scenario's."
        ),
    ] = None,
    overrides: o.Overrides = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON (points: the first 5,000).")
    ] = False,
    plain: o.Plain = False,
) -> None:
    """Walk through the design space of a scenario's section sweep: and show the best points.

    Every finished batch is on disk at once: a sweep that was killed goes on with --resume and ends with the same
    table. Writes points.parquet, points.csv, the best points as scenarios, and a report.
    """
    from ..errors import ScenarioError
    from ..load import load
    from ..sweep.outcome import best_scenarios, outcome
    from ..sweep.report import write_outputs
    from ..sweep.run import prepare
    from ..sweep.run import sweep as run_sweep

    loaded = load(scenario)
    if resume and fresh:
        raise ScenarioError("--resume goes on and --fresh starts over; choose one")
    plan, size = prepare(loaded, chip, overrides or [])
    print(f"sweep: {size.sentence()}", file=sys.stderr)
    if dry:
        return
    section = loaded.scenario.sweep
    if section is not None and size.points > section.limit and not yes:
        raise ScenarioError(
            f"{size.points:,} points are more than the limit of {section.limit:,}; start with --yes, or raise limit:",
            place=loaded.place("sweep"),
            key="sweep",
        )
    folder = out or Path(f"{loaded.scenario.name}-sweep")
    table = run_sweep(
        plan,
        folder,
        workers=workers,
        scheduler=scheduler,
        resume=resume,
        fresh=fresh,
        progress=_progress if sys.stderr.isatty() else None,
    )
    command = ["bankbench", "sweep", scenario, *(["--chip", chip] if chip else [])]
    command += [word for item in overrides or [] for word in ("--set", item)]
    result = outcome(loaded, plan, table, command=command, folder=str(folder))
    write_outputs(folder, result, best_scenarios(loaded, plan, table))
    show(result, json=json, plain=plain, tables=())
    raise typer.Exit(result.exit_code)


def _progress(done: int, batches: int) -> None:
    end = "\n" if done == batches else ""
    print(f"\r{done:,} of {batches:,} batches", end=end, file=sys.stderr, flush=True)
