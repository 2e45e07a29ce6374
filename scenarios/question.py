"""One access asked on the command line: a layout or offsets, an operation, and which lanes go where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..sim.chip import Chip
from .buffers import PlacedBuffer, place_buffers
from .errors import ScenarioError
from .instruction import instruction_of
from .lower import lower
from .lowered import LoweredAccess
from .specs import AccessSpec, BufferSpec

_NUMBERS = re.compile(
    r"^[\s,;\[\]()]*(0[xX][0-9a-fA-F]+|\d+)([\s,;\[\]()]+(0[xX][0-9a-fA-F]+|\d+))*[\s,;\[\]()]*$"
)


@dataclass(frozen=True, slots=True)
class Question:
    """What `bankbench count` and `explain` are asked; the fields are their options.

    `target` is a layout in any notation, or the byte offsets of the lanes. `by` is row or column, a
    short way to say which element each lane touches.
    """

    target: str = ""
    dtype: str = "f32"
    shape: tuple[int, ...] | None = None
    swizzle: str = "none"
    op: str = "load"
    width: int | None = None
    vector: int = 1
    lanes: str | None = None
    by: str | None = None
    bytes: str | None = None
    mask: str | None = None

    def lower(self, chip: Chip) -> tuple[LoweredAccess, str]:
        """The warp instruction, and a note on what was taken where nothing was said ("" when nothing was)."""
        buffers, access, note = self._access(chip)
        return lower(access, buffers, Path()), note

    def _access(self, chip: Chip) -> tuple[Mapping[str, PlacedBuffer], AccessSpec, str]:
        offsets = _offsets(self.target)
        if offsets is not None or (not self.target and self.bytes is not None):
            if self.lanes is not None or self.by is not None:
                raise ScenarioError(
                    "lanes count elements of a layout; offsets are bytes already", key="--lanes"
                )
            access = AccessSpec(
                op=self.op,
                width=self.width or _width_of(self),
                bytes=self.bytes,
                offsets=offsets,
                mask=_mask(self),
            )
            return {}, access, ""
        if not self.target:
            raise ScenarioError("name a layout, or byte offsets (0,4,8,...), or --bytes 'lane * 4'")
        specs = {"tile": BufferSpec(self.dtype, self.shape, self.target, self.swizzle)}
        buffers = place_buffers(specs, chip)
        if self.bytes is not None:
            access = AccessSpec(
                op=self.op, buffer="tile", width=self.width, bytes=self.bytes, mask=_mask(self)
            )
            return buffers, access, ""
        lanes, mask, note = self._lanes(buffers["tile"])
        vector = self.vector
        if self.width is not None and vector == 1 and self.width > buffers["tile"].itemsize:
            vector = self.width * 8 // buffers["tile"].bits
        access = AccessSpec(
            op=self.op, buffer="tile", width=self.width, lanes=lanes, vector=vector, mask=_mask(self) or mask
        )
        return buffers, access, note

    def _lanes(self, tile: PlacedBuffer) -> tuple[str, str | None, str]:
        """(lane expressions, mask, note): what the user wrote, or the usual pattern of the instruction."""
        if self.lanes is not None:
            return self.lanes, None, ""
        rank, shape = len(tile.shape), tile.shape
        if self.by in ("row", "column"):
            if rank != 2:
                raise ScenarioError(
                    f"--by needs rows and columns, the layout has shape {list(shape)}; use --lanes"
                )
            step = "lane" if self.vector == 1 else f"{self.vector} * lane"
            limit = shape[0] if self.by == "column" else shape[1] // self.vector
            lanes = "[lane, 0]" if self.by == "column" else f"[0, {step}]"
            return lanes, f"lane < {limit}" if limit < 32 else None, ""
        if self.by is not None:
            raise ScenarioError(f"'{self.by}'; row or column", key="--by")
        access = AccessSpec(op=self.op, lanes="")
        instruction = instruction_of(access)
        if rank == 1:
            return f"[{self.vector} * lane]" if self.vector > 1 else "[lane]", None, ""
        if instruction.is_matrix and rank == 2:
            rows = 16 if instruction.matrices > 1 and shape[0] >= 16 else 8
            lanes = f"[lane % {rows}, {128 // tile.bits} * (lane // {rows})]"
            return lanes, None, f"lanes {lanes}, the usual rows of {self.op}; --lanes names others"
        raise ScenarioError(
            "which element does each lane touch? --by column, --by row, or --lanes '[lane % 8, 0]'",
            key="--lanes",
        )


def _offsets(text: str) -> list[int] | None:
    """The numbers of a text that has nothing but numbers, commas and brackets; None for a layout."""
    if not _NUMBERS.match(text) or ":" in text:
        return None
    return [int(word, 0) for word in re.findall(r"0[xX][0-9a-fA-F]+|\d+", text)]


def _width_of(question: Question) -> int | None:
    from ..layouts import dtype_bytes

    spelled = instruction_of(AccessSpec(op=question.op, offsets=[0])).width
    return spelled if spelled is not None else dtype_bytes(question.dtype) * question.vector


def _mask(question: Question) -> str | int | None:
    """An integer mask in any base, or an expression."""
    text = question.mask
    if text is None:
        return None
    try:
        return int(text, 0)
    except ValueError:
        return text
