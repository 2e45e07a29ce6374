"""What is known to have happened before what, and the accesses for which nothing says so: hazards.

Every role has a clock: how far it knows each other role to be, and which asynchronous work it knows to be complete.
Waits on barriers carry clocks from role to role. Two accesses to one cell, one of them a write, are a hazard when the
later one's role does not know that the earlier one is complete, unless the hardware keeps the pair in order.

Asynchronous work completes in the order of its track: products, copies and shifts of one thread by commit, loads and
stores of tensor memory by wait::ld and wait::st, TMA copies by the phase of their barrier. What a role learns of
another role's tensor-memory work counts only after tcgen05.fence::after_thread_sync, and loads and stores are told to
others only after fence::before_thread_sync. Plain stores to shared memory count for products and copies after a proxy
fence. Source: PTX ISA 9.1, 9.7.16.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .program import Region, Step

__all__ = ["PROXY", "TCGEN05", "Access", "Clock", "Footprint", "Hazard", "Hazards", "Track", "joined"]

Track = tuple[str, str]
Clock = dict[Track, int]
TCGEN05 = ("mma", "cp", "shift", "ld", "st", "dealloc")
PROXY = "write for the async proxy"
# (earlier, later) issued by one thread that need no wait between them
_IN_ORDER = {("mma", "mma"), ("cp", "mma"), ("shift", "mma"), ("shift", "cp"), ("mma", "shift")}


@dataclass(frozen=True, slots=True)
class Hazard:
    """Two instructions that touch one cell without an order between them, and how often it was seen."""

    kind: str
    first_role: str
    first: str
    second_role: str
    second: str
    region: str
    advice: str
    count: int = 1

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.second} ({self.second_role}) does not wait for {self.first} ({self.first_role}), "
            f"{self.region}; {self.advice}"
        )


@dataclass(slots=True, eq=False)
class Access:
    """One access: who, which step, its latest place on its track, and whether it writes.

    `plain` accesses are those of ordinary stores, which the asynchronous proxy sees only after a fence; `product` is
    the shape of a product, None for all else.
    """

    role: str
    step: Step
    track: Track
    number: int
    writes: bool
    plain: bool
    product: object

    def continues(self, other: Access, number: int) -> bool:
        """Whether it, `number`-th of its track, and an earlier access are products that the hardware keeps in order."""
        product = self.product
        return (
            product is not None
            and product is other.product
            and other.number != number
            and self.role == other.role
            and _one_accumulator(other.step, self.step)
        )


def joined(clock: Clock, other: Clock) -> Clock:
    """The later of two clocks: the first itself when the second adds nothing.

    >>> joined({("mma", "tc"): 3}, {("mma", "tc"): 2, ("tma", "full"): 1})
    {('mma', 'tc'): 3, ('tma', 'full'): 1}
    """
    if other is clock:
        return clock
    later = None
    get = clock.get
    for track, number in other.items():
        if number > get(track, 0):
            if later is None:
                later = clock.copy()
            later[track] = number
    return clock if later is None else later


@dataclass(slots=True, eq=False)
class _Spot:
    """A region with the accesses to it that later ones may still meet, and the regions that share cells with it.

    `near` says of each such region whether this one covers it; `live` holds those of them that have open accesses.
    """

    region: Region
    near: dict[_Spot, bool] = field(default_factory=dict["_Spot", bool])
    live: dict[_Spot, bool] = field(default_factory=dict["_Spot", bool])
    writes: dict[Track, Access] = field(default_factory=dict[Track, Access])
    reads: dict[Track, Access] = field(default_factory=dict[Track, Access])

    def open(self, access: Access) -> None:
        """Remembers an access, and tells the regions nearby that there is something to meet here."""
        if not self.writes and not self.reads:
            for other in self.near:
                other.live[self] = other.near[self]
        (self.writes if access.writes else self.reads)[access.track] = access

    def follow(self, access: Access, number: int, known: Clock) -> bool:
        """Remembers an access to a region that meets itself only, when it comes behind all that it could meet.

        Most accesses of a loop are of this kind. False, and nothing has changed, for all others.
        """
        writes, reads, get = self.writes, self.reads, known.get
        for track, other in writes.items():
            if (get(track, 0) < other.number or other.plain) and not access.continues(other, number):
                return False
        if access.writes:
            for track, other in reads.items():
                if (get(track, 0) < other.number or other.plain) and not access.continues(other, number):
                    return False
            reads.clear()
            writes.clear()
            writes[access.track] = access
        else:
            reads[access.track] = access
        access.number = number
        return True

    def close(self, done: list[tuple[dict[Track, Access], Track]]) -> None:
        """Forgets accesses that every later one is ordered behind."""
        for accesses, track in done:
            del accesses[track]
        # a region that meets itself only is opened again at once: it may stay in its own list
        if not self.writes and not self.reads and len(self.near) > 1:
            for other in self.near:
                del other.live[self]


@dataclass(slots=True, eq=False)
class Footprint:
    """What a step of a role touches: spots, its access to each, whether tensor memory's fences count.

    The accesses are those of the latest execution of the step: a spot keeps one of a track, so an older one has no
    place to stay. `repeats` says that executions in a row change nothing but the number, `itself` that the step reads
    what it writes.
    """

    places: tuple[tuple[_Spot, Access, bool], ...]
    repeats: bool
    itself: bool


class Hazards:
    """The accesses that are still of interest, by region, and the hazards found."""

    def __init__(self) -> None:
        self._spots: dict[Region, _Spot] = {}
        self._spaces: dict[str, list[tuple[int, int, int, _Spot]]] = {}
        self._found: dict[tuple[str, ...], Hazard] = {}
        self._last: Footprint | None = None

    @property
    def found(self) -> tuple[Hazard, ...]:
        """The hazards, each pair of instructions once, in the order of their first appearance."""
        return tuple(self._found.values())

    def footprint(self, role: str, step: Step, track: Track) -> Footprint:
        """What a step of a role touches, looked up once for all executions of the step."""
        op = step.op
        inside = op in TCGEN05
        product = step.item if op == "mma" else None
        places: list[tuple[_Spot, Access, bool]] = []
        for regions, writes in ((step.reads, False), (step.writes, True)):
            for region in regions:
                access = Access(role, step, track, 0, writes, op == "write", product)
                places.append((self._spot(region), access, inside and region.space == "tmem"))
        itself = any(one.meets(other) for one in step.reads for other in step.writes)
        return Footprint(tuple(places), op == "mma", itself)

    def touch(self, what: Footprint, number: int, known: Clock, fenced: Clock) -> None:
        """Checks the accesses of a step against the earlier ones and remembers them.

        `number` is the step's place on its track, `known` what its role has heard of, `fenced` what it may rely on
        for tensor memory.
        """
        if what is self._last and what.repeats:
            # products in a row: nothing came between, so only their number changes
            for _, access, _ in what.places:
                access.number = number
            return
        self._last = what
        if what.itself:
            # all checks first: its read must not take the place of an earlier one that its write still has to meet
            for spot, access, inside in what.places:
                if spot.live:
                    self._meet(spot, access, number, fenced if inside else known, known)
            for spot, access, _ in what.places:
                access.number = number
                spot.open(access)
            return
        for spot, access, inside in what.places:
            if spot.live:
                heard = fenced if inside else known
                if len(spot.near) == 1 and spot.follow(access, number, heard):
                    continue
                self._meet(spot, access, number, heard, known)
            access.number = number
            spot.open(access)

    def _meet(self, spot: _Spot, access: Access, number: int, known: Clock, heard: Clock) -> None:
        """Compares an access, the `number`-th of its track, with the open ones; its own number is still an old one."""
        writes, own = access.writes, access.track
        get = known.get
        for near, covered in tuple(spot.live.items()) if writes else spot.live.items():
            done: list[tuple[dict[Track, Access], Track]] = []
            for earlier in (near.writes, near.reads) if writes else (near.writes,):
                for track, other in earlier.items():
                    before = other.number
                    if before == number and track == own:
                        continue  # the step itself, which reads and writes the place
                    if (other.plain or get(track, 0) < before) and not _ordered(other, access, known):
                        smaller = min(spot.region, near.region, key=lambda r: r.end - r.first)
                        self._add(other, access, smaller, heard)
                    elif writes and covered:
                        done.append((earlier, track))
            if done:
                near.close(done)

    def _spot(self, region: Region) -> _Spot:
        spot = self._spots.get(region)
        if spot is None:
            spot = self._spots[region] = _Spot(region)
            alike = self._spaces.setdefault(region.space, [])
            first, end, slabs = region.first, region.end, region.slabs
            alike.append((first, end, slabs, spot))
            # Region.meets, spelled out: every new region is compared with all others of its space
            for its_first, its_end, its_slabs, other in alike:
                if first < its_end and its_first < end and slabs & its_slabs:
                    there = other.region
                    spot.near[other] = covers = region.covers(there)
                    other.near[spot] = there.covers(region)
                    if other.writes or other.reads:
                        spot.live[other] = covers
        return spot

    def _add(self, first: Access, second: Access, region: Region, seen: Mapping[Track, int]) -> None:
        kind = _kind(first, second)
        key = (kind, first.role, str(first.step), second.role, str(second.step))
        old = self._found.get(key)
        if old is not None:
            self._found[key] = Hazard(
                old.kind,
                old.first_role,
                old.first,
                old.second_role,
                old.second,
                old.region,
                old.advice,
                old.count + 1,
            )
            return
        fence = first.step.op != "write" and seen.get(first.track, 0) >= first.number
        self._found[key] = Hazard(
            kind,
            first.role,
            str(first.step),
            second.role,
            str(second.step),
            str(region),
            _advice(first, second, fence),
        )


def _kind(first: Access, second: Access) -> str:
    if first.writes and second.writes:
        return "write after write"
    return "read before the write is complete" if first.writes else "overwritten while it is read"


def _one_accumulator(first: Step, second: Step) -> bool:
    """Whether two products write the same cells: only then the hardware keeps two of one shape in order."""
    return first is second or first.writes == second.writes


def _ordered(first: Access, second: Access, known: Mapping[Track, int]) -> bool:
    if first.step.op == "write" and second.step.op in ("mma", "cp", "tma"):
        return known.get((first.role, PROXY), 0) >= first.number
    if known.get(first.track, 0) >= first.number:
        return True
    if first.role != second.role:
        return False
    pair = (first.step.op, second.step.op)
    if pair not in _IN_ORDER:
        return first.track == second.track and first.step.op == second.step.op in ("write", "read")
    if pair == ("mma", "mma"):
        alike = first.step.item is second.step.item or first.step.item == second.step.item
        return alike and _one_accumulator(first.step, second.step)
    if pair == ("shift", "cp"):
        return getattr(second.step.item, "shape", "") == ".4x256b"
    return True


def _advice(first: Access, second: Access, fence: bool) -> str:
    op = first.step.op
    if fence:
        return "tcgen05.fence::after_thread_sync is missing behind the wait"
    same = first.role == second.role
    if op in ("mma", "cp", "shift"):
        return "commit it to an mbarrier and wait for that" if same else "wait for the mbarrier of its commit"
    if op in ("ld", "st"):
        wait = f"tcgen05.wait::{op}"
        return (
            wait
            if same
            else f"{wait}, fence::before_thread_sync, then an arrival that the other role waits for"
        )
    if op == "write" and second.step.op in ("mma", "cp", "tma"):
        return "fence.proxy.async behind the stores, then an arrival that the other role waits for"
    if op == "tma":
        return "wait for the mbarrier of the copy"
    return "an arrival that the other role waits for is missing"
