"""The slots of the SM for memory instructions on their way to service, and who gets the next one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from simpy import Environment

from .clock import GRANT, NEVER, Stage
from .timing import Timing

if TYPE_CHECKING:
    from .port import Port

__all__ = ["Slots"]


class Slots(Stage):
    """19 slots, one grant a cycle, round robin over the partitions.

    A slot is held from the grant until a few cycles after the start of service. A store keeps the grant arbiter
    for one cycle a data register, and a partition may hold only so many data registers of stores in slots.
    """

    __slots__ = (
        "bus",
        "freeing",
        "number",
        "orders",
        "parked",
        "ports",
        "registers",
        "reuse",
        "starved",
        "store_bus",
        "turn",
        "used",
    )

    def __init__(self, env: Environment, timing: Timing, ports: list[Port]) -> None:
        super().__init__(env, GRANT)
        self.number = timing.slots
        self.reuse = timing.slot_reuse
        self.registers = timing.slot_registers
        self.store_bus = timing.store_bus
        self.ports = ports
        self.orders = [tuple(ports[turn:] + ports[:turn]) for turn in range(len(ports))]
        self.used = 0
        self.bus = 0
        """First cycle at which the arbiter may grant again."""
        self.turn = 0
        """Partition that is looked at first."""
        self.freeing: deque[tuple[int, Port, int]] = deque()
        """(cycle, port, data registers) of slots that are about to be free, in order of time."""
        self.parked = 0
        """Ports whose head is a store that has to wait until data registers of its partition are free."""
        self.starved = False
        """Whether a head waits for a slot to be free, or for data registers."""

    def started(self, port: Port, registers: int, now: int) -> None:
        """An instruction started service at `now`: its slot can be granted again a little later."""
        at = now + self.reuse
        self.freeing.append((at, port, registers))
        if self.starved:
            self.wake(at)

    def offer(self, at: int) -> None:
        """The head of a queue wants a slot from cycle `at` on."""
        if self.used < self.number:
            self.wake(at)
            return
        self.starved = True
        if self.freeing:
            free = self.freeing[0][0]
            self.wake(at if at > free else free)

    def act(self, now: int) -> int:
        """Grant at most one slot; the next action is when the next grant may be possible."""
        freeing = self.freeing
        while freeing and freeing[0][0] <= now:
            _, port, registers = freeing.popleft()
            self.used -= 1
            if registers:
                port.registers -= registers
                if port.parked:
                    port.parked = False
                    port.ready = now
                    self.parked -= 1
        first = NEVER
        free = self.bus <= now and self.used < self.number
        for port in self.orders[self.turn]:
            ready = port.ready
            if ready <= now and free:
                access = port.entries[0]
                registers = access.op.data
                if registers:
                    if port.registers + registers > self.registers:
                        port.parked = True
                        port.ready = NEVER
                        self.parked += 1
                        continue
                    port.registers += registers
                    self.bus = now + self.store_bus * registers
                free = False
                self.used += 1
                self.turn = port.following
                port.send(access, now)
                ready = port.ready
            if ready < first:
                first = ready
        if self.used >= self.number:
            self.starved = first < NEVER or self.parked > 0
            return freeing[0][0] if freeing and self.starved else NEVER
        if first <= now:
            first = now + 1
        if first < self.bus:
            first = self.bus
        self.starved = starved = self.parked > 0
        return freeing[0][0] if starved and freeing and freeing[0][0] < first else first
