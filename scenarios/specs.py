"""What a buffer and an access are, as plain values: the scenario model and the command line both make these.

They stand apart from the pydantic models so that `bankbench count` answers without loading a validator.
The meaning of every field is documented where users write it, in `model_access.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A named piece of shared memory: dtype, logical shape, layout text, swizzle, padding, byte offset."""

    dtype: str
    shape: tuple[int, ...] | None = None
    layout: str | None = None
    swizzle: str = "none"
    pad: int = 0
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class AccessSpec:
    """An instruction pattern: one of `lanes`, `fragment`, `bytes`, `offsets` says where the lanes go."""

    name: str = ""
    buffer: str | None = None
    op: str = "load"
    instruction: str | None = None
    width: int | None = None
    lanes: str | None = None
    vector: int = 1
    fragment: str | None = None
    tile: tuple[int, ...] | None = None
    at: str | tuple[int, ...] | None = None
    bytes: str | None = None
    offsets: Sequence[int] | Sequence[Sequence[int]] | str | None = None
    loops: Mapping[str, int | Sequence[int]] = field(default_factory=dict)
    warps: int = 1
    mask: str | int | Sequence[int] | None = None
    repeat: int = 1
    kernel: str = ""
