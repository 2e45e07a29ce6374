"""Hexadecimal numbers in bulk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_DIGIT = np.full(256, 255, dtype=np.uint8)
_DIGIT[ord("0") : ord("9") + 1] = range(10)
_DIGIT[ord("a") : ord("f") + 1] = range(10, 16)
_DIGIT[ord("A") : ord("F") + 1] = range(10, 16)


def hex_numbers(tokens: Sequence[bytes]) -> NDArray[np.int64]:
    """Numbers of hexadecimal tokens, with or without 0x; ValueError when one is none or has more than 15 digits behind
    its leading zeros.

    >>> hex_numbers([b"0x10", b"0x20", b"0xff"]).tolist()
    [16, 32, 255]
    """
    if not tokens:
        return np.zeros(0, dtype=np.int64)
    length = len(tokens[0])
    if length > 2 and set(map(len, tokens)) == {length}:
        return hex_table(np.frombuffer(b"".join(tokens), dtype=np.uint8).reshape(len(tokens), length))
    values = [int(token, 16) for token in tokens]
    if max(values) >> 62 or min(values) < 0:
        raise ValueError("an address of more than 62 bits")
    return np.array(values, dtype=np.int64)


def hex_table(text: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Numbers of equally long tokens as bytes, shape (..., length) to (...); tokens start with 0x or with a digit."""
    if not text.size:
        return np.zeros(text.shape[:-1], dtype=np.int64)
    if text.shape[-1] > 2 and text[..., 1].flat[0] in (ord("x"), ord("X")):
        if not ((text[..., 0] == ord("0")).all() and ((text[..., 1] | 32) == ord("x")).all()):
            raise ValueError("hexadecimal numbers with and without 0x side by side")
        text = text[..., 2:]
    digits = _DIGIT[text]
    if digits.size and digits.max() > 15:
        raise ValueError("a character that is no hexadecimal digit")
    if text.shape[-1] > 15 and digits[..., :-15].any():
        raise ValueError("an address of more than 60 bits")
    found = np.zeros(text.shape[:-1], dtype=np.int64)
    for place in range(max(0, text.shape[-1] - 15), text.shape[-1]):
        found = (found << 4) | digits[..., place]
    return found


def hex_rows(tails: Sequence[bytes], counts: Sequence[int]) -> tuple[NDArray[np.int64], dict[int, str]]:
    """The first `counts[i]` numbers of each tail, left-aligned in rows of 32, and what was wrong by row.

    Tails whose numbers are equally long with one blank between them, as tracers print them, are converted as one
    table of bytes; the others number by number.
    """
    table = np.zeros((len(tails), 32), dtype=np.int64)
    wrong: dict[int, str] = {}
    groups: dict[tuple[int, int], list[int]] = {}
    single: list[int] = []
    for row, (tail, count) in enumerate(zip(tails, counts, strict=True)):
        length = tail.find(b" ")
        if length > 2 and len(tail) + 1 >= count * (length + 1):
            groups.setdefault((count, length), []).append(row)
        else:
            single.append(row)
    for (count, length), rows in groups.items():
        size = count * (length + 1)
        text = b"".join([(tails[row] + b" ")[:size] for row in rows])
        cells = np.frombuffer(text, dtype=np.uint8).reshape(len(rows), count, length + 1)
        good = (cells[:, :, length] == ord(" ")).all(axis=1)
        good &= ~(cells[:, :, :length] == ord(" ")).any(axis=(1, 2))
        try:
            table[np.array(rows)[good], :count] = hex_table(cells[good][:, :, :length])
        except ValueError:
            good[:] = False
        single += np.array(rows)[~good].tolist()
    for row in single:
        tokens = tails[row].split(None, counts[row])[: counts[row]]
        try:
            if len(tokens) < counts[row]:
                raise ValueError(f"{len(tokens)} addresses, {counts[row]} are needed")
            table[row, : counts[row]] = hex_numbers(tokens)
        except ValueError as error:
            wrong[row] = " ".join(str(error).split())[:120]
    return table, wrong
