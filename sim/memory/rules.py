"""How a chip serves each operation: the counting rules in one place, read from the chip's file.

Loads, stores and matrix operations. The active lanes of a group are served together. In every bank, each
different word that the group touches takes a wavefront of its own; the same word is broadcast. So a group takes
n(G) = the largest number of different words in one bank, an instruction the sum over its groups. A group is the
whole warp up to 4 bytes a lane, a half-warp for 8 bytes, a quarter-warp for 16 bytes and for each 8x8 matrix.

The pair rule. A load of 8 or 16 bytes doubles its groups when every active lane has the same address as its
partner lane xor 1, or every one as its partner lane xor 2 (one distance for the whole warp; an inactive partner
counts as equal). Stores and matrix operations never merge.

Atomics. c(G) = the largest number of active lanes in one bank: equal addresses serialise too. A
compare-and-swap takes twice that. What the hardware lacks (adds of f32, f16x2, f64 and 64-bit integers, 64-bit and, or,
xor) is a loop in software: each round loads (as a load of that width, pair rule included, for the lanes that are left)
and swaps (2 a group), and in every bank of a group the lowest lane left succeeds.

Ideal. The fewest wavefronts that any addresses could take with this width, mask and pairing: one a group that has
an active lane; for atomics one, since 32 lanes can find 32 banks; for compare-and-swap two (a group); for a loop one
round of load (1 a group) and swap (2 a group): three for 4 bytes, six for 8. Where all lanes add to one word, each
round serves a single lane, so 32 rounds of a float add take 96 wavefronts although none of its loads conflicts:
excess_wavefronts shows 93, the conflict counter 0.

Source: hardware counters of an H200, 9,345 address patterns and 3,920 others, measured later to check the rules (and
to find those of the rarer atomics), all of them exact. The figures (32 banks, the sizes of groups, the
distances) stand in the chip files with their confidence, from which `status` is derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..chip import Chip, ChipError, Constant
from .errors import AccessError
from .ops import OPERATIONS, Operation

__all__ = ["STATUSES", "Rule", "rule_for", "status_of", "weakest"]

STATUSES = ("measured", "documented", "assumed", "unknown")
_STATUS = {
    "measured": "measured",
    "vendor document": "documented",
    "vendor code": "documented",
    "derived": "assumed",
    "fitted": "assumed",
    "assumed": "assumed",
    "unknown": "unknown",
}
_ROOT = "shared_memory."
_BANKS = (_ROOT + "banks", _ROOT + "bank_bytes")


@dataclass(frozen=True, slots=True)
class Rule:
    """How one chip serves one operation.

    `group` lanes are served together, `merged_group` when the pair rule holds over one of `distances` (0 and ()
    when it never does); `passes` is the factor of compare-and-swap or the swap's wavefronts of a group in a round.
    `status` and the sentences `reasons` say how well it is known; with status unknown the figures are 0.
    """

    operation: Operation
    banks: int
    bank_bytes: int
    group: int
    merged_group: int
    distances: tuple[int, ...]
    passes: int
    status: str
    assumptions: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def unit(self) -> int:
        """Bytes that a lane touches as one piece: its width, or a bank's word when that is wider."""
        return max(self.operation.width, self.bank_bytes)

    @property
    def unit_words(self) -> int:
        """Words in a unit."""
        return self.unit // self.bank_bytes

    @property
    def alike(self) -> tuple[object, ...]:
        """Equal for operations that are counted in the same way, such as `sts.32` and `lds.u8`."""
        kind = self.operation
        return (
            self.status == "unknown",
            kind.serves,
            kind.lanes,
            self.unit,
            self.group,
            self.merged_group,
            self.distances,
            self.passes,
        )

    @property
    def columns(self) -> int:
        """Units in one row of all banks; 0 when a row is no whole number of units (banks not a power of 2)."""
        row = self.banks * self.bank_bytes
        return row // self.unit if row % self.unit == 0 else 0


@lru_cache(maxsize=4096)
def rule_for(chip: Chip, code: int) -> Rule:
    """The rule of the operation with that code on a chip.

    Raises AccessError when the chip does not have the instruction, ChipError for impossible figures.
    """
    kind = OPERATIONS[code]
    paths = _paths(chip, kind)
    missing = [path for path in paths if not chip.has(path)]
    known = [chip.constant(path) for path in paths if chip.has(path)]
    status, assumptions, reasons = status_of(chip, known)
    assumptions = (*assumptions, *_groups_that_stayed(chip, kind, known))
    for constant in known:
        if constant.value is False:
            raise AccessError(f"{kind.name}: {chip.title} ({chip.arch}) does not have it ({constant.source})")
    if missing:
        status = "unknown"
        more = f" and {len(missing) - 1} more constants that it rests on" if len(missing) > 1 else ""
        reasons = (*reasons, f"{chip.title}: the chip file says nothing about {missing[0]}{more}")
    if status == "unknown":
        return Rule(kind, 0, 0, 0, 0, (), 0, status, assumptions, reasons)
    rule = Rule(
        kind,
        banks=chip.integer(_ROOT + "banks"),
        bank_bytes=chip.integer(_ROOT + "bank_bytes"),
        group=chip.integer(f"{_ROOT}group_lanes.{kind.group}"),
        merged_group=chip.integer(f"{_ROOT}merged_group_lanes.{kind.merged}") if kind.merged else 0,
        distances=tuple(chip[_ROOT + "merge_distances"]) if kind.merged else (),
        passes=chip.integer(_ROOT + _passes(kind)) if _passes(kind) else 1,
        status=status,
        assumptions=assumptions,
        reasons=(),
    )
    _check(chip, rule)
    return rule


def status_of(chip: Chip, constants: list[Constant]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Status, assumptions and reasons (for unknown) of an answer that rests on these constants."""
    status = weakest([_STATUS[constant.confidence] for constant in constants])
    assumptions = tuple(
        dict.fromkeys(
            assumption(chip, constant) for constant in constants if _STATUS[constant.confidence] == "assumed"
        )
    )
    reasons = tuple(
        dict.fromkeys(
            f"{chip.title}: {constant.note or 'nobody has published ' + constant.path}"
            for constant in constants
            if constant.confidence == "unknown"
        )
    )
    return status, assumptions, reasons


def weakest(statuses: list[str]) -> str:
    """The weakest of several statuses; measured for none."""
    return max(statuses, key=STATUSES.index, default="measured")


def assumption(chip: Chip, constant: Constant) -> str:
    """The sentence for a figure that was set by the user, or that nobody measured on this chip."""
    if constant.overridden:
        return f"{constant.path} = {constant.value} {constant.unit} ({constant.source}; {constant.note})"
    return f"{chip.title}: {constant.note or constant.path + ' is assumed'}"


def _groups_that_stayed(chip: Chip, kind: Operation, constants: list[Constant]) -> tuple[str, ...]:
    """The sentence for other banks under groups of lanes that the real chip has because its banks give 128 bytes."""
    path = f"{_ROOT}group_lanes.{kind.group}"
    groups = chip.constant(path) if chip.has(path) else None
    if groups is None or groups.overridden or groups.value is None or groups.value >= kind.lanes:
        return ()
    if not any(constant.overridden and constant.path in _BANKS for constant in constants):
        return ()
    return (f"{kind.name} is still served in groups of {groups.value} lanes; set {path} to change that",)


def _passes(kind: Operation) -> str:
    return "atomic.float_add_passes" if kind.serves == "loop" else kind.passes or ""


def _paths(chip: Chip, kind: Operation) -> list[str]:
    paths = ["banks", "bank_bytes", f"group_lanes.{kind.group}", *kind.needs]
    if kind.merged:
        paths += ["merge_distances", f"merged_group_lanes.{kind.merged}"]
    if _passes(kind):
        paths.append(_passes(kind))
    if kind.op.endswith("matrix"):
        paths.append(f"matrix.{'load' if kind.op == 'ldmatrix' else 'store'}")
    return [_ROOT + path for path in dict.fromkeys(paths)]


def _check(chip: Chip, rule: Rule) -> None:
    banks, size = rule.banks, rule.bank_bytes
    if banks < 1 or size < 1 or size & (size - 1) or size > 1024 or banks > 4096:
        raise ChipError(
            f"chip {chip.name}: {banks} banks of {size} bytes cannot be counted (1 to 4096 banks, and"
            " a power of two of bytes up to 1024)"
        )
    if banks * size < 16:
        raise ChipError(f"chip {chip.name}: {banks} banks of {size} bytes do not hold one access of 16 bytes")
    for lanes in (rule.group, rule.merged_group or rule.group):
        if lanes not in (1, 2, 4, 8, 16, 32):
            raise ChipError(
                f"chip {chip.name}: {lanes} lanes served together; 1, 2, 4, 8, 16 or 32 can be counted"
            )
    if rule.merged_group and rule.merged_group < rule.group:
        raise ChipError(
            f"chip {chip.name}: a merged group of {rule.merged_group} lanes is smaller than a group of {rule.group}"
        )
    if any(distance not in range(1, 32) for distance in rule.distances):
        raise ChipError(
            f"chip {chip.name}: merge distances {list(rule.distances)} are not within 1 to 31 lanes"
        )
