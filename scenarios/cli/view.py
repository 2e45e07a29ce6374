"""`bankbench view`: an interactive page of a layout or of a scenario's buffers."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from . import _complete as complete
from . import _options as o


def view(
    target: Annotated[
        str,
        typer.Argument(
            metavar="LAYOUT|SCENARIO",
            autocompletion=complete.scenarios,
            help="A layout in any notation, or a scenario.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE.html", help="Where the page goes; default: view-NAME.html."
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="shared, fractal, ub, tmem, fragment or axes; default: by the axes."),
    ] = None,
    dtype: o.Dtype = "f16",
    op: o.Op = "load",
    width: o.Width = None,
    vector: o.Vector = 1,
    lanes: o.Lanes = None,
    mask: o.Mask = None,
    shape: o.Shape = None,
    swizzle: o.Swizzle = "none",
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip", autocompletion=complete.chips, help="The chip; default h200, or the scenario's."
        ),
    ] = None,
) -> None:
    """Draw a layout as one interactive HTML file: click an element, see every place and the arithmetic.

    \b
    bankbench view "S[(8,64):(64,1)]" --swizzle 128B --open
    bankbench view ldmatrix-swizzles --out ldmatrix.html
    bankbench view "zN(100, 100, f16)" --memory fractal
    bankbench view "S[(2,128,112):(112@TCol,1@TLane,1@TCol)]" --dtype f32
    """
    from ...reports.folder import write_page
    from ...reports.progress import working
    from ...reports.view import render_view
    from ..errors import ScenarioError
    from ..explanation import is_scenario
    from ..specs import AccessSpec
    from ..view import view_description

    access = None
    if lanes is not None:
        access = AccessSpec(f"{op} {lanes}", "tile", op, width=width, lanes=lanes, vector=vector, mask=mask)
    given = [
        (name, value)
        for name, value, usual in (
            ("--dtype", dtype, "f16"),
            ("--swizzle", swizzle, "none"),
            ("--shape", shape, None),
            ("--memory", memory, None),
            ("--chip", chip, None),
            ("--op", op, "load"),
            ("--width", width, None),
            ("--vector", vector, 1),
            ("--lanes", lanes, None),
            ("--mask", mask, None),
        )
        if value != usual
    ]
    more = [name for name, _ in given if name not in ("--memory", "--chip")]
    if more and is_scenario(target):
        raise ScenarioError(f"{target} says what is accessed, which {more[0]} does not change")
    alone = [name for name in more if name in ("--op", "--width", "--vector", "--mask")]
    if alone and lanes is None:
        raise ScenarioError(f"{alone[0]} is part of an access; --lanes says which element each lane touches")
    command = ["bankbench", "view", target, *(str(word) for pair in given for word in pair)]
    with working("counting the accesses of every choice"):
        description = view_description(
            target,
            dtype=dtype,
            shape=o.parse_shape(shape),
            swizzle=swizzle,
            chip=chip,
            memory=memory,
            access=access,
            command=shlex.join(command),
        )
    name = re.sub(r"[^A-Za-z0-9]+", "-", target).strip("-")[:60] or "layout"
    page = write_page(render_view(description), out or Path(f"view-{name}.html"))
    print(page)
    if open_page:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            print(f"bankbench: no browser could be started; open {page} yourself", file=sys.stderr)
