"""The constants of the H200's shared-memory path, read from the chip file (`timing:` in `sim/chips/*.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..chip import Chip
from ..program import Kind

__all__ = ["Timing", "timing_of"]


@dataclass(frozen=True, slots=True)
class Timing:
    """All in SM cycles unless the name says otherwise; what each means stands beside it in the chip file."""

    partitions: int
    queue_entries: int
    queue_head: int
    queue_reuse: int
    port_address: int
    port_register: int
    read_store: int
    read_load: int
    read_load_uniform: int
    two_source_reads: int
    tensor_reads: int
    slots: int
    slot_reuse: int
    slot_registers: int
    store_bus: int
    to_service: int
    to_service_store: int
    window: int
    window_enter: int
    wavefront: int
    result: int
    return_load: int
    return_register: int
    return_matrix: int
    barrier_arrive: int
    barrier_step: int
    barrier_release: int
    branch: int
    start_round: int
    start_group: int
    overhead: int
    hold: Mapping[Kind, int]

    def returns(self, registers: int, matrix: bool) -> int:
        """Cycles of the return port for one load."""
        if matrix:
            return self.return_matrix * registers
        return self.return_load + self.return_register * registers

    def read_delay(self, store: bool, uniform: bool) -> int:
        """End of the transfer -> the scoreboard that guards the source registers."""
        if store:
            return self.read_store
        return self.read_load_uniform if uniform else self.read_load


def timing_of(chip: Chip) -> Timing:
    """The timing constants of a chip. Raises ChipError, naming the constant, for a chip without them.

    >>> from bankbench.sim import load_chip
    >>> timing_of(load_chip("h200")).queue_entries
    10
    """
    return _cached(chip)


_PATHS = {
    "queue_entries": "queue.entries",
    "queue_head": "queue.head",
    "queue_reuse": "queue.reuse",
    "port_address": "port.address",
    "port_register": "port.register",
    "read_store": "port.read_store",
    "read_load": "port.read_load",
    "read_load_uniform": "port.read_load_uniform",
    "two_source_reads": "port.blocked_two_sources",
    "tensor_reads": "port.blocked_tensor",
    "slots": "slots.number",
    "slot_reuse": "slots.reuse",
    "slot_registers": "slots.store_registers",
    "store_bus": "slots.store_bus",
    "to_service": "service.front",
    "to_service_store": "service.front_store",
    "window": "service.window",
    "window_enter": "service.window_enter",
    "wavefront": "service.wavefront",
    "result": "returns.result",
    "return_load": "returns.load",
    "return_register": "returns.register",
    "return_matrix": "returns.matrix",
    "barrier_arrive": "barrier.arrive",
    "barrier_step": "barrier.step",
    "barrier_release": "barrier.release",
    "branch": "issue.branch",
    "start_round": "start.round",
    "start_group": "start.group",
    "overhead": "start.overhead",
}


@lru_cache(maxsize=64)
def _cached(chip: Chip) -> Timing:
    figures = {name: chip.integer(f"timing.{path}") for name, path in _PATHS.items()}
    hold = {
        Kind.ALU: chip.integer("timing.issue.alu"),
        Kind.IMAD: chip.integer("timing.issue.imad"),
        Kind.TENSOR: chip.integer("timing.issue.tensor"),
    }
    return Timing(partitions=chip.integer("sm.partitions"), hold=hold, **figures)
