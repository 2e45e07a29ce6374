"""The TMA unit: bulk copies and tensor boxes into and out of shared memory, one copy's data at a time.

A copy issued at cycle t has its data from t + latency on; the latencies of several copies overlap, their data do not.
Loads write through the write port of the half that they land in, stores read through the read port of theirs; a store
that cannot read (see `path`) holds up the copies behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..chip import Chip
from ..engine.clock import EVENT, NEVER, Stage
from .constants import Async
from .formulas import Copy
from .path import SharedPath

__all__ = ["BulkCopy", "CopyUnit", "Job"]

_LINE = 128
_KEPT = 5_000


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """Detail of a UBLKCP, UTMALDG or UTMASTG: bytes, place in dynamic shared memory, and for a box rows and row bytes.

    A load names the `barrier` that counts its bytes; `region` names the piece of shared memory, for hazards.
    """

    bytes: int
    at: int
    store: bool = False
    barrier: str = ""
    rows: int = 0
    row_bytes: int = 0
    region: str = ""

    @property
    def shape(self) -> Copy:
        """The copy as the formulas know it."""
        return Copy(self.bytes, self.store, self.rows, self.row_bytes)


@dataclass(slots=True)
class Job:
    """A copy on its way: from when its data may move, and what happens when they have moved."""

    copy: BulkCopy
    issued: int
    earliest: int
    done: Callable[[Job, int], None]
    warp: int = -1
    began: int = -1
    ended: int = -1
    spans: list[tuple[int, int]] = field(default_factory=list)
    least: int = 0


class CopyUnit(Stage):
    """Moves the data of one copy after the other."""

    __slots__ = (
        "active",
        "busy",
        "chip",
        "clear",
        "free",
        "jobs",
        "lead",
        "log",
        "moved",
        "number",
        "own",
        "path",
        "take",
    )

    def __init__(self, path: SharedPath, own: Async, chip: Chip) -> None:
        super().__init__(path.env, EVENT)
        self.path = path
        self.own = own
        self.chip = chip
        self.jobs: list[Job] = []
        self.active: Job | None = None
        self.free = 0
        self.take = chip.integer("async.tma.take")
        hand_off = round(chip.number("async.mbarrier.hand_off"))
        self.lead = {
            (False, False): chip.integer("async.tma.load_latency") - hand_off,
            (False, True): chip.integer("async.tma.load_latency_tensor") - hand_off,
            (True, False): chip.integer("async.tma.store_latency"),
            (True, True): chip.integer("async.tma.store_latency_tensor"),
        }
        self.log: list[Job] = []
        """The copies that are complete, up to some thousands."""
        self.number = [0, 0]
        self.moved = [0, 0]
        self.busy = [0, 0]
        """Copies, bytes and cycles of loads and of stores."""
        path.read_port.done = self._read

    def issue(self, copy: BulkCopy, now: int, warp: int, done: Callable[[Job, int], None]) -> Job:
        """A copy instruction issues at `now`; `done(job, cycle)` is called when its data have moved."""
        job = Job(copy, now, now + self.lead[copy.store, copy.rows > 0], done, warp)
        job.spans = self.own.spans(copy.at, copy.bytes)
        if copy.store:
            name = "store_least_tensor" if copy.rows else "store_least"
            job.least = now + self.chip.integer(f"async.tma.{name}")
        self.jobs.append(job)
        if self.active is None:
            self.wake(max(job.earliest, self.free))
        return job

    def act(self, now: int) -> int:
        """Begin the copy whose data are there first, or see whether the lines of a load have been written."""
        job = self.active
        if job is not None:
            if job.copy.store:
                return NEVER
            port = self.path.write_port
            until = port.remaining(now)
            if until > now:
                return until
            port.end()
            if job.spans:
                self._write(job, now)
                return port.remaining(now)
            self._finish(job, now)
        return self._begin(now)

    def _begin(self, now: int) -> int:
        if not self.jobs:
            return NEVER
        job = min(self.jobs, key=lambda item: item.earliest)
        start = max(job.earliest, self.free)
        if start > now:
            return start
        self.jobs.remove(job)
        self.active = job
        job.began = now
        if job.copy.store:
            self._source(job, now)
            return NEVER
        self._write(job, now)
        return self.path.write_port.remaining(now)

    def _write(self, job: Job, now: int) -> None:
        """The next part of a load, in one half."""
        half, amount = job.spans.pop(0)
        lines = -(-amount // _LINE)
        share = amount / job.copy.bytes
        self.path.write_port.begin(half, lines, job.copy.shape.busy(self.chip) * share / lines, now)

    def _source(self, job: Job, now: int) -> None:
        """The next part of a store's source, in one half."""
        half, amount = job.spans.pop(0)
        busy = job.copy.shape.busy(self.chip)
        rate = max(1, round(job.copy.bytes / busy)) if busy else amount
        self.path.read_port.begin(half, amount, now, rate)
        self.path.look(now)

    def _read(self, now: int) -> None:
        """The path has read what it was asked to; called while the path is ahead of the clock."""
        job = self.active
        assert job is not None
        if job.spans:
            self._source(job, now)
            return
        self._finish(job, now)
        if self.jobs:
            self.wake(max(now, min(item.earliest for item in self.jobs), self.free))

    def _finish(self, job: Job, now: int) -> None:
        job.ended = now
        self.active = None
        self.free = max(now, job.began + self.take)
        kind = int(job.copy.store)
        self.number[kind] += 1
        self.moved[kind] += job.copy.bytes
        self.busy[kind] += now - job.began
        if len(self.log) < _KEPT:
            self.log.append(job)
        job.done(job, now)

    @property
    def waiting(self) -> int:
        """Copies that are not complete."""
        return len(self.jobs) + (self.active is not None)

    def state(self, now: int) -> tuple[object, ...]:
        """All that its future depends on."""

        def of(job: Job | None) -> object:
            if job is None:
                return None
            return (id(job.copy), job.earliest - now, max(job.least - now, 0), job.warp, len(job.spans))

        return (
            of(self.active),
            tuple(of(job) for job in self.jobs),
            max(self.free - now, 0),
            self.at - now if self.at < NEVER else -1,
        )
