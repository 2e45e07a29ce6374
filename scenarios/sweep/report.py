"""What a finished sweep leaves beside its table: the report, and the best points as scenario files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from ...reports.folder import write_folder
from ...sim.results import RunResult


def write_outputs(folder: Path, result: RunResult, scenarios: Mapping[str, str]) -> None:
    """Writes `report/` (HTML, pictures, tables) and `best/` (scenario files) into the folder of a sweep."""
    best = folder / "best"
    if best.exists():
        shutil.rmtree(best)
    best.mkdir()
    for name, text in scenarios.items():
        (best / name).write_text(text, encoding="utf-8")
    write_folder(result, folder / "report")
