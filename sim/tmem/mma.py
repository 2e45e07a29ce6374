"""tcgen05.mma: which shapes exist, which datapath they take, and the instruction descriptor.

Source: PTX ISA 9.1, 9.7.16.2.1 table 39 (shapes), 9.7.16.10.5 (datapaths and lane alignment), tables 42 to 44
(descriptor), 56 and 57 (scale vectors). Where PTX prints datapath "2x3" for layout E, all code implements 2x2, which is
followed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .errors import TmemError

__all__ = ["KINDS", "MmaKind", "MmaShape", "check_datapath_lane", "datapath", "mma_kind"]


@dataclass(frozen=True, slots=True)
class MmaKind:
    """A `.kind`: width of a packed operand element, whether `.ws` exists, whether it is block-scaled.

    `container_bits` is what an element takes in memory: mxf8f6f4 and f8f6f4 keep 4- and 6-bit codes in bytes.
    """

    name: str
    container_bits: int
    has_ws: bool
    block_scaled: bool
    archs: tuple[str, ...] = ("sm_100", "sm_101", "sm_103", "sm_110")

    @property
    def k(self) -> int:
        """K of a dense product: 32 bytes of operand."""
        return 256 // self.container_bits

    @property
    def k_sparse(self) -> int:
        """K of a sparse product: twice the dense one."""
        return 2 * self.k


KINDS: dict[str, MmaKind] = {
    kind.name: kind
    for kind in (
        MmaKind("f16", 16, True, False),
        MmaKind("tf32", 32, True, False),
        MmaKind("f8f6f4", 8, True, False),
        MmaKind("i8", 8, True, False, ("sm_100", "sm_110")),
        MmaKind("mxf8f6f4", 8, False, True),
        MmaKind("mxf4", 4, False, True),
        MmaKind("mxf4nvf4", 4, False, True),
    )
}
SCALE_VECTORS: dict[str, tuple[str, ...]] = {"mxf8f6f4": ("1X",), "mxf4": ("2X",), "mxf4nvf4": ("2X", "4X")}
K96 = 96
_LARGEST_N = 256


def mma_kind(name: str) -> MmaKind:
    """A kind by name, with or without ".kind::".

    >>> mma_kind(".kind::f16").k, mma_kind("mxf4nvf4").k_sparse
    (16, 128)
    """
    key = name.removeprefix(".kind::")
    if key not in KINDS:
        raise TmemError(f"unknown kind {name!r}; kinds: {', '.join(KINDS)}")
    return KINDS[key]


def _n_values(kind: MmaKind, cta_group: int, ws: bool, sparse: bool) -> tuple[int, ...]:
    if ws:
        return (64, 128) if sparse else (64, 128, 256)
    if kind.name == "i8":
        step = 16 * cta_group
        return (*((8, 24) if cta_group == 1 else ()), *range(step, _LARGEST_N + 1, step))
    return tuple(range(8 * cta_group, _LARGEST_N + 1, 8 * cta_group))


def _m_values(kind: MmaKind, cta_group: int, ws: bool, sparse: bool) -> tuple[int, ...]:
    if ws:
        return (32, 64, 128)
    if cta_group == 2:
        return (256,) if kind.block_scaled and sparse else (128, 256)
    return (128,) if kind.block_scaled else (64, 128)


@dataclass(frozen=True, slots=True)
class MmaShape:
    """The shape of one tcgen05.mma: M x N x K of the whole instruction (both blocks of a pair together).

    Raises TmemError when it does not exist, with what would be right. `k` is the kind's own when left out.

    >>> MmaShape("f16", 128, 12)
    Traceback (most recent call last):
    bankbench.sim.tmem.errors.TmemError: .kind::f16 cta_group::1 has no N = 12; multiples of 8 up to 256
    """

    kind: str
    M: int
    N: int
    cta_group: int = 1
    ws: bool = False
    sparse: bool = False
    k: int | None = None
    arch: str = "sm_100a"

    def __post_init__(self) -> None:
        kind = mma_kind(self.kind)
        flags = f"{' .ws' if self.ws else ''}{' .sp' if self.sparse else ''}"
        what = f".kind::{kind.name}{flags} cta_group::{self.cta_group}"
        if self.cta_group not in (1, 2):
            raise TmemError(f"cta_group::{self.cta_group}: 1 or 2")
        if not self.arch.startswith(kind.archs):
            raise TmemError(
                f".kind::{kind.name} does not exist on {self.arch}; it needs {' or '.join(kind.archs)}"
            )
        if self.ws and (self.cta_group == 2 or not kind.has_ws):
            raise TmemError(
                f"{what} does not exist: .ws goes with cta_group::1 of the kinds without block scaling"
            )
        rows = _m_values(kind, self.cta_group, self.ws, self.sparse)
        if self.M not in rows:
            raise TmemError(f"{what} has no M = {self.M}; {' or '.join(str(n) for n in rows)}")
        columns = _n_values(kind, self.cta_group, self.ws, self.sparse)
        if self.N not in columns:
            raise TmemError(f"{what} has no N = {self.N}; {_n_text(columns)}")
        natural = kind.k_sparse if self.sparse else kind.k
        if self.k == K96 and kind.container_bits == 4 and not self.sparse:
            if not self.arch.startswith("sm_103") or self.M != 256:
                raise TmemError(f"K = 96 needs M = 256 on sm_103a, not M = {self.M} on {self.arch}")
        elif self.k not in (None, natural):
            raise TmemError(f"{what} has K = {natural}, not {self.k}")

    @property
    def K(self) -> int:
        """Elements of K of the instruction."""
        kind = mma_kind(self.kind)
        return self.k or (kind.k_sparse if self.sparse else kind.k)

    @property
    def datapath(self) -> str:
        """The letter of the accumulator's layout, A to G."""
        return datapath(self.M, self.cta_group, self.ws, self.sparse)

    @property
    def rows_per_cta(self) -> int:
        """Rows of A and D in each block."""
        return self.M // self.cta_group

    @property
    def a_bytes(self) -> int:
        """Bytes of A that each block supplies; a sparse A holds half of K."""
        return self.rows_per_cta * self._row_bytes(self.K // 2 if self.sparse else self.K)

    @property
    def b_bytes(self) -> int:
        """Bytes of B that each block reads from its own shared memory: half the columns in a pair."""
        return self.N // self.cta_group * self._row_bytes(self.K)

    def _row_bytes(self, elements: int) -> int:
        return elements * mma_kind(self.kind).container_bits // 8

    @property
    def flops(self) -> int:
        """Multiplications and additions of the instruction."""
        return 2 * self.M * self.N * self.K


def _n_text(columns: tuple[int, ...]) -> str:
    step = columns[-1] - columns[-2]
    if len(columns) > 3 and all(n % step == 0 for n in columns):
        return f"multiples of {step} up to {columns[-1]}"
    if len(columns) > 3:
        odd = [str(n) for n in columns if n % step]
        return f"{', '.join(odd)} and multiples of {step} up to {columns[-1]}"
    return " or ".join(str(n) for n in columns)


def datapath(M: int, cta_group: int, ws: bool = False, sparse: bool = False) -> str:
    """The layout letter of the accumulator. Raises TmemError when no product has this M.

    >>> datapath(64, 1), datapath(128, 2), datapath(128, 2, sparse=True)
    ('F', 'B', 'C')
    """
    letter = {
        (32, 1): "G" if ws else None,
        (64, 1): "E" if ws else "F",
        (128, 1): "D",
        (128, 2): "C" if sparse else "B",
        (256, 2): "A",
    }.get((M, cta_group))
    if letter is None or (ws and cta_group == 2):
        raise TmemError(f"no tcgen05.mma{'.ws' if ws else ''} has M = {M} with cta_group::{cta_group}")
    return letter


def check_datapath_lane(letter: str, lane: int) -> None:
    """Raises TmemError unless an accumulator of this datapath may begin at the lane: 0, or 16 for C and F.

    >>> check_datapath_lane("D", 16)
    Traceback (most recent call last):
    bankbench.sim.tmem.errors.TmemError: an accumulator in layout D begins at lane 0, not 16
    """
    allowed = (0, 16) if letter in "CF" else (0,)
    if lane not in allowed:
        raise TmemError(
            f"an accumulator in layout {letter} begins at lane {' or '.join(map(str, allowed))}, not {lane}"
        )


OperandMode = Literal["SS", "TS"]
