"""Replica traffic of shared-memory accesses: what copies in a register fragment (`R[...]`) make a kernel read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..layouts import parse
from ..sim.results import Table
from ..sim.traffic import ReplicaTraffic, replica_axes, replica_table

if TYPE_CHECKING:
    from .lowered import LoweredAccess
    from .model_access import Access


def replica_tables(lowered: Sequence[LoweredAccess], written: Sequence[Access]) -> tuple[Table, ...]:
    """The table of replica traffic of the accesses whose fragment has copies; () when there is none."""
    found: list[ReplicaTraffic] = []
    for item, access in zip(lowered, written, strict=True):
        axes = _copies(access.fragment)
        if axes:
            found.append(access_replicas(item, axes))
    return (replica_table(found),) if found else ()


def _copies(fragment: str | None) -> tuple[tuple[str, int], ...]:
    """(axis, copies) of a fragment; () for named fragments, which have none."""
    return () if fragment is None or fragment.startswith("mma.") else replica_axes(parse(fragment))


def access_replicas(item: LoweredAccess, axes: tuple[tuple[str, int], ...]) -> ReplicaTraffic:
    """Bytes of one access, once through: every address once, as the warps fetch them, and as the lanes hold them.

    Lanes of one instruction that name one address fetch it together; other instructions and warps fetch it again.
    """
    lanes = np.where(item.active, item.offsets, -1)
    ordered = np.sort(lanes, axis=1)
    fresh = np.diff(ordered, axis=1, prepend=-1) != 0
    fetched = int((fresh & (ordered >= 0)).sum()) * item.width
    held = int(item.active.sum()) * item.width
    unique = len(np.unique(lanes[item.active])) * item.width
    stores = item.op.startswith(("sts", "stmatrix"))
    memory = item.buffer.name if item.buffer is not None else "shared memory"
    read, written = (held, fetched) if stores else (fetched, held)
    where = memory if stores else "registers"
    return ReplicaTraffic(item.name, where, f"{item.op}.{8 * item.width}", unique, read, written, axes).times(
        item.repeat
    )
