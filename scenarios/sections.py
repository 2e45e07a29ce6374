"""The sections that a scenario can have, and who evaluates each.

A section is a field of `Scenario` (a pydantic model) and a function `(loaded, chip) -> Part`. To add one, add
the field to `model.py`, write the function in a module of its own, and name it here; it is imported only when
a scenario has the section.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from ..sim.chip import Chip
from .load import LoadedScenario
from .part import Part

Evaluate = Callable[[LoadedScenario, Chip], Part]


@dataclass(frozen=True, slots=True)
class Section:
    """A section: the field of the scenario that turns it on, and `module:function` that evaluates it."""

    field: str
    function: str

    def evaluate(self, loaded: LoadedScenario, chip: Chip) -> Part:
        """Evaluates the section."""
        module, _, name = self.function.partition(":")
        function: Evaluate = getattr(import_module(f"{__package__}.{module}"), name)
        return function(loaded, chip)


SECTIONS: tuple[Section, ...] = (
    Section("accesses", "accesses:evaluate_accesses"),
    Section("program", "program:evaluate_program"),
    Section("ascend", "ascend:evaluate_ascend"),
    Section("tmem", "tmem:evaluate_tmem"),
)
