"""Files to text: plain, gzip, xz or zstd; UTF-8 with or without a mark, UTF-16 with one."""

from __future__ import annotations

import gzip
import lzma
import zlib
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from ..errors import Place, ScenarioError

# What readers of gzip, xz and zstd raise for a file that is cut off or has changed bytes.
DAMAGED = (OSError, EOFError, lzma.LZMAError, zlib.error)
MOST_BYTES = 64 << 20  # the cells of an export take several times its text


def open_bytes(path: Path) -> IO[bytes]:
    """The decompressed bytes of a file as a stream; the kind is told by the content, not by the name."""
    return unpack(path.open("rb"))


def unpack(stream: BufferedReader) -> IO[bytes]:
    """A stream of the decompressed bytes of an open file."""
    magic = stream.peek(6)[:6]
    found: Any = stream
    if magic[:2] == b"\x1f\x8b":
        found = gzip.open(stream)  # noqa: SIM115 (the caller closes it)
    elif magic == b"\xfd7zXZ\x00":
        found = lzma.open(stream)  # noqa: SIM115
    elif magic[:4] == b"\x28\xb5\x2f\xfd":
        import pyarrow as pa

        found = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
    return found


def read_text(path: Path, most: int = MOST_BYTES) -> tuple[str, str]:
    """(text, note): the whole file; `note` says when it ends before its compression does ("" otherwise).

    Raises `ScenarioError` for a file that is not there, cannot be read, is too long, or is no text.
    """
    place = Place(str(path))
    data, note = bytearray(), ""
    try:
        with open_bytes(path) as stream:
            try:
                read = getattr(stream, "read1", stream.read)  # hands out what there is before an early end
                while chunk := read(1 << 16):
                    data += chunk
                    if len(data) > most:
                        raise ScenarioError(
                            f"more than {most >> 20} MiB of text; split the export", place=place
                        )
            except (*DAMAGED, ValueError) as error:
                if isinstance(error, ScenarioError) or not data:
                    raise
                note = f"the compressed file is cut off or damaged ({' '.join(str(error).split())})"
    except ScenarioError:
        raise
    except FileNotFoundError:
        raise ScenarioError("no such file", place=place) from None
    except (*DAMAGED, ValueError) as error:
        raise ScenarioError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}", place=place
        ) from None
    return decode(data, place), note


def decode(data: bytes | bytearray, place: Place) -> str:
    """Text of bytes; single bytes that are no UTF-8 become U+FFFD, a file full of them is refused."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # what redirection in some shells of Windows writes
        return data.decode("utf-16", errors="replace")
    if b"\0" in data[:4096]:
        raise ScenarioError("binary data, not a CSV export; use ncu --csv --page raw", place=place)
    return data.decode("utf-8-sig", errors="replace")
