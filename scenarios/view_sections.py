"""Layouts that the sections of a scenario place: shared memory, registers, tensor memory, Ascend's buffers."""

from __future__ import annotations

from dataclasses import dataclass

from ..layouts import TileLayout
from ..sim.chip import Chip
from .buffers import place_buffers
from .load import LoadedScenario
from .patterns import fragment_layout
from .specs import BufferSpec

_NAMED = {64: "f64", 32: "f32", 16: "f16", 8: "e4m3", 4: "e2m1"}


@dataclass(frozen=True, slots=True)
class ViewBuffer:
    """One layout of the page: what it is called, its buffer, its first byte, and the memory it lies in (None: by its
    axes)."""

    name: str
    spec: BufferSpec
    base: int = 0
    memory: str | None = None


def scenario_buffers(loaded: LoadedScenario, chip: Chip) -> list[ViewBuffer]:
    """Every layout that the scenario places, in the order of its sections. Raises as the sections do."""
    return [
        *_shared(loaded, chip),
        *_fragments(loaded, chip),
        *_tensor_memory(loaded, chip),
        *_ascend(loaded, chip),
    ]


def _shared(loaded: LoadedScenario, chip: Chip) -> list[ViewBuffer]:
    specs = {name: item.spec() for name, item in loaded.scenario.buffers.items()}
    placed = place_buffers(specs, chip) if specs else {}
    return [ViewBuffer(name, spec, placed[name].base) for name, spec in specs.items()]


def _fragments(loaded: LoadedScenario, chip: Chip) -> list[ViewBuffer]:
    """The register fragments of the accesses, one of each text."""
    specs = {name: item.spec() for name, item in loaded.scenario.buffers.items()}
    placed = place_buffers(specs, chip) if specs else {}
    found: dict[tuple[str, str], ViewBuffer] = {}
    for item in loaded.scenario.accesses:
        if item.fragment is None or item.buffer not in placed:
            continue
        access, buffer = item.spec(), placed[item.buffer]
        layout, whole = fragment_layout(access, buffer)
        spec = BufferSpec(buffer.dtype, tuple(access.tile or whole), str(layout))
        found.setdefault((item.fragment, buffer.dtype), ViewBuffer(f"registers of {access.name}", spec))
    return list(found.values())


def _tensor_memory(loaded: LoadedScenario, chip: Chip) -> list[ViewBuffer]:
    if loaded.scenario.tmem is None or not loaded.scenario.tmem.buffers:
        return []
    from .tmem_buffers import place_all

    found: list[ViewBuffer] = []
    for placement in place_all(loaded, loaded.scenario.tmem, chip).plan.placements:
        operand = placement.operand
        if operand is None or operand.bits not in _NAMED:
            continue
        origin = {"TLane": operand.lane, "TCol": operand.column * 32 // operand.bits}
        offset = dict(operand.layout.offset)
        for axis, value in origin.items():
            if value:
                offset[axis] = offset.get(axis, 0) + value
        layout = TileLayout.from_iters(operand.layout.shard, operand.layout.replica, offset)
        spec = BufferSpec(_NAMED[operand.bits], operand.shape, str(layout))
        found.append(ViewBuffer(placement.name, spec, memory="tmem"))
    return found


def _ascend(loaded: LoadedScenario, chip: Chip) -> list[ViewBuffer]:
    if loaded.scenario.ascend is None:
        return []
    from .ascend_places import make_places

    found: list[ViewBuffer] = []
    for name, tile in make_places(loaded.scenario.ascend, chip).tiles.items():
        buffer = tile.buffer
        spec = BufferSpec(buffer.dtype, tuple(buffer.layout.logical_shape), str(buffer.layout))
        memory, base = (f"ub {chip.name}", buffer.addresses[0]) if buffer.memory == "UB" else ("fractal", 0)
        found.append(ViewBuffer(f"{name} in {buffer.memory}", spec, base, memory))
    return found
