"""Evaluating a whole 128 x 256 tile, in every notation; the aim is under 2 ms each."""

from __future__ import annotations

import numpy as np
import pytest
from bankbench.layouts import mma_fragment, parse, tile_offsets

SHAPE = (128, 256)
TEXTS = {
    "tirx tile": "S[(128,256):(256,1)]",
    "tirx fragment": "S[(8,16,4,8,8):(8@laneid,1@warpid,64,1@laneid,1)]",
    "tirx swizzle": "ComposeLayout(3, 3, 3, S[(16,8,4,64):(2048,64,512,1)])",
    "tla zN": "zN(128, 256, f16)",
    "cute nested": "((8,16),(64,4)):((64,512),(1,8192))",
    "cute swizzle": "Sw<3,3,3> o ((8,16),(64,4)):((64,512),(1,8192))",
    "linear blocked": "blocked(sizePerThread=[1,8], threadsPerWarp=[4,8], warpsPerCTA=[4,1], order=[1,0], "
    "shape=[128,256])",
    "linear shared": "swizzled_shared(vec=8, perPhase=1, maxPhase=8, order=[1,0], shape=[128,256])",
}


@pytest.mark.parametrize("name", TEXTS)
def test_whole_tile(benchmark, name):
    layout = parse(TEXTS[name])
    found = benchmark(tile_offsets, layout, SHAPE)
    assert all(values.shape == SHAPE for values in found.values())


@pytest.mark.parametrize("name", TEXTS)
def test_dense_coordinates(benchmark, name):
    """The same with one coordinate a lane, as recorded traces have it."""
    layout = parse(TEXTS[name])
    coords = [c.reshape(-1) for c in np.indices(SHAPE)]
    found = benchmark(layout.evaluate, *coords, shape=SHAPE)
    assert all(values.shape == (128 * 256,) for values in found.values())


def test_many_small_evaluations(benchmark):
    fragment = mma_fragment("m16n8k16", "C", "f32")
    benchmark(tile_offsets, fragment, (16, 8))
