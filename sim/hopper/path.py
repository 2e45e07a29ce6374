"""The shared-memory path of a Hopper SM: frames of two cycles, given to wgmma or to the warps' own accesses.

One place for all who use it. A frame is an even cycle and the odd one after it: the two lanes of the warps' accesses.
At every even cycle the frame goes, in this order, to a TMA store that was denied too long, to a lane that was denied
too long, to B, to A, to the lanes. TMA loads write through the port of the half that they land in and meet only stores
of the same half; TMA stores read where wgmma leaves their half alone, and take banks from loads of that half.

What the measurements show and this does not explain (`bankbench validate contention` has the rows): streams of
stores with many wavefronts beside wgmma lock to ratios in which the order of queue entries matters (errors up to 60 %
of the lanes' side); conflict-free 16-byte loads beside N <= 64 come out about 15 % too fast; with A in registers and
N <= 32 accesses of many wavefronts 10 to 30 % too fast; a write port loses time when its owner changes; a store whose
half wgmma leaves alone is slower by up to 16 % when the operands lie in the upper half; the mbarrier instructions of
copies do not stand in the memory queues; cp.async has no place in the lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simpy import Environment

from ..engine.clock import NEVER
from ..engine.lanes import Lanes
from ..engine.state import Access, Warp
from ..engine.timing import Timing
from .constants import Async
from .fetch import IDLE, READ_A, READ_B, RESERVED, Fetch
from .traffic import Places, ReadPort, WritePort

if TYPE_CHECKING:
    from ..engine.port import Port

__all__ = ["SharedPath"]


class SharedPath(Lanes):
    """The service stage of the SM with the frames of wgmma and the ports of the two halves on the same lanes."""

    __slots__ = (
        "a_frames",
        "b_frames",
        "denied",
        "drained",
        "draining",
        "fetch",
        "frame",
        "frame_at",
        "lane_frames",
        "left",
        "lost",
        "moved",
        "own",
        "places",
        "read_port",
        "return_free",
        "served",
        "starved_frames",
        "tensor_from",
        "tensor_on",
        "tensor_until",
        "used_before",
        "watch",
        "write_port",
    )

    def __init__(
        self, env: Environment, timing: Timing, ports: list[Port], own: Async, fetch: Fetch, places: Places
    ) -> None:
        super().__init__(env, timing, ports)
        self.early = False
        self.own = own
        self.fetch = fetch
        self.places = places
        self.left = [0, 0]
        """Wavefronts that the instruction in each lane still has to move."""
        self.frame = IDLE
        self.frame_at = -2
        self.denied = 0
        self.used_before = False
        """The lanes had something to move in the frame before, and moved it."""
        self.return_free = 0
        """The shared return path is taken until this cycle."""
        self.tensor_until = -1
        self.tensor_from: list[int] = []
        self.tensor_on: list[int] = []
        """Even cycles from which, and before which, the memory ports stand still every second cycle."""
        self.read_port = ReadPort(own)
        self.write_port = WritePort()
        self.moved = 0
        """Wavefronts of the warps' accesses."""
        self.b_frames = self.a_frames = self.lane_frames = self.starved_frames = 0
        self.watch: Callable[[Access, int], None] | None = None
        """Told of every access when it begins."""
        self.draining: dict[int, Warp] = {}
        """Warps that wait until their own accesses have been served."""
        self.drained: dict[int, int] = {}
        self.served: Callable[[Warp], None] = _ignore
        self.lost = [0, 0]
        """Frames that a waiting access was denied: by B and by A."""

    # -- what other parts ask and tell

    def held(self, begin: int, end: int) -> int:
        """Cycles in [begin, end) in which the tensor core keeps the register file from the memory ports."""
        total = 0
        for index in range(len(self.tensor_from) - 1, -1, -1):
            until = self.tensor_on[index]
            if until <= begin:
                break
            first = max(self.tensor_from[index], begin)
            last = min(until, end)
            if last > first:
                total += last // 2 - first // 2
        pause = self.fetch.register_pause
        if begin <= pause < end and not pause & 1:
            total += 1
        return total

    def look(self, cycle: int) -> None:
        """wgmma or a copy has something to do from this cycle on."""
        self.wake(cycle)

    def arrive(self, access: Access, sent: int) -> None:
        """An instruction whose transfer ends at `sent` comes to the end of the waiting line."""
        super().arrive(access, sent)
        self.wake(max(access.eligible, sent))

    # -- the frames

    def act(self, now: int) -> int:
        """Work through the cycles until something else happens in the SM."""
        peek = self.env.peek
        serving = self.serving
        while True:
            if not (now & 1 or self.fifo or self.read_port.active or serving[0] or serving[1]):
                upcoming = self._alone(now)
                if upcoming == NEVER or upcoming >= peek():
                    return upcoming
                now = upcoming
                continue
            if not now & 1:
                self._frame(now)
            elif self.frame_at != now - 1:
                self.frame = IDLE
            lane = now & 1
            access = serving[lane]
            if self.frame == IDLE:
                if access is None and self.fifo:
                    access = self._choose(lane, now)
                if access is not None:
                    self._move(access, lane, now)
            upcoming = self._upcoming(now)
            if upcoming == NEVER or upcoming >= peek():
                return upcoming
            now = upcoming

    def _frame(self, now: int) -> None:
        """Decide whose the frame that begins at the even cycle `now` is."""
        fetch = self.fetch
        self.frame_at = now
        fetch.advance(now)
        wanting = self._wanting(now)
        reader = self.read_port
        forced = reader.starved()
        frame = IDLE
        starving = False
        if forced:
            pass
        elif wanting and self.denied >= self.own.starved:
            starving = True
            self.starved_frames += 1
        elif fetch.wants_b(now):
            frame = READ_B
        elif fetch.wants_a():
            if not (wanting == 2 and self.used_before and fetch.yields_to_full_lanes()):
                frame = READ_A
            fetch.a_first = False
        if frame != READ_B:
            self.used_before = frame == IDLE and wanting > 0
        if frame == IDLE and not (starving or forced) and fetch.reserves(now):
            frame = RESERVED
        half = -1
        if frame == READ_B:
            assert fetch.current is not None
            half = fetch.current.half_b
            fetch.read_b(now)
            self.b_frames += 1
            free = self.return_free
            self.return_free = (free if free > now else now) + self.own.return_b
            self._tensor(now, now)
        elif frame == READ_A:
            assert fetch.following is not None
            half = fetch.following.half_a
            fetch.a_left -= 1
            self.a_frames += 1
        elif wanting:
            self.lane_frames += 1
        if frame != IDLE and wanting:
            self.denied += self.own.one_lane if wanting == 1 else self.own.two_lanes
            self.lost[frame == READ_A] += 1
        else:
            self.denied = 0
        if reader.active:
            reader.frame(now, half, forced)
        self.frame = frame

    def _alone(self, now: int) -> int:
        """Frames of wgmma while nobody else wants the path; returns the next cycle at which something can happen."""
        fetch = self.fetch
        peek = self.env.peek
        self.denied = 0
        self.used_before = False
        while True:
            fetch.advance(now)
            if fetch.b_left and now >= fetch.b_next:
                left = fetch.b_left
                last = fetch.read_burst(now, int(min(peek(), NEVER)))
                self.b_frames += left - fetch.b_left
                free = self.return_free
                self.return_free = (free if free > last else last) + self.own.return_b
                self._tensor(now, last)
                self.frame = READ_B
                now = last
            elif fetch.wants_a():
                fetch.a_left -= 1
                fetch.a_first = False
                self.a_frames += 1
                self.frame = READ_A
            else:
                self.frame = RESERVED if fetch.reserves(now) else IDLE
            self.frame_at = now
            if not fetch.load:
                return NEVER
            upcoming = fetch.quiet_until(now)
            if upcoming >= peek():
                return upcoming
            now = upcoming

    def _tensor(self, now: int, last: int) -> None:
        """Frames of B from `now` to `last`, none further apart than the tensor core's own pace."""
        until = last + self.own.register_reads
        if self.tensor_on and self.tensor_on[-1] >= now:
            self.tensor_on[-1] = until
            return
        self.tensor_from.append(now)
        self.tensor_on.append(until)
        if len(self.tensor_on) > 64:
            # a transfer takes some tens of cycles; older spans are of no use
            del self.tensor_from[:32], self.tensor_on[:32]

    def _wanting(self, now: int) -> int:
        """Lanes that could move a wavefront in this frame: 0, 1 or 2."""
        serving = self.serving
        wanting = (serving[0] is not None) + (serving[1] is not None)
        if wanting == 2 or not self.fifo:
            return wanting
        seen: list[Warp] = []
        for place, access in enumerate(self.fifo):
            if place == self.window or wanting == 2:
                break
            warp = access.warp
            if warp not in seen and access.eligible <= now and warp.lane_until <= now:
                wanting += 1
            seen.append(warp)
        return wanting

    def _choose(self, lane: int, now: int) -> Access | None:
        """Take the first of the window that may start in this lane."""
        passed: list[Warp] = []
        for place, access in enumerate(self.fifo):
            if place == self.window:
                break
            warp = access.warp
            if warp.lane_until <= now and access.eligible <= now and warp not in passed:
                return self._enter(place, access, lane, now)
            passed.append(warp)
        return None

    def _enter(self, place: int, access: Access, lane: int, now: int) -> Access:
        """The instruction at this place of the waiting line starts service in a lane."""
        warp = access.warp
        fifo = self.fifo
        del fifo[place]
        if len(fifo) >= self.window:
            entering = fifo[self.window - 1]
            earliest = now + self.timing.window_enter
            entering.eligible = max(entering.eligible, earliest)
        access.started = now
        self.serving[lane] = access
        self.left[lane] = access.op.wavefronts
        warp.lane_until = NEVER
        self.slots.started(self.ports[warp.partition], access.op.data, now)
        if self.watch is not None:
            self.watch(access, now)
        return access

    def _move(self, access: Access, lane: int, now: int) -> None:
        """Move one wavefront of the instruction in this lane, unless a port or the return path is taken."""
        op = access.op
        left = self.left[lane]
        place = self.places.of(op)
        returns = False
        if op.store:
            if place.half == self.write_port.half >= 0 and not self.write_port.yields(now):
                return
        else:
            if self.read_port.active and self.read_port.takes_banks(place, now):
                return
            returns = (left - 1) % (op.wavefronts // place.groups) == 0
            if returns:
                if self.return_free - now > self.own.return_ahead:
                    return
                free = self.return_free
                self.return_free = (free if free > now else now) + self.own.return_load
        self.moved += 1
        self.left[lane] = left = left - 1
        if left:
            return
        self.serving[lane] = None
        access.served = now
        if access.warp.id in self.draining:
            self.drained[access.warp.id] = now + 1
            self.served(access.warp)
        access.warp.lane_until = now + self.number
        if not op.store:
            # a result does not overtake what the shared return path still has to carry
            late = self.return_free - self.own.return_load - 1 - op.extra
            self.returns.served(access, late if late > now else now)

    def _upcoming(self, now: int) -> int:
        """The next cycle at which anything on the path can change."""
        serving = self.serving
        if serving[0] is not None or serving[1] is not None:
            return now + 1
        earliest = NEVER
        for place, access in enumerate(self.fifo):
            if place == self.window:
                break
            at = access.eligible
            free = access.warp.lane_until
            at = max(at, free)
            earliest = min(earliest, at)
        if earliest <= now + 1:
            return now + 1
        if self.fetch.busy:
            even = now - (now & 1)
            upcoming = self.fetch.quiet_until(even)
            if upcoming > even + 2:
                self.used_before = False
                self.denied = 0
            return upcoming if upcoming < earliest else earliest
        if self.read_port.active:
            done = self.read_port.undisturbed_until(now)
            return done if done < earliest else earliest
        return earliest

    def state(self, now: int) -> tuple[object, ...]:
        """All that its future depends on beside what `Lanes` has, relative to `now`."""
        return (
            *self.left,
            self.frame if self.frame_at == now - 1 or self.frame_at == now else IDLE,
            self.denied,
            self.used_before,
            max(self.return_free - now, 0),
            tuple(
                (max(begin - now, -64), end - now)
                for begin, end in zip(self.tensor_from, self.tensor_on, strict=True)
                if end > now - 64
            ),
            self.read_port.state(now),
            self.write_port.state(now),
            self.fetch.state(now),
        )


def _ignore(warp: Warp) -> None:
    """Nobody waits for accesses to be served."""
