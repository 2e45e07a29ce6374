"""MTE2 reading a whole matrix once, by tile shape: with the chip's constants, and refitted without each row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...layouts import dtype_bits, from_tag
from ...sim.ascend import Core, copy_cost, read_core
from ...sim.chip import Chip
from ..ascend_moves import matrix_cases, matrix_runs
from ..ascend_places import MatrixData
from .row import Row

Fields = dict[str, Any]
FITTED = ("mte2.start", "mte2.row", "mte2.gm_gb_s")
"""The constants that the table fits: three a chip."""


def mte2_rows(chip: Chip, items: list[Fields]) -> Iterator[Row]:
    """Time of every row, and for each a second one whose constants never saw it (no tolerance is claimed there)."""
    tiles = [_tiles(read_core(chip), item) for item in items]
    for item, found in zip(items, tiles, strict=True):
        predicted = _microseconds(read_core(chip), found, item)
        yield Row(str(item["id"]), str(item["kind"]), item["measured"], predicted, item["tolerance"])
    for index, (item, found) in enumerate(zip(items, tiles, strict=True)):
        others = [i for i in range(len(items)) if i != index]
        refitted = fit(chip, [items[i] for i in others], [tiles[i] for i in others])
        predicted = _microseconds(read_core(refitted), found, item)
        yield Row(str(item["id"]), "mte2 leave out", item["measured"], predicted, math.inf)


Tiles = list[tuple[int, Any, Any]]  # (how many, run starts, run lengths)


def _tiles(core: Core, item: Fields) -> Tiles:
    rows, cols = item["shape"]
    matrix = MatrixData("X", from_tag("RowMajor", rows, cols, "f16"), "f16", dtype_bits("f16"), 0.0)
    shape = tuple(item["tile"])
    grid = np.meshgrid(np.arange(0, rows, shape[0]), np.arange(0, cols, shape[1]), indexing="ij")
    cases, case_of = matrix_cases(
        matrix, shape, (grid[0].ravel(), grid[1].ravel()), int(core.number("mte2.granule"))
    )
    return [
        (number, *matrix_runs(matrix, shape, cases[case])[1:]) for case, number in Counter(case_of).items()
    ]


def _microseconds(core: Core, tiles: Tiles, item: Fields) -> float:
    cores = item["cores"]
    cycles = sum(
        number * copy_cost(core, starts, lengths, cores=cores).busy for number, starts, lengths in tiles
    )
    return core.microseconds(cycles / cores)


def fit(chip: Chip, items: Sequence[Fields], tiles: Sequence[Tiles]) -> Chip:
    """The chip with the three constants that fit these rows best (least squares of the relative error).

    A pattern search from the chip's own figures: every constant up or down by a step, the step halved when none helps.
    """
    sums = [_sums(read_core(chip), found) for found in tiles]
    rate, clock = chip.number("mte2.rate"), chip.number("core.clock_mhz")
    values = [chip.number(path) for path in FITTED]

    def loss(start: float, row: float, gigabytes: float) -> float:
        total = 0.0
        for item, (number, runs, moved) in zip(items, sums, strict=True):
            own = (number * start + runs * row + moved / rate) / item["cores"]
            shared = moved / gigabytes * clock / 1000
            total += math.log(max(own, shared) / clock / item["measured"]) ** 2
        return total

    step, best = 0.2, loss(*values)
    while step > 0.002:
        moves = [
            [value * factor if i == axis else value for i, value in enumerate(values)]
            for axis in range(len(values))
            for factor in (1 + step, 1 - step)
        ]
        found = min(moves, key=lambda move: loss(*move))
        if loss(*found) < best - 1e-12:
            values, best = found, loss(*found)
        else:
            step /= 2
    return chip.override(dict(zip(FITTED, values, strict=True)))


def _sums(core: Core, tiles: Tiles) -> tuple[float, float, float]:
    """Instructions, runs and bytes moved of all tiles."""
    granule = core.number("mte2.granule")
    number = runs = moved = 0.0
    for count, starts, lengths in tiles:
        touched = (starts + lengths - 1) // granule - starts // granule + 1
        extra = float((touched - np.ceil(lengths / granule)).sum()) * granule
        number, runs = number + count, runs + count * len(starts)
        moved += count * (float(lengths.sum()) + extra)
    return number, runs, moved
