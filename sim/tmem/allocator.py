"""Allocation of tensor-memory columns, step by step as the instructions of several blocks on one SM do it.

The rules, PTX ISA 9.1, 9.7.16.7.1: an allocation is 32 to 512 columns, a power of two, all lanes of each; the
sizes of a block's successive allocations do not increase; `alloc` waits until enough columns are free; `dealloc`
names an earlier allocation; after `relinquish_alloc_permit` the block allocates no more; all is freed before the
block ends; all tcgen05 instructions of a kernel have one cta_group; with cta_group::2 a warp of each block of the
pair issues, and may wait for the other. Which columns an allocation gets is not documented: the lowest free ones
(an assumption, `tmem.alloc.first_fit`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..chip import Chip
from .errors import TmemError
from .geometry import DEFAULT_CHIP, Geometry, geometry

__all__ = ["Allocator", "Outcome", "Step", "check_alloc_size", "legal_sizes", "round_up", "run_steps"]

Verdict = Literal["ok", "blocks", "illegal", "may block", "against CUTLASS"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one step does: a verdict, a sentence that begins with it, and the first column of an allocation."""

    verdict: Verdict
    text: str
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction: `cta` and `warp` that issue it, the operation, columns (0 for none), cta_group."""

    op: str
    columns: int = 0
    cta: str = "cta0"
    warp: int = 0
    cta_group: int | None = None

    @classmethod
    def of(cls, items: Sequence[str | int]) -> Step:
        """A step from a list such as ["cta0", "alloc.cta_group::2", 128], ["warp1", "dealloc", 32] or ["exit"]."""
        words = [str(item) for item in items]
        cta, warp = "cta0", 0
        while words and words[0].startswith(("cta", "warp")):
            word = words.pop(0)
            if word.startswith("warp"):
                warp = _number(word.removeprefix("warp"), items)
            else:
                cta = word
        if not words:
            raise TmemError(f"step {list(items)}: an operation such as alloc or dealloc is missing")
        name, _, group = words[0].partition(".cta_group::")
        columns = _number(words[1], items) if len(words) > 1 else 0
        return cls(name, columns, cta, warp, _number(group, items) if group else None)


def _number(text: str, items: Sequence[str | int]) -> int:
    if not text.isdigit():
        raise TmemError(f"step {list(items)}: {text!r} is not a whole number")
    return int(text)


def legal_sizes(chip: str | Chip = DEFAULT_CHIP) -> tuple[int, ...]:
    """The sizes that tcgen05.alloc accepts: 32, 64, 128, 256 and 512 columns."""
    shape = geometry(chip)
    sizes: list[int] = []
    size = shape.alloc_unit
    while size <= shape.columns:
        sizes.append(size)
        size *= 2
    return tuple(sizes)


def check_alloc_size(columns: int, chip: str | Chip = DEFAULT_CHIP) -> None:
    """Raises TmemError unless `columns` can be allocated; the message says what to ask for instead.

    >>> check_alloc_size(384)
    Traceback (most recent call last):
    bankbench.sim.tmem.errors.TmemError: tcgen05.alloc of 384 columns: 32, 64, 128, 256 or 512; ask for 512
    """
    sizes = legal_sizes(chip)
    if columns in sizes:
        return
    known = f"{', '.join(str(n) for n in sizes[:-1])} or {sizes[-1]}"
    larger = [size for size in sizes if size >= max(columns, 1)]
    hint = f"; ask for {larger[0]}" if larger else f"; {columns - sizes[-1]} columns too many"
    raise TmemError(f"tcgen05.alloc of {columns} columns: {known}{hint}")


def round_up(columns: int, chip: str | Chip = DEFAULT_CHIP) -> int:
    """The smallest allocation that holds this many columns. Raises TmemError above the capacity.

    >>> round_up(264), round_up(100)
    (512, 128)
    """
    sizes = legal_sizes(chip)
    for size in sizes:
        if size >= columns:
            return size
    raise TmemError(f"{columns} columns requested, {sizes[-1]} exist: {columns - sizes[-1]} columns too many")


@dataclass(slots=True)
class _Block:
    """What one block (CTA) holds: (first column, columns), sizes so far, and whether it may still allocate."""

    live: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    last_size: int | None = None
    relinquished: bool = False
    gone: bool = False
    waits_for: Step | None = None
    alloc_warp: int | None = None


class Allocator:
    """The columns of one SM (or of the pair of SMs of a cta_group::2 kernel) and the blocks that share them.

    `step` executes one instruction and says what happens; blocked allocations complete when columns become free,
    in the order in which they were issued. Blocks of a pair are told apart by names that end in even/odd or 0/1; each
    has the tensor memory of its own SM, and both get their columns at once or wait together.

    >>> sm = Allocator()
    >>> [sm.step(Step.of(s)).text for s in (["cta0", "alloc", 512], ["cta1", "alloc", 32], ["cta0", "dealloc", 512])]
    ['ok (columns 0 to 511)', 'blocks until cta0 deallocates: 0 columns in a row are free', 'ok; cta1 unblocks']
    """

    def __init__(self, chip: str | Chip = DEFAULT_CHIP) -> None:
        self.chip = chip
        self.shape: Geometry = geometry(chip)
        self.blocks: dict[str, _Block] = {}
        self.waiting: list[tuple[str, ...]] = []
        self.group: int | None = None
        self.pair_pending: dict[str, Step] = {}

    def step(self, step: Step) -> Outcome:
        """Executes one step. Illegal ones change nothing."""
        block = self.blocks.setdefault(step.cta, _Block())
        if block.gone:
            return Outcome("illegal", f"illegal ({step.cta} has ended)")
        if block.waits_for is not None and (step.warp == block.waits_for.warp or step.op == "alloc"):
            return Outcome(
                "blocks", f"blocks ({step.cta} still waits in its alloc of {block.waits_for.columns})"
            )
        if step.cta_group is not None:
            if step.cta_group not in (1, 2):
                return Outcome("illegal", f"illegal (cta_group::{step.cta_group}; 1 or 2)")
            if self.group is not None and self.group != step.cta_group:
                return Outcome(
                    "illegal",
                    f"illegal (one cta_group value per kernel; it used cta_group::{self.group} before)",
                )
        before, self.group = self.group, step.cta_group or self.group
        outcome = self._execute(step, block)
        if outcome.verdict == "illegal":
            self.group = before
        return outcome

    def _execute(self, step: Step, block: _Block) -> Outcome:
        if step.op == "alloc":
            return self._alloc(step, block)
        if step.op == "dealloc":
            return self._dealloc(step, block)
        if step.op in ("relinquish_alloc_permit", "relinquish"):
            block.relinquished = True
            return Outcome("ok", "ok")
        if step.op == "exit":
            return self._exit(step, block)
        if step.op in ("ld", "st", "cp", "mma", "shift", "commit"):
            if not block.live and step.op != "commit":
                return Outcome("illegal", f"illegal ({step.op} on columns that are not allocated)")
            return Outcome("ok", "ok")
        raise TmemError(
            f"unknown step {step.op!r}: alloc, dealloc, relinquish_alloc_permit, exit, ld, st, cp, mma, shift, commit"
        )

    def free_columns(self, cta: str = "cta0") -> int:
        """Columns that nobody holds on the SM of this block."""
        return self.shape.columns - sum(size for _, size in self._held(cta))

    def _alloc(self, step: Step, block: _Block) -> Outcome:
        try:
            check_alloc_size(step.columns, self.chip)
        except TmemError as error:
            return Outcome("illegal", f"illegal ({error})")
        if block.relinquished:
            return Outcome("illegal", "illegal (alloc after relinquish)")
        if block.last_size is not None and step.columns > block.last_size:
            return Outcome(
                "illegal",
                f"illegal (size increases from {block.last_size} to {step.columns}: allocate the larger one first)",
            )
        warned = block.alloc_warp is not None and block.alloc_warp != step.warp
        block.waits_for = step
        if self.group == 2:
            return self._alloc_pair(step, block)
        start = self._serve(step.cta)
        if start is None:
            return self._block(step, step.cta)
        if warned:
            return _against(start)
        return Outcome("ok", f"ok (columns {start} to {start + step.columns - 1})", start)

    def _alloc_pair(self, step: Step, block: _Block) -> Outcome:
        peer = _peer(step.cta)
        pending = self.pair_pending.pop(peer, None)
        if pending is None:
            self.pair_pending[step.cta] = step
            return Outcome("may block", "may block until the peer also issues")
        unequal = ""
        if pending.columns != step.columns:
            unequal = f"{pending.columns} and {step.columns} columns; equal sizes"
        elif pending.warp != step.warp:
            unequal = f"with warps {pending.warp} and {step.warp}; the same warp of both blocks"
        if unequal:
            self.pair_pending[peer] = pending
            block.waits_for = None
            return Outcome("illegal", f"illegal (the pair allocates {unequal})")
        start = self._serve(peer, step.cta)
        if start is None:
            return self._block(step, peer, step.cta)
        return Outcome("ok", f"both complete (columns {start} to {start + step.columns - 1})", start)

    def _serve(self, *ctas: str) -> int | None:
        """Gives columns to a block, or to both of a pair at once; None, and nothing changes, when they are not free."""
        wanted = [(self.blocks[cta], self.blocks[cta].waits_for) for cta in ctas]
        starts: list[int] = []
        for cta, (_, step) in zip(ctas, wanted, strict=True):
            assert step is not None, "a block that waits for columns has the step that it waits in"
            start = self._hole(step.columns, cta)
            if start is None or any(self._same_sm(n, cta) for names in self.waiting for n in names):
                return None
            starts.append(start)
        for (block, step), start in zip(wanted, starts, strict=True):
            assert step is not None
            block.live.append((start, step.columns))
            block.last_size, block.waits_for = step.columns, None
            block.alloc_warp = step.warp if block.alloc_warp is None else block.alloc_warp
        return starts[-1]

    def _block(self, step: Step, *ctas: str) -> Outcome:
        self.waiting.append(ctas)
        holders = [
            n
            for n, b in self.blocks.items()
            if b.live and n not in ctas and any(self._same_sm(n, cta) for cta in ctas)
        ]
        row = f"{self._longest(step.cta)} columns in a row are free"
        if holders:
            return Outcome("blocks", f"blocks until {' or '.join(holders)} deallocates: {row}")
        return Outcome("blocks", f"blocks for ever: {row}, the rest is held by {step.cta} itself")

    def _dealloc(self, step: Step, block: _Block) -> Outcome:
        match = [item for item in block.live if item[1] == step.columns]
        if not match:
            held = ", ".join(f"{size} at column {start}" for start, size in block.live) or "nothing"
            return Outcome(
                "illegal",
                f"illegal (dealloc of {step.columns} columns that {step.cta} does not hold; it holds {held})",
            )
        warned = block.alloc_warp is not None and block.alloc_warp != step.warp
        block.live.remove(match[-1])
        released = self._unblock()
        text = "; ".join(["ok", *(f"{name} unblocks" for name in released)])
        if self.group == 2 and not _freed(self.blocks.get(_peer(step.cta)), step.columns):
            return Outcome("may block", "may block until the peer deallocates too")
        return _against(None) if warned else Outcome("ok", text)

    def _unblock(self) -> list[str]:
        released: list[str] = []
        queue, self.waiting = self.waiting, []
        for names in queue:
            if self._serve(*names) is None:
                # in order: a later, smaller request does not pass an earlier one on the same SM
                self.waiting.append(names)
            else:
                released += names
        return released

    def _exit(self, step: Step, block: _Block) -> Outcome:
        if block.live:
            held = sum(size for _, size in block.live)
            return Outcome(
                "illegal", f"illegal (allocation must be freed before exit: {held} columns are held)"
            )
        block.gone = True
        return Outcome("ok", "ok")

    def _held(self, cta: str) -> list[tuple[int, int]]:
        return sorted(item for name, b in self.blocks.items() if self._same_sm(name, cta) for item in b.live)

    def _same_sm(self, one: str, other: str) -> bool:
        return self.group != 2 or one == other or _rank(one) == _rank(other)

    def _gaps(self, cta: str) -> Iterable[tuple[int, int]]:
        at = 0
        for start, size in self._held(cta):
            yield at, start - at
            at = start + size
        yield at, self.shape.columns - at

    def _hole(self, columns: int, cta: str) -> int | None:
        return next((start for start, size in self._gaps(cta) if size >= columns), None)

    def _longest(self, cta: str) -> int:
        return max(size for _, size in self._gaps(cta))


def _rank(name: str) -> int | None:
    if name.endswith("even"):
        return 0
    if name.endswith("odd"):
        return 1
    digits = name[len(name.rstrip("0123456789")) :]
    return int(digits) % 2 if digits else None


def _peer(name: str) -> str:
    if name.endswith("even"):
        return name.removesuffix("even") + "odd"
    if name.endswith("odd"):
        return name.removesuffix("odd") + "even"
    head = name.rstrip("0123456789")
    digits = name[len(head) :]
    return f"{head}{int(digits) ^ 1}" if digits else f"{name}-peer"


def _freed(peer: _Block | None, columns: int) -> bool:
    return peer is None or all(size != columns for _, size in peer.live)


def _against(column: int | None) -> Outcome:
    text = (
        "CUTLASS precondition broken (one warp allocates for a block); PTX asks for one warp an instruction"
    )
    return Outcome("against CUTLASS", text, column)


def run_steps(steps: Iterable[Sequence[str | int]], chip: str | Chip = DEFAULT_CHIP) -> list[Outcome]:
    """Executes a list of steps on a fresh SM and says what each does.

    >>> [outcome.text for outcome in run_steps([["alloc", 64], ["alloc", 128]])]
    ['ok (columns 0 to 63)', 'illegal (size increases from 64 to 128: allocate the larger one first)']
    """
    sm = Allocator(chip)
    return [sm.step(Step.of(step)) for step in steps]
