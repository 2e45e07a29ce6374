"""Committed groups of a thread's copies: TMA stores (bulk groups) and cp.async, and the waits for them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..engine.clock import NEVER
from ..engine.state import Warp
from .hazards import Event

if TYPE_CHECKING:
    from .sm import HopperSm

__all__ = ["BulkGroups", "Commit", "CopyWait", "CpAsync"]


@dataclass(frozen=True, slots=True)
class Commit:
    """Detail of a UTMACMDFLUSH (bulk groups) or LDGDEPBAR (`stores` False: cp.async): the copies so far are a group."""

    stores: bool = True


@dataclass(frozen=True, slots=True)
class CopyWait:
    """Detail of a wait for groups: until at most `pending` are unfinished; `read`: until their sources were read."""

    pending: int = 0
    read: bool = True
    stores: bool = True


@dataclass(frozen=True, slots=True)
class CpAsync:
    """Detail of an LDGSTS: one warp instruction of `op` (ca4, ca8, ca16, cg16) into the region, if it is named."""

    op: str = "cg16"
    region: str = ""
    in_l1: bool = False


@dataclass(slots=True)
class _Copy:
    """One copy of a thread: when its source was read and when it is complete, NEVER until known."""

    read: int = NEVER
    done: int = NEVER
    event: Event | None = None


class BulkGroups:
    """Groups by warp, of stores and of cp.async apart."""

    def __init__(self, sm: HopperSm) -> None:
        self.sm = sm
        self.open: dict[tuple[int, bool], list[_Copy]] = {}
        self.groups: dict[tuple[int, bool], deque[list[_Copy]]] = {}
        self.waiting: dict[int, Warp] = {}
        self.number = 0
        """cp.async instructions so far."""
        self.free = 0.0
        """When the path of cp.async takes the next warp instruction."""
        self.after = sm.chip.integer("async.tma.store_wait_all")
        self.latency = {where: sm.chip.integer(f"async.cp_async.latency_{where}") for where in ("l1", "l2")}

    def add(self, warp: Warp, stores: bool, event: Event | None = None) -> _Copy:
        """A copy was issued and belongs to the open group."""
        copy = _Copy(event=event)
        self.open.setdefault((warp.id, stores), []).append(copy)
        return copy

    def cp_async(self, warp: Warp, detail: CpAsync, now: int) -> None:
        """An LDGSTS was issued: the SM takes one every few cycles, its bytes come a latency later."""
        self.number += 1
        where = "l1" if detail.in_l1 else "l2"
        # copies past L1 come from L2 wherever their source was read before
        latency = self.latency["l2" if detail.op.startswith("cg") else where]
        floor = float(self.sm.chip[f"async.cp_async.floor_{where}"][detail.op])
        self.free = max(self.free, float(now)) + floor
        event = self.sm.refill(detail.region, warp, "cp.async", now)
        copy = self.add(warp, False, event)
        copy.done = copy.read = round(self.free) + latency
        if event is not None:
            event.done = copy.done

    def commit(self, warp: Warp, stores: bool) -> None:
        """Close the open group."""
        key = (warp.id, stores)
        self.groups.setdefault(key, deque()).append(self.open.pop(key, []))

    def until(self, warp: Warp, wait: CopyWait) -> int:
        """From when a wait passes, NEVER while that is not known."""
        groups = self.groups.get((warp.id, wait.stores))
        latest = 0
        if groups is None:
            return latest
        for group in list(groups)[: max(len(groups) - wait.pending, 0)]:
            for copy in group:
                at = copy.read if wait.read else copy.done
                if at == NEVER:
                    self.waiting[warp.id] = warp
                    return NEVER
                latest = max(latest, at)
        return latest

    def passed(self, warp: Warp, wait: CopyWait) -> None:
        """The warp has waited: the groups are done with, and it knows that."""
        groups = self.groups.get((warp.id, wait.stores))
        clock = self.sm.clock(warp)
        while groups and len(groups) > wait.pending:
            for copy in groups.popleft():
                if copy.event is not None:
                    self.sm.hazards.finished(clock, copy.event)

    def known(self) -> None:
        """The end of some copy is known: look again at who waits."""
        waiting = list(self.waiting.values())
        self.waiting.clear()
        for warp in waiting:
            self.sm.machine.recheck(warp)

    def state(self, now: int) -> tuple[object, ...]:
        """All that its future depends on, relative to `now`."""

        def of(copies: list[_Copy]) -> object:
            return tuple(
                (
                    max(copy.read - now, 0) if copy.read < NEVER else -1,
                    max(copy.done - now, 0) if copy.done < NEVER else -1,
                )
                for copy in copies
            )

        return (
            max(self.free - now, 0.0),
            tuple((key, of(copies)) for key, copies in sorted(self.open.items()) if copies),
            tuple(
                (key, tuple(of(copies) for copies in groups)) for key, groups in sorted(self.groups.items())
            ),
        )
