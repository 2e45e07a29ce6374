"""The constants of one AI Core that time needs, read from the chip once; what is not public is named, never guessed."""

from __future__ import annotations

from dataclasses import dataclass

from ..chip import Chip, ChipError

__all__ = ["TIMING_PATHS", "Core", "read_core"]

TIMING_PATHS = (
    "core.clock_mhz", "core.event_ids", "pipes.queue", "pipes.dispatch", "pipes.flag", "cube.start", "cube.gap",
    "mte2.start", "mte2.row", "mte2.gm_gb_s", "mte2.rate", "mte2.rate_l2", "mte2.row_l2",
    "mte2.l2_gb_s", "mte2.granule",
    "mte1.L0A", "mte1.L0B", "mte1.transpose", "mte1.start", "fix.out", "fix.read", "fix.start",
    "mte3.rate", "mte3.start", "mte3.row",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Core:
    """Numbers of one core; cycles, bytes a cycle, GB/s of the chip. `chip` is where they come from."""

    chip: Chip
    clock_mhz: float
    event_ids: int
    queue: int
    dispatch: int
    flag: int

    def number(self, path: str) -> float:
        """A constant by path."""
        return self.chip.number(path)

    def microseconds(self, cycles: float) -> float:
        """Cycles as time at the core clock."""
        return cycles / self.clock_mhz


def read_core(chip: Chip) -> Core:
    """Reads the core of a chip. Raises ChipError that lists every constant of time that is not public for it."""
    missing = [path for path in TIMING_PATHS if not chip.has(path) or chip[path] is None]
    if missing:
        raise ChipError(
            f"{chip.title}: time is unknown, not public are {', '.join(missing)}; "
            "set them in overrides: to simulate with figures of your own"
        )
    return Core(
        chip=chip,
        clock_mhz=chip.number("core.clock_mhz"),
        event_ids=chip.integer("core.event_ids"),
        queue=chip.integer("pipes.queue"),
        dispatch=chip.integer("pipes.dispatch"),
        flag=chip.integer("pipes.flag"),
    )
