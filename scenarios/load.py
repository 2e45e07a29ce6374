"""From a scenario file to a validated `Scenario`; every error names file, line, key, found and allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from .errors import Place, ScenarioError
from .model import Scenario
from .source import Loc, Source, dotted, parse_source, read_source


@dataclass(frozen=True, slots=True)
class LoadedScenario:
    """A validated scenario together with the text and the places it came from."""

    scenario: Scenario
    source: Source

    @property
    def folder(self) -> Path:
        """Where relative file names in the scenario start from."""
        path = Path(self.source.file)
        return path.parent if path.exists() else Path()

    def place(self, *path: str | int) -> Place:
        """The place of a key in the file, for errors that are found after validation."""
        return self.source.place(path)


def load(name_or_path: str | Path) -> LoadedScenario:
    """Loads a scenario file (`-` is standard input), or a catalogue scenario by its name.

    Raises `ScenarioError` with the place; an unknown catalogue name lists the nearest ones.
    """
    path = Path(name_or_path)
    named = not path.exists() and str(path) != "-"
    if named and path.suffix not in (".yaml", ".yml", ".json") and len(path.parts) == 1:
        path = _catalogue_path(str(name_or_path))
    return validate(read_source(path))


def loads(text: str, file: str = "<text>") -> LoadedScenario:
    """Validates a scenario given as text."""
    return validate(parse_source(text, file))


def validate(source: Source) -> LoadedScenario:
    """Validates parsed YAML against the model."""
    if not isinstance(source.data, dict):
        found = "nothing" if source.data is None else type(source.data).__name__
        raise ScenarioError(
            f"a scenario is a mapping with at least name: and accesses:; found {found}",
            place=source.place(()),
        )
    try:
        return LoadedScenario(Scenario.model_validate(source.data), source)
    except ValidationError as error:
        raise _first_error(error, source, Scenario) from None


def catalogue() -> list[Path]:
    """The ready scenarios that are installed with the package, by name."""
    folder = resources.files("bankbench.scenarios") / "catalogue"
    return sorted(Path(str(item)) for item in folder.iterdir() if item.name.endswith(".yaml"))


def _catalogue_path(name: str) -> Path:
    paths = {path.stem: path for path in catalogue()}
    if name in paths:
        return paths[name]
    near = difflib.get_close_matches(name, paths, 3, 0.4)
    hint = f"; near: {', '.join(near)}" if near else "; `bankbench scenarios` lists the catalogue"
    raise ScenarioError(f"no file and no catalogue scenario of this name{hint}", place=Place(name))


def _first_error(error: ValidationError, source: Source, model: type[BaseModel]) -> ScenarioError:
    """One line for the first problem; how many more there are stands behind it."""
    problems = error.errors(include_url=False)
    # A misspelt key also makes the right one missing; the spelling is what the writer wants to hear.
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    loc = _existing(first["loc"], source)
    message = _message(first, model)
    more = len({tuple(_existing(p["loc"], source)) for p in problems}) - 1
    if more > 0:
        message += f" ({more} more {'problem' if more == 1 else 'problems'} in the file)"
    return ScenarioError(message, place=source.place(loc), key=dotted(loc))


def _existing(loc: tuple[int | str, ...], source: Source) -> Loc:
    """The part of pydantic's location that is a path of the file (it also names union branches)."""
    node: Any = source.data
    path: list[str | int] = []
    for part in loc:
        if _holds(node, part):
            node = node[part]
            path.append(part)
    return tuple(path)


def _holds(node: Any, part: int | str) -> bool:
    if isinstance(node, dict):
        return part in node
    return isinstance(node, list) and isinstance(part, int) and part < len(node)


def _message(problem: Any, model: type[BaseModel]) -> str:
    kind, found = problem["type"], problem.get("input")
    if kind == "extra_forbidden":
        known = _fields_at(model, problem["loc"][:-1])
        key = str(problem["loc"][-1])
        near = difflib.get_close_matches(key, known, 1, 0.6)
        hint = f"did you mean '{near[0]}'? " if near else ""
        return f"unknown key '{key}'; {hint}allowed: {', '.join(known)}"
    if kind == "missing":
        return f"'{problem['loc'][-1]}' is missing"
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    text = problem["msg"]
    text = text[0].lower() + text[1:]
    shown = repr(found)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"found {shown}; {text}"


def _fields_at(model: type[BaseModel], loc: Iterable[int | str]) -> list[str]:
    """Keys that the model at a location allows, in the order of the documentation."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})

    def resolve(node: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in node:
            node = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return node

    node = resolve(schema)
    for part in loc:
        options = [resolve(option) for option in (node.get("anyOf") or node.get("oneOf") or [node])]
        for option in options:
            if isinstance(part, int) and "items" in option:
                node = resolve(option["items"])
                break
            if isinstance(part, str) and part in option.get("properties", {}):
                node = resolve(option["properties"][part])
                break
            if isinstance(part, str) and isinstance(option.get("additionalProperties"), dict):
                node = resolve(option["additionalProperties"])
                break
    options = [resolve(option) for option in (node.get("anyOf") or node.get("oneOf") or [node])]
    return [key for option in options for key in option.get("properties", {})]
