"""Reading machine-level programs: the JSON-lines format of the measured H200 programs, checked as it is read.

One object a line: `id`, `name`, `trips`, and `groups` with `warps`, `patterns` (slot -> {op, offsets}) and the code in
`pre`, `loop` (executed `trips` times) and `post`. A group may have its own `trips`. An instruction has `op`, `dst`,
`src`, and, where a compiler scheduled it, `stall`, `sets`, `sets_read`, `waits`; without any `stall` in a group the
waits follow from the registers (see `dependences.py`). A pattern may have a `mask` of active lanes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from .check import check_group
from .dependences import scheduled
from .types import SCOREBOARDS, Group, Instruction, Pattern, Program, ProgramError, Segment
from .vocabulary import ACCESS_OPS

__all__ = ["parse_program", "read_programs", "read_rows"]

_FIELDS = {"op", "dst", "src", "stall", "yield", "sets", "sets_read", "waits", "pred", "slot", "stamp"}
_LANES = 32
_MOST_WARPS = 64
_MOST = 2**31 - 1
_EVERY_LANE = 2**_LANES - 1


def read_rows(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object) of every line of a JSON-lines file, plain or gzipped. Raises ProgramError."""
    path = Path(path)
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield f"{path.name}:{number}", _line(line, f"{path.name}:{number}")
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise ProgramError(f"{path}: cannot be read ({error})") from error


def read_programs(path: str | Path) -> Iterator[Program]:
    """The programs of a file in the format of `h200_programs.jsonl.gz`. Raises ProgramError with file and line."""
    for place, row in read_rows(path):
        yield parse_program(row, place)


def parse_program(row: Mapping[str, Any], place: str = "") -> Program:
    """A program from one object of the data format. Raises ProgramError that names the place.

    >>> program = parse_program({"id": "a", "trips": 2, "groups": [{"warps": 1, "loop": [
    ...     {"op": "FFMA", "dst": ["R1"], "src": ["R2"], "stall": 4}]}]})
    >>> program.name, program.instructions
    ('a', 2)
    """
    name = str(row.get("id", row.get("name", "program")))
    where = f"{place}: {name}" if place else name
    groups = row.get("groups")
    if not isinstance(groups, list) or not groups:
        raise ProgramError(f"{where}: groups: a list of warp groups is needed")
    trips = _whole(row.get("trips", 1), 1, f"{where}: trips")
    parsed = tuple(
        _group(group, trips, f"{where}: group {number}")
        for number, group in enumerate(cast("list[Any]", groups))
    )
    program = Program(name, parsed, str(row.get("name", "")))
    if program.warps > _MOST_WARPS:
        raise ProgramError(f"{where}: {program.warps} warps, an SM has room for {_MOST_WARPS}")
    return program


def _line(line: str, place: str) -> dict[str, Any]:
    try:
        row: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise ProgramError(f"{place}: not JSON ({error.msg}, column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets thousands deep
        raise ProgramError(f"{place}: not JSON that can be read ({error})") from error
    if not isinstance(row, dict):
        raise ProgramError(f"{place}: an object is needed, found {type(row).__name__}")
    return cast("dict[str, Any]", row)


def _group(row: Any, trips: int, where: str) -> Group:
    if not isinstance(row, dict):
        raise ProgramError(f"{where}: an object is needed")
    group = cast("dict[str, Any]", row)
    warps = _whole(group.get("warps", 1), 1, f"{where}: warps")
    own = _whole(group.get("trips", trips), 1, f"{where}: trips")
    patterns = _patterns(group.get("patterns") or {}, where)
    code = {part: _code(group.get(part) or [], f"{where}, {part}") for part in ("pre", "loop", "post")}
    plain = not any(
        "stall" in item for part in code for item in cast("list[dict[str, Any]]", group.get(part) or [])
    )
    segments = tuple(Segment(part, code[part], own if part == "loop" else 1) for part in code)
    built = Group(warps, segments, patterns, str(group.get("name", "")))
    check_group(built, where)
    inputs = frozenset(_names(group.get("inputs"), f"{where}: inputs"))
    return scheduled(built, where, inputs) if plain and not built.idle else built


def _patterns(rows: Any, where: str) -> dict[str, Pattern]:
    if not isinstance(rows, dict):
        raise ProgramError(f"{where}: patterns: an object slot -> pattern is needed")
    return {
        str(slot): _pattern(row, f"{where}, pattern {slot}")
        for slot, row in cast("dict[Any, Any]", rows).items()
    }


def _pattern(row: Any, where: str) -> Pattern:
    if not isinstance(row, dict) or "op" not in row or "offsets" not in row:
        raise ProgramError(f"{where}: an object with op and offsets is needed")
    fields = cast("dict[str, Any]", row)
    op = str(fields["op"])
    if op not in ACCESS_OPS:
        raise ProgramError(f"{where}: unknown access {op!r} (known: {', '.join(ACCESS_OPS)})")
    offsets: Any = fields["offsets"]
    if not isinstance(offsets, list) or len(cast("list[Any]", offsets)) != _LANES:
        raise ProgramError(f"{where}: offsets: a list of {_LANES} byte offsets is needed, one a lane")
    lanes = tuple(
        _whole(value, 0, f"{where}: offset of lane {lane}")
        for lane, value in enumerate(cast("list[Any]", offsets))
    )
    mask = _whole(fields.get("mask", _EVERY_LANE), 1, f"{where}: mask", _EVERY_LANE)
    return Pattern(op, lanes, str(fields.get("pattern", "")), mask)


def _code(rows: Any, where: str) -> tuple[Instruction, ...]:
    if not isinstance(rows, list):
        raise ProgramError(f"{where}: a list of instructions is needed")
    return tuple(_instruction(row, f"{where}[{index}]") for index, row in enumerate(cast("list[Any]", rows)))


def _instruction(row: Any, where: str) -> Instruction:
    if not isinstance(row, dict) or not isinstance(cast("dict[str, Any]", row).get("op"), str):
        raise ProgramError(f"{where}: an object with an opcode `op` is needed")
    fields = cast("dict[str, Any]", row)
    where = f"{where} ({fields['op']})"
    extra = sorted(set(fields) - _FIELDS)
    if extra:
        raise ProgramError(f"{where}: unknown field {extra[0]!r} (known: {', '.join(sorted(_FIELDS))})")
    return Instruction(
        op=fields["op"],
        dst=_names(fields.get("dst"), f"{where}: dst"),
        src=_names(fields.get("src"), f"{where}: src"),
        stall=max(1, _whole(fields.get("stall", 1), 0, f"{where}: stall")),
        sets=_scoreboard(fields.get("sets"), f"{where}: sets"),
        sets_read=_scoreboard(fields.get("sets_read"), f"{where}: sets_read"),
        waits=_waits(fields.get("waits"), f"{where}: waits"),
        pred=None if fields.get("pred") is None else str(fields["pred"]),
        slot=None if fields.get("slot") is None else str(fields["slot"]),
        stamp=bool(fields.get("stamp")),
    )


def _names(value: Any, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ProgramError(f"{where}: a list of register names is needed")
    return tuple(str(item) for item in cast("list[Any]", value))


def _waits(value: Any, where: str) -> tuple[int, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ProgramError(f"{where}: {value!r}, a list of scoreboards is needed")
    found = [_scoreboard(item, where) for item in cast("list[Any]", value)]
    return tuple(number for number in found if number is not None)


def _scoreboard(value: Any, where: str) -> int | None:
    if value is None:
        return None
    number = _whole(value, 0, where)
    if number >= SCOREBOARDS:
        raise ProgramError(f"{where}: scoreboard {number}, a warp has 0 to {SCOREBOARDS - 1}")
    return number


def _whole(value: Any, least: int, where: str, most: int = _MOST) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ProgramError(f"{where}: {value!r}, a whole number of at least {least} is needed")
    if value > most:
        raise ProgramError(f"{where}: a number of at most {most} is needed")
    return value
