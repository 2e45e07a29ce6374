"""The section `sweep:` of a scenario: which fields vary, over which values, and what is wanted of the result."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from ._strict import Strict

_OBJECTIVE = re.compile(r"^(?:(min|max)\s+)?([A-Za-z_][\w.]*)$")


class Range(Strict):
    """Numbers from `from` to `to`, the end included: step by step, or times a factor."""

    start: int | float = Field(alias="from")
    to: int | float
    step: int | float | None = Field(default=None, description="added each time; default 1")
    times: int | float | None = Field(default=None, description="multiplied each time, instead of step")

    @model_validator(mode="after")
    def _moves(self) -> Range:
        if self.step is not None and self.times is not None:
            raise ValueError("a range has step or times, not both")
        if self.times is not None and (self.times <= 1 or self.start <= 0):
            raise ValueError("times: a factor above 1, from a number above 0")
        if self.step is not None and self.step == 0:
            raise ValueError("step: 0 never ends")
        return self

    def values(self) -> list[int | float]:
        """The numbers, at most a million."""
        found: list[int | float] = []
        step = 1 if self.step is None else self.step
        value = self.start
        while (value <= self.to if self.times is not None or step > 0 else value >= self.to) and len(
            found
        ) < 1_000_000:
            found.append(value)
            value = value * self.times if self.times is not None else self.start + len(found) * step
        return found


def _kind(value: Any) -> str:
    return "range" if isinstance(value, dict | Range) else "list"


Values = Annotated[
    Annotated[list[Any], Field(min_length=1, max_length=1_000_000), Tag("list")]
    | Annotated[Range, Tag("range")],
    Discriminator(_kind),
]


class Sweep(Strict):
    """A design space: the product of all parameters' values, without the points that a constraint rejects.

    A parameter is a field of the scenario by dotted path (`buffers.tile.pad`, `accesses[0].with`, `accesses.load.op`,
    `chip`, `chip.shared_memory.banks`), or a word of its own that `derived` uses. Expressions name a parameter by
    the end of its path (`pad`, `tile_pad`).
    """

    parameters: dict[str, Values] = Field(min_length=1, description="field or word -> its values, or a range")
    zip: list[Annotated[list[str], Field(min_length=2)]] = Field(
        default_factory=list, description="groups of parameters that vary together instead of as a product"
    )
    derived: dict[str, str] = Field(
        default_factory=dict,
        description="field or word -> an expression, [a list of them], or a text with {expressions} in it",
    )
    where: list[str] = Field(
        default_factory=list,
        description="constraints: expressions over parameters, derived words and results that a point must meet",
    )
    objectives: list[str] = Field(
        default_factory=lambda: ["excess_wavefronts", "bytes"],
        min_length=1,
        max_length=8,
        description="results to minimise, or `max NAME`: wavefronts, excess_wavefronts, bytes, cycles, ...",
    )
    limit: int = Field(
        default=200_000, ge=1, description="points above which the command asks for --yes before it starts"
    )

    @field_validator("objectives")
    @classmethod
    def _spelled(cls, value: list[str]) -> list[str]:
        for text in value:
            if not _OBJECTIVE.match(text.strip()):
                raise ValueError(f"'{text}' is no objective; write a result's name, or max NAME")
        return value

    @model_validator(mode="after")
    def _zipped(self) -> Sweep:
        seen: set[str] = set()
        for group in self.zip:
            for name in group:
                if name not in self.parameters:
                    raise ValueError(f"zip names '{name}', which is no parameter")
                if name in seen:
                    raise ValueError(f"'{name}' is zipped twice")
                seen.add(name)
            lengths = {name: len(self.values(name)) for name in group}
            if len(set(lengths.values())) > 1:
                shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
                raise ValueError(f"zipped parameters need as many values each: {shown}")
        both = set(self.parameters) & set(self.derived)
        if both:
            raise ValueError(f"'{min(both)}' is a parameter and derived; it can be one of them")
        return self

    def values(self, name: str) -> list[Any]:
        """The values of a parameter as a list."""
        given = self.parameters[name]
        return given.values() if isinstance(given, Range) else list(given)

    def goals(self) -> list[tuple[str, bool]]:
        """(name, whether the largest is best) of every objective."""
        matches = [_OBJECTIVE.match(text.strip()) for text in self.objectives]
        return [(match[2], match[1] == "max") for match in matches if match]
