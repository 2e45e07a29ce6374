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

WIDTHS = (1, 2, 4, 8, 16)

_NUMBERS = re.compile(
    r"^[\s,;\[\]()]*(-?0[xX][0-9a-fA-F]+|-?[0-9]+)"
    r"([\s,;\[\]()]+(-?0[xX][0-9a-fA-F]+|-?[0-9]+))*[\s,;\[\]()]*$"
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
        if self.width is not None and self.width not in WIDTHS:
            raise ScenarioError(f"{self.width} bytes a lane; 1, 2, 4, 8 or 16", key="--width")
        offsets = _offsets(self.target)
        if offsets is not None or (not self.target and self.bytes is not None):
            self._refuse("offsets are bytes already", "lanes", "by", "shape", "swizzle")
            if offsets is not None and self.bytes is not None:
                raise ScenarioError("offsets are given already; name one of the two", key="--bytes")
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
            self._refuse("--bytes says already which bytes of the layout each lane touches", "lanes", "by")
            self._refuse("--bytes are addresses already", "swizzle")
            width = self.width or (_width_of(self) if self.vector > 1 else None)
            access = AccessSpec(op=self.op, buffer="tile", width=width, bytes=self.bytes, mask=_mask(self))
            return buffers, access, ""
        vector = self._elements(buffers["tile"])
        lanes, mask, note = self._lanes(buffers["tile"], vector)
        own = _mask(self)
        access = AccessSpec(
            op=self.op,
            buffer="tile",
            width=self.width,
            lanes=lanes,
            vector=vector,
            mask=mask if own is None else own,
        )
        return buffers, access, note

    def _refuse(self, why: str, *options: str) -> None:
        """An option that would change nothing is a misunderstanding, not a detail."""
        for name in options:
            if getattr(self, name) not in (None, "none"):
                raise ScenarioError(f"{why}, which this option does not change", key=f"--{name}")

    def _elements(self, tile: PlacedBuffer) -> int:
        """Elements that a lane touches: those of --vector, or as many as the width that was asked for holds."""
        instruction = instruction_of(AccessSpec(op=self.op, lanes=""))
        width = self.width or (None if instruction.is_matrix else instruction.width)
        if self.vector > 1 or width is None or width * 8 <= tile.bits or width * 8 % tile.bits:
            return self.vector
        return width * 8 // tile.bits

    def _lanes(self, tile: PlacedBuffer, vector: int) -> tuple[str, str | None, str]:
        """(lane expressions, mask, note): what the user wrote, or the usual pattern of the instruction."""
        if self.lanes is not None:
            self._refuse("--lanes says already which element each lane touches", "by")
            return self.lanes, None, ""
        rank, shape = len(tile.shape), tile.shape
        step = "lane" if vector == 1 else f"{vector} * lane"
        if self.by in ("row", "column"):
            if rank != 2:
                raise ScenarioError(
                    f"--by needs rows and columns, the layout has shape {list(shape)}; use --lanes"
                )
            if vector > shape[1]:
                raise ScenarioError(f"a lane takes {vector} elements of a row, which has {shape[1]}")
            limit = shape[0] if self.by == "column" else shape[1] // vector
            lanes = "[lane, 0]" if self.by == "column" else f"[0, {step}]"
            return lanes, f"lane < {limit}" if limit < 32 else None, ""
        if self.by is not None:
            raise ScenarioError(f"'{self.by}'; row or column", key="--by")
        instruction = instruction_of(AccessSpec(op=self.op, lanes=""))
        if rank == 1:
            return f"[{step}]", None, ""
        if instruction.is_matrix and rank == 2:
            rows = 16 if instruction.matrices > 1 and shape[0] >= 16 else 8
            lanes = f"[lane % {rows}, {128 // tile.bits} * (lane // {rows})]"
            return lanes, None, f"lanes {lanes}, the usual rows of {self.op}; --lanes names others"
        short = "--by column, --by row, or " if rank == 2 else ""
        items = ", ".join(["lane % 8", *["0"] * (rank - 1)][:rank])
        raise ScenarioError(
            f"which element does each lane touch? {short}--lanes '[{items}]'",
            key="--lanes",
        )


def _offsets(text: str) -> list[int] | None:
    """The numbers of a text that has nothing but numbers, commas and brackets; None for a layout."""
    if not _NUMBERS.match(text) or ":" in text:
        return None
    words = re.findall(r"-?0[xX][0-9a-fA-F]+|-?[0-9]+", text)
    try:
        return [int(word, 0 if "x" in word.lower() else 10) for word in words]
    except ValueError:  # Python reads no number of more than 4,300 digits
        raise ScenarioError(
            "a number without end; an offset is a whole number of bytes", key="offsets"
        ) from None


def _width_of(question: Question) -> int | None:
    from ..layouts import dtype_bytes

    spelled = instruction_of(AccessSpec(op=question.op, offsets=[0])).width
    if spelled is not None:
        return spelled
    width = dtype_bytes(question.dtype) * question.vector
    if width not in WIDTHS:
        raise ScenarioError(
            f"{question.vector} elements of {question.dtype} are {width} bytes a lane; an access has 1, 2, 4, 8 or 16",
            key="--vector",
        )
    return width


def _mask(question: Question) -> str | int | None:
    """An integer mask in any base, or an expression."""
    text = question.mask
    if text is None:
        return None
    try:
        return int(text, 0)
    except ValueError:
        return text
