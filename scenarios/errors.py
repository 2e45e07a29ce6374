"""Errors of the scenarios room: one line each, with the place and what would be right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands. Lines and columns count from 1; 0 means that they are not known."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`file:line`, as editors and terminals link it."""
        if self.file and self.line:
            return f"{self.file}:{self.line}"
        return self.file or (f"line {self.line}" if self.line else "")


class ScenarioError(ValueError):
    """A scenario, an expression or a data file is wrong.

    `place` says where, `key` which field (dotted), `message` what was found and what would be right.
    `caret` is an optional second and third line that point into a text.
    """

    def __init__(self, message: str, *, place: Place | None = None, key: str = "", caret: str = "") -> None:
        self.message = message
        self.place = place or Place()
        self.key = key
        self.caret = caret
        super().__init__(str(self))

    def __str__(self) -> str:
        """`file:line: key: message`, with the parts that are known."""
        return ": ".join(part for part in (str(self.place), self.key, self.message) if part)

    def at(self, place: Place, key: str = "") -> ScenarioError:
        """The same error with a place and a key, where it had none of its own."""
        own = self.place.file or self.place.line
        return type(self)._made(self.message, self.place if own else place, self.key or key, self.caret)

    @classmethod
    def _made(cls, message: str, place: Place, key: str, caret: str) -> ScenarioError:
        kind = UnknownAnswerError if issubclass(cls, UnknownAnswerError) else ScenarioError
        return kind(message, place=place, key=key, caret=caret)


class ExpressionError(ScenarioError):
    """A lane expression is wrong: the text, the position in it (from 0) and what is allowed."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.text = text
        self.position = position
        super().__init__(message, caret=caret_lines(text, position))


def caret_lines(text: str | None, position: int | None) -> str:
    """Two lines: the text, and a caret below the position; "" when either is missing."""
    if text is None or position is None:
        return ""
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].split("\n", 1)[0]
    return f"  {line}\n  {' ' * (position - start)}^"


class UnknownAnswerError(ScenarioError):
    """The question is understood, but nothing that is known answers it (exit code 3)."""
