"""The regression gate: every scenario that states what it expects is run, and what does not hold is collected."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ScenarioError
from .load import load, validate
from .run import run_scenario
from .source import read_source

OK, FAILED, WRONG, UNKNOWN, SKIPPED = "ok", "FAIL", "ERROR", "unknown", "skip"
SUFFIXES = (".yaml", ".yml")
# A YAML file in a folder is taken for a scenario when it has a name and one of these.
_MARKS = ("accesses", "program", "ascend", "tmem", "buffers")
_PLACE = re.compile(r"^(?P<file>.+?):(?P<line>\d+): (?P<text>.*)$", re.S)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not hold: where (line 0: not known), which kind (`FAILED`, `WRONG`, `UNKNOWN`), and what."""

    kind: str
    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """One scenario of the gate: its outcome, the answer in a line, and what does not hold."""

    name: str
    file: str
    outcome: str
    headline: str
    findings: tuple[Finding, ...]
    seconds: float

    def line(self) -> str:
        """`ok    file: headline`, or the first finding and how many more there are."""
        if not self.findings:
            return f"{self.outcome:<7} {self.file}: {self.headline}"
        first = self.findings[0]
        place = f"{first.file}:{first.line}" if first.line else first.file
        more = f" (+{len(self.findings) - 1} more)" if len(self.findings) > 1 else ""
        return f"{self.outcome:<7} {place}: {first.message}{more}"


def check(paths: Sequence[str | Path], chip: str | None = None) -> Iterator[Checked]:
    """Runs the scenarios of files, folders (with all folders in them) and catalogue names, in order.

    In folders YAML files that are no scenarios, and scenarios that expect nothing, are left out; a file that is named
    is `skip` then. Bad input is a finding, not an exception: one broken file does not hide the others. Raises
    `ScenarioError` for a path that does not exist.
    """
    for path in paths:
        for file, named in _files(path):
            checked = _check(file, chip, named)
            if checked is not None:
                yield checked


def exit_code(outcomes: Sequence[str]) -> int:
    """2 when an input was wrong, else 1 when a limit was broken, else 3 when an answer is unknown, else 0."""
    for outcome, code in ((WRONG, 2), (FAILED, 1), (UNKNOWN, 3)):
        if outcome in outcomes:
            return code
    return 0


def _files(path: str | Path) -> Iterator[tuple[str | Path, bool]]:
    folder = Path(path)
    if folder.is_dir():
        found = sorted(item for suffix in SUFFIXES for item in folder.rglob(f"*{suffix}"))
        for item in found:
            hidden = any(part.startswith(".") for part in item.relative_to(folder).parts)
            if item.is_file() and not hidden:
                yield item, False
    else:
        yield path, True


def _check(file: str | Path, chip: str | None, named: bool) -> Checked | None:
    start = time.perf_counter()
    name = Path(file).stem
    try:
        if named:
            loaded = load(file)
        else:
            source = read_source(Path(file))
            if not _is_scenario(source.data):
                return None
            loaded = validate(source)
        name = loaded.scenario.name
        if not _expects(loaded.source.data):
            if not named:
                return None
            return Checked(name, str(file), SKIPPED, "expects nothing", (), time.perf_counter() - start)
        result = run_scenario(loaded, chip=chip)
    except (ValueError, OSError) as error:
        if isinstance(error, ValueError) and not type(error).__module__.startswith("bankbench."):
            raise
        findings = (_finding(WRONG, str(error), str(file)),)
        return Checked(name, str(file), WRONG, "", findings, time.perf_counter() - start)
    findings = tuple(
        [_finding(FAILED, line, str(file)) for line in result.violations]
        + [_finding(UNKNOWN, line, str(file)) for line in result.unknowns]
    )
    outcome = FAILED if result.violations else UNKNOWN if result.unknowns else OK
    return Checked(name, str(file), outcome, result.headline, findings, time.perf_counter() - start)


def _is_scenario(data: Any) -> bool:
    return isinstance(data, dict) and "name" in data and any(mark in data for mark in _MARKS)


def _expects(data: Any, depth: int = 0) -> bool:
    """Whether an `expect:` block with something in it stands anywhere in the scenario."""
    if depth > 12:
        return False
    if isinstance(data, dict):
        if data.get("expect"):
            return True
        return any(_expects(value, depth + 1) for value in data.values())
    return isinstance(data, list) and any(_expects(value, depth + 1) for value in data)


def _finding(kind: str, text: str, file: str) -> Finding:
    text = " ".join(text.split())
    found = _PLACE.match(text)
    if found and Path(found["file"]).name == Path(file).name:
        return Finding(kind, file, int(found["line"]), found["text"])
    return Finding(kind, file, 0, text.removeprefix(f"{file}: "))


def expand(paths: Sequence[str | Path]) -> list[str | Path]:
    """The paths, checked to exist. Raises `ScenarioError` for one that is neither there nor in the catalogue."""
    for path in paths:
        if not Path(path).exists() and str(path) != "-":
            if Path(path).suffix in SUFFIXES or len(Path(path).parts) > 1:
                raise ScenarioError(f"{path}: no such file or folder")
            load(path)
    return list(paths)
