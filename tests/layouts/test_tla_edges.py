"""Corners of the TLA rules that the stored answers do not reach; values of the compiled headers."""

from __future__ import annotations

import pytest
from bankbench.layouts import LayoutError, Static, TlaLayout, tla_ops


@pytest.mark.parametrize(
    ("layout", "printed"),
    [
        (
            tla_ops.feature_map_layout("bf16", 8, 6, 2, Static(2)),
            "(8, 6, 2, 2, _16):(384, 64, 32, _16, _1) origin (8, 6, 2, 2, 16)",
        ),
        (
            tla_ops.filter_layout("int64", 5, Static(3), 7, 65),
            "(5, 3, 7, 65, _4):(5460, 1820, 260, _4, _1) origin (5, 3, 7, 65, 4)",
        ),
        (
            tla_ops.filter_layout("float", Static(1), 4, 3, Static(60), "L1"),
            "(1, 4, 3, 64, _8):(6144, 1536, 512, _8, _1) origin (1, 4, 3, 64, 8)",
        ),
    ],
)
def test_convolution_layouts_have_run_time_sizes(layout, printed):
    assert str(layout) == printed


def test_a_tile_of_ndc1hwc0_keeps_the_c0_of_its_parent():
    parent = tla_ops.conv_tag("NDC1HWC0", (2, 3, 4, 5, 6, 16))
    tile = parent.tile((1, 2, 3, 4, 5, 8))
    assert tile.shape == (1, 5, 4, 16, 6)
    assert tile.stride == (1, 16, 320, 960, 1920)
    assert tile.origin == (1, 2, 3, 4, 5, 8)


def test_a_tile_of_kdc1khkwn1n0c0_keeps_the_c0_and_n0_of_its_parent():
    parent = tla_ops.conv_tag("KDC1KHKWN1N0C0", (14, 3, 16, 16))
    tile = parent.tile((10, 2, 8, 8))
    assert tile.shape == (16, 10, 16, 2)
    assert tile.stride == (1, 4096, 16, 2048)


@pytest.mark.parametrize("tag", ["NDC1HWC0", "KDC1KHKWN1N0C0", "NC1HWC0"])
def test_a_tile_of_the_wrong_rank_is_refused(tag):
    sizes = {"NDC1HWC0": 6, "KDC1KHKWN1N0C0": 4, "NC1HWC0": 5}[tag]
    with pytest.raises(LayoutError, match="coordinates"):
        tla_ops.conv_tag(tag, [16] * sizes).tile((1, 2))
    with pytest.raises(LayoutError, match="coordinates"):
        tla_ops.legacy_tag("zN", 16, 16).tile((1, 2, 3))


def test_only_e2m1_has_a_weight_type():
    assert tla_ops.tag_type("Weight4BitnZ", "fp4_e2m1x2", 3510).pair() == (
        "((_32, 0), (_16, 0)):((_1, 0), (_32, _512))"
    )
    for dtype, arch in (("fp4_e1m2x2", 3510), ("int4b", 3510), ("fp4_e2m1x2", 2201)):
        with pytest.raises(LayoutError, match="no layout type"):
            tla_ops.tag_type("Weight4BitnZ", dtype, arch)


def test_convolution_types_count_c0_in_bytes():
    with pytest.raises(LayoutError, match="whole number of bytes"):
        tla_ops.tag_type("NC1HWC0", "int4b")


def test_a_base_of_the_wrong_rank_is_refused():
    with pytest.raises(LayoutError, match="different ranks"):
        tla_ops.slice_and_offset((2, "_"), TlaLayout((32, 48), (48, 1)), (1,))
