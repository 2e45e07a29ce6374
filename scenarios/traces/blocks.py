"""A text as blocks of whole lines, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import Place, ScenarioError
from ..profiles.text import DAMAGED, unpack

BLOCK_BYTES = 8 << 20
MOST_LINE = 1 << 20

Progress = Callable[[int, int], None]


def line_blocks(
    path: Path, progress: Progress | None = None, block_bytes: int = BLOCK_BYTES
) -> Iterator[tuple[int, list[bytes]]]:
    """(number of the first line, lines without their ends) block by block; plain, gzip, xz or zstd.

    `progress` is told the bytes of the file that were read, and its size. Raises `ScenarioError` with the line
    when the file cannot be read further; what came before it has been handed out then.
    """
    number, rest = 1, b""
    try:
        size = path.stat().st_size
        with path.open("rb") as raw, unpack(raw) as stream:
            read = getattr(stream, "read1", stream.read)
            while True:
                data, ended = _fill(read, block_bytes)
                if progress is not None:
                    progress(min(raw.tell(), size), size)
                text = rest + data
                if not data:
                    if text:
                        yield number, text.split(b"\n")
                    if ended:
                        raise ScenarioError(
                            f"cannot be read further: {ended}", place=Place(str(path), number)
                        )
                    return
                cut = text.rfind(b"\n")
                if cut < 0:
                    if len(text) > MOST_LINE:
                        raise ScenarioError(
                            f"a line longer than {MOST_LINE} bytes", place=Place(str(path), number)
                        )
                    rest = text
                    continue
                lines = text[:cut].split(b"\n")
                rest = text[cut + 1 :]
                if number == 1 and lines[0].startswith(b"\xef\xbb\xbf"):
                    lines[0] = lines[0][3:]
                yield number, lines
                number += len(lines)
                if ended:
                    raise ScenarioError(f"cannot be read further: {ended}", place=Place(str(path), number))
    except FileNotFoundError:
        raise ScenarioError("no such file", place=Place(str(path))) from None
    except DAMAGED as error:
        raise ScenarioError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}", place=Place(str(path))
        ) from None


def _fill(read: Callable[[int], bytes], size: int) -> tuple[bytes, str]:
    """Up to `size` bytes, and why the stream ended early ("" when it did not)."""
    parts: list[bytes] = []
    have = 0
    while have < size:
        try:
            part = read(min(1 << 18, size - have))
        except DAMAGED as error:
            return b"".join(parts), " ".join(str(error).split())
        if not part:
            break
        parts.append(part)
        have += len(part)
    return b"".join(parts), ""
