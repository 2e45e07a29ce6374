"""What to run: scenarios, their lowering to accesses, runs, repairs, sweeps, imports, and the command line.

The library face, imported when first used:

    from bankbench.scenarios import run, fix, sweep, compare   # scenarios (files, catalogue names, mappings) to results
    from bankbench.scenarios import replay, read_profile       # recorded traces, profiler exports
    from bankbench.scenarios import load, catalogue            # validated scenarios
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import compare, fix, run, sweep
    from .errors import ScenarioError, UnknownAnswerError
    from .load import LoadedScenario, catalogue, load, loads
    from .profiles import compare_profile, read_profile
    from .traces import replay

__all__ = [
    "LoadedScenario",
    "ScenarioError",
    "UnknownAnswerError",
    "catalogue",
    "compare",
    "compare_profile",
    "fix",
    "load",
    "loads",
    "read_profile",
    "replay",
    "run",
    "sweep",
]

_WHERE = {
    **dict.fromkeys(("ScenarioError", "UnknownAnswerError"), ".errors"),
    **dict.fromkeys(("compare", "fix", "run", "sweep"), ".api"),
    **dict.fromkeys(("LoadedScenario", "catalogue", "load", "loads"), ".load"),
    **dict.fromkeys(("compare_profile", "read_profile"), ".profiles"),
    "replay": ".traces",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Face(ModuleType):
    """Importing the module `scenarios.run` would put it in the place of the function `run` of this package; the
    functions stay. The modules are reached by `from bankbench.scenarios.run import ...` as ever.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
