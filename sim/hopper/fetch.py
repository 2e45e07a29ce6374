"""Operand reads of wgmma: which product is read, and which frame of it may come next.

B takes one frame of two wavefronts for 8 columns every 4 cycles. A (operands SS) takes 8 frames, in the holes between
the last frames of B of the product before, so that the interval of two products is max(N / 2, 16 + N / 4). With A in
registers (RS) two products are 13 cycles apart at least. After the last product of a committed group the next A comes
later, and the path stays reserved meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from .constants import Async

__all__ = ["IDLE", "Fetch", "Product", "Queue"]

IDLE, READ_B, READ_A, RESERVED = range(4)
"""What a frame is used for by wgmma; IDLE leaves it to the warps."""


@dataclass(slots=True)
class Product:
    """One wgmma m64nNk(32 bytes): columns, where its operands lie (halves), and its place in its committed group."""

    n: int
    registers: bool
    half_a: int
    half_b: int
    place: int = 0
    last: bool = False
    group: int = 0
    launched: int = -1
    began: int = -1
    fresh: bool = False
    number: int = 0
    """Number of its committed group in its warpgroup."""


@dataclass(slots=True)
class Queue:
    """Products of one warpgroup that all of its warps have issued, in order, and how many have been read."""

    waiting: deque[Product] = field(default_factory=deque[Product])
    done: int = 0


class Fetch:
    """The state of the operand reads; `step` is asked once a frame, at even cycles."""

    __slots__ = (
        "a_first",
        "a_left",
        "a_start",
        "b_left",
        "b_next",
        "current",
        "ended",
        "finished",
        "following",
        "idle_since",
        "load",
        "own",
        "queues",
        "register_pause",
        "rs_ready",
        "started",
        "turn",
    )

    def __init__(self, constants: Async, groups: int) -> None:
        self.own = constants
        self.queues = [Queue() for _ in range(groups)]
        self.current: Product | None = None
        """The product whose B is being read."""
        self.following: Product | None = None
        """The product whose A is read next or now."""
        self.b_left = 0
        self.b_next = 0
        self.a_left = 0
        self.a_first = False
        self.a_start = 0
        self.ended = -1
        """No A of the warpgroup that ended a group begins before this cycle."""
        self.rs_ready = -64
        self.turn = 0
        self.register_pause = -1
        """The cycle in which a product with A in registers stops the memory ports."""
        self.idle_since = -self.own.fresh_after
        self.load = 0
        """Products that have not been read completely."""
        self.started: Callable[[Product, int], None] = _ignore
        self.finished: Callable[[Product, int], None] = _ignore

    @property
    def busy(self) -> bool:
        """Whether a product is being read or waits to be."""
        return self.load > 0

    def push(self, product: Product) -> None:
        """All warps of a warpgroup have issued a product."""
        self.queues[product.group].waiting.append(product)
        self.load += 1

    def advance(self, now: int) -> None:
        """Let the product whose B has been read end, the one whose A has been read begin, and look for the next A."""
        current = self.current
        if self.b_left == 0:
            if current is not None and now >= self.b_next:
                self.queues[current.group].done += 1
                self.load -= 1
                self.current = None
                self.idle_since = now
                self.finished(current, now)
            following = self.following
            if (
                self.current is None
                and following is not None
                and self.a_left == 0
                and (not following.registers or now >= self.rs_ready)
            ):
                self._begin(following, now)
        if self.following is None and self.load:
            self._choose(now)

    def _begin(self, product: Product, now: int) -> None:
        self.current = product
        self.following = None
        product.began = now
        self.b_left = product.n // self.own.columns
        self.b_next = max(self.b_next, now)
        gap = self.own.rs_group_gap if product.registers else self.own.group_gap
        self.a_start = now + (gap if product.last else 0)
        self.ended = product.group
        if product.registers:
            self.register_pause = now
        self.started(product, now)

    def _choose(self, now: int) -> None:
        number = len(self.queues)
        for step in range(number):
            group = (self.turn + step) % number
            waiting = self.queues[group].waiting
            if not waiting or (group == self.ended and now < self.a_start):
                continue
            product = waiting.popleft()
            product.fresh = (
                self.current is None and product.launched >= self.idle_since + self.own.fresh_after
            )
            self.following = product
            self.turn = (group + 1) % number
            self.a_first = True
            self.a_left = 0 if product.registers else self.own.a_frames
            if product.registers:
                earliest = self.rs_ready + self.own.rs_interval
                self.rs_ready = earliest if earliest > now - 8 else now
                if self.a_start > now - 2 and self.rs_ready < now:
                    self.rs_ready = now
            return

    def wants_b(self, now: int) -> bool:
        """Whether a frame of B is due."""
        return self.b_left > 0 and self.current is not None and now >= self.b_next

    def wants_a(self) -> bool:
        """Whether a frame of A may be read, once B leaves a hole."""
        return (
            self.following is not None
            and self.a_left > 0
            and (self.current is None or self.b_left <= self.own.a_window or self.a_left < self.own.a_frames)
        )

    def delay(self, now: int, cycles: int) -> None:
        """The product that begins at `now` is late, and so are those behind it."""
        self.b_next = max(self.b_next, now) + cycles
        self.a_start = max(self.a_start, now) + cycles
        self.rs_ready = max(self.rs_ready, now) + cycles

    def yields_to_full_lanes(self) -> bool:
        """Whether the lanes, both in use up to here, may keep this frame before A begins."""
        current = self.current
        return self.a_first and current is not None and current.n // self.own.columns > self.own.a_window + 1

    def reserves(self, now: int) -> bool:
        """Whether the path is held between two groups although nothing is read."""
        if now >= self.a_start or self.b_left > self.own.a_window:
            return False
        waiting = self.queues[self.ended].waiting if self.ended >= 0 else None
        return bool(waiting) and not waiting[0].registers

    def read_b(self, now: int) -> None:
        """A frame goes to B."""
        self.b_left -= 1
        following = (self.b_next if self.b_next > now - 8 else now - 8) + self.own.b_period
        self.b_next = following if following > now + 2 else now + 2

    def read_burst(self, now: int, limit: int) -> int:
        """Frames of B from `now` on while nobody else wants the path, several at once where no A can come between.

        Returns the cycle of the last of them, which is before `limit`.
        """
        number = 1
        spare = self.b_left - self.own.a_window - 1
        if spare > 1 and self.b_next == now and self.a_left in (0, self.own.a_frames):
            number = max(1, min(spare, (limit - 1 - now) // self.own.b_period + 1))
        if number == 1:
            self.read_b(now)
            return now
        self.b_left -= number
        last = now + (number - 1) * self.own.b_period
        self.b_next = last + self.own.b_period
        return last

    def quiet_until(self, now: int) -> int:
        """The next frame at which something of wgmma may happen, when nobody else wants the path."""
        if (
            self.b_left > self.own.a_window + 1
            and self.b_next > now + 2
            and self.a_left in (0, self.own.a_frames)
        ):
            return self.b_next + (self.b_next & 1)
        return now + 2

    def state(self, now: int) -> tuple[object, ...]:
        """All that its future depends on, relative to `now`."""

        def of(product: Product | None) -> object:
            if product is None:
                return None
            return (
                product.n,
                product.registers,
                product.half_a,
                product.half_b,
                product.place,
                product.last,
                product.group,
                product.fresh,
            )

        return (
            of(self.current),
            of(self.following),
            tuple(tuple(of(product) for product in queue.waiting) for queue in self.queues),
            self.b_left,
            max(self.b_next - now, -8),
            self.a_left,
            self.a_first,
            max(self.a_start - now, -2),
            max(self.rs_ready - now, -24),
            self.turn,
            self.ended,
            max(self.register_pause - now, -2),
            max(self.idle_since - now, -1 - self.own.fresh_after),
        )


def _ignore(product: Product, now: int) -> None:
    """Nobody wants to know."""
