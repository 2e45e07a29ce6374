"""What the engines of a Hopper SM did in a run: bytes, waits, hazards, and where buffers should lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..sim.chip import Chip
from ..sim.engine import Simulation, Slice, Track
from ..sim.hopper import HopperSm
from ..sim.results import Column, Table
from .hopper_lower import Engines

__all__ = [
    "advice",
    "busy_tables",
    "engine_table",
    "engine_tracks",
    "hazard_lines",
    "hazard_table",
    "standing",
    "wait_table",
]

_LINE = 128
_FULL = 0.85
_ENGINES = (
    Column("agent", "", "who uses shared memory"),
    Column("count", "", "wgmma, copies or wavefronts"),
    Column("bytes", "bytes", "moved through shared memory"),
    Column("wavefronts", "", "accesses of 128 bytes"),
    Column("busy", "cycles", "for which it kept its port or the path"),
    Column("share", "%", "of all cycles"),
    Column("denied", "cycles", "in which somebody else had what it wanted"),
)
_WAITS = (
    Column("who", "", "group of warps"),
    Column("waits for", "", "what let it wait"),
    Column("cycles", "warp cycles", "summed over its warps"),
    Column("share", "%", "of its warps' time"),
)
_HAZARDS = (
    Column("kind", "", "kind of hazard"),
    Column("region", "", "piece of shared memory, or mbarrier"),
    Column("cycle", "cycle", "first time"),
    Column("times", "", "how often in the simulated part"),
    Column("what", "", "who touched it and what it did not wait for"),
)


def engine_table(run: Simulation, sm: HopperSm) -> Table:
    """Bytes and wavefronts by agent."""
    sums = sm.totals()
    cycles = run.cycles or 1
    rows: list[tuple[str, int, int, int, int, int]] = []
    if sums["products",]:
        rows.append(("tensor core", sums["products",], 0, 0, sums["busy", "tensor core"], 0))
    for name in ("A", "B"):
        frames = sums["frames", name]
        rows.append(
            (
                f"wgmma operand {name}",
                sums["products",] if frames else 0,
                2 * frames * _LINE,
                2 * frames,
                2 * frames,
                0,
            )
        )
    moved = sums["wavefronts", "warps"]
    lost = 2 * (sums["lost", "A"] + sums["lost", "B"])
    rows.append(("loads and stores of warps", moved, moved * _LINE, moved, moved, lost))
    for name, denied in (
        ("TMA load", sums["shared", "TMA load"]),
        ("TMA store", sums["denied", "TMA store"]),
    ):
        size = sums["bytes", name]
        rows.append((name, sums["copies", name], size, -(-size // _LINE), sums["busy", name], denied))
    if sums["copies", "cp.async"]:
        number = sums["copies", "cp.async"]
        rows.append(("cp.async", number, 0, 0, 0, 0))
    rows = [row for row in rows if row[1]]
    data: dict[str, list[Any]] = {
        "agent": [row[0] for row in rows],
        "count": [row[1] for row in rows],
        "bytes": [row[2] for row in rows],
        "wavefronts": [row[3] for row in rows],
        "busy": [row[4] for row in rows],
        "share": [round(100 * row[4] / cycles, 1) for row in rows],
        "denied": [row[5] for row in rows],
    }
    return Table("engines", "Shared memory by agent", _ENGINES, data)


def wait_table(run: Simulation, sm: HopperSm) -> Table:
    """Who waited for whom, most first."""
    groups = run.program.groups
    found: dict[tuple[str, str], int] = {}
    time: dict[str, int] = {}
    for number, group in enumerate(groups):
        name = group.name or f"group {number}"
        time[name] = time.get(name, 0) + group.warps * run.cycles
    for key, cycles in sm.totals().items():
        if key[0] == "waits":
            group = groups[int(str(key[1]))]
            own = (group.name or f"group {key[1]}", str(key[2]))
            found[own] = found.get(own, 0) + cycles
    rows = sorted(found.items(), key=lambda item: -item[1])
    data: dict[str, list[Any]] = {
        "who": [who for (who, _), _ in rows],
        "waits for": [what for (_, what), _ in rows],
        "cycles": [cycles for _, cycles in rows],
        "share": [round(100 * cycles / max(time[who], 1), 1) for (who, _), cycles in rows],
    }
    return Table("engine_waits", "Who waited for whom", _WAITS, data)


def hazard_table(sm: HopperSm) -> Table:
    """Every hazard, in order of the first occurrence."""
    found = sm.hazards.found
    data: dict[str, list[Any]] = {
        "kind": [item.kind for item in found],
        "region": [item.region for item in found],
        "cycle": [item.cycle for item in found],
        "times": [item.times for item in found],
        "what": [item.text for item in found],
    }
    return Table("hazards", "Hazards", _HAZARDS, data)


def hazard_lines(sm: HopperSm) -> list[str]:
    """One sentence a hazard, for the violations of the run."""
    return [f"{item.kind}: {item.text}" for item in sm.hazards.found]


def advice(run: Simulation, sm: HopperSm, engines: Engines) -> list[str]:
    """What sets the pace, and where buffers should lie.

    A TMA store whose source is in a half that wgmma reads waits for the read port of that half.
    """
    sums = sm.totals()
    denied = sums["denied", "TMA store"]
    half = sm.own.half
    tensor = sums["busy", "tensor core"] / max(run.cycles, 1)
    lines: list[str] = []
    if tensor:
        pace = "sets the pace" if tensor > _FULL else "is not full"
        lines.append(f"The tensor core {pace}: busy for {tensor:.0%} of {run.cycles:,} cycles.")
    border = sm.own.boundary - sm.own.window_offset
    contested = {half(at): name for name, at in engines.operands.items()}
    for region, (start, size) in engines.stores.items():
        own = {part for part, _ in sm.own.spans(start, size)} & set(contested)
        if not own or not denied:
            continue
        where = "lower" if 0 in own else "upper"
        other = f"byte {border} or above" if 0 in own else f"below byte {border}"
        free = (
            "" if len(contested) == 1 else " (the other half holds an operand too, which is read less often)"
        )
        lines.append(
            f"The source of the TMA store, {region} (bytes {start} to {start + size - 1}), lies in the {where} half "
            f"of shared memory, where wgmma reads {contested[min(own)]}: its read port was taken for {denied:,} cycles "
            f"of the stores' {sums['busy', 'TMA store']:,}. Put it at {other}{free}."
        )
    shared = sums["shared", "TMA load"]
    if shared > run.cycles // 50:
        lines.append(
            f"Stores of warps and TMA loads met at the write port of one half in {shared:,} cycles; buffers in "
            f"different halves (border: byte {border}) do not meet."
        )
    lost = sums["lost", "A"] + sums["lost", "B"]
    if lost > run.cycles // 20:
        lines.append(
            f"Loads and stores of warps waited in {2 * lost:,} cycles for wgmma's operand reads, which go before "
            f"them; the half in which data lie makes no difference there."
        )
    return lines


def standing(chip: Chip, status: str) -> tuple[list[str], str]:
    """One line for every figure of the engines that is assumed or was set by hand, and how sure times are then."""
    lines: list[str] = []
    for constant in chip.under("async"):
        if constant.overridden:
            lines.append(f"{constant.path} = {constant.value} {constant.unit} was set by hand.")
            status = "assumed"
        elif constant.confidence == "assumed":
            lines.append(f"{constant.path} = {constant.value} {constant.unit} is assumed: {constant.note}.")
    return lines, status


def engine_tracks(sm: HopperSm) -> list[Track]:
    """One track an agent and port: operand reads of each warpgroup, copies of the TMA unit by direction."""
    tracks: list[Track] = []
    for group in sorted({entry[3] for entry in sm.tensor.log}):
        pieces = tuple(
            Slice(begin, max(end, begin + 1), f"wgmma n{n}")
            for begin, end, n, own in sm.tensor.log
            if own == group
        )
        tracks.append(Track("engines", f"wgmma of warpgroup {group}, operand B", pieces))
    for store, name in ((False, "TMA load, write port"), (True, "TMA store, read port")):
        jobs = [job for job in sm.copies.log if job.copy.store == store]
        if jobs:
            pieces = tuple(
                Slice(
                    job.began,
                    max(job.ended, job.began + 1),
                    f"{job.copy.region or 'copy'} {job.copy.bytes} B",
                    details={"issued": job.issued, "warp": job.warp},
                )
                for job in jobs
            )
            tracks.append(Track("engines", name, pieces))
    return tracks


def busy_tables(run: Simulation, sm: HopperSm) -> Sequence[Table]:
    """The tables of the engines, without empty ones."""
    return [table for table in (engine_table(run, sm), wait_table(run, sm), hazard_table(sm)) if len(table)]
