"""The section `ascend:` of a scenario: matrices in global memory, tiles in the buffers of a core, and a schedule."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from ._strict import Strict

Extent = Annotated[int, Field(ge=1, le=1 << 24)]
Address = Annotated[int, Field(ge=0, le=1 << 24)]
Memory = Literal["L1", "L0A", "L0B", "L0C", "UB", "BT", "FB"]
Pipe = Literal["S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"]
Text = Annotated[str, Field(min_length=1, max_length=400)]


class Matrix(Strict):
    """A matrix or vector in global memory."""

    shape: list[Extent] = Field(min_length=1, max_length=2, description="logical extents: [rows, columns]")
    dtype: str = Field(default="f16", description="element type")
    layout: str = Field(
        default="", description="layout tag (RowMajor, ColumnMajor, zN, nZ, ...) or a TLA layout"
    )
    l2_hit: float | Literal["auto"] = Field(
        default=0.0,
        description="part of its bytes that L2 has, 0 to 1; auto: re-reads hit as far as all matrices fit into L2",
    )

    shared: int = Field(
        default=1, ge=1, le=256, description="cores that read the same tile of it in the same step"
    )

    @field_validator("l2_hit")
    @classmethod
    def _part(cls, value: float | str) -> float | str:
        if not isinstance(value, str) and not 0 <= value <= 1:
            raise ValueError("l2_hit is a part from 0 to 1, or auto")
        return value


class Tile(Strict):
    """A tile in a buffer of the core; `slots: 2` is double buffering."""

    memory: Memory = Field(alias="in", description="L1, L0A, L0B, L0C, UB, BT or FB")
    shape: list[Extent] = Field(min_length=1, max_length=2, description="extents of the block")
    dtype: str = Field(default="f16", description="element type; f32 in L0C is usual")
    layout: str | None = Field(
        default=None, description="layout tag; default: the format of the memory (L1: zN)"
    )
    slots: int = Field(default=1, ge=1, le=8, description="how many copies take turns")
    at: list[Address] | None = Field(
        default=None, description="byte address of every slot; default: one behind the other"
    )

    @model_validator(mode="after")
    def _addresses(self) -> Tile:
        if self.at is not None and len(self.at) != self.slots:
            raise ValueError(f"at has {len(self.at)} addresses for {self.slots} slots")
        return self


class Copy(Strict):
    """GM to L1 or UB, UB (2201: also L1) to GM, between L1 and UB: `A[m, k]` is an element of a matrix, `A1` a tile."""

    source: Text = Field(alias="from", description="matrix at a coordinate, A[m, k], or a tile")
    target: Text = Field(alias="to", description="a tile, or a matrix at a coordinate")


class Load(Strict):
    """L1 to L0A or L0B (LoadData), BT or FB; transposes when the fractals of the two formats run differently."""

    source: Text = Field(alias="from", description="a tile in L1 at a coordinate: A1[0, k]")
    target: Text = Field(alias="to", description="a tile in L0A, L0B, BT or FB")


class Mmad(Strict):
    """One Mmad: c (+)= a x b, extents from the valid part of the tiles."""

    a: Text
    b: Text
    c: Text
    init: int | str = Field(default=1, description="expression: 1 overwrites c, 0 accumulates")
    unit_flag: bool = Field(
        default=False, description="hand c over to fixpipe by unit flags instead of an event"
    )


class Fixpipe(Strict):
    """L0C out: to a matrix (nz2nd, converting to its type) or to a tile in L1, on 3510 also in UB."""

    source: Text = Field(alias="from")
    target: Text = Field(alias="to")
    unit_flag: bool = Field(default=False)


class VectorOperand(Strict):
    """An operand of a vector instruction: an address in UB, or a tile, with strides in 32-byte blocks."""

    tile: str | None = Field(default=None, description="a tile in UB")
    at: Address | None = Field(default=None, description="byte address in UB")
    offset: int = Field(default=0, ge=0, description="bytes behind the start of the tile")
    block_stride: int = Field(default=1, ge=0, le=65535, description="between the 8 blocks of a repeat")
    repeat_stride: int = Field(default=8, ge=0, le=65535, description="between repeats")

    @model_validator(mode="after")
    def _one(self) -> VectorOperand:
        if (self.tile is None) == (self.at is None):
            raise ValueError("an operand is a tile or an address: give one of tile, at")
        return self


class Vector(Strict):
    """A vector instruction on the Unified Buffer."""

    name: str = Field(default="", max_length=80)
    reads: list[VectorOperand | str] = Field(
        default_factory=list, max_length=4, description="operands or tile names"
    )
    writes: list[VectorOperand | str] = Field(default_factory=list, max_length=2)
    repeats: int | None = Field(default=None, ge=1, le=1 << 20, description="default: what the tile needs")
    blocks: int = Field(default=8, ge=1, le=8, description="active 32-byte blocks of a repeat (the mask)")
    times: int = Field(default=1, ge=1, le=100_000, description="executed so often, one after the other")
    cycles: int | None = Field(default=None, ge=0, description="expected cycles of one execution; checked")


class Lanes(Strict):
    """A SIMT warp, gather or scatter on UB (3510): byte addresses of the lanes."""

    name: str = Field(default="lanes", max_length=80)
    bytes: Text = Field(description="expression of lane, such as lane * 128")
    width: Literal[1, 2, 4, 8] = Field(default=4, description="bytes a lane")
    lanes: int = Field(default=32, ge=1, le=64)
    ways: int | None = Field(default=None, ge=1, description="expected ways; checked")


class Flag(Strict):
    """set_flag or wait_flag: from one pipe to another, with an event id."""

    source: Pipe = Field(alias="from")
    target: Pipe = Field(alias="to")
    id: int | str = Field(default=0, description="event id, a number or an expression of the loop variables")


class Step(Strict):
    """One step of a schedule: a loop, or one instruction."""

    loop: dict[str, int | str] | None = Field(
        default=None,
        alias="for",
        description='{m: "0:8192:128"} or {k: 8}; several variables nest in this order',
    )
    do: list[Step] | None = Field(default=None, min_length=1, description="body of the loop")
    copy_: Copy | None = Field(default=None, alias="copy")
    load: Load | None = None
    mmad: Mmad | None = None
    fixpipe: Fixpipe | None = None
    vector: Vector | None = None
    set_flag: Flag | None = None
    wait_flag: Flag | None = None
    barrier: Literal["ALL", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"] | None = None
    scalar: int | None = Field(default=None, ge=0, le=1 << 30, description="cycles of scalar work")

    @model_validator(mode="after")
    def _one(self) -> Step:
        kinds = [name for name, value in self if value is not None and name not in ("do",)]
        if (self.loop is None) != (self.do is None):
            raise ValueError("a loop has for: and do:")
        if len(kinds) != 1:
            found = ", ".join(kind.rstrip("_") for kind in kinds) or "none"
            raise ValueError(
                f"a step is one of for/do, copy, load, mmad, fixpipe, vector, flags, barrier, scalar; found {found}"
            )
        return self


class AscendExpect(Strict):
    """Numbers that the run must meet."""

    cycles: int | None = Field(default=None, ge=0, description="exact cycles of the schedule")
    max_cycles: int | None = Field(default=None, ge=0)
    min_cube_share: float | None = Field(default=None, ge=0, le=1, description="least busy share of the cube")
    hazards: int | None = Field(
        default=None, ge=0, description="exact number of hazards; 0 unless said otherwise"
    )
    flag_error: str | None = Field(
        default=None, description="the schedule must fail with this text in the message"
    )
    conflict_cycles: int | None = Field(
        default=None, ge=0, description="exact extra cycles of all vector instructions"
    )


class Ascend(Strict):
    """A kernel on one core of an Ascend chip, or single questions to its Unified Buffer."""

    matrices: dict[str, Matrix] = Field(default_factory=dict)
    tiles: dict[str, Tile] = Field(default_factory=dict)
    schedule: list[Step] = Field(default_factory=list)
    vectors: list[Vector] = Field(default_factory=list, description="vector instructions to be judged alone")
    lanes: list[Lanes] = Field(
        default_factory=list, description="SIMT, gather or scatter patterns to be judged alone"
    )
    sync: Literal["auto", "manual"] = Field(
        default="auto",
        description="auto: flags are placed as a careful programmer would; manual: only those written",
    )
    cores: int = Field(default=1, ge=1, le=256, description="cores that share the bandwidth of GM and L2")
    l2_passes: int = Field(
        default=1, ge=1, le=64, description="parts into which the work is split so that each fits into L2"
    )
    mixed: bool = Field(
        default=False, description="cube and vector cores together: 256 bytes of L1 are reserved"
    )
    framework: bool = Field(
        default=False, description="the framework keeps its default reserve: 8 KiB of UB on 910B and 950"
    )
    simt_cache: int = Field(
        default=0,
        ge=0,
        le=1 << 20,
        description="bytes of UB that serve SIMT warps as data cache (950: 32 to 128 KiB)",
    )
    fast: bool = Field(default=False, description="arithmetic instead of agents: the same cycles, sooner")
    timeline: bool = Field(default=True, description="keep start and end of every instruction")
    expect: AscendExpect = Field(default=AscendExpect())

    @model_validator(mode="before")
    @classmethod
    def _something(cls, value: Any) -> Any:
        if isinstance(value, dict) and not any(
            value.get(key) for key in ("tiles", "schedule", "vectors", "lanes")
        ):
            raise ValueError("nothing to do; give tiles, a schedule, vectors or lanes")
        return value
