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

    __slots__ = ("bus", "freeing", "ports", "starved", "timing", "turn", "used")

    def __init__(self, env: Environment, timing: Timing, ports: list[Port]) -> None:
        super().__init__(env, GRANT)
        self.timing = timing
        self.ports = ports
        self.used = 0
        self.bus = 0
        """First cycle at which the arbiter may grant again."""
        self.turn = 0
        """Partition that is looked at first."""
        self.freeing: deque[tuple[int, Port, int]] = deque()
        """(cycle, port, data registers) of slots that are about to be free, in order of time."""
        self.starved = False

    def started(self, port: Port, registers: int, now: int) -> None:
        """An instruction started service at `now`: its slot can be granted again a little later."""
        at = now + self.timing.slot_reuse
        self.freeing.append((at, port, registers))
        if self.starved:
            self.wake(at)

    def act(self, now: int) -> int:
        """Grant at most one slot."""
        freeing = self.freeing
        while freeing and freeing[0][0] <= now:
            _, port, registers = freeing.popleft()
            self.used -= 1
            port.registers -= registers
        if self.bus <= now and self.used < self.timing.slots:
            self._grant(now)
        return self._next(now)

    def _grant(self, now: int) -> None:
        ports = self.ports
        number = len(ports)
        for step in range(number):
            port = ports[(self.turn + step) % number]
            if port.ready > now:
                continue
            access = port.entries[0]
            registers = access.op.data
            if registers:
                if port.registers + registers > self.timing.slot_registers:
                    continue
                port.registers += registers
                self.bus = now + self.timing.store_bus * registers
            self.used += 1
            self.turn = (port.number + 1) % number
            port.send(access, now)
            return

    def _next(self, now: int) -> int:
        """The next cycle at which a grant may be possible."""
        limit = self.timing.slot_registers
        full = self.used >= self.timing.slots
        first = NEVER
        blocked = False
        for port in self.ports:
            ready = port.ready
            if ready == NEVER:
                continue
            if full:
                blocked = True
                break
            registers = port.entries[0].op.data
            if registers and port.registers + registers > limit:
                blocked = True
            elif ready < first:
                first = ready
        if first < NEVER:
            first = max(first, self.bus, now + 1)
        self.starved = blocked
        if blocked and self.freeing and self.freeing[0][0] < first:
            return self.freeing[0][0]
        return first
