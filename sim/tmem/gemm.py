"""A GEMM main loop as roles: a TMA warp fills a ring of stages, a product warp empties it, epilogue warps drain.

    TMA warp      wait empty[s], expect full[s], copy A and B (and scale factors)
    product warp  wait accumulator free[a]; for each stage: wait full[s], copy scale factors, products, commit empty[s];
                  commit accumulator full[a]
    4 epilogue    wait accumulator full[a]; load their window, wait::ld, arrive on accumulator free[a]

The whole is a `Program` for `simulate`, a list of buffers for `plan`, and a table of bytes by mover.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..chip import Chip, load_chip
from .copy import Copy
from .errors import TmemError
from .geometry import DEFAULT_CHIP
from .loadstore import SHAPES, LoadStore
from .mma import SCALE_VECTORS, MmaShape, mma_kind
from .plan import Placement, Plan, plan
from .program import Barrier, Program, Region, Role, Step, region_of, shared_region
from .wants import AccumulatorWant, AWant, ScaleWant, Want

__all__ = ["GemmLoop"]

_VECTORS = {"mxf8f6f4": "1X", "mxf4": "2X", "mxf4nvf4": "4X"}
_EPILOGUE_WARPS = 4


@dataclass(frozen=True)
class GemmLoop:
    """One block's share of a GEMM: `tiles` output tiles of M x N (of the whole pair), `k_steps` stages of K each.

    Args:
        k_per_stage: elements of K in a stage.
        stages, acc_stages: slots of the shared-memory ring, accumulators in tensor memory.
        operands: "SS", or "TS" with A of one stage resident in tensor memory and used again in every step.
        scale_vec: scale vector of a block-scaled kind; the kind's own when left out.
        sf_stages: slots for scale factors in tensor memory; as many as stages when left out.
        epilogue_columns: columns of an epilogue load; epilogue_cycles: what a warp does with them (convert, store).

    >>> loop = GemmLoop("f16", 128, 256, k_steps=64)
    >>> loop.products, loop.plan.columns
    (256, 512)
    """

    kind: str = "f16"
    M: int = 128
    N: int = 256
    cta_group: int = 1
    operands: str = "SS"
    k_per_stage: int = 64
    k_steps: int = 64
    stages: int = 4
    acc_stages: int = 2
    tiles: int = 1
    scale_vec: str | None = None
    sf_stages: int | None = None
    epilogue_columns: int = 32
    epilogue_cycles: float = 0
    chip: str | Chip = DEFAULT_CHIP

    def __post_init__(self) -> None:
        if self.operands not in ("SS", "TS"):
            raise TmemError(f"operands {self.operands!r}: SS or TS")
        known = SCALE_VECTORS.get(self.kind, ())
        if self.scale_vec is not None and self.scale_vec not in known:
            have = f"has the scale vector {' or '.join(known)}" if known else "has no scale factors"
            raise TmemError(f".kind::{self.kind} {have}, not {self.scale_vec}")
        if self.k_per_stage % self.shape.K:
            raise TmemError(f"{self.k_per_stage} elements of K a stage are no multiple of K = {self.shape.K}")
        for name in ("k_steps", "stages", "acc_stages", "tiles"):
            if getattr(self, name) < 1:
                raise TmemError(f"{name} {getattr(self, name)}: one at least")
        if self.epilogue_columns not in (1, 2, 4, 8, 16, 32, 64, 128):
            raise TmemError(f"epilogue_columns {self.epilogue_columns}: a power of two up to 128")

    @cached_property
    def shape(self) -> MmaShape:
        """One product."""
        return MmaShape(self.kind, self.M, self.N, self.cta_group, arch=load_chip(self.chip).arch)

    @property
    def scaled(self) -> bool:
        """Whether the kind is block-scaled."""
        return mma_kind(self.kind).block_scaled

    @property
    def vector(self) -> str:
        """The scale vector: 1X, 2X or 4X."""
        return self.scale_vec or _VECTORS[self.kind]

    @property
    def products_per_stage(self) -> int:
        """Products of a stage."""
        return self.k_per_stage // self.shape.K

    @property
    def products(self) -> int:
        """Products of the whole loop."""
        return self.products_per_stage * self.k_steps * self.tiles

    @property
    def scale_slots(self) -> int:
        """Slots for scale factors in tensor memory."""
        return self.sf_stages or self.stages

    @property
    def a_stage_bytes(self) -> int:
        """Bytes of A that TMA brings a stage, into one block; 0 when A is resident."""
        return self.shape.a_bytes * self.products_per_stage if self.operands == "SS" else 0

    @property
    def b_stage_bytes(self) -> int:
        """Bytes of B that TMA brings a stage, into one block."""
        return self.shape.b_bytes * self.products_per_stage

    @property
    def stage_bytes(self) -> int:
        """Bytes of a slot of the shared-memory ring: A, B and their scale factors.

        >>> GemmLoop("f16", 128, 256, k_per_stage=64).stage_bytes
        49152
        """
        scales = sum(copy.source_bytes for _, copy in self.scale_copies)
        return self.a_stage_bytes + self.b_stage_bytes + scales

    @property
    def most_stages(self) -> int:
        """Slots that the shared memory of a block holds, at most."""
        return load_chip(self.chip).integer("shared_memory.max_bytes_per_block") // self.stage_bytes

    @cached_property
    def scale_copies(self) -> tuple[tuple[str, Copy], ...]:
        """(operand, copy) for every tcgen05.cp of a stage's scale factors, 4 columns each.

        512 bytes to all four windows; SFB of a pair with M = 128, whose lane halves need different columns of B, takes
        1024 bytes to two windows each.
        """
        found: list[tuple[str, Copy]] = []
        for want in self._scale_wants:
            shape = (".64x128b", ".warpx2::01_23") if want.split else (".32x128b", ".warpx4")
            copies = range(0, want.pieces()[0].columns, 4)
            found += [(want.name, Copy(*shape, 0, at, self.cta_group, chip=self.chip)) for at in copies]
        return tuple(found)

    @cached_property
    def _scale_wants(self) -> tuple[ScaleWant, ...]:
        if not self.scaled:
            return ()
        rows = {"sfa": self.shape.rows_per_cta, "sfb": self.N}
        return tuple(
            ScaleWant(
                name,
                self.scale_slots,
                rows=number,
                k_steps=self.products_per_stage,
                scale_vec=self.vector,
                split=name == "sfb" and self.shape.datapath == "B",
            )
            for name, number in rows.items()
        )

    @property
    def wants(self) -> tuple[Want, ...]:
        """The buffers in tensor memory."""
        wants: list[Want] = [
            AccumulatorWant("acc", self.acc_stages, M=self.M, N=self.N, cta_group=self.cta_group)
        ]
        if self.operands == "TS":
            bits = mma_kind(self.kind).container_bits
            wants.append(AWant("a", M=self.M, K=self.k_per_stage, bits=bits, cta_group=self.cta_group))
        wants += self._scale_wants
        return tuple(wants)

    @cached_property
    def plan(self) -> Plan:
        """Where the buffers lie."""
        return plan(self.wants, self.chip)

    def program(self) -> Program:
        """The roles. Raises TmemError when the buffers do not fit."""
        if not self.plan.fits:
            raise TmemError("; ".join(self.plan.advice))
        barriers = [
            *(Barrier(f"full[{s}]") for s in range(self.stages)),
            *(Barrier(f"empty[{s}]", initial=1) for s in range(self.stages)),
            *(Barrier(f"acc full[{a}]") for a in range(self.acc_stages)),
            *(Barrier(f"acc free[{a}]", _EPILOGUE_WARPS, initial=1) for a in range(self.acc_stages)),
            Barrier("allocated"),
        ]
        roles = [
            Role("tma warp", self._tma(), 0),
            Role("mma warp", self._mma(), 1),
            *(Role(f"epilogue warp {w}", self._epilogue(w), 4 + w) for w in range(_EPILOGUE_WARPS)),
        ]
        name = f"{self.kind} {self.M}x{self.N} {self.operands}"
        return Program(name, tuple(barriers), tuple(roles))

    def _place(self, name: str, number: int, of: int) -> Placement:
        return self.plan.place(f"{name}[{number}]" if of > 1 else name)

    def _shared(self, slot: int) -> tuple[Region, ...]:
        names = [("b", self.b_stage_bytes)]
        if self.operands == "SS":
            names.insert(0, ("a", self.a_stage_bytes))
        return tuple(shared_region(name, slot * size, size) for name, size in names)

    def _scale_shared(self, slot: int) -> Region:
        size = sum(copy.source_bytes for _, copy in self.scale_copies)
        return shared_region("scales", slot * size, size)

    def _tma(self) -> Iterator[Step]:
        size = self.stage_bytes
        ring: list[list[Step]] = []
        for s in range(self.stages):
            full = f"full[{s}]"
            regions = [*self._shared(s), *([self._scale_shared(s)] if self.scaled else [])]
            ring.append(
                [
                    Step("wait", f"empty[{s}]"),
                    Step("expect", full, size),
                    *(
                        Step(
                            "tma",
                            full,
                            r.end - r.first,
                            writes=(r,),
                            text=f"TMA {r.space.removeprefix('smem ')}[{s}]",
                        )
                        for r in regions
                    ),
                ]
            )
        for number in range(self.k_steps * self.tiles):
            yield from ring[number % self.stages]

    def _mma(self) -> Iterator[Step]:
        yield Step("alloc", amount=self.plan.allocation or 0, text=f"alloc {self.plan.allocation}")
        yield Step("arrive", "allocated")
        cache: dict[tuple[int, int, int], list[Step]] = {}
        for tile in range(self.tiles):
            a = tile % self.acc_stages
            yield Step("wait", f"acc free[{a}]")
            yield Step("fence_after")
            for k in range(self.k_steps):
                number = tile * self.k_steps + k
                key = (a, number % self.stages, number % self.scale_slots)
                if key not in cache:
                    cache[key] = list(self._stage(*key))
                yield from cache[key]
            yield Step("commit", f"acc full[{a}]")
        for a in range(self.acc_stages):
            yield Step("wait", f"acc free[{a}]")
        yield Step("fence_after")
        whole = Region("tmem", 0, self.plan.allocation or 0)
        yield Step(
            "dealloc",
            amount=self.plan.allocation or 0,
            writes=(whole,),
            text=f"dealloc {self.plan.allocation}",
        )

    def _stage(self, a: int, slot: int, scale_slot: int) -> Iterator[Step]:
        yield Step("wait", f"full[{slot}]")
        yield Step("fence_after")
        reads = list(self._shared(slot))
        for number, (name, copy) in enumerate(self.scale_copies):
            place = self._place(name, scale_slot, self.scale_slots)
            first = place.column + copy.column
            yield Step(
                "cp",
                reads=(self._scale_shared(slot),),
                writes=(Region("tmem", first, first + copy.columns),),
                item=copy,
                text=f"cp {place.name} {number}",
            )
        if self.scaled:
            reads += [region_of(self._place(name, scale_slot, self.scale_slots)) for name in ("sfa", "sfb")]
        if self.operands == "TS":
            reads.append(region_of(self.plan.place("a")))
        d = self._place("acc", a, self.acc_stages)
        yield Step(
            "mma",
            reads=tuple(reads),
            writes=(region_of(d),),
            item=self.shape,
            operands=self.operands,
            text=f"mma {d.name} stage {slot}",
            times=self.products_per_stage,
        )
        yield Step("commit", f"empty[{slot}]")

    def loads(self, warp: int, a: int = 0) -> Iterator[tuple[LoadStore, Region]]:
        """The tcgen05.ld instructions with which an epilogue warp reads its part of an accumulator."""
        d = self._place("acc", a, self.acc_stages)
        shape = ".16x64b" if d.piece.half else ".32x32b"
        per = SHAPES[shape][1]
        at, end, lane = d.column, d.end, 32 * (warp % 4) + d.lane
        most = self.epilogue_columns // per or 1
        slabs = region_of(d, [warp]).slabs
        while at < end:
            num = min(most, 1 << ((end - at) // per).bit_length() - 1)
            item = LoadStore("ld", shape, num, warp, lane, at, chip=self.chip)
            behind = at + item.columns
            yield item, Region("tmem", at, behind, slabs)
            at = behind

    def _epilogue(self, warp: int) -> Iterator[Step]:
        yield Step("wait", "allocated")
        yield Step("fence_after")
        drains = [list(self._drain(warp, a)) for a in range(self.acc_stages)]
        for tile in range(self.tiles):
            yield from drains[tile % self.acc_stages]

    def _drain(self, warp: int, a: int) -> Iterator[Step]:
        yield Step("wait", f"acc full[{a}]")
        yield Step("fence_after")
        name = self._place("acc", a, self.acc_stages).name
        for item, region in self.loads(warp, a):
            yield Step("ld", reads=(region,), item=item, text=f"ld {name}")
            if self.epilogue_cycles:
                yield Step("wait_ld")
                yield Step("work", amount=self.epilogue_cycles, text="epilogue")
        yield Step("wait_ld")
        yield Step("fence_before")
        yield Step("arrive", f"acc free[{a}]")
