"""What `bankbench run --fast` and `--trace` do to a scenario with a program."""

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
    """The scenario with its program's loops extrapolated. Raises ScenarioError without a program."""
    program = loaded.scenario.program
    if program is None:
        raise ScenarioError("--fast needs a section program:", place=loaded.place())
    fast = program.model_copy(update={"fast": True})
    return replace(loaded, scenario=loaded.scenario.model_copy(update={"program": fast}))


def write_trace(
    loaded: LoadedScenario, target: Path, *, chip: str | None = None, overrides: Sequence[str] = ()
) -> None:
    """Writes the timeline as a JSON trace. Raises ScenarioError, also for a target that cannot be written."""
    trace = trace_of(loaded, choose_chip(loaded, chip, overrides))
    try:
        target.write_text(json.dumps(trace, separators=(",", ":")), encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"--trace {target}: cannot be written ({error.strerror})") from error
