"""`bankbench convert`: a layout in another notation, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from . import _options as o
from ._errors import UNKNOWN

if TYPE_CHECKING:
    from ...layouts import Conversion


def convert(
    text: Annotated[str, typer.Argument(help="A layout in any notation: TIRx, TLA, CuTe or linear.")],
    to: Annotated[
        str, typer.Option("--to", "-t", help="Notation wanted: tirx, tla, cute or linear; all when left out.")
    ] = "all",
    shape: Annotated[
        str | None, typer.Option("--shape", help="Logical shape to read the layout in, such as 16,8.")
    ] = None,
    notation: Annotated[
        str | None, typer.Option("--from", help="Notation that the text is in, when it could be several.")
    ] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="Element type: swizzles are then said in bytes too.")
    ] = None,
    swizzle: Annotated[
        str, typer.Option("--swizzle", help="Lay a 32B, 64B or 128B swizzle over the layout first.")
    ] = "none",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Convert a layout to another notation; says when it is impossible and why, and warns of mistakes.

    \b
    bankbench convert "S[(8,64):(64,1)]" --to cute --swizzle 128B --dtype f16
    bankbench convert "zN(64, 64, f16)" --to tirx
    """
    from ...layouts import NOTATIONS, LayoutError, parse, with_swizzle
    from ...layouts import convert as convert_layout
    from ...layouts.dtype import dtype_bits
    from ...layouts.linear_encodings import used_on

    sizes = o.parse_shape(shape)
    layout = used_on(parse(text, notation), sizes)
    elements = math.prod(layout.logical_shape)
    if sizes is not None and math.prod(sizes) != elements:
        raise LayoutError(
            f"--shape {shape}: {math.prod(sizes):,} elements, but the layout places {elements:,}"
        )
    if swizzle != "none":
        if dtype is None:
            raise LayoutError("--swizzle needs --dtype: the width of a swizzle row depends on the element")
        layout = with_swizzle(layout, swizzle, dtype)
    width = None if dtype is None else dtype_bits(dtype) / 8
    wanted = [n for n in NOTATIONS if n != layout.notation] if to == "all" else [to]
    found: dict[str, Conversion] = {
        name: convert_layout(layout, name, sizes, element_bytes=width) for name in wanted
    }
    if json:
        _print_json(layout.notation, str(layout), found)
    else:
        _print_lines(found, single=to != "all")
    if all(answer.target is None for answer in found.values()):
        raise typer.Exit(UNKNOWN)


def _print_json(notation: str, text: str, found: Mapping[str, Conversion]) -> None:
    import json

    answers: dict[str, object] = {}
    for name, answer in found.items():
        answers[name] = {
            "text": answer.text,
            "impossible": answer.reason,
            "warnings": list(answer.warnings),
            "checked": answer.checked,
        }
    print(json.dumps({"notation": notation, "text": text, "conversions": answers}))


def _print_lines(found: Mapping[str, Conversion], single: bool) -> None:
    import sys

    warned: set[str] = set()
    for name, answer in found.items():
        line = answer.text if answer.text is not None else f"impossible: {answer.reason}"
        print(line if single else f"{name:7}{line}")
        for warning in answer.warnings:
            if warning not in warned:
                print(f"warning: {warning}", file=sys.stderr)
                warned.add(warning)
