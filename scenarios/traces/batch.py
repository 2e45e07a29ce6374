"""What every reader hands on: some instructions as columns of numbers, checked row by row."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sim.memory import OPERATIONS, AccessError, parse_op

_WIDTH = np.array([kind.width for kind in OPERATIONS], dtype=np.int64)
_LANES = np.array([kind.default_mask for kind in OPERATIONS], dtype=np.uint32)
_WINDOW = 1 << 24  # bytes of the generic window of shared memory; its start is a multiple of this
_SHARED = re.compile(
    r"(lds|sts|ldsm|stsm|atoms|ldmatrix|stmatrix)(\.|$)|(ld|st|atom|red)\.(.*\.)?shared(\.|:|$)|atomic(?=[a-z(])",
    re.IGNORECASE,
)
OTHER = -1


@dataclass(frozen=True, slots=True)
class TraceProblem:
    """A row that could not be used: its line (or row number, from 1) and why."""

    line: int
    message: str


@dataclass(slots=True)
class Batch:
    """Instructions of one block of a trace.

    kind (n,) uint8 codes of `OPERATIONS`; offsets (n, 32) int64 byte offsets; mask (n,) uint32; place (n,) int64
    index into the reader's `places`; gap (n,) int64 other instructions of the warp since its last access.
    `others` counts instructions that do not touch shared memory, by opcode.
    """

    kind: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    mask: NDArray[np.uint32]
    place: NDArray[np.int64]
    gap: NDArray[np.int64]
    problems: list[TraceProblem] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.kind)


class Places:
    """Names of places in the program by number; beyond `most` different ones all new ones share one name."""

    def __init__(self, most: int = 100_000) -> None:
        self.names: list[str] = []
        self.index: dict[Any, int] = {}
        self._most = most

    def number(self, key: Any) -> int:
        """The number of a place: an integer is a program counter, a text is taken as it is."""
        found = self.index.get(key)
        if found is None:
            if len(self.names) >= self._most:
                return self.number("(further places)") if key != "(further places)" else self._add(key)
            found = self._add(key)
        return found

    def _add(self, key: Any) -> int:
        self.index[key] = len(self.names)
        self.names.append(f"{key:#06x}" if isinstance(key, int) else str(key)[:200] or "(no place)")
        return self.index[key]


@lru_cache(maxsize=65536)
def operation_code(op: str, width: int | None = None, variant: str | None = None) -> int:
    """The code of an operation on shared memory, `OTHER` for an instruction that does not touch it.

    Raises AccessError for an operation on shared memory that is not known.
    """
    text = op.strip().removeprefix("@").strip()
    if not _SHARED.match(text) and text.lower() not in ("ld", "st", "load", "store", "red", "atom"):
        return OTHER
    text = {"load": "lds", "store": "sts", "ld": "lds", "st": "sts"}.get(text.lower(), text)
    return parse_op(text, width, variant).code


def to_window(addresses: NDArray[np.int64], base: int | None = None) -> NDArray[np.int64]:
    """Offsets in shared memory of generic addresses; offsets stay what they are. Banks are not changed by it."""
    if base:
        return np.where(addresses >= base, addresses - base, addresses)
    return np.where(addresses >= _WINDOW, addresses & (_WINDOW - 1), addresses)


def bits_of(mask: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """(n, 32) bool, lane l from bit l."""
    octets = np.ascontiguousarray(mask, dtype="<u4").view(np.uint8).reshape(len(mask), 4)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)


def checked(batch: Batch, lines: NDArray[np.int64]) -> Batch:
    """The batch without the rows that no hardware executes; each is told in `problems`."""
    if not len(batch):
        return batch
    width = _WIDTH[batch.kind]
    active = bits_of(batch.mask & _LANES[batch.kind])
    # Whatever stands in inactive lanes does not matter; 0 keeps it out of the way.
    batch.offsets = np.where(active, batch.offsets, 0)
    together = np.bitwise_or.reduce(batch.offsets, axis=1)
    wrong = (together & ~(0x7FFFFFFF & -width)) != 0
    for row in np.flatnonzero(wrong).tolist():
        bad = (batch.offsets[row] & ~(0x7FFFFFFF & -width[row])) != 0
        lane = int(np.argmax(bad))
        offset = int(batch.offsets[row, lane])
        need = f"a multiple of {width[row]} bytes is needed"
        if offset < 0 or offset >> 31:
            need = "byte offsets lie between 0 and 2**31"
        name = OPERATIONS[int(batch.kind[row])].name
        batch.problems.append(
            TraceProblem(int(lines[row]), f"lane {lane}: {name} at offset {offset}: {need}")
        )
    idle = ~active.any(axis=1) & ~wrong
    if idle.any():
        batch.others["(no active lane)"] += int(idle.sum())
    keep = ~wrong & ~idle
    if not keep.all():
        batch.kind, batch.offsets, batch.mask = batch.kind[keep], batch.offsets[keep], batch.mask[keep]
        batch.place, batch.gap = batch.place[keep], batch.gap[keep]
    return batch


def code_or_problem(op: str, width: int | None, variant: str | None) -> tuple[int, str]:
    """(code, ""), or (OTHER, message) for an operation on shared memory that cannot be counted."""
    try:
        return operation_code(op, width, variant), ""
    except AccessError as error:
        return OTHER, str(error)
