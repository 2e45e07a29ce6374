"""Buffers and accesses of a scenario: the models of the sections `buffers:` and `accesses:`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from ._strict import Strict
from .specs import AccessSpec, BufferSpec

Extent = Annotated[int, Field(ge=1, le=1 << 20)]
LoopRange = (
    Annotated[int, Field(ge=1, le=1 << 20)] | Annotated[list[int], Field(min_length=1, max_length=1 << 16)]
)


class Buffer(Strict):
    """A named piece of a memory: element type, logical shape, and the layout that places its elements."""

    space: Literal["shared"] = Field(default="shared", description="which memory it lies in")
    dtype: str = Field(description="element type: f16, bf16, f32, e4m3, s8, b32, ...")
    shape: list[Extent] | None = Field(
        default=None, min_length=1, max_length=8, description="logical shape; default: the layout's"
    )
    layout: str | None = Field(
        default=None,
        description="TIRx S[...], CuTe shape:stride, TLA, or linear bases; offsets in elements. Default: row-major",
    )
    swizzle: str = Field(
        default="none", description="none, 32B, 64B, 128B, or Sw<B,M,S> in elements, on top of the layout"
    )
    pad: int = Field(
        0, ge=0, le=1 << 20, description="elements left free after each row of a row-major buffer"
    )
    offset: int | None = Field(
        default=None,
        ge=0,
        description="bytes from the start of shared memory; default: behind the buffer before, 1024-aligned",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Buffer:
        if self.layout is None and self.shape is None:
            raise ValueError("needs a shape, a layout, or both")
        if self.pad and self.layout is not None:
            raise ValueError(
                "pad goes with a row-major buffer (shape alone); a layout states its own strides"
            )
        return self

    def spec(self) -> BufferSpec:
        """The buffer as a plain value."""
        shape = tuple(self.shape) if self.shape is not None else None
        return BufferSpec(self.dtype, shape, self.layout, self.swizzle, self.pad, self.offset)


class AccessExpect(Strict):
    """Numbers that one access must have: exact ones, and limits. Sums over its instructions."""

    wavefronts: int | None = Field(default=None, ge=0, description="exact")
    ideal_wavefronts: int | None = Field(default=None, ge=0, description="exact")
    excess_wavefronts: int | None = Field(default=None, ge=0, description="exact")
    bank_conflicts: int | None = Field(default=None, ge=0, description="exact")
    worst_ways: int | None = Field(default=None, ge=0, description="exact, the largest over the instructions")
    instructions: int | None = Field(default=None, ge=0, description="exact number of warp instructions")
    banks: list[int] | None = Field(
        default=None, description="exact set of banks that the access touches, ascending"
    )
    max_wavefronts: int | None = Field(default=None, ge=0)
    max_excess_wavefronts: int | None = Field(default=None, ge=0)
    max_bank_conflicts: int | None = Field(default=None, ge=0)


class Access(Strict):
    """One access of one or more warps: an operation, a buffer, and which element every lane touches.

    Exactly one of `lanes`, `fragment`, `bytes` and `offsets` says where the lanes go.
    """

    name: str = Field(
        default="", max_length=200, description="shown in tables; default: operation and buffer"
    )
    buffer: str | None = Field(
        default=None, description="which buffer; with bytes or offsets it may be left out"
    )
    op: str = Field(
        default="load",
        description="load, store, an atomic, or an instruction by its PTX or SASS name (ld.shared.v4.b32, LDS.128)",
    )
    instruction: str | None = Field(
        default=None,
        alias="with",
        description="take this instruction instead of the widest that fits: ldmatrix.x4, lds.64, ...",
    )
    width: Literal[1, 2, 4, 8, 16] | None = Field(
        default=None, description="bytes a lane and instruction; default: the widest that fits"
    )
    lanes: str | None = Field(
        default=None, description="lane expressions, one a dimension of the buffer: [lane % 8, 8 * step]"
    )
    vector: int = Field(
        default=1,
        ge=1,
        le=4096,
        description="elements a lane touches along the last dimension, from there on",
    )
    fragment: str | None = Field(
        default=None,
        description="register layout over laneid, warpid, m (TIRx text), or a name such as mma.m16n8k16.C",
    )
    tile: list[Extent] | None = Field(
        default=None, description="logical shape of the fragment's tile; default: the fragment's"
    )
    at: str | list[int] | None = Field(
        default=None, description="first element of the tile in the buffer, numbers or expressions"
    )
    bytes: str | None = Field(default=None, description="one expression: the byte offset of every lane")
    offsets: list[int] | list[list[int]] | str | None = Field(
        default=None,
        description="byte offsets of the 32 lanes, a list of such lists, or a file (.csv, .json, .jsonl, .gz)",
    )
    loops: dict[str, LoopRange] = Field(
        default_factory=dict,
        alias="for",
        description="loop variables: {step: 8} counts 0..7, {k: [0, 4]} takes the values",
    )
    warps: int = Field(
        default=1, ge=1, le=64, description="warps that execute it; `warp` is a name in the expressions"
    )
    mask: str | int | list[int] | None = Field(
        default=None,
        description="active lanes: an expression (lane < 8), a bit mask, or a list of lanes; default: all",
    )
    repeat: Annotated[int, Field(ge=1, le=1 << 31)] = Field(
        default=1,
        description="how often all of this happens, such as the blocks of a launch; a factor on every sum",
    )
    kernel: str = Field(
        default="",
        max_length=2000,
        description="part of a kernel's name; `compare` finds the launch of a profile by it",
    )
    expect: AccessExpect = AccessExpect()

    @field_validator("loops")
    @classmethod
    def _loop_names(cls, value: dict[str, object]) -> dict[str, object]:
        for name in value:
            if not name.isidentifier() or name in ("lane", "warp", "min", "max", "abs"):
                raise ValueError(
                    f"'{name}' cannot be a loop variable; use a word other than lane, warp, min, max, abs"
                )
        return value

    @model_validator(mode="after")
    def _one_way(self) -> Access:
        given = [key for key in ("lanes", "fragment", "bytes", "offsets") if getattr(self, key) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none"
            raise ValueError(f"one of lanes, fragment, bytes, offsets says where the lanes go; found {found}")
        if self.buffer is None and given[0] in ("lanes", "fragment"):
            raise ValueError(f"{given[0]} counts elements of a buffer; name it with buffer:")
        if given[0] != "fragment" and (self.tile is not None or self.at is not None):
            raise ValueError("tile and at go with fragment")
        if given[0] != "lanes" and self.vector != 1:
            raise ValueError("vector goes with lanes")
        return self

    def spec(self) -> AccessSpec:
        """The access as a plain value."""
        return AccessSpec(
            name=self.name,
            buffer=self.buffer,
            op=self.op,
            instruction=self.instruction,
            width=self.width,
            lanes=self.lanes,
            vector=self.vector,
            fragment=self.fragment,
            tile=tuple(self.tile) if self.tile is not None else None,
            at=tuple(self.at) if isinstance(self.at, list) else self.at,
            bytes=self.bytes,
            offsets=self.offsets,
            loops=dict(self.loops),
            warps=self.warps,
            mask=self.mask,
            repeat=self.repeat,
            kernel=self.kernel,
        )
