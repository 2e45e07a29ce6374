"""Reading chip files.

A chip file holds the keys `name`, `title`, `arch`, `aliases`, optionally `extends: <chip>` with
`inherited: {confidence, note, only}` (how sure figures taken over from another chip are, and which groups are taken
over when not all), optionally `sources`
(short names for long citations), and last `constants`: nested groups whose leaves are
`{value, unit, source, confidence, note}`. A value that nobody knows is null with confidence unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

CONFIDENCES = ("vendor document", "vendor code", "measured", "derived", "fitted", "assumed", "unknown")
CHIPS = Path(__file__).parent / "chips"
OVERRIDE = "set by the user"

_HEADER = ("name", "title", "arch", "aliases", "extends", "inherited", "sources", "constants")
_LEAF = ("value", "unit", "source", "confidence", "note")

Tree = dict[str, Any]


class ChipError(ValueError):
    """A chip, a chip file or a constant of a chip that cannot be used; the message is one line."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One figure of a chip with its origin.

    `value` is a number, text, bool, a tuple of those, or None when nobody knows it (confidence "unknown").
    `unit` is text such as "bytes" or "cycles"; `confidence` is one of `CONFIDENCES`.
    """

    path: str
    value: Any
    unit: str
    source: str
    confidence: str
    note: str = ""

    @property
    def overridden(self) -> bool:
        """Whether the user replaced the figure of the file."""
        return self.source == OVERRIDE

    def replaced(self, value: Any, chip: str) -> Constant:
        """This constant with the user's value. Raises ChipError for a value of another kind."""
        if self.value is not None and value is not None and _kind(self.value) != _kind(value):
            wanted, given = _kind(self.value), _kind(value)
            raise ChipError(
                f"chip {chip}: {self.path}: {show(value)} is {given}, {wanted} is needed ({self.unit})"
            )
        numbers = cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,))
        if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
            raise ChipError(
                f"chip {chip}: {self.path}: {show(value)} is no number to count with ({self.unit})"
            )
        confidence = "unknown" if value is None else "assumed"
        note = f"the file of {chip} says {show(self.value)}"
        return replace(self, value=value, source=OVERRIDE, confidence=confidence, note=note)


@dataclass(frozen=True, slots=True)
class Head:
    """What a chip file says before its constants."""

    name: str
    title: str
    arch: str
    aliases: tuple[str, ...]


def read_chip_file(path: Path, seen: tuple[Path, ...] = ()) -> tuple[Head, dict[str, Constant]]:
    """Head and constants of a chip file, those of the chip that it extends included. Raises ChipError."""
    if path in seen:
        raise ChipError(f"chip file {path.name}: `extends` goes round in a circle")
    data = _parse(_text(path), path)
    head = _head(data, path)
    constants: dict[str, Constant] = {}
    if data.get("extends"):
        base, figures = read_chip_file(_parent(str(data["extends"]), path), (*seen, path))
        constants |= _inherited(base, figures, _tree(data.get("inherited"), "inherited", path), path)
    sources = {key: str(text) for key, text in _tree(data.get("sources"), "sources", path).items()}
    for constant in _leaves(data.get("constants"), "", sources, path):
        constants[constant.path] = constant
    return head, constants


def chip_files() -> list[Path]:
    """The chips that come with bankbench; files that only others extend begin with an underscore."""
    return sorted(path for path in CHIPS.glob("*.yaml") if not path.name.startswith("_"))


@lru_cache(maxsize=1)
def names_by_alias() -> Mapping[str, str]:
    """Alias -> chip name over the files that come with bankbench."""
    # Only the heads are parsed: `constants` comes last in a chip file, and a head takes a tenth of the time.
    found: dict[str, str] = {}
    for path in chip_files():
        for alias in _head(_parse(_text(path).split("\nconstants:", 1)[0], path), path).aliases:
            found[alias.lower()] = path.stem
    return found


def frozen(value: Any) -> Any:
    """Lists become tuples, so that a chip stays a value."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in cast("Iterable[Any]", value))
    return value


def show(value: Any) -> str:
    """A value as an error prints it."""
    if value is None:
        return "unknown"
    return repr(list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value)


def _parent(name: str, path: Path) -> Path:
    beside = path.parent / f"{name}.yaml"
    return beside if beside.is_file() else CHIPS / f"{name}.yaml"


def _inherited(base: Head, figures: Mapping[str, Constant], rule: Tree, path: Path) -> dict[str, Constant]:
    """Constants of another chip: kept as they are, or marked down to what `inherited` says of them."""
    if not rule:
        return dict(figures)
    extra = [key for key in rule if key not in ("confidence", "note", "only")]
    if extra:
        raise ChipError(f"{path.name}: inherited: unknown key {extra[0]!r} (allowed: confidence, note, only)")
    figures = _only(figures, frozen(rule.get("only")), base, path)
    confidence = _confidence(rule.get("confidence"), "inherited.confidence", path)
    note = str(rule.get("note", f"as {base.title}"))
    return {
        key: old
        if old.confidence == "unknown"
        else replace(old, confidence=confidence, note=note, source=f"{base.name}: {old.source}")
        for key, old in figures.items()
    }


def _only(figures: Mapping[str, Constant], groups: Any, base: Head, path: Path) -> Mapping[str, Constant]:
    """The figures of some groups (`shared_memory.banks`, `shared_memory.atomic`); all when none are named."""
    if groups is None:
        return figures
    picked: dict[str, Constant] = {}
    for group in groups:
        found = {key: old for key, old in figures.items() if f"{key}.".startswith(f"{group}.")}
        if not found:
            raise ChipError(f"{path.name}: inherited.only: {base.name} has no constants under {group!r}")
        picked |= found
    return {key: old for key, old in figures.items() if key in picked}


def _leaves(node: Any, prefix: str, sources: Mapping[str, str], path: Path) -> Iterator[Constant]:
    for key, child in _tree(node, prefix or "constants", path).items():
        here = f"{prefix}.{key}" if prefix else key
        if isinstance(child, dict) and "value" in child:
            yield _leaf(_tree(cast("Any", child), here, path), here, sources, path)
        else:
            yield from _leaves(child, here, sources, path)


def _leaf(leaf: Tree, here: str, sources: Mapping[str, str], path: Path) -> Constant:
    extra = [key for key in leaf if key not in _LEAF]
    missing = [key for key in _LEAF[:-1] if key not in leaf]
    if extra or missing:
        what = f"unknown key {extra[0]!r}" if extra else f"key {missing[0]!r} is missing"
        raise ChipError(f"{path.name}: {here}: {what} (a constant has {', '.join(_LEAF)})")
    confidence = _confidence(leaf["confidence"], here, path)
    value = frozen(leaf["value"])
    if (value is None) != (confidence == "unknown"):
        raise ChipError(f"{path.name}: {here}: value null and confidence unknown go together")
    source = str(leaf["source"])
    note = str(leaf.get("note", ""))
    return Constant(here, value, str(leaf["unit"]), sources.get(source, source), confidence, note)


def _confidence(value: Any, here: str, path: Path) -> str:
    if value not in CONFIDENCES:
        raise ChipError(f"{path.name}: {here}: {value!r} is none of {', '.join(CONFIDENCES)}")
    return str(value)


def _head(data: Tree, path: Path) -> Head:
    extra = [key for key in data if key not in _HEADER]
    if extra:
        raise ChipError(f"{path.name}: unknown key {extra[0]!r} (allowed: {', '.join(_HEADER)})")
    for key in ("name", "title", "arch"):
        if not data.get(key):
            raise ChipError(f"{path.name}: key {key!r} is missing")
    aliases: Any = data.get("aliases") or []
    if not isinstance(aliases, list):
        raise ChipError(f"{path.name}: aliases: a list of names is needed, found {show(aliases)}")
    names = tuple(str(alias) for alias in cast("list[Any]", aliases))
    return Head(str(data["name"]), str(data["title"]), str(data["arch"]), names)


def _tree(node: Any, here: str, path: Path) -> Tree:
    if node is None:
        return {}
    if not isinstance(node, dict):
        raise ChipError(f"{path.name}: {here}: keys with values are needed, found {show(node)}")
    return {str(key): value for key, value in cast("dict[Any, Any]", node).items()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ChipError(f"chip file {path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ChipError(f"chip file {path}: cannot be read ({error})") from error


def _parse(text: str, path: Path) -> Tree:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data: Any = yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        place = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not readable"
        raise ChipError(f"{path.name}{place}: not valid YAML ({problem})") from error
    if not isinstance(data, dict):
        raise ChipError(f"{path.name}: not a chip file (it has the keys {', '.join(_HEADER)})")
    return _tree(cast("Any", data), "", path)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    return "a list" if isinstance(value, tuple) else "text"
