"""The search: wavefronts of every candidate over all accesses together, counted many candidates at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...sim.chip import Chip
from ...sim.memory import Trace, count_trace
from ..buffers import constant
from ..errors import UnknownAnswerError
from ..skeleton import offsets_at
from .family import NAMED, NONE, Family, simplicity
from .linear import is_linear
from .problem import Problem

_ROWS = 1 << 16  # accesses counted at once
KINDS = ("plain", "swizzle", "mask", "padding", "both")
_FIRST = 4  # instructions that every candidate is tried on; the survivors see more and more


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate with its sums over all accesses: `pad` bytes after each row, `swizzle` B, M, S in byte bits."""

    pad: int
    swizzle: tuple[int, int, int]
    excess: int
    bytes: int

    @property
    def kind(self) -> str:
        """plain, padding, swizzle, mask (an exclusive or that is no Sw<B,M,S>), or both."""
        if self.swizzle[0] < 0:
            return "mask"
        if self.pad:
            return "both" if self.swizzle[0] else "padding"
        return "swizzle" if self.swizzle[0] else "plain"

    @property
    def order(self) -> tuple[object, ...]:
        """Better ones sort first: less excess, fewer bytes, simpler."""
        return self.excess, self.bytes, KINDS.index(self.kind), simplicity(self.swizzle), self.pad


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: the best of all, the best of each kind, how many layouts were judged.

    `masks` of them were exclusive ors by a mask that is no Sw<B,M,S>.
    """

    best: Choice
    by_kind: dict[str, Choice]
    judged: int
    masks: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """Different instructions of one padding: how many there are of each is `weight`."""

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    code: NDArray[np.uint8]
    mask: NDArray[np.uint32]
    weight: NDArray[np.int64]


def search(problem: Problem, family: Family, chip: Chip) -> Found | None:
    """The best layout of the family by (excess wavefronts, bytes, simplicity); None when none fits the limits.

    Every member is judged, most of them by showing on some instructions that they already have more excess than
    the best; only when the best has no excess and no unused byte does the search stop before the end.
    """
    elements = problem.base.element_offsets()
    element_rows, element_columns = problem.base.split(elements)
    found: dict[str, Choice] = {}
    judged, valid = 0, problem.base.buffer.valid
    limit = constant(chip, "shared_memory.max_bytes_per_block")
    most = min((size for size in (limit, family.limits.max_bytes) if size is not None), default=None)
    pads = [pad for pad in family.pads() if _aligned(problem, pad)]

    def judge(pad: int, swizzles: NDArray[np.int32], bound: int | None) -> None:
        nonlocal judged
        judged += len(swizzles)
        excess = _excess(problem, pad, swizzles, chip, bound)
        alive = np.flatnonzero(excess >= 0)
        start = element_rows.astype(np.int64) * (problem.base.row + pad) + element_columns
        for kind in {_kind(pad, tuple(swizzles[i].tolist())) for i in alive}:
            mine = [i for i in alive if _kind(pad, tuple(swizzles[i].tolist())) == kind]
            for value in sorted({int(excess[i]) for i in mine}):
                sized = [
                    Choice(pad, swizzle, value, size)
                    for i in mine
                    if excess[i] == value
                    and (swizzle := tuple(swizzles[i].tolist()))
                    and ((size := _footprint(start, swizzle, problem)) <= (most or size))
                ]
                if sized:
                    best = min(sized, key=lambda choice: choice.order)
                    if kind not in found or best.order < found[kind].order:
                        found[kind] = best
                    break

    def best() -> Choice | None:
        return min(found.values(), key=lambda choice: choice.order, default=None)

    for pad in pads:
        judge(pad, np.array([NONE], np.int32), None)
    for pad in pads:
        now = best()
        last = (
            problem.base.buffer.footprint
            if not problem.base.row
            else int(element_rows[-1] * (problem.base.row + pad) + problem.base.row)
        )
        swizzles = family.swizzles(last - 1)[1:]
        if now is not None and pad and now.excess == 0 and now.bytes == valid:
            break
        if len(swizzles):
            named = np.array([tuple(row) in NAMED for row in swizzles.tolist()])
            if pad == 0 and named.any():
                judge(pad, swizzles[named], None)
                now = best()
                swizzles = swizzles[~named]
            if len(swizzles):
                judge(pad, swizzles, now.excess if now else None)
    final, masks = best(), np.empty((0, 3), np.int32)
    if 0 in pads and (final is None or final.excess or final.bytes > valid) and is_linear(problem):
        masks = family.masks(valid)
        if len(masks):
            judge(0, masks, final.excess if final else None)
    final = best()
    if final is None:
        return None
    return Found(final, {kind: found[kind] for kind in KINDS if kind in found}, judged, len(masks))


def _kind(pad: int, swizzle: Sequence[int]) -> str:
    return Choice(pad, (swizzle[0], swizzle[1], swizzle[2]), 0, 0).kind


def _aligned(problem: Problem, pad: int) -> bool:
    """Whether every access stays aligned when rows are moved apart."""
    pitch = np.int32(problem.base.row + pad)
    return not any((((p.rows * pitch + p.columns) % p.width != 0) & p.active).any() for p in problem.patterns)


def _footprint(start: NDArray[np.int64], swizzle: tuple[int, int, int], problem: Problem) -> int:
    """Bytes up to the last element under a swizzle; `start` are the elements' bytes without it."""
    bits, base, shift = swizzle
    itemsize = problem.base.buffer.itemsize
    if bits <= 0:  # a mask permutes the bytes of a whole power of two
        return int(start.max()) + itemsize
    # Bits from `top` on never change, so the last byte comes from the elements with the largest upper part.
    top = base + bits + max(-shift, 0)
    upper = start >> top
    part = start[upper == upper.max()].astype(np.int32)
    moved = offsets_at(np.zeros_like(part), part, np.zeros(1, np.int32), np.array([swizzle], np.int32))
    return int(moved.max()) + itemsize


def _excess(
    problem: Problem, pad: int, swizzles: NDArray[np.int32], chip: Chip, bound: int | None
) -> NDArray[np.int64]:
    """(k,) excess wavefronts of all accesses together; -1 for candidates that exceed `bound` somewhere."""
    pitch = problem.base.row + pad
    table = _different(problem, pitch, chip)
    excess = np.zeros(len(swizzles), np.int64)
    alive = np.arange(len(swizzles))
    start, size = 0, _FIRST
    while start < len(table.code) and len(alive):
        stop = min(start + size, len(table.code))
        part = slice(start, stop)
        step = max(_ROWS // (stop - start), 1)
        for first in range(0, len(alive), step):
            some = alive[first : first + step]
            excess[some] += _count(table, part, pitch, swizzles[some], chip)
        if bound is not None:
            excess[alive[excess[alive] > bound]] = -1
            alive = alive[excess[alive] >= 0]
        start, size = stop, 4 * size
    return excess


def _count(
    table: _Rows, part: slice, pitch: int, swizzles: NDArray[np.int32], chip: Chip
) -> NDArray[np.int64]:
    offsets = offsets_at(
        table.rows[part], table.columns[part], np.full(len(swizzles), pitch, np.int32), swizzles
    )
    count = len(swizzles)
    trace = Trace(np.tile(table.code[part], count), offsets.reshape(-1, 32), np.tile(table.mask[part], count))
    counts = count_trace(trace, chip)
    if counts.status == "unknown":
        raise UnknownAnswerError("; ".join(counts.reasons))
    return counts.excess_wavefronts.reshape(count, -1).astype(np.int64) @ table.weight[part]


def _different(problem: Problem, pitch: int, chip: Chip) -> _Rows:
    """Instructions that can differ in their counts, rare ones last.

    Where banks are a power of two, addresses that differ by one exclusive or in all lanes have the same conflicts
    under every swizzle: a swizzle is linear, so their banks are permuted alike.
    """
    banks = int(chip["shared_memory.banks"] or 0)
    linear = banks & (banks - 1) == 0
    keys, sources = [], []
    for number, pattern in enumerate(problem.patterns):
        offsets = pattern.rows * np.int32(pitch) + pattern.columns
        first = offsets[np.arange(len(offsets)), pattern.active.argmax(axis=1)]
        key = np.where(pattern.active, offsets ^ first[:, None], -1) if linear else offsets
        extra = np.column_stack(
            [np.full(len(key), pattern.code), pattern.mask.view(np.int32), np.full(len(key), number)]
        )
        keys.append(np.concatenate([key, extra], axis=1).astype(np.int32))
        sources.append(np.arange(len(key)))
    joined = np.ascontiguousarray(np.concatenate(keys))
    whole = joined.view(np.dtype((np.void, joined.itemsize * joined.shape[1]))).ravel()
    _, first, times = np.unique(whole, return_index=True, return_counts=True)
    order = np.argsort(-times, kind="stable")
    first, times = first[order], times[order]
    owner = joined[first, -1]
    stack = [
        np.concatenate([getattr(p, name) for p in problem.patterns]) for name in ("rows", "columns", "mask")
    ]
    return _Rows(
        stack[0][first],
        stack[1][first],
        np.array([problem.patterns[i].code for i in owner], np.uint8),
        stack[2][first],
        times * np.array([problem.patterns[i].repeat for i in owner], np.int64),
    )
