"""For test suites of kernels: assertions about layouts and scenarios.

from bankbench.scenarios.testing import assert_conflict_free

def test_tile_has_no_conflicts():
    assert_conflict_free("kernels/tile.yaml")
    assert_conflict_free([4 * lane for lane in range(32)], op="lds.32")

and rows to check a formula of one's own against: `for row in oracle_rows(1000, seed=1): ...`
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .oracle import oracle_rows

if TYPE_CHECKING:
    from ..sim.results import RunResult
    from .api import Source

__all__ = ["assert_conflict_free", "assert_expectations", "oracle_rows"]


def assert_conflict_free(
    what: Source | RunResult | ArrayLike,
    *,
    op: str = "lds",
    width: int | None = None,
    mask: ArrayLike | None = None,
    chip: str | None = None,
    max_excess: int = 0,
) -> None:
    """Asserts that accesses take no more than `max_excess` wavefronts above the ideal.

    `what` is a scenario (a file, a catalogue name, a mapping), the result of a run, or byte offsets of lanes, shape
    (lanes,) or (n, lanes); `op`, `width` (bytes) and `mask` belong to offsets. An unknown answer fails too.

    Raises AssertionError whose text says which lanes meet where, and ValueError for bad input.

    >>> assert_conflict_free("transpose-pitch-33")
    >>> try:
    ...     assert_conflict_free([256 * lane for lane in range(8)])
    ... except AssertionError as error:
    ...     print(error)
    7 excess wavefronts, at most 0 allowed on h200: access 0 takes 8 wavefronts instead of 1 (8-way)
    """
    __tracebackhide__ = True
    if _is_scenario(what):
        _assert_scenario(what, chip, max_excess)
    else:
        _assert_offsets(what, op, width, mask, "h200" if chip is None else chip, max_excess)


def assert_expectations(scenario: Source, *, chip: str | None = None) -> None:
    """Asserts that everything under `expect:` of a scenario holds and nothing asked is unknown.

    >>> assert_expectations("transpose-pitch-32")
    """
    __tracebackhide__ = True
    from .api import run

    result = run(scenario, chip=chip)
    broken = [*result.violations, *(f"unknown: {line}" for line in result.unknowns)]
    if broken:
        raise AssertionError("\n".join(broken))


def _is_scenario(what: Any) -> bool:
    from ..sim.results import RunResult
    from .load import LoadedScenario

    return isinstance(what, str | Path | Mapping | RunResult | LoadedScenario)


def _assert_scenario(what: Any, chip: str | None, max_excess: int) -> None:
    __tracebackhide__ = True
    from ..sim.results import RunResult
    from .api import run

    if isinstance(what, RunResult):
        from ..sim.chip import load_chip

        if chip is not None and load_chip(chip).name != what.chip:
            raise ValueError(f"the result is of {what.chip}; run the scenario on {chip} instead")
        result = what
    else:
        result = run(what, chip=chip)
    if result.unknowns:
        raise AssertionError("unknown: " + "; ".join(result.unknowns))
    totals: Mapping[str, Any] = result.extra.get("totals", {})
    excess = totals.get("excess_wavefronts")
    if excess is None:
        raise AssertionError(f"{result.name} counts no accesses to shared memory")
    if excess > max_excess:
        lines = [
            f"{excess:,} excess wavefronts, at most {max_excess:,} allowed: {result.headline}",
            *result.reasons,
        ]
        raise AssertionError("\n".join(lines))


def _assert_offsets(
    offsets: Any, op: str, width: int | None, mask: ArrayLike | None, chip: str, max_excess: int
) -> None:
    __tracebackhide__ = True
    from ..sim import count

    counts = count(offsets, op=op, width=width, mask=mask, chip=chip)
    if counts.status == "unknown":
        raise AssertionError(f"unknown on {chip}: {'; '.join(counts.reasons)}")
    excess = int(counts.excess_wavefronts.sum())
    if excess > max_excess:
        worst = int(np.argmax(counts.excess_wavefronts))
        raise AssertionError(
            f"{excess:,} excess wavefronts, at most {max_excess:,} allowed on {chip}: access {worst} takes "
            f"{counts.wavefronts[worst]} wavefronts instead of {counts.ideal_wavefronts[worst]} "
            f"({counts.worst_ways[worst]}-way)"
        )
