"""`bankbench explain`: one access phase by phase, with lanes and words."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from . import _complete as complete
from . import _options as o
from ._errors import UNKNOWN

_FILES = (".yaml", ".yml", ".json")


def explain(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[LAYOUT|OFFSETS|SCENARIO]",
            autocompletion=complete.scenarios,
            help="A layout, the byte offsets of the lanes, or a scenario (its worst instruction is explained).",
        ),
    ] = None,
    access: Annotated[
        str | None, typer.Option("--access", help="Which access of a scenario; default: the worst.")
    ] = None,
    instruction: Annotated[
        int | None, typer.Option("--instruction", min=0, help="Which instruction of it.")
    ] = None,
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
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip", autocompletion=complete.chips, help="The chip; default h200, or the scenario's."
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """Explain one access: every phase with its lanes, banks and words, and why wide loads merge or not.

    \b
    bankbench explain "Sw<3,3,3> o (8,64):(64,1)" --dtype f16 --op ldmatrix.x4
    bankbench explain transpose-pitch-32 --access "load columns"
    """
    item, machine = None, None
    from ..question import Question

    question = Question(
        target or "", dtype, o.parse_shape(shape), swizzle, op, width, vector, lanes, by, bytes, mask
    )
    # A catalogue name has none of these signs; looking further would load the validator for every layout.
    if target is not None and (target.endswith(_FILES) or not any(sign in target for sign in ":,(< ")):
        from ..explanation import explain_scenario, is_scenario

        if is_scenario(target):
            o.refuse_more(replace(question, target=""), f"{target} says what is accessed")
            item, machine = explain_scenario(target, access, instruction, chip)
    if item is None or machine is None:
        from ...sim.chip import load_chip
        from ..counted import count_access

        if access is not None:
            from ..errors import ScenarioError

            raise ScenarioError("is for scenarios, which have several", key="--access")
        machine = load_chip("h200" if chip is None else chip)
        item = count_access(question.lower(machine)[0], machine, instruction)
    from ..explanation import explanation_json, explanation_lines

    if json:
        import json as text

        print(text.dumps(explanation_json(item, machine)))
    else:
        print("\n".join(explanation_lines(item, machine)))
    if not item.known:
        raise typer.Exit(UNKNOWN)
