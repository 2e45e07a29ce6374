"""Text of NVBit's `mem_trace` tool: one line a memory instruction of a warp, with 32 addresses.

    MEMTRACE: CTX 0x... - grid_launch_id 0 - CTA 0,0,0 - warp 1 - LDS.U.128 - 0x... 0x... (32 of them)

The tool writes neither program counters nor masks. Accesses are therefore summed by kernel launch and opcode. Lanes
with address 0 count as inactive where the other addresses are generic (the window of shared memory does not start at
0); all others count as active. Instructions of other memories are kept as time; lines of other kinds are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .batch import OTHER, Batch, Places, TraceProblem, checked, code_or_problem, to_window
from .blocks import Progress, line_blocks
from .gaps import Gaps
from .hexes import hex_rows

_MARK = b"MEMTRACE:"
_LAUNCH = re.compile(rb"Kernel name (.+?) - grid launch id (\d+)|LAUNCH.*?Kernel name (.+?)(?: - |$)")
_WINDOW = 1 << 24


def nvbit_batches(path: Path, places: Places, progress: Progress | None = None) -> Iterator[Batch]:
    """Batches of a `mem_trace` text."""
    reader = _Reader(places)
    for number, lines in line_blocks(path, progress):
        yield reader.block(number, lines)


class _Reader:
    """What goes on from block to block: names of kernels, codes of opcodes, gaps."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._gaps = Gaps()
        self._kernels: dict[bytes, str] = {}
        self._codes: dict[bytes, tuple[int, str]] = {}
        self._place_of: dict[tuple[bytes, bytes], int] = {}
        self._warps: dict[tuple[bytes, bytes, bytes], int] = {}

    def block(self, first: int, lines: Sequence[bytes]) -> Batch:
        problems: list[TraceProblem] = []
        others: Counter[str] = Counter()
        codes: list[int] = []
        place: list[int] = []
        warps: list[int] = []
        marks: list[bool] = []
        at: list[int] = []
        tails: list[bytes] = []
        for number, line in enumerate(lines, first):
            start = line.find(_MARK)
            if start < 0:
                continue
            parts = line[start:].split(b" - ")
            if len(parts) < 6 or b"LAUNCH" in parts[1]:
                self._other_line(line[start:], number, parts, problems)
                continue
            launch, cta, warp, op, tail = parts[-5], parts[-4], parts[-3], parts[-2].strip(), parts[-1]
            known = self._codes.get(op)
            if known is None:
                known = self._codes[op] = code_or_problem(op.decode("utf-8", "replace"), None, None)
            code, message = known
            if message:
                problems.append(TraceProblem(number, message))
                continue
            warps.append(self._warp(launch, cta, warp))
            marks.append(code != OTHER)
            if code == OTHER:
                others[op.split(b".")[0].decode("utf-8", "replace")[:40]] += 1
                continue
            codes.append(code)
            place.append(self._place(launch, op))
            at.append(number)
            tails.append(tail)
        gap = self._gaps.of(np.array(warps, dtype=np.int64), np.array(marks, dtype=np.bool_))
        gap = gap[np.array(marks, dtype=np.bool_)]
        addresses, good = _addresses(tails, at, problems)
        numbers = np.array(at, dtype=np.int64)[good]
        mask = _mask(addresses)
        batch = Batch(
            np.array(codes, dtype=np.uint8)[good],
            to_window(addresses),
            mask,
            np.array(place, dtype=np.int64)[good],
            gap[good],
            problems,
            others,
        )
        return checked(batch, numbers)

    def _other_line(self, line: bytes, number: int, parts: list[bytes], problems: list[TraceProblem]) -> None:
        found = _LAUNCH.search(line)
        if found:
            name = (found[1] or found[3]).decode("utf-8", "replace").strip()
            launch = found[2] or str(len(self._kernels)).encode()
            if len(self._kernels) < 1 << 16:
                self._kernels[launch] = name
        elif b"LAUNCH" not in line:
            problems.append(
                TraceProblem(number, f"{len(parts)} fields, 6 are needed; the line is cut off or damaged")
            )

    def _place(self, launch: bytes, op: bytes) -> int:
        key = (launch, op)
        found = self._place_of.get(key)
        if found is None:
            identity = launch.split()[-1] if launch.split() else b"?"
            kernel = self._kernels.get(identity, f"launch {identity.decode('utf-8', 'replace')}")
            found = self._places.number(f"{kernel}: {op.decode('utf-8', 'replace')}")
            if len(self._place_of) < 1 << 20:
                self._place_of[key] = found
        return found

    def _warp(self, launch: bytes, cta: bytes, warp: bytes) -> int:
        key = (launch, cta, warp)
        found = self._warps.get(key)
        if found is None:
            if len(self._warps) > 1 << 20:
                self._warps.clear()
            found = self._warps[key] = len(self._warps)
        return found


def _addresses(
    tails: Sequence[bytes], lines: Sequence[int], problems: list[TraceProblem]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(addresses (m, 32), which of the tails they are); tails that are not 32 numbers become problems."""
    table, wrong = hex_rows(tails, [32] * len(tails))
    problems += [TraceProblem(lines[row], message) for row, message in wrong.items()]
    good = np.array([row for row in range(len(tails)) if row not in wrong], dtype=np.int64)
    return table[good], good


def _mask(addresses: NDArray[np.int64]) -> NDArray[np.uint32]:
    """All lanes, less those with address 0 in rows of generic addresses."""
    generic = (addresses >= _WINDOW).any(axis=1, keepdims=True)
    active = (addresses != 0) | ~generic
    return np.packbits(active, axis=1, bitorder="little").view("<u4").ravel().astype(np.uint32)
