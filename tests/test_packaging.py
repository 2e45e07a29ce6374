"""What is installed is what is in the tree: every package folder and every data file is named in pyproject.toml."""

from __future__ import annotations

import fnmatch
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
ROOMS = ("layouts", "sim", "scenarios", "reports")


def folders() -> dict[str, Path]:
    found = {}
    for room in ROOMS:
        for init in sorted((ROOT / room).rglob("__init__.py")):
            found[".".join(("bankbench", *init.parent.relative_to(ROOT).parts))] = init.parent
    return found


def test_every_package_folder_is_installed() -> None:
    assert sorted(SETTINGS["packages"]) == sorted(folders())


def test_every_python_file_is_in_a_package() -> None:
    packages = set(folders().values())
    lost = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if path.parent not in packages]
    assert lost == []


def test_every_data_file_is_installed() -> None:
    lost = []
    for room in ROOMS:
        for path in (ROOT / room).rglob("*"):
            if not path.is_file() or path.suffix in (".py", ".pyc", ".pyo"):
                continue
            owner = max((f for f in folders().items() if f[1] in path.parents), key=lambda item: len(item[0]))
            relative = path.relative_to(owner[1]).as_posix()
            patterns = SETTINGS["package-data"].get(owner[0], [])
            if relative.startswith("images/"):  # pictures of the README
                continue
            if not any(fnmatch.fnmatch(relative, pattern) for pattern in patterns):
                lost.append(f"{owner[0]}: {relative}")
    assert lost == []
