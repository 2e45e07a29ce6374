"""Tables of `msprof op`: ResourceConflictRatio, PipeUtilization, MemoryUB and their siblings; one row a core.

Columns as Huawei's description of the operator profiler names them: `block_id`, `sub_block_id`, `aic_...` for the cube
core and `aiv_...` for the vector cores, times in us, bandwidths in GB/s, ratios between 0 and 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .ncu_common import reading
from .numbers import Locale
from .rows import Row
from .values import Launch, Problem, Profile

_ID = ("block_id", "sub_block_id")
_UNIT = re.compile(r"^(.*?)\s*\(([^()]*)\)$")
_PAGES = (
    ("ResourceConflictRatio", re.compile(r"_cflt_ratio|_wait_ratio")),
    ("MemoryUB", re.compile(r"_ub_(read|write)_bw_(vector|scalar)")),
    ("MemoryL0", re.compile(r"_l0[abc]_(read|write)_bw")),
    ("L2Cache", re.compile(r"_l2|cache_hit")),
    ("Memory", re.compile(r"_main_mem_|_l1_(read|write)_bw")),
    ("ArithmeticUtilization", re.compile(r"_fp16_ratio|_fp32_ratio|_int32_ratio")),
    ("PipeUtilization", re.compile(r"_(vec|cube|scalar|mte\d|fixpipe)_(time|ratio)|icache_miss")),
)


def is_header(cells: Sequence[str]) -> bool:
    """Whether this record heads one of the tables."""
    names = [cell.strip() for cell in cells]
    return len(names) > 1 and any(re.match(r"ai[cv]_(time|total_cycles)", name) for name in names)


def read(found: Iterable[Row | Problem], file: str, locale: Locale) -> Profile:
    """One `Launch` a core (block_id, sub_block_id), with its metrics; `page` names the table."""
    launches: list[Launch] = []
    problems: list[Problem] = []
    names: list[str] = []
    columns: list[tuple[str, str]] = []
    for row in found:
        if isinstance(row, Problem):
            problems.append(row)
            continue
        if is_header(row.cells):
            names = [cell.strip() for cell in row.cells]
            columns = [_column(name) for name in names]
            continue
        if len(row.cells) != len(names):
            problems.append(
                Problem(row.line, f"{len(row.cells)} cells, the header has {len(names)}; left out")
            )
            continue
        given = {name: cell.strip() for name, cell in zip(names, row.cells, strict=True)}
        metrics = {
            name: reading(cell, unit, locale)
            for (name, unit), cell in zip(columns, row.cells, strict=True)
            if name not in _ID
        }
        key = " ".join(given[name] for name in _ID if name in given) or str(len(launches))
        launches.append(Launch(key, given.get("Op Name", given.get("op_name", "")), metrics=metrics))
    page = next((page for page, sign in _PAGES if any(sign.search(name) for name in names)), "table")
    return Profile(file, "msprof op", page, tuple(launches), tuple(problems))


def _column(name: str) -> tuple[str, str]:
    """`aiv_time(us)` as (aiv_time, us)."""
    match = _UNIT.match(name)
    return (match[1], match[2]) if match else (name, "")
