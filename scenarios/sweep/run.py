"""Running a sweep: plan, size, batches into the folder, and the finished table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...sim.chip import ChipError, load_chip
from ..errors import ScenarioError
from ..load import LoadedScenario
from .chips import Chips
from .evaluate import Session
from .fields import flatten, replaced
from .plan import COUNTED, Plan, make_plan, points_of
from .store import Store
from .workers import evaluated

if TYPE_CHECKING:
    import pyarrow as pa

_PAIRS_A_BATCH = 1 << 19
_POINTS_A_BATCH = 1 << 15
# When every point is a run of its own (time), few points a batch: workers share them evenly and little is lost.
_SLOW_BATCHES, _SLOW_POINTS = 64, 64
_COUNTED_AT_MOST = 1 << 23


@dataclass(frozen=True, slots=True)
class Size:
    """How large a sweep is: points of the product, points that the constraints allow (None: too many to count),
    chips, and instructions of the first point that works."""

    product: int
    allowed: int | None
    chips: int
    instructions: int

    @property
    def points(self) -> int:
        """Points to evaluate, at most."""
        return self.product if self.allowed is None else self.allowed

    def sentence(self) -> str:
        """`1,280 points (of 2,560 before the constraints), 3 chips, 32 instructions each: 40,960 accesses`."""
        text = f"{self.points:,} points"
        if self.allowed is not None and self.allowed != self.product:
            text += f" (of {self.product:,} before the constraints)"
        if self.chips > 1:
            text += f", {self.chips} chips"
        if self.instructions:
            text += f", {self.instructions:,} warp instructions each: {self.points * self.instructions:,} accesses"
        return text


def prepare(
    loaded: LoadedScenario, chip: str | None = None, overrides: Sequence[str] = ()
) -> tuple[Plan, Size]:
    """The plan of a scenario's sweep and its size. Raises `ScenarioError` when no point could work as it is written."""
    plan = make_plan(loaded, chip, tuple(overrides))
    _check_values(plan, loaded)
    plan, instructions = _probed(plan, loaded)
    allowed = None
    if plan.points <= _COUNTED_AT_MOST:
        step = 1 << 18
        allowed = sum(
            len(points_of(plan, start, min(start + step, plan.points)))
            for start in range(0, plan.points, step)
        )
    chips = 1
    for parameter in plan.parameters:
        if parameter.path is not None and parameter.path[0] in ("chip", "overrides"):
            chips *= len(parameter.values)
    return plan, Size(plan.points, allowed, chips, instructions)


def sweep(
    plan: Plan,
    folder: str | Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    resume: bool = False,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """Evaluates a plan into a folder and returns the table of its points, in their order.

    Every finished batch is durable. The table is the same to the bit for any number of workers and however often the
    sweep was interrupted. `progress` is told (batches done, batches). Raises `SweepError` about the folder.
    """
    store = Store(Path(folder))
    named = identity(plan)
    with store.locked():
        plan = replace(plan, batch=store.open(named, plan.batch, resume=resume, fresh=fresh))
        store.begin(named, plan.batch, plan.batches)
        if store.complete():
            return store.read()
        done = set(store.finished())
        todo = [number for number in range(plan.batches) if number not in done]
        if progress:
            progress(len(done), plan.batches)
        with store.joining() as whole:
            whole.grow(done)
            for number, part in evaluated(plan, todo, workers, scheduler):
                store.write(number, part)
                done.add(number)
                whole.grow(done)
                if progress:
                    progress(len(done), plan.batches)
            return store.finish(whole)


def identity(plan: Plan) -> dict[str, str]:
    """What the results of a plan depend on, by name: the scenario, chips, data files and versions."""
    found = {"bankbench": version("bankbench"), "numpy": version("numpy")}
    found |= flatten(
        {key: value for key, value in plan.data.items() if key not in ("title", "notes", "expect")}
    )
    for parameter in plan.parameters:
        found[f"sweep.parameters.{parameter.text}"] = _short(parameter.values)
    found |= {f"sweep.derived.{text}": expression for text, _, expression in plan.derived}
    found |= {f"sweep.where[{number}]": text for number, text in enumerate(plan.where)}
    found |= {
        "sweep.totals": " ".join(plan.totals),
        "--chip": plan.chip or "",
        "--set": " ".join(plan.overrides),
    }
    for variant in _chips(plan):
        found |= {f"chip {variant.name} {path}": repr(c.value) for path, c in variant.constants.items()}
    for access in plan.data.get("accesses") or []:
        name = access.get("offsets") if isinstance(access, dict) else None
        path = Path(plan.file).parent / name if isinstance(name, str) else None
        if path is not None and path.is_file():
            found[f"file {name}"] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return found


def _short(values: tuple[Any, ...]) -> str:
    """All values when they are few; else some, and a digest of all."""
    text = repr(list(values))
    if len(text) <= 200:
        return text
    return f"{text[:120]}... ({len(values)} values, {hashlib.sha256(text.encode()).hexdigest()[:12]})"


def _chips(plan: Plan) -> list[Any]:
    names = [v for p in plan.parameters if p.path == ("chip",) for v in p.values]
    names = names or [plan.chip or plan.data.get("chip", "h200")]
    found = []
    for name in names:
        try:
            local = Path(plan.file).parent / str(name)
            found.append(
                load_chip(local if str(name).endswith((".yaml", ".yml")) and local.exists() else str(name))
            )
        except ChipError:
            continue  # its points carry the error
    return found


def _check_values(plan: Plan, loaded: LoadedScenario) -> None:
    """The first value of every parameter must be one that its field can have: a misspelt path is found at once."""
    from ..load import validate
    from ..source import Source

    for parameter in plan.parameters:
        if parameter.path is None or parameter.path[0] in ("chip", "overrides"):
            continue
        data = replaced(plan.data, {parameter.path: parameter.values[0]})
        try:
            validate(Source(loaded.source.file, "", data))
        except ScenarioError as error:
            wrong = str(parameter.path[-1])
            if f"unknown key '{wrong}'" in error.message:
                place = loaded.place("sweep", "parameters", parameter.text)
                raise ScenarioError(
                    error.message, place=place, key=f"sweep.parameters.{parameter.text}"
                ) from None


def _probed(plan: Plan, loaded: LoadedScenario) -> tuple[Plan, int]:
    """The plan with the totals that other sections give, and a batch size; instructions of the first good point."""
    session = Session(plan)
    columns = set(plan.names.values())
    others = [name for name in session.others.wanted if name not in columns]
    instructions, totals, problem = 0, {}, ""
    step = max(plan.points // 64, 1)
    for start in range(0, plan.points, step):
        points = points_of(plan, start, min(start + 1, plan.points))
        if not len(points):
            points = points_of(plan, start, min(start + min(step, 4096), plan.points))
        if not len(points):
            continue
        results, good = session.results(points)
        fine = np.flatnonzero(good["status"])
        if not len(fine):
            problem = str(results["error"][0])
            continue
        if "instructions" in results:
            instructions = int(results["instructions"][fine[0]])
        if not others:
            break
        try:
            variants, chip_at = Chips(plan).of(points)
            rows = session.others.at(points, int(fine[0]), variants[chip_at[fine[0]]])
            totals = {name: value for name, value, _ in rows if name}
            break
        except ValueError as error:
            if not type(error).__module__.startswith("bankbench."):
                raise
            problem = str(error)
    else:
        if problem:
            raise ScenarioError(
                f"no point works; the first says: {problem}", place=loaded.place("sweep"), key="sweep"
            )
    known = {name for name in COUNTED if name != "bytes"} if session.counting.any else set()
    known |= {"bytes"} if session.places.names else set()
    wanted = [*others, *(name for name, _ in plan.goals if name in COUNTED)]
    missing = [name for name in wanted if name not in totals.keys() | known]
    if missing:
        have = ", ".join(sorted(known | totals.keys())) or "none"
        raise ScenarioError(
            f"'{missing[0]}' is no result of this scenario; there are: {have}",
            place=loaded.place("sweep", "objectives"),
            key="sweep.objectives",
        )
    if others:
        batch = max(min(plan.points // _SLOW_BATCHES, _SLOW_POINTS), 1)
        plan = replace(plan, totals=tuple(totals), batch=batch)
    else:
        plan = replace(plan, batch=max(min(_PAIRS_A_BATCH // max(instructions, 1), _POINTS_A_BATCH), 256))
    return plan, instructions
