"""Chips as data: every number of a machine is read from a file that says where the number comes from.

The form of a chip file stands in `_chip_file.py`; the files that come with bankbench lie in `sim/chips/`.
A path such as `shared_memory.banks` names one constant.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ._chip_file import (
    CHIPS,
    CONFIDENCES,
    ChipError,
    Constant,
    chip_files,
    frozen,
    names_by_alias,
    read_chip_file,
    show,
)

__all__ = ["CONFIDENCES", "Chip", "ChipError", "Constant", "chip_names", "load_chip"]


@dataclass(frozen=True, slots=True)
class Chip:
    """A machine: a name, an architecture and its constants by path.

    >>> from bankbench.sim.chip import load_chip
    >>> chip = load_chip("h200")
    >>> chip["shared_memory.banks"], chip.constant("shared_memory.banks").confidence
    (32, 'measured')
    >>> chip.override({"shared_memory.banks": 64})["shared_memory.banks"]
    64
    """

    name: str
    title: str
    arch: str
    aliases: tuple[str, ...]
    file: str
    constants: Mapping[str, Constant] = field(repr=False, hash=False)
    overrides: tuple[tuple[str, Any], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy for another process reads the file again; a read-only mapping cannot be pickled.
        return _reload, (self.file, self.overrides)

    def __getitem__(self, path: str) -> Any:
        """The value of a constant, None when unknown. Raises ChipError for a path that the chip lacks."""
        return self.constant(path).value

    def has(self, path: str) -> bool:
        """Whether the file names this constant (its value may still be unknown)."""
        return path in self.constants

    def constant(self, path: str) -> Constant:
        """The constant with unit, source and confidence. Raises ChipError for a path that the chip lacks."""
        found = self.constants.get(path)
        if found is None:
            near = difflib.get_close_matches(path, list(self.constants), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ChipError(f"chip {self.name}: no constant {path!r}{hint}")
        return found

    def number(self, path: str) -> float:
        """A constant that has to be a number. Raises ChipError when it is missing, unknown or no number."""
        found = self.constant(path)
        if isinstance(found.value, bool) or not isinstance(found.value, (int, float)):
            reason = f" ({found.note})" if found.note else ""
            raise ChipError(f"chip {self.name}: {path} is {show(found.value)}, a number is needed{reason}")
        return found.value

    def integer(self, path: str) -> int:
        """A constant that has to be a whole number. Raises ChipError as `number` does."""
        value = self.number(path)
        if value != int(value):
            raise ChipError(f"chip {self.name}: {path} is {value}, a whole number is needed")
        return int(value)

    def under(self, prefix: str) -> Iterator[Constant]:
        """The constants of a group in the order of the file: `chip.under("shared_memory.latency")`."""
        start = prefix + "."
        return (constant for path, constant in self.constants.items() if path.startswith(start))

    def override(self, values: Mapping[str, Any]) -> Chip:
        """The same chip with some constants replaced; results that rest on them say so.

        Raises ChipError for an unknown path or a value of another kind (text for a number).
        """
        if not values:
            return self
        constants = dict(self.constants)
        for path, value in values.items():
            constants[path] = self.constant(path).replaced(frozen(value), self.name)
        merged = dict(self.overrides) | {path: constants[path].value for path in values}
        overrides = tuple(sorted(merged.items(), key=lambda item: item[0]))
        return replace(self, constants=MappingProxyType(constants), overrides=overrides)


def chip_names() -> tuple[str, ...]:
    """Names of the chips that come with bankbench, sorted."""
    return tuple(path.stem for path in chip_files())


def load_chip(name: str | Path | Chip) -> Chip:
    """A chip by name (`h200`), alias (`sm_90`, `hopper`), or path of a chip file. Cached.

    Raises ChipError when there is no such chip (with the names that exist) or the file is not a chip file.

    >>> load_chip("sm_90").name
    'h200'
    """
    return name if isinstance(name, Chip) else _load(str(name))


@lru_cache(maxsize=256)
def _load(name: str) -> Chip:
    path = _find(name)
    head, constants = read_chip_file(path)
    return Chip(head.name, head.title, head.arch, head.aliases, str(path), MappingProxyType(constants))


def _reload(file: str, overrides: tuple[tuple[str, Any], ...]) -> Chip:
    return _load(file).override(dict(overrides))


def _find(name: str) -> Path:
    wanted = name.strip().lower()
    direct = CHIPS / f"{wanted}.yaml"
    if wanted.replace("_", "").replace("-", "").isalnum() and direct.is_file():
        return direct
    if name.endswith((".yaml", ".yml")) or "/" in name:
        return Path(name)
    known = names_by_alias()
    if wanted in known:
        return CHIPS / f"{known[wanted]}.yaml"
    near = difflib.get_close_matches(wanted, [*known, *chip_names()], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ChipError(
        f"unknown chip {name!r}{hint} (chips: {', '.join(chip_names())}; or a path of a chip file)"
    )
