"""Ascend chip files and capacities: figures with sources, footprints, alignment, the nearest tile that fits."""

from __future__ import annotations

import pytest
from bankbench.layouts import from_tag
from bankbench.sim.ascend import (
    TIMING_PATHS,
    AscendError,
    CapacityError,
    copy_cost,
    cube_k,
    fixpipe_cost,
    l2_hit_part,
    load_cost,
    mmad_cost,
    place_buffers,
    read_core,
    runs_of,
    tile_bytes,
    tile_layout,
    usable_bytes,
)
from bankbench.sim.chip import chip_names as names
from bankbench.sim.chip import load_chip

ASCEND = [name for name in names() if name.startswith("ascend")]
A2, A5 = load_chip("a2"), load_chip("950")


def test_the_four_chips_and_their_aliases() -> None:
    assert ASCEND == ["ascend310p", "ascend910", "ascend910b", "ascend950"]
    aliases = {
        "a2": "910b",
        "a3": "910b",
        "dav-2201": "910b",
        "dav-3510": "950",
        "a5": "950",
        "dav-2002": "310p",
    }
    assert {alias: load_chip(alias).name.removeprefix("ascend") for alias in aliases} == aliases


@pytest.mark.parametrize("name", ASCEND)
def test_every_figure_says_where_it_comes_from(name: str) -> None:
    for constant in load_chip(name).constants.values():
        assert constant.unit, constant.path
        if constant.confidence in ("unknown", "assumed"):
            assert constant.note or constant.source != "none", constant.path
    assert all(load_chip(name).has(path) for path in TIMING_PATHS), "so that overrides can set it"


def test_capacities() -> None:
    kib = {
        name: [load_chip(name)[f"buffers.{m}"] // 1024 for m in ("L1", "L0A", "L0B", "L0C", "UB")]
        for name in ASCEND
    }
    assert kib == {
        "ascend310p": [1024, 64, 64, 256, 256],
        "ascend910": [1024, 64, 64, 256, 256],
        "ascend910b": [512, 64, 64, 128, 192],
        "ascend950": [512, 64, 64, 256, 256],
    }
    assert usable_bytes(A2, "L1", mixed=True) == (524288, 256)
    assert usable_bytes(A5, "UB", framework=True) == (262144, 8192)


def test_conflicting_sources_are_both_kept() -> None:
    for chip, taken, other in ((A2, 2048, 7168), (A5, 4096, 16384)):
        assert (chip["buffers.FB"], chip["buffers.FB_catlass"]) == (taken, other)
        assert chip.constant("buffers.FB").note


def test_formats_differ_between_the_generations() -> None:
    assert str(tile_layout("L0A", (32, 32), "f16", A2)) == str(from_tag("zZ", 32, 32, "f16"))
    assert str(tile_layout("L0A", (32, 32), "f16", A5)) == str(from_tag("zN", 32, 32, "f16", 3510))
    assert str(tile_layout("L1", (32, 32), "f16", A2)) == str(from_tag("zN", 32, 32, "f16"))


def test_footprints_count_padding() -> None:
    assert tile_bytes(from_tag("zN", 100, 100, "f16"), "f16") == (25088, 20000)
    assert tile_bytes(from_tag("L0C", 17, 5, "f32"), "f32") == (2 * 16 * 16 * 4, 17 * 5 * 4)
    assert tile_bytes(from_tag("zN", 16, 64, "int4"), "int4") == (512, 512)


def test_tiles_lie_one_behind_the_other_with_slots() -> None:
    use = place_buffers(
        [("A1", "L1", (100, 100), "f16", None, 2, None), ("B1", "L1", (16, 16), "f16", "nZ", 1, None)],
        A2,
        mixed=True,
    )["L1"]
    assert [buffer.addresses for buffer in use.buffers] == [(0, 25088), (50176,)]
    assert (use.used, use.usable, use.free) == (50688, 524032, 524032 - 50688)


def tile(name: str, memory: str, *shape: int, slots: int = 1, at=None, dtype: str = "f16"):
    return (name, memory, shape, dtype, None, slots, at)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            [tile("c", "L0C", 256, 256, dtype="f32")],
            r"L0C: c asks for 1 x 262,144 bytes .* nearest that fits: (128x256|256x128)",
        ),
        ([tile("a", "L1", 512, 512, slots=2)], r"has 524,288 bytes; nearest that fits: 256x512"),
        (
            [tile("a", "L0A", 16, 16, at=(256,))],
            r"address 0x100 in L0A is no multiple of 512 bytes; nearest 0x0",
        ),
        (
            [tile("a", "UB", 64, slots=2, at=(0, 64))],
            r"its slots at 0x0 and 0x40 overlap; one takes 128 bytes",
        ),
        ([tile("a", "UB", 64, at=(0,)), tile("b", "UB", 64, at=(64,))], r"b at 0x40 .* overlaps a at 0x0"),
        (
            [tile("x", "UB", 2 * 98304)],
            r"196,352 bytes \(196,608 less 256 reserved\).*nearest that fits: 98176",
        ),
        ([tile("x", "MX", 64)], r"has no memory MX; it has L1, L0A"),
    ],
)
def test_what_does_not_fit(wanted, message: str) -> None:
    with pytest.raises(CapacityError, match=message):
        place_buffers(wanted, A2)


def test_the_nearest_tile_really_is_the_largest_that_fits() -> None:
    with pytest.raises(CapacityError) as error:
        place_buffers([("a", "L0B", (100, 700), "f16", None, 1, None)], A2)
    rows, cols = map(int, str(error.value).rsplit(" ", 1)[1].split("x"))
    fits = lambda shape: tile_bytes(tile_layout("L0B", shape, "f16", A2), "f16")[0] <= 65536  # noqa: E731
    assert fits((rows, cols))
    assert not fits((rows + (16 if cols == 700 else 0), cols + (16 if rows == 100 else 0)))


def test_costs_by_the_vendor_form() -> None:
    core = read_core(A2)
    assert load_cost(core, "L0A", 16384, 16384).busy == 26 + 64
    assert load_cost(core, "L0B", 32768, 32768).busy == 26 + 256
    assert load_cost(core, "L0A", 16384, 16384, transposed=True).busy == 26 + 128
    assert load_cost(read_core(A5), "L0B", 32768, 32768).busy == 26 + 128
    assert fixpipe_cost(core, 128, 256, "f16", "GM").busy == 26 + 512
    assert fixpipe_cost(core, 128, 256, "f16", "L1").busy == 26 + 512
    assert mmad_cost(core, 17, 16, 16, "f16").moved == 2 * 4096
    assert mmad_cost(core, 0, 16, 16, "f16").busy == 0
    assert {t: cube_k(core, t) for t in ("f16", "int8", "f32", "bf16")} == {
        "f16": 16,
        "int8": 32,
        "f32": 4,
        "bf16": 16,
    }
    assert cube_k(read_core(A5), "f32") == 1
    with pytest.raises(AscendError, match=r"multiplies no fp8; it takes .*f16"):
        cube_k(core, "fp8")
    with pytest.raises(AscendError, match="k = 4096; an Mmad takes 0 to 4095"):
        mmad_cost(core, 16, 16, 4096, "f16")


def test_misaligned_runs_pay_for_whole_granules() -> None:
    import numpy as np

    core = read_core(A2)
    lengths = np.full(64, 512)
    straight = copy_cost(core, np.arange(64) * 24576, lengths, cores=24)
    crooked = copy_cost(core, np.arange(64) * 24574, lengths, cores=24)
    assert straight.valid == crooked.valid == 64 * 512
    assert 1.9 < crooked.busy / straight.busy < 2.0  # the first run is aligned
    hit = copy_cost(core, np.arange(64) * 24576, lengths, cores=24, l2_hit=1.0)
    assert hit.busy < straight.busy


def test_runs_follow_from_offsets_alone() -> None:
    import numpy as np

    offsets = from_tag("zN", 32, 32, "f16").evaluate(*np.ogrid[0:32, 0:32])["m"]
    starts, lengths = runs_of(offsets, 16)
    assert (starts.tolist(), lengths.tolist()) == ([0], [2048])
    rows = from_tag("RowMajor", 100, 300, "f16").evaluate(*np.ogrid[3:6, 7:20])["m"]
    starts, lengths = runs_of(rows, 16)
    assert (starts.tolist(), lengths.tolist()) == ([1814, 2414, 3014], [26, 26, 26])


def test_l2_keeps_what_is_read_again() -> None:
    core = read_core(A2)
    assert l2_hit_part(core, 1 << 20, 1 << 20, 1 << 20) == 0.0
    assert l2_hit_part(core, 1 << 27, 1 << 32, 1 << 28, shared=4) == 0.9375
    assert l2_hit_part(core, 0, 0, 0) == 0.0
