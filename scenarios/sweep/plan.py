"""The plan of a sweep: which points there are, numbered, and what every field of the scenario is at each.

Point i is a number in mixed radix: every parameter (or zipped group) is a digit, the first one the slowest. So any
range of points can be made anywhere, by any worker, without a list of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Place, ScenarioError
from .fields import Path, parse_path
from .values import Texts, aliases, check_expression, column_names, condition, derive, used_names

if TYPE_CHECKING:
    from ..load import LoadedScenario

IntArray = NDArray[np.int64]

# Results that counting gives; anything else is a total of another section, or cycles.
COUNTED = (
    "wavefronts",
    "ideal_wavefronts",
    "excess_wavefronts",
    "bank_conflicts",
    "worst_ways",
    "instructions",
    "bytes",
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its text in the file, the field it sets (None for a word of its own), its values, its digit.

    `leads` is False for those that are zipped to another one.
    """

    text: str
    path: Path | None
    values: tuple[Any, ...]
    digit: int
    leads: bool = True


@dataclass(frozen=True)
class Plan:
    """A sweep ready to be evaluated; everything in it can be sent to another process."""

    data: Mapping[str, Any]
    file: str
    chip: str | None
    overrides: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    sizes: tuple[int, ...]
    derived: tuple[tuple[str, Path | None, str], ...]
    where: tuple[str, ...]
    goals: tuple[tuple[str, bool], ...]
    totals: tuple[str, ...] = ()
    batch: int = 4096
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> int:
        """Points of the product, those that a constraint rejects counted."""
        return math.prod(self.sizes)

    @property
    def batches(self) -> int:
        """How many batches the points make."""
        return -(-self.points // self.batch)

    def span(self, batch: int) -> tuple[int, int]:
        """First point of a batch, and the one behind its last."""
        return batch * self.batch, min((batch + 1) * self.batch, self.points)

    @property
    def leaders(self) -> tuple[Parameter, ...]:
        """One parameter for every digit: those that are zipped to it say nothing more."""
        return tuple(p for p in self.parameters if p.leads and len(p.values) > 1) or self.parameters[:1]

    @cached_property
    def texts(self) -> Texts:
        """Numbers of the texts; the same in every process, since parameters are coded first and in order."""
        found = Texts()
        for parameter in self.parameters:
            found.coded(parameter.values)
        return found

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Name in expressions -> parameter or derived field."""
        return aliases([p.text for p in self.parameters] + [text for text, _, _ in self.derived])

    def digits(self, index: IntArray) -> list[IntArray]:
        """The digit of every parameter at these points."""
        found: list[IntArray] = []
        for size in reversed(self.sizes):
            index, digit = np.divmod(index, size)
            found.append(digit)
        found.reverse()
        return found

    def result_conditions(self) -> tuple[str, ...]:
        """Constraints that name a result, checked after the evaluation."""
        return tuple(text for text in self.where if used_names(text) - set(self.aliases))


@dataclass(frozen=True, slots=True)
class Points:
    """Some points of a plan that its constraints allow.

    `index` (n,) are their numbers; `values[text]` is (different values, which one each point has) for every parameter
    and derived field, `fields` the same for those that set a field; `names` are arrays for expressions.
    """

    index: IntArray
    values: Mapping[str, tuple[list[Any], IntArray]]
    fields: Mapping[Path, tuple[list[Any], IntArray]]
    names: Mapping[str, IntArray]

    def __len__(self) -> int:
        return len(self.index)

    def at(self, point: int) -> dict[Path, Any]:
        """Field -> value of one point (by its position here)."""
        return {path: values[which[point]] for path, (values, which) in self.fields.items()}


def points_of(plan: Plan, start: int, stop: int) -> Points:
    """The points from `start` to `stop` that the constraints over parameters and derived words allow."""
    index = np.arange(start, stop, dtype=np.int64)
    digits = plan.digits(index)
    values: dict[str, tuple[list[Any], IntArray]] = {
        p.text: (list(p.values), digits[p.digit]) for p in plan.parameters
    }
    names: dict[str, IntArray] = {}

    def learn(text: str) -> None:
        different, which = values[text]
        coded = plan.texts.coded(different)
        if coded is not None:
            for name, owner in plan.aliases.items():
                if owner == text:
                    names[name] = coded[which]

    for parameter in plan.parameters:
        learn(parameter.text)
    late = set(plan.result_conditions())
    allowed = np.ones(len(index), np.bool_)
    for text, _, expression in plan.derived:
        values[text] = derive(expression, names, plan.texts, len(index))
        learn(text)
    for text in plan.where:
        if text not in late:
            allowed &= np.broadcast_to(condition(text, names, plan.texts), (len(index),))
    if not allowed.all():
        index = index[allowed]
        values = {text: (different, which[allowed]) for text, (different, which) in values.items()}
        names = {name: array[allowed] for name, array in names.items()}
    paths = {p.text: p.path for p in plan.parameters} | {text: path for text, path, _ in plan.derived}
    fields = {path: values[text] for text, path in paths.items() if path is not None}
    return Points(index, values, fields, names)


def make_plan(loaded: LoadedScenario, chip: str | None = None, overrides: tuple[str, ...] = ()) -> Plan:
    """The plan of a scenario's section `sweep:`. Raises `ScenarioError` with the place of what is wrong."""
    section = loaded.scenario.sweep
    if section is None:
        raise ScenarioError("has no section sweep: to walk through", place=loaded.place())
    group_of = {name: group[0] for group in section.zip for name in group}
    digit_of: dict[str, int] = {}
    sizes: list[int] = []
    parameters: list[Parameter] = []
    for name in section.parameters:
        values = section.values(name)
        place = loaded.place("sweep", "parameters", name)
        if not values:
            raise ScenarioError("no value", place=place, key=f"sweep.parameters.{name}")
        leader = group_of.get(name, name)
        if leader not in digit_of:
            digit_of[leader] = len(sizes)
            sizes.append(len(values))
        path = _path(name, loaded, place, f"sweep.parameters.{name}")
        parameters.append(Parameter(name, path, tuple(values), digit_of[leader], name == leader))
    if math.prod(sizes) > 1 << 53:
        raise ScenarioError(f"{math.prod(sizes):,} points", place=loaded.place("sweep"), key="sweep")
    derived = tuple(
        (name, _path(name, loaded, loaded.place("sweep", "derived", name), f"sweep.derived.{name}"), text)
        for name, text in section.derived.items()
    )
    names = [p.text for p in parameters] + [text for text, _, _ in derived]
    plan = Plan(
        data={key: value for key, value in loaded.source.data.items() if key not in ("sweep", "fix")},
        file=loaded.source.file,
        chip=chip,
        overrides=overrides,
        parameters=tuple(parameters),
        sizes=tuple(sizes),
        derived=derived,
        where=tuple(section.where),
        goals=tuple(section.goals()),
        names=column_names(names, (*COUNTED, "point", "status", "error")),
    )
    _check_expressions(plan, loaded)
    # An objective may also be a parameter or a derived word; it then is a column of its own.
    owned = {name: plan.names[owner] for name, owner in plan.aliases.items() if name not in COUNTED}
    return replace(plan, goals=tuple((owned.get(name, name), largest) for name, largest in plan.goals))


def _path(name: str, loaded: LoadedScenario, place: Place, key: str) -> Path | None:
    """The field that a parameter sets; a plain word that is no top-level field is a word of its own."""
    from ..model import Scenario

    if name.isidentifier() and name not in Scenario.model_fields:
        return None
    try:
        return parse_path(name, loaded.source.data)
    except ScenarioError as error:
        raise error.at(place, key) from None


def _check_expressions(plan: Plan, loaded: LoadedScenario) -> None:
    """Every name in derived fields and constraints has to be known, the derived ones in their order."""
    known = {name for name, owner in plan.aliases.items() if owner in {p.text for p in plan.parameters}}
    for text, _, expression in plan.derived:
        try:
            check_expression(expression, known, expression)
        except ScenarioError as error:
            raise error.at(loaded.place("sweep", "derived", text), f"sweep.derived.{text}") from None
        known |= {name for name, owner in plan.aliases.items() if owner == text}
    results = {*COUNTED, *(name for name, _ in plan.goals)}
    for number, text in enumerate(plan.where):
        try:
            check_expression(text, known | results, text)
        except ScenarioError as error:
            raise error.at(loaded.place("sweep", "where", number), f"sweep.where[{number}]") from None
