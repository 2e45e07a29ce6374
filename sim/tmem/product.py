"""One tcgen05.mma with its operands in place: whether they go together, what it touches and moves.

The rules: the accumulator has the layout of the product's datapath and begins at an allowed lane; operands over half
the lanes (D and A) share the lane offset; scale vectors belong to the kind; A in tensor memory is K-major and as wide
as the product's K. Source: PTX ISA 9.1, 9.7.16.10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..chip import Chip
from .errors import TmemError, TmemUnknown
from .geometry import DEFAULT_CHIP, geometry
from .mma import K96, SCALE_VECTORS, MmaShape, check_datapath_lane, mma_kind
from .operands import Operand, a_operand, metadata

__all__ = ["MmaInstruction"]


@dataclass(frozen=True, slots=True)
class MmaInstruction:
    """A product and its operands in tensor memory; B, and A unless given, lie in shared memory.

    Args:
        d: the accumulator; a: A in tensor memory (TS form); sfa, sfb: scale factors; e: sparsity metadata.
        scale_vec: "1X", "2X" or "4X" for block-scaled kinds.
        accumulate: whether D is read too.

    Raises TmemError for operands that do not go together.

    >>> from bankbench.sim.tmem.operands import accumulator
    >>> one = MmaInstruction(MmaShape("f16", 128, 256), accumulator(128, 256))
    >>> one.shared_bytes, one.tmem_read_bytes, one.tmem_written_bytes, one.columns
    (12288, 131072, 131072, (0, 255))
    """

    shape: MmaShape
    d: Operand
    a: Operand | None = None
    sfa: Operand | None = None
    sfb: Operand | None = None
    e: Operand | None = None
    scale_vec: str | None = None
    accumulate: bool = True
    chip: str | Chip = DEFAULT_CHIP

    def __post_init__(self) -> None:
        shape = self.shape
        rows = (shape.rows_per_cta, shape.N)
        if self.d.shape != rows or self.d.datapath != shape.datapath:
            raise TmemError(
                f"the accumulator is {_size(self.d.shape)} in layout {self.d.datapath or '-'}; the product writes "
                f"{_size(rows)} in layout {shape.datapath}"
            )
        check_datapath_lane(shape.datapath, self.d.lane)
        if self.a is not None:
            self._check_a(self.a)
        scaled = mma_kind(shape.kind).block_scaled
        if scaled != (self.sfa is not None and self.sfb is not None) or scaled != (
            self.scale_vec is not None
        ):
            needs = "needs scale factors of A and B and a scale vector" if scaled else "has no scale factors"
            raise TmemError(f".kind::{shape.kind} {needs}")
        if self.scale_vec is not None and self.scale_vec not in SCALE_VECTORS[shape.kind]:
            known = " or ".join(SCALE_VECTORS[shape.kind])
            raise TmemError(f".kind::{shape.kind} has the scale vector {known}, not {self.scale_vec}")
        for name, factors, number in (("A", self.sfa, shape.rows_per_cta), ("B", self.sfb, shape.N)):
            if factors is not None:
                self._check_scales(name, factors, number)
        if shape.sparse != (self.e is not None):
            raise TmemError(
                "a sparse product needs metadata" if shape.sparse else "metadata goes with .sp products"
            )
        if self.e is not None:
            self._check_metadata(self.e)
        last = geometry(self.chip).columns
        for operand in self.operands:
            if operand.column < 0 or operand.column + operand.columns > last:
                end = operand.column + operand.columns - 1
                raise TmemError(
                    f"{operand.name} lies in columns {operand.column} to {end}; there are 0 to {last - 1}"
                )

    def _check_a(self, a: Operand) -> None:
        wanted = (self.shape.rows_per_cta, self.shape.K // 2 if self.shape.sparse else self.shape.K)
        if a.shape[0] != wanted[0] or a.shape[1] < wanted[1]:
            raise TmemError(f"A in tensor memory is {_size(a.shape)}; the product reads {_size(wanted)}")
        bits = mma_kind(self.shape.kind).container_bits
        if a.bits != bits:
            raise TmemError(
                f"A in tensor memory has elements of {a.bits} bits; .kind::{self.shape.kind} packs {bits}"
            )
        letter = self.shape.datapath
        if a.datapath != letter and not (a.datapath == "" and self._lies_as_read(a)):
            if letter in "CEG":
                raise TmemUnknown(
                    f"A in tensor memory for a product in layout {letter}: unknown (in a figure only)"
                )
            raise TmemError(
                f"A in tensor memory lies in layout {a.datapath or '-'}; the product reads layout {letter}"
            )
        if self.d.half_lanes and a.lane != self.d.lane:
            raise TmemError(
                f"A begins at lane {a.lane} and D at {self.d.lane}; half-lane operands share the lane offset"
            )

    def _lies_as_read(self, a: Operand) -> bool:
        """Whether a layout that the kernel states itself puts every element of A where the product reads it."""
        if self.shape.datapath in "CEG":
            return False
        wanted = a_operand(self.shape.M, a.shape[1], a.bits, self.shape.cta_group).at(a.column, a.lane)
        ours, theirs = a.cells(), wanted.cells()
        pairs = ((ours.lanes, theirs.lanes), (ours.column, theirs.column), (ours.bit, theirs.bit))
        return all(np.array_equal(one, other) for one, other in pairs)

    def _check_scales(self, name: str, factors: Operand, number: int) -> None:
        split = name == "B" and self.shape.datapath == "B"
        if (factors.datapath == "B") != split:
            halves = (
                "half of B's columns in each lane half (split)" if split else "every row in all four windows"
            )
            raise TmemError(f"scale factors of {name}: the product needs {halves}")
        vector = self._factors
        if factors.shape[0] < number or factors.shape[1] < vector:
            raise TmemError(
                f"scale factors of {name} are {_size(factors.shape)}; the product reads {number} x {vector}"
            )

    def _check_metadata(self, e: Operand) -> None:
        wanted = metadata(self.shape.kind, self.shape.rows_per_cta)
        if e.layout != wanted.layout or e.shape != wanted.shape:
            raise TmemError(
                f"the metadata is that of another kind; .kind::{self.shape.kind} needs {_size(wanted.shape)}"
            )

    @property
    def _factors(self) -> int:
        """Scale factors of a row and product: those of the vector, half as many again for K = 96."""
        factors = int((self.scale_vec or "0")[0])
        return factors * 3 // 2 if self.shape.K == K96 else factors

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands in tensor memory."""
        return tuple(item for item in (self.d, self.a, self.sfa, self.sfb, self.e) if item is not None)

    @property
    def mode(self) -> str:
        """ "TS" with A in tensor memory, else "SS"."""
        return "SS" if self.a is None else "TS"

    @property
    def columns(self) -> tuple[int, int]:
        """First and last column of the accumulator."""
        return self.d.column, self.d.column + self.d.columns - 1

    @property
    def lanes(self) -> int:
        """Lanes that the accumulator uses."""
        return self.d.lanes_used

    @property
    def shared_bytes(self) -> int:
        """Bytes of A and B read from shared memory, a block."""
        return self.shape.b_bytes + (self.shape.a_bytes if self.a is None else 0)

    @property
    def tmem_read_bytes(self) -> int:
        """Bytes read in tensor memory: D when it accumulates, A and scale factors with their copies, metadata."""
        size = self.d.unique_bytes if self.accumulate else 0
        if self.a is not None:
            size += self.shape.a_bytes * self.a.replicas
        if self.scale_vec is not None:
            scales = (self.sfa, self.sfb)
            size += sum(sf.shape[0] * self._factors * sf.replicas for sf in scales if sf is not None)
        return size + (self.e.unique_bytes if self.e is not None else 0)

    @property
    def tmem_written_bytes(self) -> int:
        """Bytes written in tensor memory."""
        return self.d.unique_bytes


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
