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
