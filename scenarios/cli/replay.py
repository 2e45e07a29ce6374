"""`bankbench replay`: recorded accesses as input, summed by program counter."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from . import _complete as complete
from ._errors import BAD_INPUT
from ._show import show


def replay(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE", help="CSV, JSON lines, Parquet, NVBit mem_trace text, .traceg, or kernelslist.g."
        ),
    ],
    chip: Annotated[
        str, typer.Option("--chip", autocompletion=complete.chips, help="The chip, by name or architecture.")
    ] = "h200",
    kind: Annotated[
        str | None,
        typer.Option("--format", help="csv, jsonl, parquet, nvbit, accelsim; default: told from the file."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write report and tables here too.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="No colours, 100 columns: for pipes and files.")
    ] = False,
) -> None:
    """Replay a recorded trace: conflicts summed by program counter, worst first.

    Rows of CSV, JSON lines and Parquet have: op (lds, LDS.128, ldmatrix.x4, ...), width (bytes a lane, where op does
    not say it), mask (32 bits), offsets (bytes, in lane order; in CSV with blanks between them, or columns o0 to o31),
    pc and warp. All may be compressed (gzip, xz, zstd). Only shared memory is counted; other instructions are kept as
    time between accesses. The trace is read as a stream: its length costs no memory.

    \b
    bankbench replay trace.csv.zst
    bankbench replay kernel-1.traceg --chip a100
    bankbench replay mem_trace.txt --out report

    Exit code 2 when rows could not be used (they are named, the others are counted), 3 when a rule is unknown.
    """
    from ..traces.replay import replay as replay_trace

    command = ["bankbench", "replay", str(trace), "--chip", chip, *(["--format", kind] if kind else [])]
    bar = _Bar() if sys.stderr.isatty() else None
    try:
        result = replay_trace(trace, chip, kind=kind, progress=bar, command=command)
    finally:
        if bar is not None:
            bar.close()
    if out is not None:
        from ...reports.folder import write_folder

        print(f"report: {write_folder(result, out) / 'report.html'}", file=sys.stderr)
    show(result, json=json, plain=plain, tables=("places",))
    if result.extra.get("problems"):
        raise typer.Exit(BAD_INPUT)
    raise typer.Exit(result.exit_code)


class _Bar:
    """A progress bar on standard error that starts with the first report."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("reading"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=Console(file=sys.stderr),
                transient=True,
            )
            self._task = self._bar.add_task("reading", total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
