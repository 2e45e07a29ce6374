"""The 32-bit instruction descriptor of tcgen05.mma. Source: PTX ISA 9.1, tables 42 to 44.

plain kinds: 0-1 sparsity selector, 2 sparse, 3 saturate, 4-5 D, 7-9 A, 10-12 B, 13/14 negate A/B, 15/16 transpose A/B,
             17-22 N/8, 24-28 M/16, 30-31 maximum shift (.ws)
mx kinds:    4-5 SFB id, 23 scale type (UE8M0 1), 27-28 M/128, 29-30 SFA id, 31 K = 96
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import TmemError
from .mma import K96, MmaKind, mma_kind

__all__ = ["InstructionDescriptor", "kind_of_types"]

_A_TYPES: dict[str, dict[str, int]] = {
    "f16": {"f16": 0, "bf16": 1},
    "tf32": {"tf32": 2},
    "f8f6f4": {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5},
    "i8": {"u8": 0, "s8": 1},
    "mxf8f6f4": {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5},
    "mxf4": {"e2m1": 1},
    "mxf4nvf4": {"e2m1": 1},
}
_D_TYPES = {"f16": 0, "f32": 1, "s32": 2}
_SCALES = {"ue4m3": 0, "ue8m0": 1}


def kind_of_types(a: str, b: str, d: str = "f32", scale: str | None = None) -> str:
    """The kind that multiplies these types: f16, tf32, f8f6f4, i8, or with a scale type mxf8f6f4, mxf4, mxf4nvf4.

    >>> kind_of_types("e4m3", "e5m2"), kind_of_types("e2m1", "e2m1", scale="ue4m3")
    ('f8f6f4', 'mxf4nvf4')
    """
    names = ("mxf4nvf4", "mxf4", "mxf8f6f4") if scale else ("f16", "tf32", "f8f6f4", "i8")
    for name in names:
        if name == "mxf4" and scale == "ue4m3":
            continue
        if name == "mxf4nvf4" and scale == "ue8m0" and a == b == "e2m1":
            continue
        if a in _A_TYPES[name] and b in _A_TYPES[name]:
            return name
    raise TmemError(
        f"no tcgen05.mma multiplies {a} by {b}{f' with scales {scale}' if scale else ''} into {d}"
    )


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """The instruction descriptor of one product. Types are `f16`, `e4m3`, ...; majors "K" or "MN".

    Raises TmemError for types, shapes or flags that the kind does not have.

    >>> hex(InstructionDescriptor("f16", "bf16", "bf16", "f32", 64, 64).encode())
    '0x4100490'
    """

    kind: str
    a: str
    b: str
    d: str
    M: int
    N: int
    major_a: str = "K"
    major_b: str = "K"
    negate_a: bool = False
    negate_b: bool = False
    saturate: bool = False
    sparse: bool = False
    selector: int = 0
    max_shift: int = 0
    scale: str | None = None
    sfa_id: int = 0
    sfb_id: int = 0
    k: int | None = None

    def __post_init__(self) -> None:
        kind = mma_kind(self.kind)
        types = _A_TYPES[kind.name]
        for operand, name in (("A", self.a), ("B", self.b)):
            if name not in types:
                raise TmemError(f".kind::{kind.name} takes {', '.join(types)} as {operand}, not {name}")
        if kind.block_scaled != (self.scale is not None):
            needs = "needs a scale type" if kind.block_scaled else "has no scale factors"
            raise TmemError(f".kind::{kind.name} {needs}")
        if self.scale is not None and self.scale not in _SCALES:
            raise TmemError(f"scale type {self.scale!r}: {' or '.join(_SCALES)}")
        if kind.name in ("mxf4", "mxf8f6f4") and self.scale == "ue4m3":
            raise TmemError(f".kind::{kind.name} has ue8m0 scales only")
        for operand, major in (("A", self.major_a), ("B", self.major_b)):
            if major not in ("K", "MN"):
                raise TmemError(f"major {major!r} of {operand}: K or MN")
            if major == "MN" and kind.container_bits == 4:
                raise TmemError(f".kind::{kind.name} does not transpose: {operand} is K-major")
        allowed = ("f16", "f32")
        if kind.name == "i8":
            allowed = ("s32",)
        elif kind.name == "tf32" or kind.block_scaled:
            allowed = ("f32",)
        if self.d not in allowed:
            raise TmemError(f".kind::{kind.name} accumulates in {' or '.join(allowed)}, not {self.d}")
        # the field of block-scaled kinds counts M in 128 rows
        rows = (128, 256) if kind.block_scaled else (32, 64, 128, 256)
        if self.N % 8 or not 8 <= self.N <= 256 or self.M not in rows:
            known = f"{', '.join(map(str, rows[:-1]))} or {rows[-1]}"
            raise TmemError(
                f".kind::{kind.name} M = {self.M}, N = {self.N}: M is {known}, N a multiple of 8 up to 256"
            )
        self._check_flags(kind)

    def _check_flags(self, kind: MmaKind) -> None:
        """Fields that the encoding of this kind does not have, and values that do not fit into two bits."""
        for name in ("selector", "max_shift", "sfa_id", "sfb_id"):
            if not 0 <= getattr(self, name) <= 3:
                raise TmemError(f"descriptor field {name} {getattr(self, name)}: 0 to 3")
        foreign = {
            "saturate": bool(self.saturate) and kind.name != "i8",
            "negate_a": bool(self.negate_a) and kind.name == "i8",
            "negate_b": bool(self.negate_b) and kind.name == "i8",
            "max_shift": self.max_shift != 0 and not kind.has_ws,
            "sfa_id": self.sfa_id != 0 and not kind.block_scaled,
            "sfb_id": self.sfb_id != 0 and not kind.block_scaled,
            "selector": self.selector != 0 and not self.sparse,
        }
        wrong = next((name for name, found in foreign.items() if found), None)
        if wrong is not None:
            where = "a dense product" if wrong == "selector" else f".kind::{kind.name}"
            raise TmemError(f"{where} has no {wrong}; leave it 0")
        natural = kind.k_sparse if self.sparse else kind.k
        if self.k == K96 and (kind.container_bits != 4 or self.sparse or self.M != 256):
            raise TmemError("K = 96 needs mxf4 or mxf4nvf4, dense, with M = 256")
        if self.k not in (None, natural, K96):
            raise TmemError(
                f".kind::{kind.name}{' .sp' if self.sparse else ''} has K = {natural}, not {self.k}"
            )

    def encode(self) -> int:
        """The 32 bits."""
        kind = mma_kind(self.kind)
        types = _A_TYPES[kind.name]
        bits = self.selector | int(self.sparse) << 2 | types[self.a] << 7 | types[self.b] << 10
        bits |= int(self.negate_a) << 13 | int(self.negate_b) << 14
        bits |= int(self.major_a == "MN") << 15 | int(self.major_b == "MN") << 16 | self.N // 8 << 17
        if self.scale is not None:
            bits |= self.sfb_id << 4 | _SCALES[self.scale] << 23 | self.M // 128 << 27 | self.sfa_id << 29
            return bits | int(self.k == K96) << 31
        return (
            bits | int(self.saturate) << 3 | _D_TYPES[self.d] << 4 | self.M // 16 << 24 | self.max_shift << 30
        )

    @classmethod
    def decode(cls, bits: int, kind: str) -> InstructionDescriptor:
        """The descriptor of 32 bits, read as the kind of the instruction that carries them.

        Raises TmemError for bits that this kind leaves unassigned, too: what is decoded encodes to the same bits.
        """
        item = mma_kind(kind)
        if not 0 <= bits < 1 << 32:
            raise TmemError(f"an instruction descriptor has 32 bits: {bits:#x}")
        types = {code: name for name, code in _A_TYPES[item.name].items()}
        a, b = bits >> 7 & 7, bits >> 10 & 7
        if a not in types or b not in types:
            raise TmemError(f".kind::{item.name} has no operand type {a if a not in types else b}")
        scale = ("ue8m0" if bits >> 23 & 1 else "ue4m3") if item.block_scaled else None
        d = "f32" if scale else {code: name for name, code in _D_TYPES.items()}.get(bits >> 4 & 3)
        if d is None:
            raise TmemError("accumulator type 3 is not assigned")
        found = cls(
            kind=item.name,
            a=types[a],
            b=types[b],
            d=d,
            M=(bits >> 27 & 3) * 128 if scale else (bits >> 24 & 31) * 16,
            N=(bits >> 17 & 63) * 8,
            major_a="MN" if bits >> 15 & 1 else "K",
            major_b="MN" if bits >> 16 & 1 else "K",
            negate_a=bool(bits >> 13 & 1),
            negate_b=bool(bits >> 14 & 1),
            saturate=bool(bits >> 3 & 1) and scale is None,
            sparse=bool(bits >> 2 & 1),
            selector=bits & 3,
            max_shift=0 if scale else bits >> 30 & 3,
            scale=scale,
            sfa_id=bits >> 29 & 3 if scale else 0,
            sfb_id=bits >> 4 & 3 if scale else 0,
            k=K96 if scale and bits >> 31 else None,
        )
        stray = found.encode() ^ bits
        if stray:
            places = ", ".join(str(n) for n in range(32) if stray >> n & 1)
            raise TmemError(f".kind::{item.name} leaves descriptor bit {places} 0")
        return found

    @property
    def fields(self) -> dict[str, int]:
        """The fields as numbers, by the names of the vendor's code."""
        bits = self.encode()
        scaled = self.scale is not None
        return {
            "sparsity": bits & 3,
            "d_or_sfb": bits >> 4 & 3,
            "a_type": bits >> 7 & 7,
            "b_type": bits >> 10 & 7,
            "neg_a": bits >> 13 & 1,
            "neg_b": bits >> 14 & 1,
            "major_a": bits >> 15 & 1,
            "major_b": bits >> 16 & 1,
            "N_div8": bits >> 17 & 63,
            "M_field": bits >> 27 & 3 if scaled else bits >> 24 & 31,
        }
