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
from .hexes import hex_rows

_WINDOW = 1 << 24
_GENERIC = {b"LD", b"ST", b"ATOM", b"RED"}
_LIST, _STRIDE, _DELTA = 0, 1, 2
_WORDS = ("thread block", "warp =", "insts =", "cluster ")


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
            sign = line[:1]
            if not sign or (sign in b"-#twic\r" and self._mark(line)):
                continue
            try:
                self._instruction(line, number, found)
            except (ValueError, IndexError) as error:
                text = " ".join(str(error).split())[:120]
                found.problems.append(TraceProblem(number, f"not an instruction of a trace ({text})"))
        return found.batch(self._shared_base)

    def _mark(self, line: bytes) -> bool:
        """Takes in a line that is no instruction; False when it is one."""
        text = line.decode("utf-8", "replace").strip()
        if text[:1] not in ("-", "#", "") and not text.startswith(_WORDS):
            return False
        if text.startswith(("warp", "#BEGIN_TB")):
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
        return True

    def _instruction(self, line: bytes, number: int, found: _Found) -> None:
        first = self._first(line)
        words = line.split(None, first + 3)
        if not words:
            return
        pc, mask, dests = words[first], int(words[first + 1], 16), int(words[first + 2])
        if not 0 <= mask < 1 << 32 or not 0 <= dests <= 8:
            raise ValueError(f"mask {mask:#x}, {dests} destinations")
        rest = words[first + 3].split(None, dests + 1)
        op = rest[dests]
        raw = tuple(words[:4]) if self._prefix and not self._in_blocks else None
        since = self._since if raw is None else self._raw_since.get(raw, 0)
        code, message = self._code(op)
        shared = False
        if message:
            found.problems.append(TraceProblem(number, message))
        elif mask and (code != OTHER or (self._shared_base and op.split(b".", 1)[0] in _GENERIC)):
            shared = self._addresses(code, op, pc, mask, rest[dests + 1], number, since, found)
        if not shared and not message:
            found.others[op.split(b".", 1)[0]] += 1
        since = 0 if shared else since + 1
        if raw is None:
            self._since = since
        else:
            if len(self._raw_since) > 1 << 20:
                self._raw_since.clear()
            self._raw_since[raw] = since

    def _first(self, line: bytes) -> int:
        """Index of the PC: behind block and warp numbers (raw and old traces) and the source line."""
        if self._prefix is None:
            self._prefix = 0
            words = line.split()
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
        self, code: int, op: bytes, pc: bytes, mask: int, rest: bytes, number: int, since: int, found: _Found
    ) -> bool:
        """Takes the addresses of one access; False when it has none, and when a generic one goes elsewhere."""
        sources, rest = rest.split(None, 1)
        if not sources.isdigit() or int(sources) > 16:
            raise ValueError(f"{sources[:20]!r} source registers")
        words = rest.split(None, int(sources) + 2)
        if int(words[int(sources)]) <= 0:
            return False
        mode, tail = int(words[int(sources) + 1]), words[int(sources) + 2]
        base = 0
        if mode == _LIST:
            if code == OTHER:
                base = int(tail.split(None, 1)[0], 16)
        elif mode == _STRIDE:
            start, stride = tail.split(None, 2)[:2]
            base, tail = int(start, 16), stride
            run = mask >> ((mask & -mask).bit_length() - 1)
            if run & (run + 1):
                raise ValueError("a stride, but lanes without a gap are needed for one")
            if abs(int(stride)) >> 40:
                raise ValueError(f"a stride of {int(stride)} bytes")
        elif mode == _DELTA:
            start, _, tail = tail.partition(b" ")
            base = int(start, 16)
        else:
            raise ValueError(f"address mode {mode}; 0, 1 and 2 are known")
        if base >> 60 or base < 0:
            raise ValueError("an address of more than 60 bits")
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
        found.rows[mode].append((code, mask, place, since, number, base))
        found.tails[mode].append(tail)
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
        self.others: Counter[bytes] = Counter()
        # (code, mask, place, gap, line, base), and the text of the addresses, the stride or the differences
        self.rows: tuple[list[tuple[int, int, int, int, int, int]], ...] = ([], [], [])
        self.tails: tuple[list[bytes], ...] = ([], [], [])

    def batch(self, shared_base: int) -> Batch:
        """The checked batch; accesses in the order of their lines."""
        rows_of, tables = [np.zeros((0, 6), dtype=np.int64)], [np.zeros((0, 32), dtype=np.int64)]
        for mode in (_LIST, _STRIDE, _DELTA):
            if self.rows[mode]:
                rows = np.array(self.rows[mode], dtype=np.int64)
                table, wrong = _table(mode, rows, self.tails[mode])
                for row, message in wrong.items():
                    self.problems.append(TraceProblem(int(rows[row, 4]), f"addresses: {message}"))
                good = np.array([row not in wrong for row in range(len(rows))], dtype=np.bool_)
                rows_of.append(rows[good])
                tables.append(table[good])
        rows, table = np.concatenate(rows_of), np.concatenate(tables)
        order = np.argsort(rows[:, 4], kind="stable")
        rows, table = rows[order], table[order]
        batch = Batch(
            rows[:, 0].astype(np.uint8),
            to_window(table, shared_base or None),
            rows[:, 1].astype(np.uint32),
            rows[:, 2],
            rows[:, 3],
            self.problems,
            Counter({op.decode("utf-8", "replace")[:40]: count for op, count in self.others.items()}),
        )
        return checked(batch, rows[:, 4])


def _table(
    mode: int, rows: NDArray[np.int64], tails: Sequence[bytes]
) -> tuple[NDArray[np.int64], dict[int, str]]:
    """Addresses (n, 32) of rows of one mode, and what was wrong by row."""
    active = bits_of(rows[:, 1].astype(np.uint32))
    counts = active.sum(axis=1)
    base = rows[:, 5:]
    table = np.zeros(active.shape, dtype=np.int64)
    if mode == _STRIDE:
        stride = np.array([int(tail) for tail in tails], dtype=np.int64)
        table = base + stride[:, None] * (np.cumsum(active, axis=1) - 1)
        return np.where(active, table, 0), {}
    if mode == _LIST:
        values, wrong = hex_rows(tails, counts.tolist())
        table[active] = values[np.arange(32) < counts[:, None]]
        return table, wrong
    values, wrong = _differences(tails, counts.tolist())
    sums = base + np.cumsum(values, axis=1)
    table[active] = sums[np.arange(32) < counts[:, None]]
    return table, wrong


def _differences(tails: Sequence[bytes], counts: Sequence[int]) -> tuple[NDArray[np.int64], dict[int, str]]:
    """Differences from lane to lane, left-aligned behind a 0 for the first lane, and what was wrong by row."""
    table = np.zeros((len(tails), 32), dtype=np.int64)
    wrong: dict[int, str] = {}
    for row, (tail, count) in enumerate(zip(tails, counts, strict=True)):
        tokens = tail.split(None, count)[: count - 1]
        try:
            values = [int(token) for token in tokens]
        except ValueError as error:
            wrong[row] = " ".join(str(error).split())[:120]
            continue
        if len(values) < count - 1:
            wrong[row] = f"{len(values)} differences, {count - 1} are needed"
        elif any(abs(value) >> 48 for value in values):
            wrong[row] = "a difference of more than 48 bits"
        else:
            table[row, 1:count] = values
    return table, wrong
