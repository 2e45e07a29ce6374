"""Pictures that follow from the tables of a result: whoever makes the table gets the picture.

The tables are read as they are, nothing is computed again: `banks` becomes a heat map, `replicas` the bytes of copies,
`usage_over_time` the busy share of every part, `stalls` and `tmem_waits` bars of what was waited for.
"""

from __future__ import annotations

from collections.abc import Callable

from ...sim.results import Picture, RunResult, Table
from ..text import share_text

_MOST_ROWS = 40
_MOST_PARTS = 16


def pictures_of(result: RunResult) -> tuple[Picture, ...]:
    """All pictures of a result: its own, then those of its tables. A kind that the result has itself is left out."""
    own = {picture.kind for picture in result.pictures}
    made = [
        make(table)
        for table in result.tables
        for name, (make, needed) in _MAKERS.items()
        if table.name == name and needed <= set(table.data)
    ]
    return (*result.pictures, *(p for p in made if p is not None and p.kind not in own))


def bank_heat_picture(table: Table) -> Picture | None:
    """Words by access and bank, from a table with `access`, `bank` and `words`."""
    rows = list(table.rows())
    names = list(dict.fromkeys(row["access"] for row in rows))[:_MOST_ROWS]
    banks = max((row["bank"] for row in rows), default=-1) + 1
    if not names or banks < 1:
        return None
    words = {name: [0] * banks for name in names}
    for row in rows:
        if row["access"] in words:
            words[row["access"]][row["bank"]] += row["words"]
    uneven = [name for name in names if min(words[name]) != max(words[name])]
    more = f" and {len(uneven) - 8} more" if len(uneven) > 8 else ""
    said = (
        f"unevenly used by {'; '.join(uneven[:8])}{more}" if uneven else "every access uses all banks alike"
    )
    return Picture(
        "bank_heat",
        "Words asked of each bank",
        f"Heat map of words by access and bank: {said}.",
        {"names": names, "words": [words[name] for name in names]},
    )


def replica_picture(table: Table) -> Picture | None:
    """Unique and physical bytes by memory and mover, from a table with `unique`, `physical` and `axis`."""
    total: dict[tuple[str, ...], list[int]] = {}
    for row in table.rows():
        key = (row["name"], row["memory"], row["mover"], row["axis"])
        entry = total.setdefault(key, [0, 0])
        entry[0] += row["unique"]
        entry[1] += row["physical"]
    items = list(total.items())[:_MOST_ROWS]
    if not items:
        return None
    said = "; ".join(f"{key[0]}: {u:,} B unique, {w:,} B physical" for key, (u, w) in items[:8])
    return Picture(
        "replica_traffic",
        "Replica traffic: unique against physical bytes",
        f"Bars of bytes that differ and bytes that were moved. {said}.",
        {
            "names": [f"{name} ({mover})" if mover else name for (name, _, mover, _), _ in items],
            "memory": [key[1] for key, _ in items],
            "axes": [key[3] for key, _ in items],
            "unique": [unique for _, (unique, _) in items],
            "physical": [physical for _, (_, physical) in items],
        },
    )


def port_use_picture(table: Table) -> Picture | None:
    """Busy share over time, from a table with `from` and one column in percent for every part."""
    parts = [column.name for column in table.columns if column.unit == "%"][:_MOST_PARTS]
    if not parts or len(table) < 2:
        return None
    start = [float(value) for value in table.data["from"]]
    shares = {name: [float(value) for value in table.data[name]] for name in parts}
    busiest = max(parts, key=lambda name: sum(shares[name]))
    mean = sum(shares[busiest]) / len(start)
    return Picture(
        "port_use",
        "How busy each part was over time",
        f"Busy share of {len(parts)} parts over cycles; the busiest is {busiest} with {mean:.0f} % on average.",
        {
            "from": start,
            "end": 2 * start[-1] - start[-2],
            "parts": parts,
            "share": [shares[p] for p in parts],
        },
    )


def stalls_picture(table: Table) -> Picture | None:
    """Waited cycles by cause, from a table with `reason` and `cycles`."""
    rows = [("all warps together", row["reason"], float(row["cycles"])) for row in table.rows()]
    return _waits([row for row in rows if row[2]], "What warps waited for")


def role_waits_picture(table: Table) -> Picture | None:
    """Waited cycles by role and cause, from a table with `program`, `role`, `cause` and `cycles`."""
    programs = list(dict.fromkeys(row["program"] for row in table.rows()))
    many = len(programs) > 1
    rows = [
        (f"{row['role']}, {row['program']}" if many else row["role"], row["cause"], float(row["cycles"]))
        for row in table.rows()
    ]
    return _waits(rows, "What the roles waited for")


def _waits(rows: list[tuple[str, str, float]], title: str) -> Picture | None:
    names = list(dict.fromkeys(name for name, _, _ in rows))[:_MOST_ROWS]
    causes = list(dict.fromkeys(cause for _, cause, _ in rows))
    cycles = {name: dict.fromkeys(causes, 0.0) for name in names}
    for name, cause, value in rows:
        if name in cycles:
            cycles[name][cause] += value
    total = sum(value for _, _, value in rows)
    if not total:
        return None
    by_cause = {cause: sum(value for _, c, value in rows if c == cause) for cause in causes}
    said = ", ".join(
        f"{c} {share_text(v, total)}" for c, v in sorted(by_cause.items(), key=lambda i: -i[1])[:6]
    )
    return Picture(
        "stalls",
        title,
        f"Bars of waited cycles by cause: {said}.",
        {"names": names, "causes": causes, "cycles": [[cycles[n][c] for c in causes] for n in names]},
    )


# table -> (function, columns that it reads); a table of that name without them is another table.
_MAKERS: dict[str, tuple[Callable[[Table], Picture | None], set[str]]] = {
    "banks": (bank_heat_picture, {"access", "bank", "words"}),
    "replicas": (replica_picture, {"name", "memory", "mover", "axis", "unique", "physical"}),
    "usage_over_time": (port_use_picture, {"from"}),
    "stalls": (stalls_picture, {"reason", "cycles"}),
    "tmem_waits": (role_waits_picture, {"program", "role", "cause", "cycles"}),
}
