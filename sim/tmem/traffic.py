"""Bytes by mover: what a GEMM main loop and single instructions read and write, and where copies come in."""

from __future__ import annotations

from dataclasses import dataclass

from ..traffic import ReplicaTraffic
from .copy import Copy
from .gemm import GemmLoop
from .loadstore import LoadStore
from .operands import accumulator
from .shift import Shift

__all__ = ["Movement", "copy_replicas", "gemm_replicas", "gemm_traffic", "movement_of"]


@dataclass(frozen=True, slots=True)
class Movement:
    """What a mover does altogether: instructions, bytes read from `source` and written to `destination`."""

    mover: str
    what: str
    source: str
    destination: str
    instructions: int
    read_bytes: int
    written_bytes: int


def movement_of(item: Copy | LoadStore | Shift, times: int = 1) -> Movement:
    """What a single instruction moves, executed `times` times.

    >>> movement_of(Copy(".32x128b", ".warpx4")).written_bytes
    2048
    """
    if isinstance(item, Copy):
        mover = f"tcgen05.cp{item.shape}{item.multicast}{item.fmt}"
        size = (item.source_bytes * times, item.written_bytes * times)
        return Movement(mover, "copy", "shared memory", "TMEM", times, *size)
    if isinstance(item, Shift):
        size = item.bytes_per_lane * len(item.sources()) * times
        return Movement("tcgen05.shift", "shift", "TMEM", "TMEM", times, size, size)
    pack = ".pack::16b" if item.op == "ld" else ".unpack::16b"
    mover = f"tcgen05.{item.op}{item.shape}.x{item.num}{pack if item.packed else ''}"
    moved = item.bytes_moved * times
    if item.op == "ld":
        return Movement(mover, "load", "TMEM", "registers", times, moved, moved)
    return Movement(mover, "store", "registers", "TMEM", times, moved, moved)


def copy_replicas(copy: Copy, name: str, times: int = 1) -> ReplicaTraffic:
    """Replica traffic of a tcgen05.cp, of one block.

    >>> copy_replicas(Copy(".32x128b", ".warpx4"), "sfa").factor
    4.0
    """
    axes = (("TLane", copy.replicas),) if copy.replicas > 1 else ()
    mover = f"cp{copy.shape}{copy.multicast}"
    one = ReplicaTraffic(name, "TMEM", mover, copy.source_bytes, copy.source_bytes, copy.written_bytes, axes)
    return one.times(times)


def gemm_traffic(loop: GemmLoop) -> tuple[Movement, ...]:
    """Bytes of a whole main loop, one block, by mover.

    The product reads A and B once an instruction; it reads and writes its accumulator once an instruction (whether the
    hardware keeps it inside between steps is not known), the first product of a tile only writes it.

    >>> loop = GemmLoop("mxf8f6f4", 128, 128, k_per_stage=128, k_steps=1000)
    >>> [(m.mover, m.what, m.written_bytes) for m in gemm_traffic(loop) if m.mover.startswith("tcgen05.cp")]
    [('tcgen05.cp.32x128b.warpx4', 'sfa', 2048000), ('tcgen05.cp.32x128b.warpx4', 'sfb', 2048000)]
    """
    steps = loop.k_steps * loop.tiles
    shape = loop.shape
    d = accumulator(loop.M, loop.N, loop.cta_group)
    products = loop.products
    found: list[Movement] = []
    for name, size in (("A", loop.a_stage_bytes), ("B", loop.b_stage_bytes)):
        if size:
            found.append(
                Movement("TMA", name, "global memory", "shared memory", steps, size * steps, size * steps)
            )
    scales = sum(copy.source_bytes for _, copy in loop.scale_copies) * steps
    if scales:
        found.append(
            Movement("TMA", "scale factors", "global memory", "shared memory", steps, scales, scales)
        )
    where = "shared memory" if loop.operands == "SS" else "TMEM"
    a = shape.a_bytes * products
    found.append(Movement("tcgen05.mma", "A", where, "tensor core", products, a, 0))
    found.append(
        Movement("tcgen05.mma", "B", "shared memory", "tensor core", products, shape.b_bytes * products, 0)
    )
    for name in ("sfa", "sfb"):
        copies = [copy for which, copy in loop.scale_copies if which == name]
        if copies:
            read = sum(copy.source_bytes for copy in copies) * steps
            written = sum(copy.written_bytes for copy in copies) * steps
            mover = f"tcgen05.cp{copies[0].shape}{copies[0].multicast}"
            found.append(Movement(mover, name, "shared memory", "TMEM", len(copies) * steps, read, written))
    size = d.unique_bytes
    found.append(
        Movement(
            "tcgen05.mma", "D", "TMEM", "TMEM", products, size * (products - loop.tiles), size * products
        )
    )
    items = [item for warp in range(4) for item, _ in loop.loads(warp)]
    moved = sum(item.bytes_moved for item in items) * loop.tiles
    name = f"tcgen05.ld{items[0].shape}"
    found.append(Movement(name, "D", "TMEM", "registers", len(items) * loop.tiles, moved, moved))
    return tuple(found)


def gemm_replicas(loop: GemmLoop) -> tuple[ReplicaTraffic, ...]:
    """Replica traffic of a main loop: scale factors in four windows, A twice on layout B."""
    steps = loop.k_steps * loop.tiles
    found: list[ReplicaTraffic] = []
    for name in ("sfa", "sfb"):
        copies = [copy for which, copy in loop.scale_copies if which == name]
        if copies:
            found.append(copy_replicas(copies[0], name, len(copies) * steps))
    for placement in loop.plan.placements:
        operand = placement.operand
        if operand is not None and operand.replicas > 1 and not placement.name.startswith("sf"):
            size = operand.unique_bytes
            found.append(
                ReplicaTraffic(
                    placement.name,
                    "TMEM",
                    "layout",
                    size,
                    size,
                    operand.written_bytes,
                    (("TLane", operand.replicas),),
                )
            )
    return tuple(found)
