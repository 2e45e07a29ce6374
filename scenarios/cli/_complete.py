"""What a shell offers behind a half-typed word: chips, scenarios, files. Reads names only, so that Tab is quick."""

from __future__ import annotations

from pathlib import Path

_ROOMS = Path(__file__).parents[1]
_MOST_FILES = 200


def chips(incomplete: str) -> list[str]:
    """Names of chips."""
    return _stems(_ROOMS.parent / "sim" / "chips", incomplete)


def scenarios(incomplete: str) -> list[str]:
    """Names of the catalogue, and YAML files and folders."""
    return _stems(_ROOMS / "catalogue", incomplete) + _files(incomplete, (".yaml", ".yml"))


def _stems(folder: Path, incomplete: str) -> list[str]:
    names = (path.stem for path in folder.glob("*.yaml"))
    return sorted(name for name in names if name.startswith(incomplete) and not name.startswith("_"))


def _files(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    folder, _, start = incomplete.rpartition("/")
    base = Path(folder or ("/" if incomplete.startswith("/") else "."))
    try:
        found = sorted(base.iterdir())
    except OSError:
        return []
    shown = [
        item for item in found if item.name.startswith(start) and (start or not item.name.startswith("."))
    ]
    lead = f"{folder}/" if folder or incomplete.startswith("/") else ""
    names = [
        f"{lead}{item.name}" + ("/" if item.is_dir() else "")
        for item in shown
        if item.is_dir() or item.suffix in suffixes
    ]
    return names[:_MOST_FILES]
