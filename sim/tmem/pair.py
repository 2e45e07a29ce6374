"""The protocol of a CTA pair around cta_group::2 allocation: which orders of events are safe.

Both blocks of a pair take part in an allocation and a deallocation. A block that issues its part before it knows that
the peer runs, or gives columns back while the peer may still be inside its own allocation, races. A cluster barrier
between the two events makes either safe. Sources: PTX ISA 9.1, 9.7.16.7.1; NVIDIA/cutlass pull request 3316 and issue
3435, where the second race was measured on sm_103.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .errors import TmemError

__all__ = ["PairProblem", "check_pair"]

_SYNC = ("cluster.sync", "cluster_sync", "cluster.barrier", "cluster.arrive_wait")
_EVENTS = ("start", "alloc.issue", "alloc.done", "dealloc", "exit")


@dataclass(frozen=True, slots=True)
class PairProblem:
    """An event that is not safe where it stands, why, and what to do."""

    event: str
    why: str
    fix: str

    def __str__(self) -> str:
        return f"{self.event}: {self.why}; {self.fix}"


def check_pair(events: Sequence[str]) -> tuple[PairProblem, ...]:
    """The problems of a sequence of events such as "cta0.start", "cluster.sync", "cta0.alloc.issue", "cta1.dealloc".

    The order of the list is one order in which things can happen; only cluster barriers order the two blocks.

    >>> [p.fix for p in check_pair(["cta0.alloc.issue", "cta1.start"])]
    ['cluster sync before the first pair allocation']
    >>> check_pair(["cta0.start", "cta1.start", "cluster.sync", "cta0.alloc.issue", "cta1.alloc.issue"])
    ()
    """
    found: list[PairProblem] = []
    started: set[str] = set()
    known_started = False
    allocated: set[str] = set()
    known_allocated: set[str] = set()
    names = {event.split(".")[0] for event in events} - {"cluster"}
    for event in events:
        if event in _SYNC:
            known_started, known_allocated = True, set(allocated)
            continue
        cta, _, what = event.partition(".")
        if what not in _EVENTS or not cta.startswith("cta"):
            raise TmemError(
                f"unknown event {event!r}; cta0 or cta1 with {', '.join(_EVENTS)}, or cluster.sync"
            )
        peers = (names - {cta}) or {"the peer"}
        if what == "start":
            started.add(cta)
        elif what == "alloc.issue" and not known_started:
            why = f"nothing tells {cta} that {' and '.join(sorted(peers))} has started"
            found.append(PairProblem(event, why, "cluster sync before the first pair allocation"))
        elif what == "alloc.done":
            allocated.add(cta)
        elif what == "dealloc" and not peers <= known_allocated:
            why = f"{' and '.join(sorted(peers - known_allocated))} may still be inside its own alloc"
            found.append(
                PairProblem(event, why, "cluster barrier between the allocations and the first dealloc")
            )
    return tuple(found)
