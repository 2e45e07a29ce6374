"""Accel-Sim kernel traces, `.traceg` and the raw `.trace`, and `kernelslist.g` files that name several of them.

A header of `-key = value` lines, then for each block and warp one line an instruction:

    PC mask dest_num [dests] opcode src_num [srcs] mem_width [mode addresses...] [immediate]

with PC, mask and addresses in hexadecimal and three ways to write the addresses of the active lanes: 0 lists them,
1 is a base and a stride, 2 a base and the differences from lane to lane (Accel-Sim's trace parser, versions 1 to 5;
a mask with a hole never comes with a stride). Widths come from the opcode, as there. Only shared-memory instructions
are counted; generic loads and stores count where the header says where the window of shared memory lies. The others are
kept as time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import Place, ScenarioError
from .batch import OTHER, Batch, Places, TraceProblem, bits_of, checked, code_or_problem, to_window
from .blocks import Progress, line_blocks
from .hexes import hex_numbers

_WINDOW = 1 << 24
_GENERIC = {b"LD", b"ST", b"ATOM", b"RED"}
_LIST, _STRIDE, _DELTA = 0, 1, 2
_WORDS = (b"thread", b"warp", b"insts", b"cluster")


def accelsim_batches(path: Path, places: Places, progress: Progress | None = None) -> Iterator[Batch]:
    """Batches of one kernel trace."""
    reader = _Reader(places)
    for number, lines in line_blocks(path, progress):
        yield reader.block(number, lines)


def kernels_list(path: Path) -> list[Path]:
    """The kernel traces that a `kernelslist.g` names, in order; copies between host and device are left out."""
    found: list[Path] = []
    for number, lines in line_blocks(path):
        for at, line in enumerate(lines, number):
            text = line.decode("utf-8", "replace").strip()
            if text.startswith("kernel"):
                if Path(text).name != text:
                    raise ScenarioError(
                        f"{text[:80]!r}: a file beside the list is needed", place=Place(str(path), at)
                    )
                found.append(path.parent / text)
            elif text and not text.startswith(("Memcpy", "#")):
                raise ScenarioError(
                    f"{text[:60]!r} is no command of a kernel list", place=Place(str(path), at)
                )
    return found


class _Reader:
    """State that goes on from block to block: header, current warp, instructions since its last access."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._codes: dict[bytes, tuple[int, str]] = {}
        self._place_of: dict[bytes, int] = {}
        self._kernel = ""
        self._shared_base = 0
        self._version = 0
        self._line_info = 0
        self._in_blocks = False
        self._prefix: int | None = None
        self._since = 0
        self._raw_since: dict[tuple[bytes, ...], int] = {}

    def block(self, first: int, lines: Sequence[bytes]) -> Batch:
        """The instructions of some lines."""
        found = _Found()
        for number, line in enumerate(lines, first):
            words = line.split(None, 24)
            if not words:
                continue
            head = words[0]
            if head[:1] in b"-#" or head in _WORDS:
                self._mark(line, words)
                continue
            try:
                self._instruction(line, words, number, found)
            except (ValueError, IndexError) as error:
                text = " ".join(str(error).split())[:120]
                found.problems.append(TraceProblem(number, f"not an instruction of a trace ({text})"))
        return found.batch(self._shared_base)

    def _mark(self, line: bytes, words: list[bytes]) -> None:
        text = line.decode("utf-8", "replace").strip()
        if words[0] == b"warp" or text.startswith("#BEGIN_TB"):
            self._since = 0
            self._in_blocks = True
        elif text.startswith("-kernel name ="):
            self._kernel = text.partition("=")[2].strip()[:120]
            self._place_of.clear()
        elif text.startswith("-shmem base_addr ="):
            self._shared_base = _header_number(text, 16)
        elif text.startswith("-accelsim tracer version ="):
            self._version = _header_number(text, 10)
        elif text.startswith("-enable lineinfo ="):
            self._line_info = _header_number(text, 10)

    def _instruction(self, line: bytes, words: list[bytes], number: int, found: _Found) -> None:
        at = self._first(words)
        since_key = tuple(words[:4]) if self._prefix and not self._in_blocks else None
        if len(words) == 25:
            words = line.split()
        pc, mask = words[at], int(words[at + 1], 16)
        if not 0 <= mask < 1 << 32:
            raise ValueError(f"mask {words[at + 1].decode('ascii', 'replace')}")
        dests = int(words[at + 2])
        if not 0 <= dests <= 8:
            raise ValueError(f"{dests} destination registers")
        at += 3 + dests
        op = words[at]
        code, message = self._code(op)
        since = self._since if since_key is None else self._raw_since.get(since_key, 0)
        shared = False
        if message:
            found.problems.append(TraceProblem(number, message))
        elif code != OTHER or (self._shared_base and op.split(b".", 1)[0] in _GENERIC):
            sources = int(words[at + 1])
            if not 0 <= sources <= 16:
                raise ValueError(f"{sources} source registers")
            at += 2 + sources
            if int(words[at]) > 0 and mask:
                shared = self._addresses(code, op, pc, mask, words[at + 1 :], number, since, found)
        if not shared:
            found.others[op.split(b".", 1)[0].decode("utf-8", "replace")[:40]] += 1
        if since_key is None:
            self._since = 0 if shared else since + 1
        else:
            if len(self._raw_since) > 1 << 20:
                self._raw_since.clear()
            self._raw_since[since_key] = 0 if shared else since + 1

    def _first(self, words: list[bytes]) -> int:
        """Index of the PC: behind block and warp numbers (raw and old traces) and the source line."""
        if self._prefix is None:
            self._prefix = 0
            if not self._in_blocks or self._version < 3:
                for prefix in (4, 11, 0):
                    at = prefix + self._line_info
                    if len(words) > at + 3 and len(words[at + 1]) == 8 and words[at + 2].isdigit():
                        self._prefix = prefix
                        break
        return self._prefix + self._line_info

    def _code(self, op: bytes) -> tuple[int, str]:
        known = self._codes.get(op)
        if known is None:
            if len(self._codes) > 1 << 16:
                self._codes.clear()
            known = self._codes[op] = code_or_problem(op.decode("utf-8", "replace"), None, None)
        return known

    def _addresses(
        self,
        code: int,
        op: bytes,
        pc: bytes,
        mask: int,
        rest: list[bytes],
        number: int,
        since: int,
        found: _Found,
    ) -> bool:
        """Takes the addresses of one access; False when a generic one goes elsewhere."""
        mode, count = int(rest[0]), mask.bit_count()
        if mode == _LIST:
            numbers = rest[1 : 1 + count]
            if len(numbers) < count:
                raise ValueError(f"{len(numbers)} addresses for {count} lanes")
            base = int(numbers[0], 16)
        elif mode == _STRIDE:
            base, numbers = int(rest[1], 16), [rest[2]]
            run = mask >> ((mask & -mask).bit_length() - 1)
            if run & (run + 1):
                raise ValueError("a stride, but lanes without a gap are needed for one")
            int(rest[2])
        elif mode == _DELTA:
            base, numbers = int(rest[1], 16), rest[2 : 1 + count]
            if len(numbers) < count - 1:
                raise ValueError(f"{len(numbers)} differences for {count} lanes")
        else:
            raise ValueError(f"address mode {mode}; 0, 1 and 2 are known")
        if code == OTHER:
            if not self._shared_base <= base < self._shared_base + _WINDOW:
                return False
            generic = op.replace(b"ATOM", b"ATOMS").replace(b"RED", b"ATOMS")
            spelled = {b"L": b"LDS", b"S": b"STS"}.get(op[:1], generic[:5]) + op[op.find(b".") :] * (
                b"." in op
            )
            code, message = self._code(spelled.replace(b".E", b""))
            if message or code == OTHER:
                found.problems.append(TraceProblem(number, message or f"{op!r} in shared memory"))
                return False
        place = self._place_of.get(pc)
        if place is None:
            value = int(pc, 16)
            place = self._places.number(f"{self._kernel}: {value:#06x}" if self._kernel else value)
            if len(self._place_of) < 1 << 20:
                self._place_of[pc] = place
        found.add(mode, code, mask, place, since, number, base, numbers)
        return True


def _header_number(text: str, base: int) -> int:
    try:
        value = int(text.partition("=")[2].strip(), base)
    except ValueError:
        return 0
    return value if 0 <= value < 1 << 62 else 0


class _Found:
    """Accesses of one block while they are gathered, by the way in which their addresses are written."""

    def __init__(self) -> None:
        self.problems: list[TraceProblem] = []
        self.others: Counter[str] = Counter()
        self._rows: tuple[list[tuple[int, int, int, int, int, int]], ...] = ([], [], [])
        self._numbers: tuple[list[list[bytes]], ...] = ([], [], [])

    def add(
        self,
        mode: int,
        code: int,
        mask: int,
        place: int,
        since: int,
        line: int,
        base: int,
        numbers: list[bytes],
    ) -> None:
        """One access: `numbers` are addresses, the stride, or the differences."""
        if base >> 62 or base < 0:
            raise ValueError("an address of more than 62 bits")
        self._rows[mode].append((code, mask, place, since, line, base))
        self._numbers[mode].append(numbers)

    def batch(self, shared_base: int) -> Batch:
        """The checked batch; accesses in the order of their lines."""
        parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for mode in (_LIST, _STRIDE, _DELTA):
            rows = self._rows[mode]
            if not rows:
                continue
            try:
                parts.append((np.array(rows, dtype=np.int64), self._table(mode, rows, self._numbers[mode])))
            except (ValueError, OverflowError):
                parts += self._one_by_one(mode)
        rows = np.concatenate([part[0] for part in parts]) if parts else np.zeros((0, 6), dtype=np.int64)
        table = np.concatenate([part[1] for part in parts]) if parts else np.zeros((0, 32), dtype=np.int64)
        order = np.argsort(rows[:, 4], kind="stable")
        rows, table = rows[order], table[order]
        batch = Batch(
            rows[:, 0].astype(np.uint8),
            to_window(table, shared_base or None),
            rows[:, 1].astype(np.uint32),
            rows[:, 2],
            rows[:, 3],
            self.problems,
            self.others,
        )
        return checked(batch, rows[:, 4])

    def _one_by_one(self, mode: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        parts = []
        for row, numbers in zip(self._rows[mode], self._numbers[mode], strict=True):
            try:
                parts.append((np.array([row], dtype=np.int64), self._table(mode, [row], [numbers])))
            except (ValueError, OverflowError) as error:
                self.problems.append(TraceProblem(row[4], f"addresses: {' '.join(str(error).split())[:120]}"))
        return parts

    @staticmethod
    def _table(
        mode: int, rows: Sequence[tuple[int, ...]], numbers: Sequence[Sequence[bytes]]
    ) -> NDArray[np.int64]:
        active = bits_of(np.array([row[1] for row in rows], dtype=np.uint32))
        table = np.zeros(active.shape, dtype=np.int64)
        base = np.array([row[5] for row in rows], dtype=np.int64)
        if mode == _LIST:
            table[active] = hex_numbers([token for tokens in numbers for token in tokens])
        elif mode == _STRIDE:
            stride = _decimals(token for tokens in numbers for token in tokens)
            table = base[:, None] + stride[:, None] * (np.cumsum(active, axis=1) - 1)
        else:
            later = active.copy()
            later[np.arange(len(rows)), np.argmax(active, axis=1)] = False
            table[later] = _decimals(token for tokens in numbers for token in tokens)
            table = base[:, None] + np.cumsum(table, axis=1)
        return np.where(active, table, 0)


def _decimals(tokens: Iterator[bytes]) -> NDArray[np.int64]:
    values = np.array([int(token) for token in tokens], dtype=np.int64)
    if len(values) and np.abs(values).max() >> 56:
        raise ValueError("a difference of more than 56 bits")
    return values
