"""Flags where they are needed: the fewest that put every producer before its consumer and every reader before the next
writer of a slot, with event ids that are provably free.

What a pipe knows of the others is followed with vector clocks: a flag whose meaning follows from an earlier one is left
out (one flag for the two loads of a matrix multiplication), and an id is used again only when the pipe that sets it
knows that the last wait for it is over. A pair of pipes that has no flags gets a barrier over all pipes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .errors import FlagError
from .program import LEGAL_PAIRS, NOWHERE, PIPES, Op, Program, Where, barrier, set_flag, wait_flag

__all__ = ["Step", "place_flags"]

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction with the tile slots it touches: `fills` overwrites, `updates` accumulates, `uses` reads.

    `guarded` slots are handed over by unit flags and need none of these. `settle`: a short accumulation that needs a
    barrier after the one before it.
    """

    op: Op
    where: Where = NOWHERE
    fills: Key | None = None
    updates: Key | None = None
    uses: tuple[Key, ...] = ()
    guarded: Key | None = None
    settle: bool = False


@dataclass(slots=True)
class _Slot:
    writer: int = -1
    readers: dict[int, int] | None = None


def place_flags(steps: Sequence[Step], ids: int) -> Program:
    """The program with set_flag and wait_flag where they are needed. FlagError when the event ids do not suffice."""
    return _Placer(steps, ids).place()


class _Placer:
    def __init__(self, steps: Sequence[Step], ids: int) -> None:
        self.steps = steps
        self.ids = ids
        self.clocks = [[-1] * len(PIPES) for _ in PIPES]
        self.snapshots: list[tuple[int, ...]] = []
        self.before: dict[int, list[Op]] = {}
        self.after: dict[int, list[Op]] = {}
        # (source, target, id) -> the step on the target pipe whose wait clears it
        self.held: dict[tuple[int, int, int], int] = {}
        self.made: dict[tuple[int, int, int], tuple[Op, Op]] = {}

    def place(self) -> Program:
        slots: dict[Key, _Slot] = {}
        last_m: Key | None = None
        for index, step in enumerate(self.steps):
            pipe = step.op.pipe
            needs: list[int] = []
            for key in step.uses:
                slot = slots.setdefault(key, _Slot())
                if slot.writer >= 0 and key != step.guarded:
                    needs.append(slot.writer)
            for key in (step.fills, step.updates):
                if key is None or key == step.guarded:
                    continue
                slot = slots.setdefault(key, _Slot())
                needs += [slot.writer] if slot.writer >= 0 else []
                needs += list((slot.readers or {}).values())
            for need in sorted(needs, reverse=True):
                self._order(need, index, pipe)
            if step.settle and step.updates == last_m:
                self.before.setdefault(index, []).append(barrier(PIPES[pipe]))
            clock = self.clocks[pipe]
            clock[pipe] = index
            self.snapshots.append(tuple(clock))
            for key in (step.fills, step.updates):
                if key is not None:
                    slots[key] = _Slot(index)
                    last_m = key if PIPES[pipe] == "M" else last_m
            for key in step.uses:
                slot = slots[key]
                if slot.readers is None:
                    slot.readers = {}
                slot.readers[pipe] = index
        return self._join()

    def _order(self, first: int, second: int, pipe: int) -> None:
        source = self.steps[first].op.pipe
        clock = self.clocks[pipe]
        if source == pipe or clock[source] >= first:
            return
        if (PIPES[source], PIPES[pipe]) not in LEGAL_PAIRS:
            self._order_all(second)
            return
        event = self._free_id(source, pipe, first, second)
        self.held[source, pipe, event] = second
        key = (source, pipe, event)
        if key not in self.made:
            names = (PIPES[source], PIPES[pipe], event, self.ids)
            self.made[key] = (set_flag(*names), wait_flag(*names))
        set_op, wait_op = self.made[key]
        self.after.setdefault(first, []).append(set_op)
        self.before.setdefault(second, []).append(wait_op)
        self.clocks[pipe] = [max(a, b) for a, b in zip(clock, self.snapshots[first], strict=True)]

    def _order_all(self, second: int) -> None:
        """A barrier over all pipes, where the chip has no flag for the pair: everybody knows of everything before."""
        self.before.setdefault(second, []).append(barrier("ALL"))
        latest = [clock[pipe] for pipe, clock in enumerate(self.clocks)]
        self.clocks = [list(latest) for _ in PIPES]

    def _free_id(self, source: int, target: int, first: int, second: int) -> int:
        known = self.snapshots[first][target]
        for event in range(self.ids):
            user = self.held.get((source, target, event))
            if user is None or user <= known:
                return event
        pair = f"{PIPES[source]}->{PIPES[target]}"
        raise FlagError(
            f"{self.steps[second].op.name} would need more than the {self.ids} event ids of {pair}; "
            "use fewer slots, or place the flags yourself (sync: manual)"
        )

    def _join(self) -> Program:
        program = Program()
        ops, where = program.ops, program.where
        before, after = self.before, self.after
        for index, step in enumerate(self.steps):
            for op in before.get(index, ()):
                ops.append(op)
                where.append(step.where)
            ops.append(step.op)
            where.append(step.where)
            for op in after.get(index, ()):
                ops.append(op)
                where.append(step.where)
        return program
