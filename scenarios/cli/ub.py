"""`bankbench ub`: a vector instruction on the Unified Buffer in a few words, `dst 0x1FE00 stride 16`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ._show import show


def ub(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="OPERANDS...",
            help="src or dst, an address, and what differs: stride N (blocks between blocks, default 1), "
            "repeat N (blocks between repeats, default 8). Several operands one behind the other.",
        ),
    ],
    chip: Annotated[str, typer.Option("--chip", help="a2 (910B) or 950.")] = "ascend910b",
    repeats: Annotated[
        int, typer.Option("--repeats", "-r", help="Repeats of the instruction, 1 to 255.")
    ] = 1,
    blocks: Annotated[
        int, typer.Option("--blocks", help="Active 32-byte blocks of a repeat (the mask).")
    ] = 8,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write report.html with the bank-group map."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="No colours, 100 columns: for pipes and files.")
    ] = False,
) -> None:
    """Bank conflicts and cycles of one vector instruction on the Unified Buffer of an Ascend chip.

    bankbench ub dst 0x1FE00 stride 16         bankbench ub src 0 src 0x10100 dst 0x4020 --repeats 64
    """
    from ..ascend_words import scenario_of
    from ..load import loads
    from ..run import run_scenario

    command = ["bankbench", "ub", *words, "--chip", chip]
    command += ["--repeats", str(repeats)] if repeats != 1 else []
    command += ["--blocks", str(blocks)] if blocks != 8 else []
    text = scenario_of(words, chip, repeats, blocks)
    result = run_scenario(loads(text, "<words>"), command=command)
    if out is not None:
        from ...reports.folder import write_folder

        print(f"report: {write_folder(result, out) / 'report.html'}", file=sys.stderr)
    show(result, json=json, plain=plain)
    raise typer.Exit(result.exit_code)
