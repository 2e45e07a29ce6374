"""Replica traffic: what copies of a value cost in bytes, and what they spare, for any memory.

A layout with replicas puts one logical element into several places. Whoever writes it writes more bytes than the
values have, or, where registers are filled from shared memory, reads the same bytes again; whoever reads it afterwards
finds it near. This module counts both sides and says which axis the copies come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ..layouts import Layout
from .results import Column, Table

__all__ = [
    "ReplicaTraffic",
    "copies_of",
    "fragment_traffic",
    "layout_traffic",
    "multicast_traffic",
    "replica_axes",
    "replica_table",
]


@dataclass(frozen=True, slots=True)
class ReplicaTraffic:
    """Bytes of one move of values, some of which exist more than once.

    `unique_bytes` each value once; `read_bytes` taken from the source; `written_bytes` put into the destination;
    `axes` pairs (axis, copies along it). All figures for one execution of the move.

    >>> sf = ReplicaTraffic("sfa", "TMEM", "tcgen05.cp.32x128b.warpx4", 512, 512, 2048, (("TLane", 4),))
    >>> sf.factor, sf.extra_writes, sf.saved_reads, sf.repeated_reads
    (4.0, 1536, 1536, 0)
    """

    name: str
    memory: str
    mover: str
    unique_bytes: int
    read_bytes: int
    written_bytes: int
    axes: tuple[tuple[str, int], ...] = ()

    @property
    def factor(self) -> float:
        """Physical bytes over unique bytes, on the side that has the copies."""
        return self.physical_bytes / self.unique_bytes if self.unique_bytes else 1.0

    @property
    def physical_bytes(self) -> int:
        """Bytes moved on the side that has the copies."""
        return max(self.read_bytes, self.written_bytes)

    @property
    def extra_writes(self) -> int:
        """Bytes written beyond each value once: what the copies cost at the destination."""
        return self.written_bytes - self.unique_bytes

    @property
    def repeated_reads(self) -> int:
        """Bytes read beyond each value once: what the copies cost at the source."""
        return self.read_bytes - self.unique_bytes

    @property
    def saved_reads(self) -> int:
        """Source bytes that would be read more if every copy were fetched on its own."""
        return max(self.written_bytes - self.read_bytes, 0)

    def times(self, count: int) -> ReplicaTraffic:
        """The same move executed `count` times."""
        return ReplicaTraffic(
            self.name,
            self.memory,
            self.mover,
            self.unique_bytes * count,
            self.read_bytes * count,
            self.written_bytes * count,
            self.axes,
        )


def replica_axes(layout: Layout) -> tuple[tuple[str, int], ...]:
    """(axis, copies along it) of a layout; copies that fall on one place count once.

    >>> from bankbench.layouts import parse
    >>> replica_axes(parse("S[(32,4):(1@TLane,1@TCol)] + R[4:32@TLane]"))
    (('TLane', 4),)
    """
    found = ((axis, len(np.unique(offsets))) for axis, offsets in layout.replicas().items())
    return tuple((axis, copies) for axis, copies in found if copies > 1)


def copies_of(layout: Layout) -> int:
    """Places of every element: distinct replica offsets over all axes together."""
    replicas = layout.replicas()
    if not replicas:
        return 1
    return len(np.unique(np.stack(list(replicas.values()), axis=1), axis=0))


def layout_traffic(
    layout: Layout,
    bits: int,
    *,
    name: str,
    memory: str,
    mover: str,
    shape: Sequence[int] | None = None,
    multicast: bool = True,
) -> ReplicaTraffic:
    """Traffic of filling a tile whose layout has replicas.

    Args:
        bits: width of an element.
        shape: the logical shape filled; the layout's own when left out.
        multicast: whether one read feeds all copies (a copy engine's multicast); otherwise each copy is read.

    >>> from bankbench.layouts import parse
    >>> sf = parse("S[(32,4):(1@TLane,1@TCol)] + R[4:32@TLane]")
    >>> layout_traffic(sf, 8, name="sf", memory="TMEM", mover="cp").written_bytes
    512
    """
    size = prod(layout.logical_shape if shape is None else shape) * bits // 8
    copies = copies_of(layout)
    read = size if multicast else size * copies
    return ReplicaTraffic(name, memory, mover, size, read, size * copies, replica_axes(layout))


def fragment_traffic(
    layout: Layout, bits: int, *, name: str, source: str = "shared memory", shape: Sequence[int] | None = None
) -> ReplicaTraffic:
    """Traffic of loading a register fragment with replicas: every copy is one more read of the source.

    Copies along laneid are lanes of one warp that read one address, which shared memory serves together; copies along
    warpid are other warps, whose reads are wavefronts of their own. `axes` tells the two apart.

    >>> from bankbench.layouts import parse
    >>> tile = parse("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid]")
    >>> found = fragment_traffic(tile, 16, name="tile")
    >>> found.unique_bytes, found.read_bytes, found.repeated_reads, found.axes
    (256, 512, 256, (('warpid', 2),))
    """
    return layout_traffic(
        layout, bits, name=name, memory="registers", mover=f"load from {source}", shape=shape, multicast=False
    )


def multicast_traffic(size: int, blocks: int, *, name: str, mover: str = "TMA multicast") -> ReplicaTraffic:
    """Traffic of one tile that a multicast puts into the shared memory of several blocks: read once, written often.

    >>> found = multicast_traffic(16384, 4, name="A")
    >>> found.read_bytes, found.written_bytes, found.saved_reads
    (16384, 65536, 49152)
    """
    axes = (("cbx", blocks),) if blocks > 1 else ()
    return ReplicaTraffic(name, "shared memory", mover, size, size, size * blocks, axes)


# The title says that sizes are bytes: the columns have to fit a terminal of 100 characters.
_COLUMNS = (
    Column("name", "", "what is moved"),
    Column("memory", "", "where the copies lie"),
    Column("mover", "", "the instruction or engine that makes them"),
    Column("unique", "", "bytes of every value once"),
    Column(
        "physical",
        "",
        "bytes moved on the side that has the copies: written by a multicast, read for a fragment",
    ),
    Column("factor", "", "physical bytes over unique bytes"),
    Column("axis", "", "the axes along which the copies lie, with their number"),
    Column("cost", "", "physical bytes beyond every value once"),
    Column("saved", "", "bytes of source reads that one read for all copies spares"),
)


def replica_table(items: Iterable[ReplicaTraffic], name: str = "replicas") -> Table:
    """The table of replica traffic, one row a move.

    >>> len(replica_table([ReplicaTraffic("a", "TMEM", "cp", 512, 512, 2048, (("TLane", 4),))]))
    1
    """
    rows = list(items)
    data = {
        "name": [item.name for item in rows],
        "memory": [item.memory for item in rows],
        "mover": [item.mover for item in rows],
        "unique": [item.unique_bytes for item in rows],
        "physical": [item.physical_bytes for item in rows],
        "factor": [item.factor for item in rows],
        "axis": [" ".join(f"{axis} x{copies}" for axis, copies in item.axes) for item in rows],
        "cost": [item.physical_bytes - item.unique_bytes for item in rows],
        "saved": [item.saved_reads for item in rows],
    }
    return Table(name, "Replica traffic in bytes, by mover", _COLUMNS, data)
