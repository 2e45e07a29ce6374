"""`fix` from a scenario to its answer: search, check by the ordinary run, sentences and tables."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from ...sim.chip import Chip
from ...sim.results import Column, RunResult, Table
from ..accesses import lower_all
from ..buffers import constant
from ..counted import CountedAccess, count_access
from ..errors import ScenarioError, UnknownAnswerError
from ..load import LoadedScenario, load, validate
from ..part import unique, weakest
from ..run import choose_chip
from ..sentences import plural
from ..source import Source
from .family import Family, Limits
from .linear import is_linear
from .notation import equivalents, proposal
from .problem import Problem, problems, swizzle_is_sayable
from .proof import proof
from .search import Choice, Found, search


@dataclass(frozen=True, slots=True)
class Fixed:
    """One buffer with its best layout: `fields` is its mapping for the scenario file.

    With `kept` the best layout is the scenario's own: it has less excess than everything searched, for instance
    because it allows narrow accesses only, where the search keeps wide ones whole.
    """

    name: str
    problem: Problem
    family: Family
    found: Found
    fields: dict[str, Any]
    alternatives: dict[str, dict[str, Any]]
    kept: bool = False


def fix_scenario(
    scenario: str | Path | LoadedScenario,
    *,
    buffers: Sequence[str] = (),
    limits: Limits | None = None,
    chip: str | None = None,
    overrides: Sequence[str] = (),
    command: Sequence[str] = (),
) -> RunResult:
    """The layouts that take the excess wavefronts of a scenario away, or as many as can be.

    `buffers` names those to work on (default: the section `fix:`, or all that accesses reach by coordinates);
    `limits` are added to the section's. The result has the tables `fix` (before and after), `layouts` (the best of
    each kind) and, in `extra["scenario"]`, the text of the fixed scenario. Raises `ScenarioError`.

    >>> fix_scenario("transpose-pitch-32").table("layouts").data["excess"][0]
    0
    """
    loaded = scenario if isinstance(scenario, LoadedScenario) else load(scenario)
    machine = choose_chip(loaded, chip, overrides)
    section = loaded.scenario.fix
    limits = (section.limits() if section else Limits()).stricter(limits or Limits())
    names = list(buffers) or (section.buffers if section and section.buffers else _by_coordinates(loaded))
    fixed = [_fix_one(name, loaded, machine, limits) for name in names]
    after = with_buffers(loaded, {item.name: item.fields for item in fixed})
    before = _count(loaded, machine, names)
    counted = _count(after, machine, names)
    assert counted is not None
    _check(fixed, counted)
    own = loaded.source.data["buffers"]
    fixed = [
        replace(item, fields=own[item.name], kept=True) if _better_as_it_is(item, before, limits) else item
        for item in fixed
    ]
    if any(item.kept for item in fixed):
        after = with_buffers(loaded, {item.name: item.fields for item in fixed})
        counted = _count(after, machine, names) or []
    return RunResult(
        name=f"fix-{loaded.scenario.name}",
        title=f"Layouts for {loaded.scenario.name}",
        chip=machine.name,
        chip_title=machine.title,
        status=weakest([item.status for item in counted]),
        headline="; ".join(_headline(item, before, counted) for item in fixed),
        reasons=tuple(line for item in fixed for line in _reasons(item, machine, len(fixed) > 1)),
        tables=(_before_after(before, counted), _layouts(fixed)),
        assumptions=unique([line for item in counted for line in item.counts.assumptions]),
        command=shlex.join(command or ("bankbench", "fix", loaded.source.file)),
        versions={name: version(name) for name in ("bankbench", "numpy")},
        inputs={Path(loaded.source.file).name: loaded.source.text},
        extra={
            "terminal": ["fix", "layouts"],
            "scenario": after.source.text,
            "fields": {item.name: item.fields for item in fixed},
        },
    )


def _by_coordinates(loaded: LoadedScenario) -> list[str]:
    names = [
        access.buffer
        for access in loaded.scenario.accesses
        if access.buffer is not None and (access.lanes is not None or access.fragment is not None)
    ]
    if not names:
        raise ScenarioError(
            "no access reaches a buffer by coordinates (lanes or fragment), so no layout can be fixed",
            place=loaded.place("accesses"),
            key="accesses",
        )
    return list(dict.fromkeys(names))


def _fix_one(name: str, loaded: LoadedScenario, chip: Chip, limits: Limits) -> Fixed:
    if name not in loaded.scenario.buffers:
        raise ScenarioError(
            f"no buffer '{name}'; there are: {', '.join(loaded.scenario.buffers) or 'none'}",
            place=loaded.place("buffers"),
            key="buffers",
        )
    spec = loaded.scenario.buffers[name].spec()
    accesses = [access.spec() for access in loaded.scenario.accesses]
    try:
        found = [
            (problem, family, result)
            for problem in problems(name, spec, accesses, chip, loaded.folder, limits)
            if (result := search(problem, family := _family(problem, chip, limits), chip)) is not None
        ]
    except ScenarioError as error:
        raise error.at(loaded.place("buffers", name), f"buffers.{name}") from None
    if not found:
        raise ScenarioError(
            f"no layout keeps the limits ({', '.join(limits.words()) or 'the vector widths'})",
            place=loaded.place("buffers", name),
            key=f"buffers.{name}",
        )
    problem, family, result = min(found, key=lambda item: item[2].best.order)
    data = loaded.source.data["buffers"][name]
    return Fixed(
        name,
        problem,
        family,
        result,
        proposal(data, spec, problem, result.best),
        {kind: proposal(data, spec, problem, choice) for kind, choice in result.by_kind.items()},
    )


def _family(problem: Problem, chip: Chip, limits: Limits) -> Family:
    banks, size = (constant(chip, f"shared_memory.{name}") for name in ("banks", "bank_bytes"))
    if not banks or not size:
        raise UnknownAnswerError(f"the banks of {chip.name} are unknown, so no layout can be judged")
    linear = problem.tight.notation == "linear"
    if not swizzle_is_sayable(problem.tight) or (linear and not is_linear(problem)):
        limits = limits.stricter(Limits(swizzle=False))
    step = max(problem.base.buffer.bits // 8, 1)
    return Family(problem.base.row, max(problem.keep, limits.align), int(banks * size), limits, step)


def with_buffers(loaded: LoadedScenario, fields: dict[str, dict[str, Any]]) -> LoadedScenario:
    """The scenario with other buffers, validated; its text is written anew."""
    data = copy.deepcopy(loaded.source.data)
    for name, value in fields.items():
        data["buffers"][name] = value
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
    return validate(Source(loaded.source.file, text, data))


def _count(loaded: LoadedScenario, chip: Chip, names: Sequence[str]) -> list[CountedAccess] | None:
    """The accesses to these buffers as the ordinary run counts them; None when it refuses them as they are."""
    try:
        _, lowered = lower_all(loaded, chip)
    except ScenarioError:
        return None
    return [
        count_access(item, chip)
        for item, access in zip(lowered, loaded.scenario.accesses, strict=True)
        if access.buffer in names and access.bytes is None and access.offsets is None
    ]


def _check(fixed: Sequence[Fixed], counted: Sequence[CountedAccess]) -> None:
    """The search and the ordinary run have to agree; anything else is a mistake of the search."""
    promised = sum(item.found.best.excess for item in fixed)
    measured = sum(item.total("excess_wavefronts") for item in counted)
    if promised != measured:
        raise AssertionError(f"the search found {promised} excess wavefronts, the run {measured}")


def _better_as_it_is(item: Fixed, before: list[CountedAccess] | None, limits: Limits) -> bool:
    """Whether the scenario's own layout has less excess than the best that was found, and keeps the limits too."""
    mine = _of(item, before or [])
    if not mine or limits.align > 1 or limits.tma or limits.power_of_two:
        return False
    buffer = mine[0].access.buffer
    if limits.max_bytes is not None and buffer is not None and buffer.footprint > limits.max_bytes:
        return False
    return sum(x.total("excess_wavefronts") for x in mine) < item.found.best.excess


def _of(item: Fixed, counted: Sequence[CountedAccess]) -> list[CountedAccess]:
    return [x for x in counted if x.access.buffer and x.access.buffer.name == item.name]


def _headline(item: Fixed, before: list[CountedAccess] | None, after: Sequence[CountedAccess]) -> str:
    best = item.found.best
    mine = _of(item, after)
    wavefronts = sum(x.total("wavefronts") for x in mine)
    if item.kept:
        excess = sum(x.total("excess_wavefronts") for x in mine)
        return (
            f"{item.name}: keep it as it is: {plural(wavefronts, 'wavefront')}, "
            f"{f'{excess:,}' if excess else 'no'} excess; the best of the others has {best.excess:,} excess"
        )
    text = f"{item.name}: {layout_words(item, best)}: {plural(wavefronts, 'wavefront')}"
    text += f", {best.excess:,} excess" if best.excess else ", no excess"
    if before is not None:
        old = _of(item, before)
        excess = sum(x.total("excess_wavefronts") for x in old)
        text += f" ({sum(x.total('wavefronts') for x in old):,} with {excess:,} excess before)"
    text += f", {best.bytes:,} bytes"
    return text + (", none with fewer exists" if best.bytes <= item.problem.base.buffer.valid else "")


def layout_words(item: Fixed, choice: Choice) -> str:
    """`pad 8`, `swizzle 128B`, `pad 8, swizzle Sw<2,3,3>`, or the layout's text."""
    fields = item.alternatives.get(choice.kind, item.fields)
    if "layout" in fields:
        return str(fields["layout"]) + (f", swizzle {fields['swizzle']}" if "swizzle" in fields else "")
    parts = [f"{key} {fields[key]}" for key in ("pad", "swizzle") if key in fields]
    return ", ".join(parts) or "plain rows"


def _reasons(item: Fixed, chip: Chip, named: bool) -> list[str]:
    head = f"{item.name}: " if named else ""
    if item.kept:
        return [
            f"{head}the best of the {item.found.judged:,} layouts searched, which keep chunks of {item.family.keep} "
            f"bytes whole: {layout_words(item, item.found.best)}"
        ]
    lines = [head + line for line in proof(item.problem, item.family, item.found, chip)]
    limits = item.family.limits.words()
    lines += [f"{head}limits kept: {', '.join(limits)}"] if limits else []
    lines.append(f"paste under buffers: {_snippet([item])}")
    other = equivalents(item.problem, item.found.best)
    return lines + ([f"the same as {other}"] if other else [])


def _snippet(fixed: Sequence[Fixed]) -> str:
    """The buffers as lines of a scenario file."""
    return "\n".join(
        f"{item.name}: {yaml.safe_dump(item.fields, default_flow_style=True, sort_keys=False, width=10_000).strip()}"
        for item in fixed
    )


def _before_after(before: list[CountedAccess] | None, after: Sequence[CountedAccess]) -> Table:
    rows: dict[str, list[Any]] = {
        name: []
        for name in (
            "access",
            "ideal",
            "wavefronts_before",
            "excess_before",
            "wavefronts_after",
            "excess_after",
        )
    }
    for index, item in enumerate(after):
        old = before[index] if before is not None else None
        rows["access"].append(item.access.name)
        rows["ideal"].append(item.total("ideal_wavefronts"))
        for name, counted in (("before", old), ("after", item)):
            rows[f"wavefronts_{name}"].append(counted.total("wavefronts") if counted else None)
            rows[f"excess_{name}"].append(counted.total("excess_wavefronts") if counted else None)
    for name, values in rows.items():
        values.append("all" if name == "access" else (None if None in values else sum(values)))
    columns = (
        Column("access", "", "name of the access in the scenario"),
        Column("wavefronts_before", "", "with the scenario's own layout; empty when it refuses the access"),
        Column("excess_before", "", "wavefronts above the ideal, before"),
        Column("wavefronts_after", "", "with the proposed layout"),
        Column("excess_after", "", "wavefronts above the ideal, after"),
        Column("ideal", "", "the fewest wavefronts of the accesses after"),
    )
    return Table("fix", "Before and after", columns, rows)


def _layouts(fixed: Sequence[Fixed]) -> Table:
    rows: dict[str, list[Any]] = {
        name: [] for name in ("buffer", "kind", "layout", "excess", "bytes", "unused")
    }
    for item in fixed:
        for choice in sorted(item.found.by_kind.values(), key=lambda c: c.order):
            rows["buffer"].append(item.name)
            rows["kind"].append(choice.kind)
            rows["layout"].append(layout_words(item, choice))
            rows["excess"].append(choice.excess)
            rows["bytes"].append(choice.bytes)
            rows["unused"].append(choice.bytes - item.problem.base.buffer.valid)
    columns = (
        Column("buffer", "", "name of the buffer"),
        Column(
            "kind", "", "plain rows, padding, a swizzle Sw<B,M,S>, another mask, or padding and swizzle both"
        ),
        Column("layout", "", "the best layout of this kind"),
        Column("excess", "", "excess wavefronts of all accesses to the buffer together"),
        Column("bytes", "", "from the first to the last byte that an element uses"),
        Column("unused", "bytes", "bytes that hold no element"),
    )
    return Table("layouts", "The best layout of each kind", columns, rows)
