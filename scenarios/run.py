"""Running a scenario: load, choose the chip, evaluate the sections, join them into one result."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..sim.chip import Chip, ChipError, load_chip
from ..sim.results import RunResult
from .errors import ScenarioError
from .load import LoadedScenario, load
from .part import Part, unique, weakest
from .sections import SECTIONS


def run_scenario(
    scenario: str | Path | LoadedScenario,
    *,
    chip: str | None = None,
    overrides: Sequence[str] = (),
    command: Sequence[str] = (),
) -> RunResult:
    """Runs a scenario file, a catalogue name or a loaded scenario and returns its result.

    `chip` replaces the scenario's chip, `overrides` are texts `path=value` on top of the scenario's own,
    `command` is what the reader types to get the same result. Raises `ScenarioError`, `ChipError` or
    `LayoutError` (all `ValueError`) for bad input; broken limits are in `result.violations`.

    >>> run_scenario("fp16-column-128B").headline
    '1 wavefront, the ideal: no excess on h200'
    """
    loaded = scenario if isinstance(scenario, LoadedScenario) else load(scenario)
    machine = choose_chip(loaded, chip, overrides)
    active = [section for section in SECTIONS if getattr(loaded.scenario, section.field)]
    if not active:
        fields = ", ".join(section.field for section in SECTIONS)
        raise ScenarioError(f"nothing to run; a scenario has at least one of: {fields}", place=loaded.place())
    parts = [section.evaluate(loaded, machine) for section in active]
    named = loaded.source.file if isinstance(scenario, LoadedScenario) else str(scenario)
    return _join(loaded, machine, parts, command or ("bankbench", "run", named))


def choose_chip(loaded: LoadedScenario, chip: str | None, overrides: Sequence[str]) -> Chip:
    """The scenario's chip, or `chip` instead of it, with the scenario's and then these overrides."""
    scenario = loaded.scenario
    name = scenario.chip if chip is None else chip
    local = loaded.folder / name
    try:
        machine = load_chip(local if name.endswith((".yaml", ".yml")) and local.exists() else name)
    except ChipError as error:
        raise (
            error if chip is not None else ScenarioError(str(error), place=loaded.place("chip"), key="chip")
        ) from None
    values: dict[str, Any] = dict(scenario.overrides)
    try:
        machine = machine.override(values)
    except ChipError as error:
        raise ScenarioError(str(error), place=loaded.place("overrides"), key="overrides") from None
    return machine.override(_parse_overrides(overrides))


def _parse_overrides(overrides: Sequence[str]) -> dict[str, Any]:
    import yaml

    values: dict[str, Any] = {}
    for text in overrides:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise ScenarioError(f"--set {text!r}: write PATH=VALUE, such as shared_memory.banks=64")
        if not value.strip():
            raise ScenarioError(f"--set {text!r}: no value; write PATH=VALUE, such as shared_memory.banks=64")
        try:
            values[path.strip()] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError, RecursionError):  # dates that are none, numbers without end
            shown = text if len(text) <= 60 else text[:57] + "..."
            raise ScenarioError(f"--set {shown!r}: the value is not a number, a word or a list") from None
    return values


def _join(loaded: LoadedScenario, chip: Chip, parts: list[Part], command: Sequence[str]) -> RunResult:
    scenario = loaded.scenario
    extra: dict[str, Any] = {"totals": {key: value for part in parts for key, value in part.totals.items()}}
    for part in parts:
        for key, value in part.extra.items():
            extra[key] = [*extra[key], *value] if isinstance(extra.get(key), list) else value
    return RunResult(
        name=scenario.name,
        title=scenario.title,
        chip=chip.name,
        chip_title=chip.title,
        status=weakest([part.status for part in parts]),
        headline="; ".join(part.headline for part in parts),
        reasons=unique([line for part in parts for line in part.reasons]),
        tables=tuple(table for part in parts for table in part.tables),
        pictures=tuple(picture for part in parts for picture in part.pictures),
        assumptions=unique([line for part in parts for line in part.assumptions]),
        violations=unique([line for part in parts for line in part.violations]),
        unknowns=unique([line for part in parts for line in part.unknowns]),
        command=shlex.join(command),
        versions={name: version(name) for name in ("bankbench", "numpy")},
        inputs={Path(loaded.source.file).name: loaded.source.text},
        extra={"notes": scenario.notes, **extra},
    )
