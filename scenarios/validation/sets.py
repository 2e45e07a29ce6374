"""The validation sets. To add one: a module with a function `rows(chip, file) -> Iterator[Row]`, and an entry here."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ...sim.chip import Chip
from ..errors import ScenarioError
from .row import Row

DATA = Path(__file__).parent / "data"

Rows = Callable[[Chip, Path], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class ValidationSet:
    """A file of measurements and the function that compares it with a model.

    `format` is the option of `bankbench validate` that takes further files of the same format. `unit` is that of the
    numbers, `exact` says that rows have to agree exactly (counts) rather than closely (times).
    """

    name: str
    title: str
    chip: str
    file: str
    function: str
    unit: str
    format: str
    exact: bool = False
    long: bool = False
    """Takes many minutes: runs only when it is named."""

    def rows(self, chip: Chip, file: Path | None = None) -> Iterator[Row]:
        """The rows of the set's own file, or of another file of the same format."""
        module, _, name = self.function.partition(":")
        function: Rows = getattr(import_module(f"{__package__}.{module}"), name)
        return function(chip, file if file is not None else DATA / self.file)


SETS: tuple[ValidationSet, ...] = (
    ValidationSet(
        name="accesses",
        title="wavefronts, bank conflicts and latency of single instructions",
        chip="h200",
        file="h200_smem.jsonl.gz",
        function="accesses:rows",
        unit="counts, cycles",
        format="accesses",
        exact=True,
    ),
    ValidationSet(
        name="further",
        title="single instructions measured after the rules were set, and the rarer atomics",
        chip="h200",
        file="h200_smem_more.jsonl.gz",
        function="accesses:rows",
        unit="counts, cycles",
        format="accesses",
        exact=True,
    ),
    ValidationSet(
        name="programs",
        title="cycles of small programs",
        chip="h200",
        file="h200_programs.jsonl.gz",
        function="programs:rows",
        unit="cycles",
        format="programs",
    ),
    ValidationSet(
        name="placement",
        title="cycles of programs whose warps sit on chosen partitions",
        chip="h200",
        file="h200_placement.jsonl.gz",
        function="programs:rows",
        unit="cycles",
        format="programs",
    ),
    ValidationSet(
        name="further-programs",
        title="cycles of random programs measured after the model stood",
        chip="h200",
        file="h200_programs_more.jsonl.gz",
        function="programs:rows",
        unit="cycles",
        format="programs",
    ),
    ValidationSet(
        name="stamps",
        title="last clock read of bursts of a few hundred cycles",
        chip="h200",
        file="h200_stamps.jsonl.gz",
        function="programs:rows",
        unit="cycles",
        format="programs",
    ),
    ValidationSet(
        name="async",
        title="wgmma, TMA, cp.async, cluster copies and barriers, each alone on an SM",
        chip="h200",
        file="h200_async.jsonl.gz",
        function="hopper:rows",
        unit="cycles",
        format="async",
    ),
    ValidationSet(
        name="contention",
        title="wgmma, accesses of warps and TMA copies beside each other",
        chip="h200",
        file="h200_async.jsonl.gz",
        function="hopper:contention",
        unit="cycles",
        format="contention",
    ),
    ValidationSet(
        name="sweep",
        title="wgmma beside accesses of 1 to 4 warps with 1 to 32 wavefronts",
        chip="h200",
        file="h200_contention.jsonl.gz",
        function="hopper:contention",
        unit="cycles",
        format="contention",
        long=True,
    ),
    ValidationSet(
        name="tcgen05",
        title="intervals and latencies of tcgen05 products, and times of what moves tensor memory",
        chip="b200",
        file="b200_tcgen05.jsonl.gz",
        function="b200:rows",
        unit="cycles",
        format="tcgen05",
    ),
    ValidationSet(
        name="ascend910b",
        title="published tables of the 910B: UB conflicts, re-layout, Mmad, matrix multiplication, MTE2",
        chip="ascend910b",
        file="ascend910b.jsonl",
        function="ascend:rows",
        unit="ratios, cycles, shares, us",
        format="ascend",
    ),
    ValidationSet(
        name="ascend950",
        title="published tables of the 950: UB conflicts, re-layout, matrix multiplication, MTE2",
        chip="ascend950",
        file="ascend950.jsonl",
        function="ascend:rows",
        unit="ratios, counts, shares, us",
        format="ascend",
    ),
)


def find_sets(names: list[str] | None = None, chip: str | None = None) -> tuple[ValidationSet, ...]:
    """The sets of these names, or all, that were measured on this chip, or on any. Raises ScenarioError."""
    known = {item.name: item for item in SETS}
    for name in names or []:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ScenarioError(f"no validation set {name!r}{hint} (sets: {', '.join(known)})")
    chosen = [known[name] for name in names] if names else [item for item in SETS if not item.long]
    return tuple(item for item in chosen if chip is None or item.chip == chip)
