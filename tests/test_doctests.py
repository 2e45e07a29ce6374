"""The examples in the docstrings of all rooms, run on the installed package."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

ROOMS = ("layouts", "sim", "scenarios", "reports")


def module_names():
    for room in ROOMS:
        package = importlib.import_module(f"bankbench.{room}")
        yield package.__name__
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield found.name


@pytest.mark.parametrize("name", sorted(set(module_names())))
def test_doctests(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
