"""The shared-memory instructions that are counted.

An `Operation` says what the instruction is, not how a chip serves it: that is in the chip file, under the
names that stand in `group`, `merged`, `latency` and `needs` here (read by `rules.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OPERATIONS", "Operation", "find_operation"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of instruction.

    `op` is lds, sts, ldmatrix, stmatrix or atoms; `width` the bytes of a lane (of a row address for matrix
    operations); `variant` is x1, x2.trans, atom.add.u32 and so on, or None. `lanes` is the number of lanes
    whose addresses are used. `serves` is what makes two lanes of one bank take two wavefronts: different
    "words", being two "lanes" (atomics), or the rounds of a compare-and-swap "loop". `registers` is the number
    of data registers that the issue rate depends on, None where it was not measured.
    """

    code: int
    op: str
    width: int
    variant: str | None
    serves: str
    group: str
    merged: str | None = None
    latency: str | None = None
    registers: int | None = 1
    lanes: int = 32
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The short spelling, which `parse_op` reads: `lds.128`, `sts.u8`, `ldmatrix.x4`, `atom.cas.b32`."""
        if self.op in ("lds", "sts"):
            return f"{self.op}.{'u' if self.width < 4 else ''}{8 * self.width}"
        return f"{self.op}.{self.variant}" if self.op.endswith("matrix") else str(self.variant)

    @property
    def default_mask(self) -> int:
        """The lanes that supply addresses when nothing is said: all of them, 8 or 16 for matrix x1 and x2."""
        return (1 << self.lanes) - 1

    @property
    def passes(self) -> str | None:
        """The constant that multiplies the lanes of a bank (compare-and-swap), None for 1."""
        return "atomic.cas_passes" if self.serves == "lanes" and self.variant in CAS else None


CAS = ("atom.cas.b32", "atom.cas.b64")


def _plain() -> list[Operation]:
    words = "words"
    return [
        *(Operation(0, "lds", width, None, words, "narrow", latency="load_narrow") for width in (1, 2, 4)),
        *(
            Operation(0, "lds", width, None, words, f"load_{width}", f"load_{width}", f"load_{width}")
            for width in (8, 16)
        ),
        *(Operation(0, "sts", width, None, words, "narrow") for width in (1, 2, 4)),
        *(
            Operation(0, "sts", width, None, words, f"store_{width}", registers=width // 4)
            for width in (8, 16)
        ),
    ]


def _matrix() -> list[Operation]:
    found: list[Operation] = []
    for count in (1, 2, 4):
        for variant in (f"x{count}", f"x{count}.trans"):
            lanes = 8 * count
            load = Operation(
                0, "ldmatrix", 16, variant, "words", "matrix", latency="load_matrix", lanes=lanes
            )
            store = Operation(0, "stmatrix", 16, variant, "words", "matrix", registers=count, lanes=lanes)
            found += [load, store]
    return found


def _atomic() -> list[Operation]:
    other, packed = ("atomic.other_32_bit_as_add",), ("atomic.packed_add_as_float_add",)
    found = [
        Operation(0, "atoms", 4, "red.add.u32", "lanes", "atomic"),
        Operation(0, "atoms", 4, "atom.add.u32", "lanes", "atomic", latency="atomic"),
        Operation(0, "atoms", 4, "atom.exch.b32", "lanes", "atomic", latency="atomic"),
        Operation(0, "atoms", 8, "atom.exch.b64", "lanes", "exch_8", latency="exch_8", registers=None),
        Operation(0, "atoms", 4, "atom.cas.b32", "lanes", "atomic", latency="cas_4", registers=2),
        Operation(0, "atoms", 8, "atom.cas.b64", "lanes", "cas_8", latency="cas_8", registers=4),
        # min, max, and, or, xor, inc, dec
        Operation(0, "atoms", 4, "red.other.b32", "lanes", "atomic", needs=other),
        Operation(0, "atoms", 4, "atom.other.b32", "lanes", "atomic", latency="atomic", needs=other),
    ]
    # What the hardware does not have is a loop of load, operation and compare-and-swap.
    for start in ("red", "atom"):
        result = ("atomic.float_add_with_result",) if start == "atom" else ()
        found += [
            Operation(0, "atoms", 4, f"{start}.add.f32", "loop", "atomic", registers=None, needs=result),
            *(
                Operation(
                    0, "atoms", 4, f"{start}.add.{kind}", "loop", "atomic", registers=None, needs=packed
                )
                for kind in ("f16x2", "bf16x2")
            ),
            *(
                Operation(0, "atoms", 8, f"{start}.{what}", "loop", "loop_8", "load_8", registers=None)
                for what in ("add.u64", "add.f64", "other.b64")  # other: and, or, xor
            ),
            Operation(0, "atoms", 8, f"{start}.minmax.b64", "loop", "minmax_8", registers=None),
        ]
    return found


def _numbered(kinds: list[Operation]) -> tuple[Operation, ...]:
    from dataclasses import replace

    return tuple(replace(kind, code=code) for code, kind in enumerate(kinds))


OPERATIONS: tuple[Operation, ...] = _numbered([*_plain(), *_matrix(), *_atomic()])
_BY_PARTS = {(kind.op, kind.width, kind.variant): kind for kind in OPERATIONS}


def find_operation(op: str, width: int, variant: str | None) -> Operation | None:
    """The operation with exactly these parts, None when there is none."""
    return _BY_PARTS.get((op, width, variant))
