"""Fields of a scenario by dotted path: reading, replacing, and what kind of field a path names."""

from __future__ import annotations

import re
from typing import Any

from ..errors import ScenarioError

Path = tuple[str | int, ...]
_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def parse_path(text: str, data: Any) -> Path:
    """`accesses[0].lanes` or `accesses.load rows.lanes` as keys and indices of the scenario's data.

    Items of a list are named by number or by their own `name:`. `chip.CONSTANT` and `overrides.CONSTANT` keep the
    rest of the path as one key. Raises `ScenarioError` for a text that is no path and for a missing list item.
    """
    head, _, rest = text.partition(".")
    if head in ("chip", "overrides"):
        return ("overrides", rest) if rest else ("chip",)
    if "".join(match[0] for match in _PART.finditer(text)) != text.replace(".", ""):
        raise ScenarioError(f"'{text}' is no path of a field; write buffers.tile.pad or accesses[0].lanes")
    found: list[str | int] = []
    node = data
    for word, number in _PART.findall(text):
        part: str | int = int(number) if number else word
        if isinstance(node, list):
            part = _item(node, part, text)
        found.append(part)
        node = _child(node, part)
    return tuple(found)


def _item(node: list[Any], part: str | int, text: str) -> int:
    if isinstance(part, str) and not part.isdigit():
        names = [item.get("name") if isinstance(item, dict) else None for item in node]
        if part not in names:
            known = ", ".join(str(name) for name in names if name) or "none has a name"
            raise ScenarioError(f"'{text}': no item '{part}'; there are: {known}")
        return names.index(part)
    index = int(part)
    if index >= len(node):
        raise ScenarioError(f"'{text}': item {index} of a list of {len(node)}")
    return index


def _child(node: Any, part: str | int) -> Any:
    if isinstance(node, dict):
        return node.get(part)
    return node[part] if isinstance(node, list) and isinstance(part, int) else None


def get(data: Any, path: Path) -> Any:
    """The value at a path, None where there is none."""
    for part in path:
        data = _child(data, part)
    return data


def replaced(data: Any, values: dict[Path, Any]) -> Any:
    """A copy of the data with the fields at these paths replaced; only what changes is copied."""
    if () in values:
        return values[()]
    by_part: dict[str | int, dict[Path, Any]] = {}
    for path, value in values.items():
        by_part.setdefault(path[0], {})[path[1:]] = value
    copied = list(data) if isinstance(data, list) else dict(data or {})
    for part, inner in by_part.items():
        copied[part] = replaced(_child(data, part), inner)  # type: ignore[index]
    return copied


def flatten(data: Any, prefix: str = "") -> dict[str, str]:
    """Every leaf of nested data by its dotted path, as text: what two versions of a scenario are compared by."""
    if isinstance(data, dict) and data:
        items = [(f"{prefix}.{key}" if prefix else str(key), value) for key, value in data.items()]
    elif isinstance(data, list) and data and any(isinstance(item, dict | list) for item in data):
        items = [(f"{prefix}[{index}]", value) for index, value in enumerate(data)]
    else:
        return {prefix: repr(data)}
    return {name: text for key, value in items for name, text in flatten(value, key).items()}
