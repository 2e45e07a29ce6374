"""The section `tmem:`: buffers in Blackwell's tensor memory, instructions that move them, the time of a kernel's roles.

What the fields mean is said in their descriptions; what the hardware allows is checked when the section is evaluated.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ._strict import Strict

Finite = Annotated[float, Field(allow_inf_nan=False)]
Columns = Annotated[int, Field(ge=0, le=1 << 16)]
Group = Literal[1, 2]


class Product(Strict):
    """A tcgen05.mma: shape of the whole instruction (of both blocks of a pair together)."""

    kind: str = Field(default="f16", description="f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4")
    M: int = Field(default=128, description="rows")
    N: int = Field(default=128, description="columns")
    K: int | None = Field(default=None, description="only K = 96 of sm_103 has to be said")
    cta_group: Group = Field(default=1, description="1, or 2 for a pair of blocks")
    ws: bool = Field(default=False, description=".ws")
    sparse: bool = Field(default=False, description=".sp")
    operands: Literal["SS", "TS"] = Field(default="SS", description="TS: A in tensor memory")


class AccumulatorOf(Strict):
    """An accumulator M x N; a pair holds half of it in each block."""

    M: int = Field(default=128, description="rows of the whole instruction")
    N: int = Field(default=128, ge=1, le=4096, description="columns")
    cta_group: Group = 1
    ws: bool = False
    sparse: bool = False


class AOf(Strict):
    """A in tensor memory: K-major and packed."""

    M: int = 128
    K: int = Field(default=16, ge=1, le=1 << 14, description="elements of K")
    dtype: str = Field(default="f16", description="element type; 6-bit codes take 8 bits")
    kind: str | None = Field(
        default=None, description="for e2m1: f8f6f4 and mxf8f6f4 keep a code in a byte, mxf4 packs two"
    )
    cta_group: Group = 1


class ScalesOf(Strict):
    """Scale factors of rows of A or columns of B; places are padded to 128 rows as the copies move them."""

    rows: int = Field(default=128, ge=1, le=4096, description="rows of A, or columns of B")
    k_steps: int = Field(default=4, ge=1, le=4096, description="products along K")
    vector: Literal["1X", "2X", "4X"] = Field(default="1X", description="scale factors a row and product")
    split: bool = Field(
        default=False, description="SFB of a pair with M = 128: the lane halves hold different columns"
    )


class TileOf(Strict):
    """Rows x columns of elements; 64 rows take half of every window."""

    rows: int = 128
    cols: int = Field(default=32, ge=1, le=4096)
    dtype: str = "f32"
    packed: bool = Field(default=False, description="narrow elements share columns; otherwise each takes one")


# fields of a buffer that only some kinds of buffers have
_OWNERS = {
    "lane": ("accumulator", "operand", "tile"),
    "together": ("accumulator", "operand", "tile"),
    "dtype": ("layout",),
}


class TmemBuffer(Strict):
    """Something that lies in tensor memory; exactly one of the keys behind `name` up to `columns` says what."""

    name: str = Field(min_length=1, max_length=100)
    accumulator: AccumulatorOf | None = None
    operand: AOf | None = None
    scales: ScalesOf | None = None
    metadata: str | None = Field(default=None, description="sparsity metadata of a product of this kind")
    tile: TileOf | None = None
    layout: str | None = Field(default=None, description="TIRx text over TLane and TCol, with dtype")
    columns: int | None = Field(default=None, ge=1, le=1 << 14, description="plain columns over all lanes")
    dtype: str = Field(default="f32", description="element type of `layout`")
    stages: int = Field(default=1, ge=1, le=512, description="copies side by side, name[0], name[1], ...")
    stride: int | None = Field(
        default=None, ge=1, description="columns between stages; below one stage they overlap"
    )
    at: Columns | None = Field(default=None, description="the column where the kernel put it")
    inside: str | None = Field(default=None, description="lies inside this buffer, at another time")
    offset: Columns = Field(default=0, description="columns from the start of `inside`")
    lane: Literal[0, 16] | None = Field(default=None, description="lane offset of a half-lane buffer")
    together: str = Field(
        default="", description="half-lane buffers with one word here share their lane offset"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> TmemBuffer:
        kinds = ("accumulator", "operand", "scales", "metadata", "tile", "layout", "columns")
        given = [key for key in kinds if getattr(self, key) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none"
            raise ValueError(f"one of {', '.join(kinds)} says what the buffer is; found {found}")
        for key, owners in _OWNERS.items():
            if key in self.model_fields_set and given[0] not in owners:
                raise ValueError(f"{key} goes with {' or '.join(owners)}, not with {given[0]}")
        if self.at is not None and self.inside is not None:
            raise ValueError("at and inside exclude each other")
        return self


class MoveExpect(Strict):
    """Numbers that an instruction must have, a single execution."""

    legal: bool | None = Field(default=None, description="false: the instruction must be refused")
    error: str | None = Field(default=None, description="words of the refusal")
    bytes_read: int | None = None
    bytes_written: int | None = None
    replicas: int | None = None
    registers: int | None = Field(default=None, description="32-bit registers a thread")
    lanes: list[int] | None = Field(default=None, description="first and last lane, over all warps")
    columns: list[int] | None = Field(default=None, description="first and last column")
    interval: Finite | None = Field(default=None, description="cycles between products")
    latency: Finite | None = Field(default=None, description="cycles of one product")


class TmemMove(Strict):
    """One instruction: exactly one of ld, st, cp, shift, mma."""

    name: str = Field(default="", max_length=200)
    ld: str | None = Field(default=None, description=".32x32b.x32, .16x256b.x4.pack::16b, .16x32bx2.x8")
    st: str | None = Field(default=None, description="as ld, with .unpack::16b")
    cp: str | None = Field(default=None, description=".32x128b.warpx4, .128x256b, with a format behind it")
    shift: bool | None = Field(default=None, description="tcgen05.shift.down")
    mma: Product | None = None
    buffer: str | None = Field(default=None, description="the buffer it touches (a stage: acc[0])")
    column: Columns = Field(
        default=0, description="columns from the start of the buffer, or of tensor memory"
    )
    lane: int | None = Field(
        default=None, ge=0, le=127, description="lane of the address; default: the warp's own"
    )
    warps: list[Annotated[int, Field(ge=0, le=63)]] = Field(
        default=[0], min_length=1, description="who executes it"
    )
    split: int | None = Field(default=None, description="immHalfSplitoff of .16x32bx2")
    d: str | None = Field(
        default=None, description="mma: the accumulator's buffer; its layout and place are checked"
    )
    a: str | None = Field(default=None, description="mma: buffer of A in tensor memory")
    sfa: str | None = Field(default=None, description="mma: buffer of the scale factors of A")
    sfb: str | None = Field(default=None, description="mma: buffer of the scale factors of B")
    metadata: str | None = Field(default=None, description="mma: buffer of the sparsity metadata")
    vector: Literal["1X", "2X", "4X"] | None = Field(default=None, description="mma: scale vector")
    times: int = Field(default=1, ge=1, le=1 << 30, description="how often, for the traffic")
    cta_group: Group = 1
    expect: MoveExpect = MoveExpect()

    @model_validator(mode="after")
    def _one_op(self) -> TmemMove:
        given = [key for key in ("ld", "st", "cp", "shift", "mma") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"one of ld, st, cp, shift, mma; found {' and '.join(given) or 'none'}")
        return self

    @property
    def op(self) -> str:
        """Which of the five it is."""
        return next(key for key in ("ld", "st", "cp", "shift", "mma") if getattr(self, key) is not None)


class TmemElement(Strict):
    """Where does this element lie?"""

    buffer: str
    at: list[int] = Field(description="coordinates in the buffer's logical shape")
    lanes: list[int] | None = Field(default=None, description="expected lanes, all copies")
    column: int | None = Field(default=None, description="expected 32-bit column")
    byte: int | None = Field(default=None, description="expected byte within the column")


class DescriptorOf(Strict):
    """A shared-memory descriptor: fields in bytes, or its 64 bits."""

    start: int = 0
    lbo: int = 16
    sbo: int = 1024
    swizzle: Literal["none", "32B", "64B", "128B", "128B_base32B"] = "128B"
    bits: int | None = Field(
        default=None, description="the whole descriptor; the fields are then read from it"
    )


class TmemDescriptor(Strict):
    """Does a shared-memory tile lie as a descriptor expects it?"""

    name: str = ""
    layout: str = Field(description="TIRx or CuTe text, logical (mn, k), offsets in elements")
    dtype: str = "f16"
    swizzle: str = Field(default="none", description="none, 32B, 64B, 128B over the layout's addresses")
    address: int = Field(default=0, ge=0, description="shared-memory byte address of the tile")
    major: Literal["K", "MN"] = "K"
    shape: tuple[int, int] | None = Field(default=None, description="compare this (mn, k) part only")
    descriptor: DescriptorOf = DescriptorOf()
    matches: bool | None = Field(default=None, description="expected answer")


class BoxOf(Strict):
    """A TMA box: swizzle, interleave, and what of its shape is known."""

    name: str = ""
    swizzle: str = Field(default="NONE", description="NONE, 32B, 64B, 96B, 128B, 128B_ATOM_32B, ...")
    interleave: str = Field(default="NONE", description="NONE, 16B, 32B")
    inner_bytes: int | None = Field(default=None, ge=1, description="bytes along the innermost dimension")
    box: list[int] = Field(default=[], description="elements along each dimension, innermost first")
    strides: list[int] = Field(default=[], description="bytes between rows of the global tensor")
    address: int = Field(default=0, ge=0, description="global address")
    destination: int | None = Field(default=None, ge=0, description="shared address, for the base offset")
    legal: bool | None = Field(default=None, description="expected answer")


class GemmExpect(Strict):
    """Limits on a main loop."""

    hazards: int | None = Field(default=None, ge=0)
    max_cycles: Finite | None = None
    cycles: Finite | None = Field(default=None, description="to the cycle")
    interval: Finite | None = Field(default=None, description="cycles between products")
    bound: str | None = Field(default=None, description="tensor datapath, or shared-memory operands")
    columns: int | None = None
    fits: bool | None = None
    busy: str | None = Field(default=None, description="the busiest resource")


class TmemGemm(Strict):
    """A GEMM main loop with a TMA warp, a product warp and four epilogue warps."""

    name: str = Field(default="gemm", max_length=100)
    kind: str = "f16"
    M: int = 128
    N: int = 256
    cta_group: Group = 1
    operands: Literal["SS", "TS"] = Field(default="SS", description="TS: A of a stage stays in tensor memory")
    k_per_stage: int = Field(default=64, ge=1, le=4096, description="elements of K in a stage")
    k_steps: int = Field(default=64, ge=1, le=1 << 20, description="stages of K in a tile")
    stages: int = Field(default=4, ge=1, le=64, description="slots of the shared-memory ring")
    acc_stages: int = Field(default=2, ge=1, le=16)
    tiles: int = Field(
        default=1, ge=1, le=1 << 16, description="output tiles of the block, one after the other"
    )
    vector: Literal["1X", "2X", "4X"] | None = None
    sf_stages: int | None = Field(
        default=None, ge=1, le=64, description="slots for scale factors; default: stages"
    )
    epilogue_columns: int = Field(default=32, description="columns of an epilogue load")
    epilogue_cycles: Finite = Field(default=0, ge=0, description="what a warp does with each load's columns")
    simulate: bool = Field(default=True, description="false: traffic and columns only")
    expect: GemmExpect = GemmExpect()


class BarrierOf(Strict):
    """An mbarrier."""

    name: str
    arrivals: int = Field(default=1, ge=1)
    initial: int = Field(default=0, ge=0, description="phases that count as completed before the start")


class RoleOf(Strict):
    """A warp and its steps: words (wait_ld, wait_st, fence_after, fence_before, fence_async), or mappings.

    {wait: full}, {arrive: free}, {expect: full, bytes: 4096}, {tma: a, bytes: 4096, barrier: full}, {commit: done},
    {mma: {kind: f16, M: 128, N: 128}, d: acc, reads: [sfa], smem: [a]}, {cp: .32x128b.warpx4, buffer: sfa, smem: [s]},
    {ld: .32x32b.x32, buffer: acc}, {st: .32x32b.x32, buffer: P}, {work: 100}, {write: a, cycles: 20},
    {repeat: 4, steps: [...]}, {alloc: 512}, {dealloc: 512}
    """

    name: str
    warp: int = Field(default=0, ge=0, le=63)
    steps: list[Any] = Field(min_length=1)


class RolesProgram(Strict):
    """Roles of a kernel, step by step."""

    name: str = "roles"
    barriers: list[BarrierOf] = Field(default=[])
    roles: list[RoleOf] = Field(min_length=1)
    hazards: int | None = Field(default=None, ge=0, description="expected number of hazards")
    max_cycles: Finite | None = None


class AllocStep(Strict):
    """One step of an allocation sequence: [cta0, alloc, 128], and the first word of what must happen."""

    step: list[str | int] = Field(min_length=1, max_length=4)
    expect: Literal["ok", "blocks", "illegal", "may", "both"] | None = None


class TmemExpect(Strict):
    """Numbers that the plan must have."""

    columns: int | None = Field(default=None, description="columns needed")
    allocation: int | None = Field(default=None, description="columns that tcgen05.alloc is asked for")
    fits: bool | None = None
    unstacked: int | None = Field(default=None, description="columns needed without lane stacking")
    separate: int | None = Field(
        default=None, description="columns when every buffer is allocated on its own"
    )
    places: dict[str, int] = Field(default_factory=dict, description="first column by buffer")


class Tmem(Strict):
    """Tensor memory: a column map, instructions, allocation steps, descriptors, and the time of a main loop."""

    buffers: list[TmemBuffer] = Field(default=[])
    stack: bool = Field(default=True, description="half-lane buffers share columns, at lanes 0 and 16")
    allocate: Literal["least", "whole"] = Field(
        default="least", description="whole: the kernel takes all columns"
    )
    blocks_per_sm: int = Field(default=1, ge=1, le=32, description="blocks that share the columns of an SM")
    moves: list[TmemMove] = Field(default=[])
    elements: list[TmemElement] = Field(default=[])
    descriptors: list[TmemDescriptor] = Field(default=[])
    boxes: list[BoxOf] = Field(default=[], description="TMA boxes to check")
    allocations: list[AllocStep] = Field(
        default=[], description="allocation instructions in order, on one SM"
    )
    pair_events: list[str] = Field(default=[], description="cta0.start, cluster.sync, cta0.alloc.issue, ...")
    pair_safe: bool | None = Field(default=None, description="expected answer for pair_events")
    gemm: list[TmemGemm] = Field(default=[])
    roles: RolesProgram | None = None
    expect: TmemExpect = TmemExpect()

    @model_validator(mode="after")
    def _something(self) -> Tmem:
        parts = ("buffers", "moves", "descriptors", "boxes", "allocations", "pair_events", "gemm", "roles")
        if not any(getattr(self, name) for name in parts):
            raise ValueError(f"nothing to answer; tmem has at least one of {', '.join(parts)}")
        return self
