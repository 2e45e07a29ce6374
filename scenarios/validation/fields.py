"""Reading fields of measured rows: what is missing or odd becomes one line that names the field and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

from ..errors import ScenarioError

__all__ = ["blamed", "choice", "number", "part", "text", "whole"]

_MOST = 1 << 40


def whole(fields: Mapping[str, Any], name: str, least: int = 0, default: int | None = None) -> int:
    """A whole number of at least `least`; a missing or null field is `default`, if there is one.

    >>> whole({"warps": 4}, "warps", 1), whole({}, "blocks", 1, 1)
    (4, 1)
    """
    value = _present(fields, name, default)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise ScenarioError(f"{name}: {value!r}, a whole number of at least {least} is needed")
    return value


def number(fields: Mapping[str, Any], name: str) -> float:
    """A finite number.

    >>> number({"cycles": 32.1}, "cycles")
    32.1
    """
    value = _present(fields, name, None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ScenarioError(f"{name}: {value!r}, a number is needed")
    return float(value)


def text(fields: Mapping[str, Any], name: str) -> str:
    """A text that is not empty."""
    value = _present(fields, name, None)
    if not isinstance(value, str) or not value:
        raise ScenarioError(f"{name}: {value!r}, a text is needed")
    return value


def choice(fields: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    """One of some texts."""
    value = text(fields, name)
    if value not in known:
        raise ScenarioError(f"{name}: {value!r} (known: {', '.join(known)})")
    return value


def part(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object within the row."""
    value = _present(fields, name, None)
    if not isinstance(value, dict):
        raise ScenarioError(f"{name}: {value!r}, an object is needed")
    return cast("dict[str, Any]", value)


def blamed(place: str, fields: Mapping[str, Any], error: ValueError) -> ScenarioError:
    """An error of a row with its line in the file and its id."""
    message = error.message if isinstance(error, ScenarioError) else str(error)
    name = f"{fields['id']}: " if isinstance(fields.get("id"), str | int) and fields["id"] != "" else ""
    # an error of the engine names its program already
    return ScenarioError(f"{place}: {message}" if message.startswith(name) else f"{place}: {name}{message}")


def _present(fields: Mapping[str, Any], name: str, default: Any) -> Any:
    value = fields.get(name)
    if value is not None:
        return value
    if default is None:
        raise ScenarioError(f"no field {name!r}" if name not in fields else f"{name}: null")
    return default
