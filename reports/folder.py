"""The output folder of a run: written beside its place and moved there whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..sim.results import RunResult
from .files import column_guide, dumps, result_json, write_csv, write_parquet
from .html import render_html
from .pictures import described, draw, file_stem, pictures_of, save_figure, svg_text
from .text import sample

MARKER = "result.json"
# Longer tables are whole in Parquet; CSV and JSON hold an evenly spaced sample and say so.
MOST_ROWS = 20_000


class OutputError(ValueError):
    """The output folder cannot be written; nothing was changed."""


def write_folder(
    result: RunResult, target: str | Path, step: Callable[[int, int], None] | None = None
) -> Path:
    """Writes report.html, pictures (PNG and SVG), tables (CSV and Parquet), result.json and the inputs.

    An existing folder is replaced only when it is the output of an earlier run. `step(done, total)` is called
    between the pieces. Raises `OutputError`, one line, when the place cannot be written; then nothing is left
    behind and an old folder is untouched.
    """
    target = Path(os.path.abspath(target))
    if target.exists() and not (
        target.is_dir() and ((target / MARKER).exists() or not any(target.iterdir()))
    ):
        raise OutputError(f"{target}: exists and is not the output of a run; name a new folder")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from None
    try:
        _fill(result, beside, step or _silent)
        beside.chmod(0o755)
        _move(beside, target)
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target


def write_page(text: str, target: str | Path) -> Path:
    """Writes one file, whole or not at all. Raises `OutputError`, one line, when the place cannot be written.

    A pipe or a device is written into and stays what it is; a link stays a link.
    """
    target = Path(target)
    data = text.encode(
        "utf-8", "backslashreplace"
    )  # half a surrogate pair, from a file name that is not UTF-8
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return target
        place = target.resolve()
        handle, beside = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.chmod(beside, 0o644)
            os.replace(beside, place)
        except OSError:
            os.unlink(beside)
            raise
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from None
    return target


def _silent(done: int, total: int) -> None:
    """Nobody wants to know."""


def _fill(result: RunResult, folder: Path, step: Callable[[int, int], None]) -> None:
    pictures = pictures_of(result)
    total = len(result.tables) + len(pictures) + 1
    (folder / "tables").mkdir()
    for done, table in enumerate(result.tables):
        step(done, total)
        long = len(table) > MOST_ROWS
        write_csv(
            sample(table, MOST_ROWS), folder / "tables" / f"{table.name}{'.sample' if long else ''}.csv"
        )
        write_parquet(table, folder / "tables" / f"{table.name}.parquet")
    (folder / "columns.md").write_text(column_guide(result, MOST_ROWS), encoding="utf-8")
    (folder / "pictures").mkdir()
    svgs: list[str] = []
    for index, picture in enumerate(pictures):
        step(len(result.tables) + index, total)
        figure = draw(picture)
        stem = folder / "pictures" / f"{index + 1:02d}-{file_stem(picture)}"
        svgs.append(svg_text(picture, figure))
        stem.with_name(f"{stem.name}.svg").write_text(described(svgs[-1], picture), encoding="utf-8")
        figure.set_layout_engine("none")  # laid out by now; once more would only take its time again
        save_figure(figure, stem.with_name(f"{stem.name}.png"), picture)
    step(total - 1, total)
    (folder / "inputs").mkdir()
    for name, text in result.inputs.items():
        (folder / "inputs" / Path(name).name).write_text(text, encoding="utf-8")
    (folder / "report.html").write_text(render_html(result, svgs), encoding="utf-8")
    (folder / MARKER).write_text(dumps(result_json(result, limit=MOST_ROWS)) + "\n", encoding="utf-8")


def _move(beside: Path, target: Path) -> None:
    """Renames; an old output is set aside first and put back if the rename fails."""
    if not target.exists():
        beside.rename(target)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent)) / "old"
    target.rename(aside)
    try:
        beside.rename(target)
    except OSError:
        aside.rename(target)
        raise
    finally:
        shutil.rmtree(aside.parent, ignore_errors=True)
