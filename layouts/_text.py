"""Reading layout texts: a scanner that always knows where it is, so that every error can show a caret."""

from __future__ import annotations

import re

from .protocol import LayoutError

_SPACE = re.compile(r"\s*")
_INTEGER = re.compile(r"[0-9]+")
_STATIC = re.compile(r"_-?[0-9]+(?![A-Za-z0-9_])")
_MOST_LEVELS = 64
_MOST_DIGITS = 18  # what 64 bits hold; no memory of any chip is longer
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STRING = re.compile(r"'([^']*)'|\"([^\"]*)\"")


class Scanner:
    """A cursor over a text. `at` is the position of the next thing that is not white space."""

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        self.at = position
        self.depth = 0
        self.skip()

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def error(self, message: str, position: int | None = None) -> LayoutError:
        return LayoutError(message, self.text, self.at if position is None else position)

    def found(self) -> str:
        """What stands here, for messages."""
        return repr(self.text[self.at]) if self.at < len(self.text) else "the end"

    @property
    def done(self) -> bool:
        return self.at >= len(self.text)

    def peek(self, literal: str) -> bool:
        return self.text.startswith(literal, self.at)

    def accept(self, literal: str) -> bool:
        """Read the literal if it stands here (a word only as a whole word)."""
        if not self.peek(literal):
            return False
        end = self.at + len(literal)
        if _is_word(literal[-1]) and end < len(self.text) and _is_word(self.text[end]):
            return False
        self.at = end
        self.skip()
        return True

    def open(self, literal: str) -> bool:
        """`accept` for a bracket that nests; `shut` reads its partner. LayoutError beyond 64 levels."""
        place = self.at
        if not self.accept(literal):
            return False
        self.depth += 1
        if self.depth > _MOST_LEVELS:
            raise self.error(f"nested deeper than {_MOST_LEVELS} levels", place)
        return True

    def shut(self, literal: str, what: str = "") -> None:
        """`expect` for the bracket that closes what `open` opened."""
        self.expect(literal, what)
        self.depth -= 1

    def expect(self, literal: str, what: str = "") -> None:
        if not self.accept(literal):
            raise self.error(f"expected {literal!r}{what and ' ' + what}, found {self.found()}")

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        if not found:
            return None
        self.at = found.end()
        self.skip()
        return found.group(0)

    def integer(self) -> int | None:
        """A decimal number without a sign, or None."""
        place = self.at
        digits = self._match(_INTEGER)
        return None if digits is None else self.whole(digits, place)

    def whole(self, digits: str, place: int) -> int:
        """The number of some decimal digits that were read at `place`; LayoutError for more than 18 of them."""
        if len(digits.lstrip("0")) > _MOST_DIGITS:
            raise self.error(f"a number of {len(digits)} digits; at most {_MOST_DIGITS} fit 64 bits", place)
        return int(digits)

    def static(self) -> int | None:
        """A compile-time integer, `_16` or `_-1` as CuTe and TLA print it, or None."""
        place = self.at
        found = self._match(_STATIC)
        if found is None:
            return None
        value = self.whole(found.lstrip("_-"), place)
        return -value if found.startswith("_-") else value

    def signed(self, what: str = "an integer") -> int:
        """A decimal number with an optional minus."""
        negative = self.accept("-")
        value = self.integer()
        if value is None:
            raise self.error(f"expected {what}, found {self.found()}")
        return -value if negative else value

    def name(self) -> str | None:
        """An identifier, or None."""
        return self._match(_NAME)

    def string(self) -> str | None:
        """A quoted string without its quotes, or None."""
        quoted = self._match(_STRING)
        return None if quoted is None else quoted.strip()[1:-1]

    def finish(self, what: str) -> None:
        if not self.done:
            raise self.error(f"{what} ends here, but the text goes on with {self.found()}")


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
