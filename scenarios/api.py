"""bankbench from Python: scenarios run, repaired and compared without the command line.

Arrays and plain values in, frozen results out (`RunResult`: `headline`, `tables`, `table(name).frame()`, `violations`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..sim.results import RunResult
from .load import LoadedScenario, load, loads

Source = str | Path | Mapping[str, Any] | LoadedScenario


def run(
    scenario: Source, *, chip: str | None = None, overrides: Mapping[str, Any] | None = None
) -> RunResult:
    """Runs a scenario: a file, a name of the catalogue, or the same content as a mapping.

    `chip` replaces the scenario's chip, `overrides` single constants of it by dotted path. Raises `ScenarioError`,
    `ChipError` or `LayoutError` (all ValueError) for bad input; limits that do not hold are in `violations`.

    >>> result = run({"name": "column", "buffers": {"tile": {"dtype": "f16", "shape": [8, 64]}},
    ...               "accesses": [{"buffer": "tile", "lanes": "[lane % 8, lane // 8]"}]})
    >>> result.extra["totals"]["excess_wavefronts"]
    7
    """
    from .run import run_scenario

    return run_scenario(_source(scenario), chip=chip, overrides=_texts(overrides))


def fix(
    scenario: Source,
    *,
    buffers: str | Sequence[str] = (),
    chip: str | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> RunResult:
    """The layouts (padding, swizzles) that take the excess wavefronts of a scenario away, or as many as can be.

    `buffers` names those to work on. The fixed scenario stands in `result.extra["scenario"]` as text.

    >>> fix("transpose-pitch-32").table("layouts").data["excess"][0]
    0
    """
    from .fix import fix_scenario

    names = [buffers] if isinstance(buffers, str) else buffers
    return fix_scenario(_source(scenario), buffers=names, chip=chip, overrides=_texts(overrides))


def sweep(
    scenario: Source,
    folder: str | Path | None = None,
    *,
    chip: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    resume: bool = False,
    fresh: bool = False,
) -> RunResult:
    """The design space of a scenario's section `sweep:`, evaluated: best points, Pareto front, sensitivities.

    `folder` keeps `points.parquet` and `points.csv`, and makes the sweep resumable (`resume`, or `fresh` to start
    over); without it nothing stays, and the table `points` of the result holds the first 5,000 points. `workers` are
    processes of this machine, `scheduler` the address of a Dask cluster. No size is asked about: `limit:` is for the
    command line.

    >>> sweep("sweep-swizzle-dtype").table("best").data["excess_wavefronts"][0]
    0
    """
    import tempfile

    from .sweep.outcome import outcome
    from .sweep.run import prepare
    from .sweep.run import sweep as run_sweep

    loaded = _source(scenario)
    plan, _ = prepare(loaded, chip, _texts(overrides))
    with tempfile.TemporaryDirectory() as scratch:
        table = run_sweep(
            plan, folder or scratch, workers=workers, scheduler=scheduler, resume=resume, fresh=fresh
        )
    return outcome(loaded, plan, table, folder=str(folder or ""))


def compare(before: Source, after: Source, *, chip: str | None = None) -> RunResult:
    """Two scenarios side by side: totals before and after, access by access.

    >>> compare("fp16-column-plain", "fp16-column-128B").headline
    'wavefronts 8 -> 1 (-87.5 %), excess wavefronts 7 -> 0, bank conflicts 7 -> 0'
    """
    from .compare import compare_runs

    return compare_runs(run(before, chip=chip), run(after, chip=chip))


def _source(scenario: Source) -> LoadedScenario:
    if isinstance(scenario, LoadedScenario):
        return scenario
    if isinstance(scenario, Mapping):
        import json

        from .errors import ScenarioError

        try:
            text = json.dumps(scenario, indent=1, ensure_ascii=False, default=_plain)
        except (TypeError, ValueError) as error:
            raise ScenarioError(f"a scenario is made of plain values: {error}") from None
        return loads(text, "<mapping>")
    return load(scenario)


def _plain(value: Any) -> Any:
    """NumPy arrays and numbers as lists and numbers. Raises TypeError for anything else."""
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is none")


def _texts(overrides: Mapping[str, Any] | None) -> list[str]:
    import json

    from .errors import ScenarioError

    try:
        return [f"{path}={json.dumps(value, default=_plain)}" for path, value in (overrides or {}).items()]
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"overrides are plain values: {error}") from None
