"""One tcgen05.mma with its operands in place: whether they go together, what it touches and moves.

The rules: the accumulator has the layout of the product's datapath and begins at an allowed lane; operands over half
the lanes (D and A) share the lane offset; scale vectors belong to the kind; A in tensor memory is K-major and as wide
as the product's K. Source: PTX ISA 9.1, 9.7.16.10.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..chip import Chip
from .errors import TmemError
from .geometry import DEFAULT_CHIP, geometry
from .mma import SCALE_VECTORS, MmaShape, check_datapath_lane, mma_kind
from .operands import Operand

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
        if shape.sparse != (self.e is not None):
            raise TmemError(
                "a sparse product needs metadata" if shape.sparse else "metadata goes with .sp products"
            )
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
        if self.d.half_lanes and a.lane != self.d.lane:
            raise TmemError(
                f"A begins at lane {a.lane} and D at {self.d.lane}; half-lane operands share the lane offset"
            )

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
            factors = int(self.scale_vec[0])
            size += sum(sf.shape[0] * factors * sf.replicas for sf in (self.sfa, self.sfb) if sf is not None)
        return size + (self.e.unique_bytes if self.e is not None else 0)

    @property
    def tmem_written_bytes(self) -> int:
        """Bytes written in tensor memory."""
        return self.d.unique_bytes


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
