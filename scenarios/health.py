"""What `bankbench doctor` looks at: versions, optional parts, data files, chips and how well each is known."""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

GOOD, MISSING, BROKEN = "ok", "missing", "broken"


@dataclass(frozen=True, slots=True)
class Part:
    """One thing of the installation: what it is, how it is, and what follows from that."""

    group: str
    name: str
    state: str
    detail: str


@dataclass(frozen=True, slots=True)
class ChipState:
    """A chip and how well it is known: constants by confidence, and the measurements that it is held against."""

    name: str
    title: str
    arch: str
    constants: int
    by_confidence: dict[str, int]
    sets: tuple[str, ...]

    @property
    def validation(self) -> str:
        """`measured` with the sets, or what the figures rest on most."""
        if self.sets:
            return f"held against {', '.join(self.sets)}"
        most = max(self.by_confidence, key=lambda key: self.by_confidence[key], default="unknown")
        return f"no measurements here; mostly {most}"


def parts() -> list[Part]:
    """Versions, dependencies, optional parts and data files."""
    found = [
        Part("versions", "bankbench", GOOD, version("bankbench")),
        Part("versions", "Python", *_python()),
        Part("versions", "platform", GOOD, f"{platform.system()} {platform.release()} {platform.machine()}"),
    ]
    found += [_dependency(name, wanted) for name, wanted in _requirements()]
    for name, test, detail in _OPTIONAL:
        try:
            there = test()
        except Exception as error:  # whatever is wrong with an optional part is what is to be told
            found.append(Part("optional", name, BROKEN, f"{detail}; {' '.join(str(error).split())[:100]}"))
            continue
        found.append(Part("optional", name, GOOD if there else MISSING, detail))
    return found + _data()


def _python() -> tuple[str, str]:
    return (GOOD if sys.version_info >= (3, 11) else BROKEN), platform.python_version()


def _requirements() -> list[tuple[str, str]]:
    """(name, version wanted) of what must be there, from the installed package itself."""
    import re

    found = []
    for line in requires("bankbench") or ():
        if "extra ==" not in line:
            match = re.match(r"([A-Za-z0-9_.-]+)\s*(.*)", line)
            if match:
                found.append((match[1], match[2].strip()))
    return found


def _dependency(name: str, wanted: str) -> Part:
    try:
        return Part("dependencies", name, GOOD, f"{version(name)} (wanted: {wanted or 'any'})")
    except PackageNotFoundError:
        return Part("dependencies", name, MISSING, f"wanted: {wanted or 'any'}; pip install {name}")


def _zstd() -> bool:
    import pyarrow as pa

    return bool(pa.Codec.is_available("zstd"))


def _importable(name: str) -> Callable[[], bool]:
    def test() -> bool:
        from importlib.util import find_spec

        return find_spec(name) is not None

    return test


_OPTIONAL: tuple[tuple[str, Callable[[], bool], str], ...] = (
    ("zstd", _zstd, "reads .zst exports and traces (part of pyarrow)"),
    (
        "tensor_layouts",
        _importable("tensor_layouts"),
        "its Layout objects are taken by from_object; not needed",
    ),
    ("dask", _importable("dask"), "spreads sweeps over several machines; not needed"),
    ("nbclient", _importable("nbclient"), "executes the notebooks in the tests; not needed"),
)


def _data() -> list[Part]:
    """The files that come with the package, each read once."""
    from ..sim.chip import chip_names, load_chip
    from .load import catalogue, load
    from .validation.sets import DATA, SETS

    found: list[Part] = []
    chips = chip_names()
    broken = [name for name in chips if _fails(lambda name=name: load_chip(name))]
    found.append(_counted("chips", len(chips), broken))
    scenarios = catalogue()
    broken = [path.stem for path in scenarios if _fails(lambda path=path: load(path))]
    found.append(_counted("catalogue", len(scenarios), broken))
    files = [DATA / item.file for item in SETS]
    broken = [path.name for path in files if not path.is_file() or not path.stat().st_size]
    found.append(_counted("measurements", len(files), broken))
    return found


def _fails(action: Callable[[], object]) -> bool:
    try:
        action()
    except (ValueError, OSError):
        return True
    return False


def _counted(name: str, count: int, broken: list[str]) -> Part:
    if not count:
        return Part("data", name, BROKEN, "none; the package was installed without its data files")
    if broken:
        return Part("data", name, BROKEN, f"{len(broken)} of {count} cannot be read: {', '.join(broken[:5])}")
    return Part("data", name, GOOD, str(count))


def chip_states() -> list[ChipState]:
    """Every chip with its validation state."""
    from ..sim.chip import chip_names, load_chip
    from .validation.sets import find_sets

    found = []
    for name in chip_names():
        chip = load_chip(name)
        counted = Counter(constant.confidence for constant in chip.constants.values())
        found.append(
            ChipState(
                name=name,
                title=chip.title,
                arch=chip.arch,
                constants=len(chip.constants),
                by_confidence=dict(counted.most_common()),
                sets=tuple(item.name for item in find_sets(chip=name)),
            )
        )
    return found
