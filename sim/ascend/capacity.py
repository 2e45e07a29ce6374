"""Where tiles lie in L1, L0A, L0B, L0C and UB: bytes, padding, alignment, what is left, what would fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...layouts import LayoutError, TlaLayout, dtype_bits, from_tag
from ..chip import Chip
from .errors import CapacityError

__all__ = ["MEMORIES", "Buffer", "MemoryUse", "place_buffers", "tile_bytes", "tile_layout", "usable_bytes"]

MEMORIES = ("L1", "L0A", "L0B", "L0C", "UB", "BT", "FB")


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tile in a memory: its layout and the byte address of every slot (2 slots: double buffering).

    `bytes` is the padded footprint of one slot, `valid_bytes` what its origin covers.
    """

    name: str
    memory: str
    dtype: str
    layout: TlaLayout
    addresses: tuple[int, ...]
    bytes: int
    valid_bytes: int

    @property
    def slots(self) -> int:
        """How many copies there are."""
        return len(self.addresses)


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """One memory with its buffers: `used` bytes up to the highest address, `free` what is left of `usable`."""

    memory: str
    bytes: int
    reserved: int
    used: int
    buffers: tuple[Buffer, ...]

    @property
    def usable(self) -> int:
        """Bytes without the reserved part at the end."""
        return self.bytes - self.reserved

    @property
    def free(self) -> int:
        """Bytes that are left above the highest buffer."""
        return self.usable - self.used


def usable_bytes(
    chip: Chip, memory: str, framework: bool = False, mixed: bool = False, simt_cache: int = 0
) -> tuple[int, int]:
    """(bytes, reserved bytes) of a memory. `mixed`: a kernel of cube and vector cores, which reserves a part of L1.

    `framework`: the part of UB that the framework takes by default; `simt_cache`: bytes of UB that serve SIMT warps as
    data cache (3510: 32 to 128 KiB). Raises CapacityError for a memory or a cache that the chip does not have.

    >>> from bankbench.sim.chip import load_chip
    >>> usable_bytes(load_chip("a2"), "L1", mixed=True), usable_bytes(load_chip("a2"), "UB")
    ((524288, 256), (196608, 256))
    >>> total, reserved = usable_bytes(load_chip("950"), "UB", framework=True, simt_cache=32768)
    >>> (total - reserved) // 1024
    216
    """
    path = f"buffers.{memory}"
    if not chip.has(path):
        raise CapacityError(f"{chip.title} has no memory {memory}; it has {', '.join(_memories(chip))}")
    reserved = 0
    if memory == "UB" or (memory == "L1" and mixed):
        reserved = chip.integer(f"reserved.{memory}")
    if framework and chip.has(f"reserved.{memory}_framework"):
        reserved += chip.integer(f"reserved.{memory}_framework")
    if memory == "UB" and simt_cache:
        reserved += _simt_cache(chip, simt_cache)
    return chip.integer(path), reserved


def _simt_cache(chip: Chip, size: int) -> int:
    if not chip.has("reserved.UB_simt_least"):
        raise CapacityError(f"{chip.title} has no SIMT data cache in UB; that is 3510's")
    least, most = (chip.integer(f"reserved.UB_simt_{end}") for end in ("least", "most"))
    if not least <= size <= most:
        raise CapacityError(f"a SIMT data cache takes {least:,} to {most:,} bytes of UB, not {size:,}")
    return size


def tile_layout(
    memory: str, shape: Sequence[int], dtype: str, chip: Chip, tag: str | None = None
) -> TlaLayout:
    """The layout of a tile in a memory: the tag given, else the format that the memory has on this chip.

    L1 defaults to zN, UB and the tables to RowMajor; L0A is zZ on 2201 and zN on 3510. Raises CapacityError for a tag
    that an L0 memory does not hold: the cube reads and writes one format there.
    """
    if tag is not None and memory.startswith("L0") and tag != str(chip[f"format.{memory}"]):
        held = chip[f"format.{memory}"]
        raise CapacityError(f"{memory} of {chip.title} holds {held}, not {tag}; leave the layout out")
    if tag is None:
        default = {"L1": "zN", "UB": "RowMajor", "BT": "VectorLayout", "FB": "VectorLayout"}.get(memory)
        tag = default or str(chip[f"format.{memory}"])
    rows, cols = (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])
    return from_tag(tag, rows, cols, dtype, _architecture(chip))


def tile_bytes(layout: TlaLayout, dtype: str) -> tuple[int, int]:
    """(padded bytes, valid bytes) of a tile.

    >>> from bankbench.layouts import from_tag
    >>> tile_bytes(from_tag("zN", 100, 100, "f16"), "f16")
    (25088, 20000)
    """
    bits = dtype_bits(dtype)
    valid = 1
    for extent in layout.logical_shape:
        valid *= extent
    return -(-layout.cosize() * bits // 8), -(-valid * bits // 8)


def place_buffers(
    wanted: Sequence[tuple[str, str, Sequence[int], str, str | None, int, Sequence[int] | None]],
    chip: Chip,
    *,
    mixed: bool = False,
    framework: bool = False,
    simt_cache: int = 0,
) -> dict[str, MemoryUse]:
    """Places tiles one behind the other: (name, memory, shape, dtype, tag or None, slots, addresses or None) each.

    Raises CapacityError that names the buffer, the bytes asked, the bytes there and the nearest tile that fits; for an
    address that is misaligned, or two buffers that overlap.
    """
    buffers: dict[str, list[Buffer]] = {}
    top: dict[str, int] = {}
    for name, memory, shape, dtype, tag, slots, addresses in wanted:
        try:
            total, reserved = usable_bytes(chip, memory, framework, mixed, simt_cache)
            layout = tile_layout(memory, shape, dtype, chip, tag)
        except (CapacityError, LayoutError) as error:
            raise CapacityError(f"{name}: {error}", name) from None
        padded, valid = tile_bytes(layout, dtype)
        align = chip.integer(f"align.{memory}")
        if addresses is None:
            step = -(-padded // align) * align
            start = -(-top.get(memory, 0) // align) * align
            places = tuple(start + step * slot for slot in range(slots))
        else:
            places = tuple(addresses)
            for address in places:
                if address % align or address < 0:
                    near = max(address, 0) // align * align
                    raise CapacityError(
                        f"{name}: address {address:#x} in {memory} is no multiple of {align} bytes; nearest {near:#x}",
                        name,
                    )
        end = max(places) + padded
        if end > total - reserved:
            held = f"{total - reserved:,} bytes" + (
                f" ({total:,} less {reserved:,} reserved)" if reserved else ""
            )
            before = min(places)
            behind = f", {before:,} of them before {name}" if before else ""
            room = (total - reserved - before) // max(len(places), 1)
            raise CapacityError(
                f"{memory}: {name} asks for {slots} x {padded:,} bytes ({'x'.join(map(str, shape))} {dtype}, "
                f"padding included), {memory} of {chip.title} has {held}{behind}; "
                + _nearest(memory, shape, dtype, chip, tag, room),
                name,
            )
        placed = Buffer(name, memory, dtype, layout, places, padded, valid)
        _check_overlap(placed, buffers.get(memory, []))
        buffers.setdefault(memory, []).append(placed)
        top[memory] = max(top.get(memory, 0), end)
    return {
        memory: MemoryUse(
            memory, *usable_bytes(chip, memory, framework, mixed, simt_cache), top[memory], tuple(found)
        )
        for memory, found in buffers.items()
    }


def _check_overlap(new: Buffer, others: Sequence[Buffer]) -> None:
    spans = [(buffer.name, start, start + buffer.bytes) for buffer in others for start in buffer.addresses]
    mine = sorted(new.addresses)
    for first, second in pairwise(mine):
        if second < first + new.bytes:
            raise CapacityError(
                f"{new.name}: its slots at {first:#x} and {second:#x} overlap; one takes {new.bytes:,} bytes",
                new.name,
            )
    for start in mine:
        for name, begin, end in spans:
            if start < end and begin < start + new.bytes:
                raise CapacityError(
                    f"{new.name} at {start:#x} (+{new.bytes:,}) overlaps {name} "
                    f"at {begin:#x}..{end:#x} in {new.memory}",
                    new.name,
                )


def _nearest(memory: str, shape: Sequence[int], dtype: str, chip: Chip, tag: str | None, room: int) -> str:
    """The largest tile that fits into `room` bytes when one dimension shrinks by whole fractals."""
    best: tuple[int, tuple[int, ...]] | None = None
    unit = 16 if len(shape) > 1 else max(256 // dtype_bits(dtype), 1)
    for axis in range(len(shape)):
        low, high = 0, -(-shape[axis] // unit)
        while low < high:  # largest multiple that fits; the footprint grows with every extent
            middle = (low + high + 1) // 2
            candidate = [*shape]
            candidate[axis] = middle * unit
            if tile_bytes(tile_layout(memory, candidate, dtype, chip, tag), dtype)[0] <= room:
                low = middle
            else:
                high = middle - 1
        if low:
            candidate = [*shape]
            candidate[axis] = low * unit
            size = 1
            for extent in candidate:
                size *= extent
            if best is None or size > best[0]:
                best = (size, tuple(candidate))
    if best is None:
        return f"no tile of this kind fits into the {max(room, 0):,} bytes a slot can have"
    return f"nearest that fits: {'x'.join(map(str, best[1]))}"


def _memories(chip: Chip) -> list[str]:
    return [c.path.split(".")[1] for c in chip.under("buffers") if c.path.split(".")[1] in MEMORIES]


def _architecture(chip: Chip) -> int:
    digits = chip.arch.rsplit("-", 1)[-1]
    return int(digits) if digits.isdigit() else 2201
