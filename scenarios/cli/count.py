"""`bankbench count`: one access, one line of answer; or a file of accesses, one JSON line each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import _options as o
from ._errors import BAD_INPUT, UNKNOWN


def count(
    target: o.Target = None,
    dtype: o.Dtype = "f32",
    op: o.Op = "load",
    width: o.Width = None,
    vector: o.Vector = 1,
    lanes: o.Lanes = None,
    by: o.By = None,
    bytes: o.Bytes = None,
    mask: o.Mask = None,
    shape: o.Shape = None,
    swizzle: o.Swizzle = "none",
    chip: o.ChipName = "h200",
    json: o.Json = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="ROWS.jsonl",
            help="Count every row of a file (id, op, width_bytes, variant, mask, offsets; plain or .gz; - for stdin).",
        ),
    ] = None,
) -> None:
    """Count the wavefronts of one shared-memory access, in one line.

    \b
    bankbench count "Sw<3,3,3> o (8,64):(64,1)" --dtype f16 --op ldmatrix.x4
    bankbench count "S[(8,64):(64,1)]" --dtype f16 --by column --swizzle 128B
    bankbench count 0,128,256,384 --op lds.32
    bankbench count --bytes "lane * 16" --op ld.shared.v4.b32
    """
    from ..question import Question

    question = Question(
        target or "", dtype, o.parse_shape(shape), swizzle, op, width, vector, lanes, by, bytes, mask
    )
    if file is not None:
        o.refuse_more(question, "--file: its rows say what is accessed")
        _count_file(file, chip)
        return
    from ...sim.chip import load_chip
    from ..sentences import answer_line

    machine = load_chip(chip)
    from ..ask import ask

    answer = ask(question, machine)
    if json:
        import json as text

        print(text.dumps(answer.as_json()))
    else:
        print(answer_line(answer))
    if answer.counted.status == "unknown":
        raise typer.Exit(UNKNOWN)


def _count_file(file: Path, chip: str) -> None:
    from ...sim.chip import load_chip
    from ..row_file import count_rows

    wrong = unknown = 0
    for line, status in count_rows(file, load_chip(chip)):
        sys.stdout.write(line + "\n")
        wrong += status == "error"
        unknown += status == "unknown"
    sys.stdout.flush()
    if wrong:
        print(f"bankbench: {file}: {wrong} rows could not be counted; their lines say why", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)
    if unknown:
        raise typer.Exit(UNKNOWN)
