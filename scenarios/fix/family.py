"""The layouts among which `fix` searches: padding after rows, swizzles, and both; and what may limit them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..skeleton import named_swizzle

NONE = (0, 0, 0)
_MOST_MASK_BITS = 14
NAMED = {named_swizzle(bits): mode for bits, mode in ((1, "32B"), (2, "64B"), (3, "128B"))}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a proposed layout has to keep; the fields mean what `model.Fix` documents. `align` in bytes."""

    align: int = 1
    tma: bool = False
    power_of_two: bool = False
    padding: bool = True
    swizzle: bool = True
    max_bytes: int | None = None

    def stricter(self, other: Limits) -> Limits:
        """Both limits together."""
        sizes = [size for size in (self.max_bytes, other.max_bytes) if size is not None]
        return replace(
            self,
            align=max(self.align, other.align),
            tma=self.tma or other.tma,
            power_of_two=self.power_of_two or other.power_of_two,
            padding=self.padding and other.padding,
            swizzle=self.swizzle and other.swizzle,
            max_bytes=min(sizes, default=None),
        )

    def words(self) -> tuple[str, ...]:
        """The limits that are on, as short texts."""
        found = [f"{self.align}-byte alignment"] if self.align > 1 else []
        found += ["TMA modes only"] if self.tma else []
        found += ["pitch a power of two"] if self.power_of_two else []
        found += ["no padding"] if not self.padding else []
        found += ["no swizzle"] if not self.swizzle else []
        found += [f"at most {self.max_bytes:,} bytes"] if self.max_bytes is not None else []
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Family:
    """Pads (bytes after each row of `row` bytes) and, for each, swizzles in byte bits (B, M, S).

    `keep` is the size in bytes of the chunks that no swizzle takes apart: the widest access, the element and the
    alignment that is asked for. `period` is one row of all banks in bytes: padding by more repeats the banks.
    """

    row: int
    keep: int
    period: int
    limits: Limits
    pad_step: int = 1

    def pads(self) -> list[int]:
        """Bytes of padding to try, ascending, 0 first."""
        if not self.row or not self.limits.padding or self.limits.tma:
            return [0]
        if self.limits.power_of_two:
            first = 1 << (self.row - 1).bit_length()
            pitches = [first << more for more in range(8) if first << more <= max(2 * self.period, first)]
        else:
            pitches = range(self.row, self.row + self.period, self.pad_step)
        return [pitch - self.row for pitch in pitches if pitch % self.limits.align == 0]

    def swizzles(self, last_byte: int) -> NDArray[np.int32]:
        """(k, 3) swizzles B, M, S in byte bits for a buffer that ends with `last_byte`; no swizzle first.

        All with both bit fields apart (|S| >= B: a bijection for certain, and what the notations can say), above the
        chunks that stay whole, and within the address bits of the buffer. Simple ones come first.
        """
        if not self.limits.swizzle:
            return np.array([NONE], np.int32)
        low, high = (self.keep - 1).bit_length(), int(last_byte).bit_length()
        if self.limits.tma:
            # A box of TMA has an inner row of at most the swizzle's span.
            modes = [mode for mode in NAMED if self.row <= 16 << mode[0] and low <= mode[1]]
            return np.array([NONE, *modes], np.int32)
        found = [
            (bits, base, sign * distance)
            for base in range(low, high)
            for bits in range(1, high - base)
            for distance in range(bits, high - base - bits + 1)
            for sign in (1, -1)
        ]
        return np.array([NONE, *sorted(found, key=simplicity)], np.int32)

    def masks(self, size: int) -> NDArray[np.int32]:
        """(k, 3) exclusive ors by any mask of address bits, moved by any distance, that no Sw<B,M,S> is.

        For a buffer that fills `size` bytes, a power of two; rows are (-mask, 0, S). All are bijections, since each
        changes bits by higher ones only (or lower ones only), and none takes apart a chunk of `keep` bytes. Empty
        where there are more than 2**15 of them.
        """
        low, high = (self.keep - 1).bit_length(), size.bit_length() - 1
        if not self.limits.swizzle or self.limits.tma or high - low > _MOST_MASK_BITS:
            return np.empty((0, 3), np.int32)
        found: list[NDArray[np.int32]] = []
        for distance in range(1, high - low):
            changed = np.arange(1, 1 << (high - low - distance), dtype=np.int32) << low
            count = np.array([int(bits).bit_count() for bits in changed])
            lowest = changed & -changed
            run = (changed + lowest) & changed == 0
            changed = changed[~run | (count > distance)]
            zeros = np.zeros_like(changed)
            for mask, shift in ((changed << distance, distance), (changed, -distance)):
                found.append(np.column_stack([-mask, zeros, np.full_like(zeros, shift)]))
        return np.concatenate(found) if found else np.empty((0, 3), np.int32)

    def words(self, masks: int = 0) -> str:
        """The family in words, exactly; `masks` is how many exclusive ors by a mask were in it."""
        parts: list[str] = []
        pads = self.pads()
        if len(pads) > 1:
            parts.append(
                f"padding of 0 to {pads[-1]} bytes after each row of {self.row} bytes"
                + (f" ({len(pads)} choices;" if self.pad_step > 1 or self.limits.align > 1 else " (")
                + f" banks repeat after {self.period} bytes)"
            )
        if self.limits.tma:
            parts.append("the swizzle modes that TMA writes")
        elif self.limits.swizzle:
            parts.append(
                f"every swizzle Sw<B,M,S> with |S| >= B, either sign of S, chunks of {self.keep} bytes kept whole, all "
                "bits within the buffer's addresses"
            )
        text = " times ".join(parts) or "the layout without padding and swizzle"
        return (
            f"{text}; and, without padding, every other exclusive or by a shifted bit mask" if masks else text
        )


def simplicity(swizzle: tuple[int, int, int]) -> tuple[int, int, int, int, int]:
    """Sort key: none, the hardware's modes, few bits, upper bits read, short distance, large chunks; masks last."""
    bits, base, shift = swizzle
    if bits < 0:
        return 4, (-bits).bit_count(), abs(shift), 0, -bits
    named = swizzle in NAMED
    rank = 0 if not bits else (1 if named else (2 if shift > 0 else 3))
    return rank, bits, abs(shift), 0 if base >= 4 else 1, base
