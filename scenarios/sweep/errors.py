"""Errors of points: a number each while they are computed, their text once they are results."""

from __future__ import annotations

from pydantic import ValidationError


class Errors:
    """Texts of errors by number; 0 is no error."""

    def __init__(self) -> None:
        self._texts: list[str] = [""]
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        """The number of a text, which is given one line."""
        line = " ".join(text.split())
        if line not in self._numbers:
            self._numbers[line] = len(self._texts)
            self._texts.append(line)
        return self._numbers[line]

    def text(self, number: int) -> str:
        """The text of a number."""
        return self._texts[number]


def first_problem(error: ValidationError) -> str:
    """The first problem that a model found, with its field: `vector: found 0; input should be ...`."""
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "value_error":
        text = str(problem.get("ctx", {}).get("error", problem["msg"]))
    else:
        text = f"found {problem.get('input')!r}; {problem['msg'][0].lower()}{problem['msg'][1:]}"
    return f"{where}: {text}" if where else text
