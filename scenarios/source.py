"""Reading YAML (JSON is a subset) with the place of every value, so that errors can name file and line."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from .errors import Place, ScenarioError

Loc = tuple[str | int, ...]

_MAX_BYTES = 8 << 20
_MAX_NODES = 100_000
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.I)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed text: plain Python values, and the place of each by its path."""

    file: str
    text: str
    data: Any
    places: Mapping[Loc, Place] = field(default_factory=dict)

    def place(self, path: Loc) -> Place:
        """The place of a path, or of its nearest ancestor that has one."""
        for length in range(len(path), -1, -1):
            found = self.places.get(path[:length])
            if found:
                return found
        return Place(self.file)


def read_source(path: str | Path) -> Source:
    """Reads and parses one file, `-` for standard input.

    Raises `ScenarioError` when it is missing, unreadable, huge or not UTF-8.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise ScenarioError("is a folder; name a scenario file", place=Place(str(path)))
        raw = standard_input().read(_MAX_BYTES + 1) if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"cannot be read: {error.strerror or error}", place=Place(str(path))) from None
    if len(raw) > _MAX_BYTES:
        raise ScenarioError(
            f"{len(raw)} bytes; a scenario may have {_MAX_BYTES}; put long lists of offsets into a data file",
            place=Place(str(path)),
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ScenarioError("not UTF-8 text", place=Place(str(path), line)) from None
    json = path.suffix == ".json" or text.lstrip().startswith("{")
    return parse_source(_joined(text) if json else text, str(path))


def standard_input() -> BinaryIO:
    """The bytes of standard input. Raises `ScenarioError` where a program was started without one."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise ScenarioError("standard input is closed", place=Place("-"))
    return sys.stdin.buffer


def _joined(text: str) -> str:
    """JSON writes a sign beyond 16 bits as two escapes, a surrogate pair; YAML knows the one long escape."""

    def long_escape(found: re.Match[str]) -> str:
        high, low = (int(digits, 16) for digits in found.group(2, 3))
        return f"{found[1]}\\U{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):08x}"

    return _PAIR.sub(long_escape, text)


def parse_source(text: str, file: str = "<text>") -> Source:
    """Parses YAML text. Duplicate keys, tags and aliases that would hide a mistake are refused."""
    try:
        root = yaml.compose(text, Loader=_Loader)
        places: dict[Loc, Place] = {}
        data = _plain(root, (), file, places, [0]) if root is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        raise ScenarioError(f"not YAML: {error.problem or error.context}", place=place) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, ScenarioError):
            raise
        raise ScenarioError(f"not YAML: {str(error).splitlines()[0]}", place=Place(file)) from None
    return Source(file, text, data, places)


def _plain(node: yaml.Node, path: Loc, file: str, places: dict[Loc, Place], budget: list[int]) -> Any:
    budget[0] += 1
    place = Place(file, node.start_mark.line + 1, node.start_mark.column + 1)
    if budget[0] > _MAX_NODES:
        raise ScenarioError(f"more than {_MAX_NODES} values; put long lists into a data file", place=place)
    places[path] = place
    if isinstance(node, yaml.MappingNode):
        result: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key_place = Place(file, key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            if not isinstance(key_node, yaml.ScalarNode):
                raise ScenarioError("a key must be a word", place=key_place)
            key = str(key_node.value)
            if key in result:
                raise ScenarioError(f"'{key}' stands here twice", place=key_place, key=_dotted((*path, key)))
            result[key] = _plain(value_node, (*path, key), file, places, budget)
            # The key's own line is the better place for a value that spans lines.
            places[(*path, key)] = key_place
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*path, i), file, places, budget) for i, item in enumerate(node.value)]
    if not node.tag.startswith("tag:yaml.org,2002:"):
        raise ScenarioError(f"tag {node.tag} is not used here", place=place)
    if node.tag.endswith((":timestamp", ":binary")) or (
        ":" in node.value and node.tag.endswith((":int", ":float"))
    ):
        # YAML 1.1 reads 8:1 as a number to base 60; here it is a layout.
        return str(node.value)
    return yaml.SafeLoader("").construct_object(node)


def _dotted(path: Loc) -> str:
    """`accesses[2].lanes` for ("accesses", 2, "lanes")."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text


dotted = _dotted
