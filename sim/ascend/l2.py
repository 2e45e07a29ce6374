"""Which part of what the cores copy is found in L2: an estimate from re-reads, sharing and capacity."""

from __future__ import annotations

from .core import Core
from .errors import AscendError

__all__ = ["l2_hit_part"]


def l2_hit_part(
    core: Core, matrix_bytes: int, read_bytes: int, input_bytes: int, *, shared: int = 1, passes: int = 1
) -> float:
    """The part (0..1) of `read_bytes`, read by all cores together from a matrix, that L2 answers.

    First reads miss. Of later ones, the cores that read the same tile in the same step (`shared` of them) miss once;
    the others hit as far as the inputs of one of the `passes` fit into L2. An assumption, checked only by the rows of
    the published matrix multiplications. The published sweeps (a matrix of 288 MiB read four times, whole or quarter by
    quarter) agree for quarters (0.75) and not for the whole, of which nothing was found again.

    >>> from bankbench.sim.chip import load_chip
    >>> from bankbench.sim.ascend import read_core
    >>> core = read_core(load_chip("a2"))
    >>> l2_hit_part(core, 1 << 27, 1 << 32, 1 << 28), l2_hit_part(core, 1 << 27, 1 << 32, 1 << 28, passes=2)
    (0.75, 0.96875)
    """
    if shared < 1 or passes < 1:
        raise AscendError("shared and passes count from 1")
    if not read_bytes:
        return 0.0
    first = min(matrix_bytes, read_bytes) / read_bytes
    keep = min(1.0, core.number("buffers.L2") * passes / max(input_bytes, 1))
    return 1.0 - max(first, (1 - keep) / shared)
