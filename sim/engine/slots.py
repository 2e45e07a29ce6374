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

    __slots__ = ("bus", "freeing", "orders", "ports", "starved", "timing", "turn", "used")

    def __init__(self, env: Environment, timing: Timing, ports: list[Port]) -> None:
        super().__init__(env, GRANT)
        self.timing = timing
        self.ports = ports
        self.orders = [tuple(ports[turn:] + ports[:turn]) for turn in range(len(ports))]
        self.used = 0
        self.bus = 0
        """First cycle at which the arbiter may grant again."""
        self.turn = 0
        """Partition that is looked at first."""
        self.freeing: deque[tuple[int, Port, int]] = deque()
        """(cycle, port, data registers) of slots that are about to be free, in order of time."""
        self.starved = False
        """Whether a head waits for a slot to be free, or for data registers."""

    def started(self, port: Port, registers: int, now: int) -> None:
        """An instruction started service at `now`: its slot can be granted again a little later."""
        at = now + self.timing.slot_reuse
        self.freeing.append((at, port, registers))
        if self.starved:
            self.wake(at)

    def offer(self, at: int) -> None:
        """The head of a queue wants a slot from cycle `at` on."""
        if self.used < self.timing.slots:
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
            port.registers -= registers
        timing = self.timing
        limit = timing.slot_registers
        bus = self.bus
        if bus <= now and self.used < timing.slots:
            for port in self.orders[self.turn]:
                if port.ready > now:
                    continue
                access = port.entries[0]
                registers = access.op.data
                if registers:
                    if port.registers + registers > limit:
                        continue
                    port.registers += registers
                    self.bus = bus = now + timing.store_bus * registers
                self.used += 1
                self.turn = (port.number + 1) % len(self.orders)
                port.send(access, now)
                break
        upcoming = now + 1 if bus <= now else bus
        first = NEVER
        blocked = self.used >= timing.slots
        for port in self.ports:
            ready = port.ready
            if ready < first:
                registers = port.entries[0].op.data
                if registers and port.registers + registers > limit:
                    blocked = True
                else:
                    first = ready
                    if ready <= upcoming:
                        break
        if first < upcoming:
            first = upcoming
        if not blocked:
            self.starved = False
            return first
        self.starved = first < NEVER or any(port.ready < NEVER for port in self.ports)
        free = freeing[0][0] if freeing else NEVER
        if self.used >= timing.slots:
            return free if self.starved else NEVER
        return free if free < first else first
