"""The memory queue of an SM partition and the port through which its instructions leave (64 bytes a cycle)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from simpy import Environment

from ..program import Unit
from .clock import EVENT, NEVER, Stage
from .state import Access, Warp
from .timing import Timing

if TYPE_CHECKING:
    from .code import Op
    from .lanes import Lanes
    from .partition import Partition
    from .slots import Slots

__all__ = ["Port"]


class Port(Stage):
    """A FIFO queue over all warps of the partition; its head waits for a slot of the SM, then sends its registers.

    Sending takes 2 cycles for the addresses and 2 for each data register of a store. The port has the lowest
    priority on the register file: it stands still while an instruction with two source registers or a tensor
    instruction reads there. Entries are given back a little after the end of the transfer.
    """

    __slots__ = (
        "again",
        "blocked_until",
        "entries",
        "following",
        "head",
        "hungry",
        "idle_from",
        "lanes",
        "number",
        "parked",
        "partition",
        "ready",
        "registers",
        "reuse",
        "sending",
        "shared",
        "slots",
        "stolen",
        "timing",
        "undisturbed",
        "until",
    )

    partition: Partition
    slots: Slots
    lanes: Lanes

    def __init__(self, env: Environment, timing: Timing, number: int) -> None:
        super().__init__(env, EVENT)
        self.timing = timing
        self.number = number
        self.following = (number + 1) % timing.partitions
        """The partition that is served next when this one has been served."""
        self.parked = False
        """The head waits for data registers, see `Slots`."""
        self.head = timing.queue_head
        self.again = timing.queue_reuse
        self.entries: deque[Access] = deque()
        self.reuse: deque[int] = deque([0] * timing.queue_entries)
        """Cycle from which each free entry of the queue may be used."""
        self.ready = NEVER
        """Cycle from which the head may be granted a slot, NEVER while there is none or it is being sent."""
        self.sending: Access | None = None
        self.until = NEVER
        """End of the transfer in progress."""
        self.idle_from = 0
        """End of the last transfer: the next cannot begin before."""
        self.shared = False
        """Set by an agent that takes the register file as well (`steal`)."""
        self.undisturbed = False
        """No instruction of the partition ever takes the register file: the end of a transfer is known at once."""
        self.blocked_until = 0
        self.stolen = 0
        self.registers = 0
        """Data registers of this partition's stores that hold a slot and have not started service."""
        self.hungry: list[Warp] = []

    def accept(self, warp: Warp, op: Op, now: int) -> Access:
        """Put the warp's memory instruction at the end of the queue; the caller has seen a free entry."""
        access = Access(warp, op, now)
        reuse = self.reuse
        reuse.popleft()
        self.partition.free[Unit.QUEUE] = reuse[0] if reuse else NEVER
        if op.sets is not None:
            warp.pending[op.sets] += 1
        if op.reads is not None:
            warp.pending[op.reads] += 1
        self.entries.append(access)
        if len(self.entries) == 1:
            ready = now + self.head
            self.ready = ready = ready if ready > self.idle_from else self.idle_from
            self.slots.offer(ready)
        return access

    def send(self, access: Access, now: int) -> None:
        """The head has been granted a slot at `now`: read its registers and send them."""
        access.granted = now
        if self.undisturbed:
            self._sent(access, now + access.op.transfer)
            return
        self.sending = access
        self.ready = NEVER
        start = self.blocked_until if self.blocked_until > now else now
        self.stolen += start - now
        self.until = start + access.op.transfer
        self.wake(self.until)

    def steal(self, now: int, cycles: int) -> None:
        """An instruction issued at `now` reads the register file in the `cycles` cycles after it."""
        until = now + 1 + cycles
        begin = self.blocked_until if self.blocked_until > now else now + 1
        if until > begin:
            self.blocked_until = until
            if self.sending is not None and self.until > now + 1:
                self.until += until - begin
                self.stolen += until - begin

    def act(self, now: int) -> int:
        """The transfer ends, unless it was held up in the meantime."""
        if self.until > now:
            return self.until
        access = self.sending
        assert access is not None
        self.sending = None
        self.until = NEVER
        self._sent(access, now)
        return NEVER

    def _sent(self, access: Access, now: int) -> None:
        """The transfer of the head ends at `now`: its entry, the source registers, and the way to the lanes."""
        access.sent = now
        entries = self.entries
        entries.popleft()
        if entries:
            ready = entries[0].issued + self.head
            self.ready = ready = ready if ready > now else now
            self.slots.offer(ready)
        else:
            self.ready = NEVER
            self.idle_from = now
        reuse = now + self.again
        self.reuse.append(reuse)
        free = self.partition.free
        if free[Unit.QUEUE] > reuse:
            free[Unit.QUEUE] = reuse
            if self.hungry:
                for warp in self.hungry:
                    warp.when = reuse
                self.hungry.clear()
                self.partition.wake(reuse)
        op = access.op
        if op.reads is not None:
            self.partition.released(access.warp, op.reads, now + op.read_delay)
        self.lanes.arrive(access, now)
