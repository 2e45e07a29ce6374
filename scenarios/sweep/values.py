"""Names of a sweep in expressions: numbers as arrays over the points, texts by comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ExpressionError, ScenarioError
from ..expressions import evaluate, evaluate_vector

IntArray = NDArray[np.int64]
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_BRACES = re.compile(r"\{([^{}]*)\}")
# Texts become numbers beyond any that an expression can make of real fields, so only == and != make sense of them.
_FIRST_TEXT = 1 << 47


class Texts:
    """Numbers for texts: equal texts have equal numbers."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        return self._number.setdefault(text, _FIRST_TEXT + len(self._number))

    def text(self, number: int) -> str:
        """A number as it is written, or the text that it stands for."""
        index = number - _FIRST_TEXT
        return list(self._number)[index] if 0 <= index < len(self._number) else str(number)

    def coded(self, values: Sequence[Any]) -> IntArray | None:
        """Values of a parameter as int64; None when some are neither whole numbers, truth values nor texts."""
        found: list[int] = []
        for value in values:
            if isinstance(value, str):
                found.append(self.number(value))
            elif isinstance(value, bool | int) or (isinstance(value, float) and value == int(value)):
                found.append(int(value))
            else:
                return None
        return np.asarray(found, np.int64)

    def expression(self, text: str) -> str:
        """An expression with quoted texts replaced by their numbers."""
        return _QUOTED.sub(lambda match: str(self.number(match[1] or match[2] or "")), text)


def aliases(paths: Sequence[str]) -> dict[str, str]:
    """Name in expressions -> parameter: every ending of its path that no other parameter shares.

    >>> aliases(["buffers.a.pad", "buffers.b.pad", "chip"])["a_pad"]
    'buffers.a.pad'
    """
    endings: dict[str, list[str]] = {}
    for path in paths:
        words = [word for word in re.split(r"[^A-Za-z0-9_]+", path) if word]
        for start in range(len(words)):
            name = "_".join(words[start:])
            if name.isidentifier():
                endings.setdefault(name, []).append(path)
    return {
        name: name if name in found else found[0]
        for name, found in endings.items()
        if name in found or len(set(found)) == 1
    }


def column_names(paths: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """Parameter -> the shortest name for its column that nothing else has."""
    names = aliases(paths)
    found: dict[str, str] = {}
    for path in paths:
        mine = sorted((name for name, owner in names.items() if owner == path), key=len)
        free = [name for name in mine if name not in taken]
        found[path] = free[0] if free else path
    return found


def condition(text: str, names: Mapping[str, IntArray], texts: Texts) -> NDArray[np.bool_]:
    """The truth of an expression at every point."""
    return np.asarray(evaluate(texts.expression(text), names) != 0)


def derive(text: str, names: Mapping[str, IntArray], texts: Texts, count: int) -> tuple[list[Any], IntArray]:
    """(different values, which of them each of `count` points has) of a derived field.

    A text with {expressions} in it is a template, [a, b] a list of whole numbers, anything else one whole number.
    """
    pieces = _BRACES.split(text)
    if len(pieces) > 1:
        values = [evaluate(texts.expression(piece), names) for piece in pieces[1::2]]
        rows, which = _different(values, count)
        return [_filled(pieces, [texts.text(number) for number in row]) for row in rows.tolist()], which
    if text.strip().startswith("["):
        rows, which = _different(list(evaluate_vector(texts.expression(text), names)), count)
        return [list(row) for row in rows.tolist()], which
    rows, which = _different([evaluate(texts.expression(text), names)], count)
    return [row[0] for row in rows.tolist()], which


def _different(values: Sequence[IntArray], count: int) -> tuple[IntArray, IntArray]:
    table = np.column_stack([np.broadcast_to(value, (count,)) for value in values])
    rows, which = np.unique(table, axis=0, return_inverse=True)
    return rows, which.reshape(-1)


def _filled(pieces: Sequence[str], filling: Sequence[str]) -> str:
    text = pieces[0]
    for filled, piece in zip(filling, pieces[2::2], strict=True):
        text += filled + piece
    return text


def used_names(text: str) -> set[str]:
    """Words in an expression (or in the braces of a template) that could be names."""
    inner = _BRACES.findall(text)
    source = " ".join(inner) if inner else text
    return set(re.findall(r"[A-Za-z_]\w*", _QUOTED.sub("", source))) - {
        "and",
        "or",
        "not",
        "if",
        "else",
        "min",
        "max",
        "abs",
    }


def check_expression(text: str, known: set[str], what: str) -> None:
    """Raises `ScenarioError` when an expression names something unknown."""
    missing = used_names(text) - known
    if missing:
        raise ScenarioError(
            f"{what}: '{min(missing)}' is no parameter, derived word or result; known: {', '.join(sorted(known))}"
        )


__all__ = ["ExpressionError", "Texts", "aliases", "check_expression", "column_names", "condition", "derive"]
