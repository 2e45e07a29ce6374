"""What `bankbench run --fast` and `--trace` do to a scenario with a program or an Ascend schedule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .errors import ScenarioError
from .load import LoadedScenario
from .program import trace_of
from .run import choose_chip


def as_fast(loaded: LoadedScenario) -> LoadedScenario:
    """The scenario run the short way: loops of a program extrapolated, an Ascend schedule by arithmetic.

    The cycles are the same. Raises ScenarioError when it has neither.
    """
    program, ascend = loaded.scenario.program, loaded.scenario.ascend
    update: dict[str, object] = {}
    if program is not None:
        update["program"] = program.model_copy(update={"fast": True})
    if ascend is not None and ascend.schedule:
        update["ascend"] = ascend.model_copy(update={"fast": True, "timeline": False})
    if not update:
        raise ScenarioError("--fast needs a section program: or a schedule in ascend:", place=loaded.place())
    return replace(loaded, scenario=loaded.scenario.model_copy(update=update))


def write_trace(
    loaded: LoadedScenario, target: Path, *, chip: str | None = None, overrides: Sequence[str] = ()
) -> None:
    """Writes the timeline as a JSON trace. Raises ScenarioError, also for a target that cannot be written."""
    machine = choose_chip(loaded, chip, overrides)
    if loaded.scenario.program is None and loaded.scenario.ascend is not None:
        from .ascend import ascend_trace

        trace = ascend_trace(loaded, machine)
    else:
        trace = trace_of(loaded, machine)
    try:
        target.write_text(json.dumps(trace, separators=(",", ":")), encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"--trace {target}: cannot be written ({error.strerror})") from error
