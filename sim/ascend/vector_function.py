"""A vector function of 3510 in a loop, in counts of the 1 GHz counter: the form that fits the published conflict cases.

counts = call + iterations * (accesses * access + gathers * gather) + conflict cycles * conflict. The four figures are
fitted to the table itself; they are far above those that the re-layout table of the same chip supports, and nothing
public reconciles the two. Use them for ratios of similar loops only.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..chip import Chip
from .banks import IntArray
from .simt import count_lanes
from .ub_rules import count_vector
from .vector import Operand, VectorOp

__all__ = ["gather_loop_counts", "loop_counts"]


def loop_counts(loads: Sequence[Operand], stores: Sequence[Operand], iterations: int, chip: Chip) -> float:
    """Counts of one call: every iteration executes each load and each store as an instruction of its own.

    >>> from bankbench.sim.chip import load_chip
    >>> loop_counts([Operand(0)], [Operand(0x4100)], 8, load_chip("950"))
    443.0
    """
    ops = [VectorOp((load,), (), iterations) for load in loads]
    ops += [VectorOp((), (store,), iterations) for store in stores]
    conflicts = sum(count_vector(op, chip).extra for op in ops)
    return _counts(chip, iterations * len(ops), 0, conflicts)


def gather_loop_counts(addresses: IntArray, chip: Chip) -> float:
    """Counts of one call that gathers and scatters to `addresses` (iterations, lanes) with an index load each."""
    conflicts = 2 * int(count_lanes(addresses, chip).extra.sum())
    return _counts(chip, len(addresses), 2 * len(addresses), conflicts)


def _counts(chip: Chip, accesses: int, gathers: int, conflicts: int) -> float:
    return (
        chip.number("ub.loop_call")
        + accesses * chip.number("ub.loop_access")
        + gathers * chip.number("ub.loop_gather")
        + conflicts * chip.number("ub.loop_conflict")
    )
