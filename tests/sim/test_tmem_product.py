"""Products with their operands in place, descriptors against layouts, boxes: what goes together and what does not."""

from __future__ import annotations

import pytest
from bankbench.layouts import parse, parse_tirx, with_swizzle
from bankbench.sim.tmem import (
    Copy,
    GemmLoop,
    InstructionDescriptor,
    LoadStore,
    MmaInstruction,
    MmaShape,
    Operand,
    SmemDescriptor,
    TmaBox,
    TmemError,
    a_operand,
    accumulator,
    check_layout,
    check_pair,
    expected_strides,
    metadata,
    scale_factors,
)


def test_a_block_scaled_product_counts_all_its_reads():
    shape = MmaShape("mxf8f6f4", 128, 128)
    sf = scale_factors(128, 4, "1X")
    one = MmaInstruction(shape, accumulator(128, 128), sfa=sf.at(128), sfb=sf.at(132), scale_vec="1X")
    assert one.shared_bytes == 2 * 128 * 32
    assert one.tmem_read_bytes == 128 * 128 * 4 + 2 * 128 * 4
    assert one.mode == "SS"


def test_a_in_tensor_memory_replaces_its_shared_reads():
    one = MmaInstruction(MmaShape("f16", 128, 64), accumulator(128, 64), a=a_operand(128, 16, 16).at(64))
    assert one.mode == "TS"
    assert one.shared_bytes == 64 * 32
    assert one.tmem_read_bytes == 128 * 64 * 4 + 128 * 32


def test_a_sparse_product_reads_metadata():
    one = MmaInstruction(
        MmaShape("f16", 128, 64, sparse=True), accumulator(128, 64), e=metadata("f16").at(64)
    )
    assert one.shape.K == 32
    assert one.shared_bytes == 128 * 32 + 64 * 64


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: MmaInstruction(MmaShape("f16", 128, 64), accumulator(64, 64)),
            "layout F; the product writes 128 x 64",
        ),
        (
            lambda: MmaInstruction(
                MmaShape("f16", 64, 64), accumulator(64, 64), a=a_operand(64, 16, 16).at(64, 16)
            ),
            "share the lane offset",
        ),
        (
            lambda: MmaInstruction(MmaShape("f16", 128, 64), accumulator(128, 64).at(480)),
            "columns 480 to 543",
        ),
        (lambda: MmaInstruction(MmaShape("mxf4", 128, 64), accumulator(128, 64)), "needs scale factors"),
        (
            lambda: MmaInstruction(
                MmaShape("mxf4", 128, 64),
                accumulator(128, 64),
                sfa=scale_factors(128, 1, "4X"),
                sfb=scale_factors(64, 1, "4X"),
                scale_vec="4X",
            ),
            "scale vector 2X",
        ),
        (
            lambda: MmaInstruction(MmaShape("f16", 128, 64, sparse=True), accumulator(128, 64)),
            "needs metadata",
        ),
        (
            lambda: MmaInstruction(MmaShape("f16", 128, 64), accumulator(128, 64), a=a_operand(128, 8, 16)),
            "the product reads 128 x 16",
        ),
        (lambda: LoadStore("ld", ".32x32b", 32, column=500), "columns 500 to 531"),
        (lambda: LoadStore("ld", ".32x32b", 2, reduction="max"), "does not exist on sm_100"),
        (lambda: LoadStore("ld", ".16x64b", 2, split=4), "goes with .16x32bx2"),
        (lambda: InstructionDescriptor("f16", "e4m3", "f16", "f32", 128, 64), "takes f16, bf16"),
        (
            lambda: InstructionDescriptor("mxf4", "e2m1", "e2m1", "f32", 128, 64, "MN", scale="ue8m0"),
            "K-major",
        ),
        (lambda: SmemDescriptor(8, 16, 1024), "multiple of 16"),
        (lambda: SmemDescriptor.decode(0), "needs 0b001"),
        (lambda: check_pair(["cta0.jump"]), "unknown event"),
    ],
)
def test_what_does_not_go_together_is_said(build, message):
    with pytest.raises(TmemError, match=message) as error:
        build()
    assert "\n" not in str(error.value)


PLAIN = {"kind": "f16", "a": "f16", "b": "f16", "d": "f32", "M": 128, "N": 64}
SCALED = {"kind": "mxf4nvf4", "a": "e2m1", "b": "e2m1", "d": "f32", "M": 256, "N": 64, "scale": "ue4m3"}
I8 = {"kind": "i8", "a": "s8", "b": "u8", "d": "s32", "M": 128, "N": 64}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (SCALED | {"M": 64}, "M is 128 or 256"),
        (SCALED | {"M": 32}, "M is 128 or 256"),
        (SCALED | {"M": 128, "k": 96}, "K = 96 needs mxf4 or mxf4nvf4, dense, with M = 256"),
        (SCALED | {"sparse": True, "k": 96}, "K = 96 needs"),
        (PLAIN | {"M": 256, "k": 96}, "K = 96 needs"),
        (PLAIN | {"k": 32}, "has K = 16, not 32"),
        (PLAIN | {"saturate": True}, "has no saturate"),
        (I8 | {"negate_b": True}, "has no negate_b"),
        (PLAIN | {"sfa_id": 1}, "has no sfa_id"),
        (SCALED | {"sfb_id": 4}, "sfb_id 4: 0 to 3"),
        (SCALED | {"max_shift": 1}, "has no max_shift"),
        (PLAIN | {"selector": 1}, "a dense product has no selector"),
        (PLAIN | {"max_shift": -1}, "max_shift -1: 0 to 3"),
    ],
)
def test_instruction_descriptors_hold_only_what_their_kind_has(fields, message):
    with pytest.raises(TmemError, match=message) as error:
        InstructionDescriptor(**fields)
    assert "\n" not in str(error.value)


def test_instruction_descriptors_at_the_ends_of_their_fields():
    ends = [
        (PLAIN | {"sparse": True, "selector": 3, "negate_a": True, "max_shift": 3}, 0xC8102017),
        (I8 | {"saturate": True, "N": 256}, 0x084000A8),
        (SCALED | {"k": 96, "sfa_id": 3, "sfb_id": 2, "N": 8}, 0xF00204A0),
        (SCALED | {"scale": "ue8m0", "major_a": "K", "N": 256}, 0x10C00480),
    ]
    for fields, bits in ends:
        item = InstructionDescriptor(**fields)
        assert hex(item.encode()) == hex(bits)
        assert InstructionDescriptor.decode(bits, item.kind) == item


@pytest.mark.parametrize(
    ("bits", "kind", "message"),
    [
        (0x4100490 | 1 << 6, "f16", "leaves descriptor bit 6 0"),
        (0x8C00000 | 1 << 25, "mxf8f6f4", "leaves descriptor bit 25 0"),
        (1 << 32, "f16", "has 32 bits"),
        (0x4100490 | 1 << 3, "f16", "has no saturate"),
    ],
)
def test_bits_without_meaning_are_not_decoded(bits, kind, message):
    with pytest.raises(TmemError, match=message):
        InstructionDescriptor.decode(bits, kind)


def test_only_the_copy_of_four_rows_has_lanes_to_spare():
    """Row s of .4x256b goes to lane 32 s plus the address: at lane 31 into the lanes that a shift leaves alone."""
    lanes, column, byte = Copy(".4x256b", lane=31, column=8).destination()
    assert lanes[:, 0, 0].tolist() == [31, 63, 95, 127]
    assert (column[3].tolist(), byte[3].tolist()) == ([8 + b // 4 for b in range(32)], [0, 1, 2, 3] * 8)
    for shape, cast in ((".128x256b", ""), (".64x128b", ".warpx2::01_23"), (".32x128b", ".warpx4")):
        with pytest.raises(TmemError, match="the lane of its address is 0"):
            Copy(shape, cast, lane=16)
    with pytest.raises(TmemError, match="address is 0 to 31"):
        Copy(".4x256b", lane=32)


PAIR = MmaShape("mxf8f6f4", 128, 128, 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: MmaInstruction(MmaShape("f16", 128, 64), accumulator(128, 64), a=a_operand(128, 16, 32)),
            "elements of 32 bits; .kind::f16 packs 16",
        ),
        (
            lambda: MmaInstruction(
                MmaShape("f16", 128, 64, 2), accumulator(128, 64, 2), a=a_operand(64, 16, 16)
            ),
            "lies in layout F; the product reads layout B",
        ),
        (
            lambda: MmaInstruction(
                MmaShape("f16", 128, 64, 2, sparse=True),
                accumulator(128, 64, 2, sparse=True),
                a=a_operand(128, 16, 16, 2),
                e=metadata("f16"),
            ),
            "layout C: unknown",
        ),
        (
            lambda: MmaInstruction(
                PAIR,
                accumulator(128, 128, 2),
                sfa=scale_factors(64, 1, "1X"),
                sfb=scale_factors(128, 1, "1X"),
                scale_vec="1X",
            ),
            "scale factors of B: the product needs half of B's columns in each lane half",
        ),
        (
            lambda: MmaInstruction(
                MmaShape("mxf8f6f4", 128, 128),
                accumulator(128, 128),
                sfa=scale_factors(64, 1, "1X"),
                sfb=scale_factors(128, 1, "1X"),
                scale_vec="1X",
            ),
            "scale factors of A are 64 x 4; the product reads 128 x 1",
        ),
        (
            lambda: MmaInstruction(
                MmaShape("tf32", 128, 64, sparse=True), accumulator(128, 64), e=metadata("f8f6f4")
            ),
            "metadata is that of another kind",
        ),
        (lambda: GemmLoop("i8", 128, 128, chip="b300"), ".kind::i8 does not exist on sm_103"),
        (lambda: LoadStore("ld", ".16x32bx2", 4, split=-4), "a negative one is not documented"),
        (lambda: LoadStore("st", ".16x32bx2", 4, split=3), "two threads would write one cell; 4 at least"),
        (lambda: LoadStore("st", ".16x32bx2", 4, split=7, packed=True), "8 at least"),
    ],
)
def test_operands_of_another_product_are_refused(build, message):
    with pytest.raises(TmemError, match=message) as error:
        build()
    assert "\n" not in str(error.value)


def test_a_layout_of_the_kernel_is_taken_as_a_when_it_lies_right():
    shape, d = MmaShape("f16", 128, 64), accumulator(128, 64)
    for text, legal in (("S[(128,16):(1@TLane,1@TCol)]", True), ("S[(128,16):(1@TLane,2@TCol)]", False)):
        a = Operand("a", parse_tirx(text), (128, 16), 16).at(64)
        if legal:
            assert MmaInstruction(shape, d, a=a).mode == "TS"
        else:
            with pytest.raises(TmemError, match="the product reads layout D"):
                MmaInstruction(shape, d, a=a)


def test_halves_that_overlap_share_columns():
    one = LoadStore("ld", ".16x32bx2", 8, column=4, split=2)
    assert (one.columns, one.column_range, one.bytes_of_tmem) == (10, (4, 13), 16 * 10 * 4)
    apart = LoadStore("ld", ".16x32bx2", 8, column=4, split=100)
    assert (apart.columns, apart.column_range) == (16, (4, 111))


@pytest.mark.parametrize(("n", "columns"), [(64, 4), (128, 4), (192, 4), (256, 4)])
def test_scale_factors_of_b_on_a_pair_with_128_rows(n, columns):
    """Each lane half holds N/2 columns of B, so that a word of 256 columns takes 4, copied to two windows each."""
    loop = GemmLoop("mxf8f6f4", 128, n, 2, k_per_stage=128, stages=1)
    place = loop.plan.place("sfb")
    assert (place.piece.columns, place.piece.operand.replicas) == (columns, 2)
    copies = [copy for name, copy in loop.scale_copies if name == "sfb"]
    assert [(c.multicast, c.source_bytes, c.written_bytes) for c in copies] == [
        (".warpx2::01_23", 1024, 2048)
    ]
    wide = GemmLoop("mxf4nvf4", 128, n, 2, k_per_stage=256, stages=1)
    assert wide.plan.place("sfb").piece.columns == 4 * (8 if n > 128 else 4) // 2
    assert [name for name, copy in wide.scale_copies if copy.multicast == ".warpx4"] == ["sfa"] * 4


def test_the_copy_of_split_scale_factors_lands_on_their_map():
    """Rows 0 to 63 of the copy: 32 of the first half of B, 32 of the second; bytes are four scales of four blocks."""
    sf = scale_factors(256, 4, "1X", split=True).cells()
    lanes, column, byte = Copy(".64x128b", ".warpx2::01_23").destination()
    for mn in range(256):
        half, i = divmod(mn, 128)
        for k in range(4):
            row, at = 32 * half + i % 32, i // 32 * 4 + k
            assert lanes[row, at].tolist() == sf.lanes[mn, k].tolist()
            assert (column[row, at], 8 * byte[row, at]) == (sf.column[mn, k], sf.bit[mn, k])


def test_a_product_with_96_elements_of_k_reads_half_as_many_scales_again():
    shape = MmaShape("mxf4nvf4", 256, 128, 2, k=96, arch="sm_103a")
    sf = scale_factors(128, 2, "4X")
    one = MmaInstruction(shape, accumulator(256, 128, 2), sfa=sf, sfb=sf, scale_vec="4X", chip="b300")
    assert one.tmem_read_bytes == 128 * 128 * 4 + 2 * 128 * 6 * 4


def test_a_reduction_exists_on_the_b300():
    assert LoadStore("ld", ".32x32b", 32, reduction="max", chip="b300").registers == 32


@pytest.mark.parametrize("swizzle", ["32B", "64B", "128B"])
@pytest.mark.parametrize("dtype", ["f16", "e4m3", "tf32"])
def test_a_swizzled_tile_is_what_its_descriptor_expects(swizzle, dtype):
    size = {"f16": 2, "e4m3": 1, "tf32": 4}[dtype]
    columns = int(swizzle[:-1]) // size
    tile = with_swizzle(parse(f"S[(64,{columns}):({columns},1)]"), swizzle, dtype)
    lbo, sbo = expected_strides("K", swizzle, size, 64)
    assert check_layout(tile, SmemDescriptor(0, lbo, sbo, swizzle), element_bytes=size) is None
    other = SmemDescriptor(0, lbo, sbo * 2, swizzle)
    difference = check_layout(tile, other, element_bytes=size)
    assert difference is not None
    assert difference.mn == 8


def test_banks_of_a_swizzled_column_differ():
    descriptor = SmemDescriptor(0, 16, 1024, "128B")
    banks = [int(descriptor.banks(row, 0, element_bytes=2, major="K")) for row in range(8)]
    assert banks == [0, 4, 8, 12, 16, 20, 24, 28]


@pytest.mark.parametrize(
    ("box", "problem"),
    [
        (TmaBox("128B", inner_bytes=256), "swizzle 128B allows 128"),
        (TmaBox("NONE", inner_bytes=24), "multiples of 16"),
        (TmaBox("NONE", "32B"), "swizzle 32B only"),
        (TmaBox("32B", "32B", box=(8, 8)), "3 to 5 dimensions"),
        (TmaBox("NONE", box=(512,)), "1 to 256"),
        (TmaBox("NONE", strides=(24,)), "multiple of 16"),
        (TmaBox("NONE", box=(1, 1, 1, 1, 1, 1)), "at most 5"),
    ],
)
def test_boxes_that_a_tensor_map_refuses(box, problem):
    assert not box.legal
    assert any(problem in text for text in box.problems)


@pytest.mark.parametrize(
    ("major", "swizzle", "element", "mn", "strides"),
    [
        ("K", "128B", 2, 64, (16, 1024)),
        ("K", "64B", 2, 64, (16, 512)),
        ("K", "32B", 2, 64, (16, 256)),
        ("K", "none", 2, 64, (1024, 128)),
        ("MN", "128B", 2, 128, (1024, 2048)),
        ("MN", "64B", 2, 128, (512, 2048)),
        ("MN", "32B", 2, 128, (256, 2048)),
        ("MN", "none", 2, 128, (2048, 128)),
        ("MN", "128B_base32B", 4, 64, (512, 1024)),
    ],
)
def test_strides_of_dense_tiles(major, swizzle, element, mn, strides):
    """The worked values of the vendor's layouts."""
    assert expected_strides(major, swizzle, element, mn) == strides


@pytest.mark.parametrize(
    ("major", "swizzle", "element", "mn", "strides"),
    [
        ("MN", "128B", 2, 32, (1024, 1024)),
        ("MN", "64B", 2, 40, (512, 1024)),
        ("K", "none", 2, 12, (256, 128)),
    ],
)
def test_a_block_that_is_not_full_takes_a_whole_one(major, swizzle, element, mn, strides):
    assert expected_strides(major, swizzle, element, mn) == strides


def test_a_tile_has_rows():
    with pytest.raises(TmemError, match="a tile of 0 rows"):
        expected_strides("K", "128B", 2, 0)
