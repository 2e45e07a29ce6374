"""The options that `count` and `explain` share: one access described on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import _complete as complete

if TYPE_CHECKING:
    from ..question import Question

Target = Annotated[
    str | None,
    typer.Argument(
        metavar="[LAYOUT|OFFSETS]",
        help="A layout in any notation (TIRx, CuTe, TLA, linear), or the byte offsets of the lanes: 0,4,8,...",
    ),
]
Dtype = Annotated[str, typer.Option("--dtype", help="Element type of the layout: f16, f32, e4m3, s8, ...")]
Op = Annotated[
    str, typer.Option("--op", help="load, store, ldmatrix.x4, lds.128, ld.shared.v4.b32, atom.add.u32, ...")
]
Width = Annotated[
    int | None, typer.Option("--width", help="Bytes a lane: 1, 2, 4, 8 or 16. Default: the widest that fits.")
]
Vector = Annotated[
    int, typer.Option("--vector", min=1, help="Elements a lane touches along the last dimension.")
]
Lanes = Annotated[
    str | None,
    typer.Option("--lanes", help="Which element each lane touches: '[lane % 8, 0]', one item a dimension."),
]
By = Annotated[
    str | None, typer.Option("--by", help="row or column: a short way to say --lanes for a matrix.")
]
Bytes = Annotated[
    str | None, typer.Option("--bytes", help="Byte offset of each lane, one expression: 'lane * 16'.")
]
Mask = Annotated[
    str | None, typer.Option("--mask", help="Active lanes: an expression (lane < 8) or a bit mask (0xff).")
]
Shape = Annotated[
    str | None, typer.Option("--shape", help="Logical shape, such as 8,64. Default: the layout's own.")
]
Swizzle = Annotated[
    str,
    typer.Option("--swizzle", help="none, 32B, 64B, 128B, or Sw<B,M,S> in elements, on top of the layout."),
]
ChipName = Annotated[
    str,
    typer.Option(
        "--chip",
        autocompletion=complete.chips,
        help="The chip, by name or architecture: h200, b200, sm_80, ...",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Replace a constant of the chip (shared_memory.banks=64)."
    ),
]
Plain = Annotated[bool, typer.Option("--plain", help="No colours, 100 columns: for pipes and files.")]


def refuse_more(question: Question, why: str) -> None:
    """Raises `ScenarioError` for an option of `question` that was given but would change nothing."""
    from dataclasses import fields

    from ..errors import ScenarioError

    for item in fields(question):
        if getattr(question, item.name) != item.default:
            name = "the argument" if item.name == "target" else f"--{item.name}"
            raise ScenarioError(f"{why}, which {name} does not change")


def parse_shape(text: str | None) -> tuple[int, ...] | None:
    """`8,64` or `8x64` as a shape. Raises `ScenarioError`."""
    from ..errors import ScenarioError

    if text is None:
        return None
    words = text.strip().strip("()[]").replace("x", ",").split(",")
    try:
        shape = tuple(int(word) for word in words if word.strip())
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        raise ScenarioError(f"--shape {text!r}: whole numbers from 1 on, such as 8,64")
    return shape
