"""Conversions: known pairs, reasons why there is none, warnings of the classic mistakes, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from bankbench.layouts import LayoutError, convert, parse
from bankbench.layouts.protocol import tile_offsets

PAIRS = [
    ("S[(8,64):(64,1)]", "cute", "(8,64):(64,1)"),
    ("ComposeLayout(3, 3, 3, S[(8,64):(64,1)])", "cute", "Sw<3,3,3> o (8,64):(64,1)"),
    ("ComposeLayout(3, 3, 3, S[(8,64):(64,1)], swizzle_inner=False)", "cute", "Sw<3,3,-3> o (8,64):(64,1)"),
    ("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", "tirx", "ComposeLayout(3, 3, 3, S[(8,64):(64,1)])"),
    ("zN(64, 64, f16)", "cute", "((16,4),(16,4)):((16,256),(1,1024))"),
    ("zN(64, 64, f16)", "tirx", "S[(4,16,4,16):(256,16,1024,1)]"),
    ("((2,4),8):((1,16),2)", "tla", "((2, 4), 8):((1, 16), 2) origin (8, 8)"),
    (
        "swizzled_shared(vec=8, perPhase=1, maxPhase=8, order=[1,0], shape=[64,64])",
        "cute",
        "Sw<3,3,3> o (64,64):(64,1)",
    ),
    ("padded_shared(paddings=[[64,4]], order=[1,0], shape=[64,64])", "tirx", "S[(64,64):(68,1)]"),
    ("S[4:1@laneid] + R[2:4@laneid]", "linear", "linear(lane=[[1],[2],[0]])"),
    ("ComposeLayout(3, 3, 3, S[8:16] + -3)", "cute", "Sw<3,3,3> o -3 o 8:16"),
    # an origin smaller than the padded shape: the whole padded shape is converted
    ("nZ(_8, 1, f16)", "linear", "linear(offset=[[1,0],[2,0],[4,0],[8,0],[0,1],[0,2],[0,4],[0,8]])"),
]


@pytest.mark.parametrize(("text", "to", "wanted"), PAIRS)
def test_known_pairs(text, to, wanted):
    found = convert(text, to)
    assert found.text == wanted
    assert found.checked > 0
    assert parse(found.text, to) == found.target


IMPOSSIBLE = [
    ("S[4:1@laneid] + R[2:4@laneid]", "cute", "replica"),
    ("S[8:1] + 5", "cute", "offset"),
    ("S[(8,4):(4@laneid,1)]", "tla", "laneid"),
    ("Sw<3,3,3> o (8,64):(64,1)", "tla", "swizzle"),
    ("(3,4):(1@1,1@0)", "tirx", "coordinate strides"),
    ("(8,64):(72,1)", "linear", "not linear"),
    ("S[(6,4):(4,1)]", "linear", "powers of two"),
    ("padded_shared(paddings=[[32,4]], order=[1,0], shape=[16,64])", "cute", "padding"),
    ("linear(lane=[[1,1],[0,1]], register=[[2,0]])", "tirx", "xor"),
    ("ComposeLayout(1, 2, 2, S[()])", "cute", "axis m"),
]


@pytest.mark.parametrize(("text", "to", "word"), IMPOSSIBLE)
def test_impossible_with_the_reason(text, to, word):
    found = convert(text, to)
    assert found.target is None
    assert found.text is None
    assert word in (found.reason or "")


def test_a_fragment_names_its_thread_value_layout():
    found = convert("S[(2,8,4,2):(2,4@laneid,1@laneid,1)]", "cute", shape=(16, 8))
    assert "((4,8),(2,2)):((32,1),(16,8))" in (found.reason or "")


def test_warnings_of_the_classic_mistakes():
    rows = convert("S[(8,64):(64,1)]", "cute").warnings
    assert any("row-major" in line and "column-major" in line for line in rows)
    swizzled = convert("ComposeLayout(3, 3, 3, S[(8,64):(64,1)])", "cute", element_bytes=2).warnings
    assert any("on byte addresses it is Sw<3,4,3>" in line for line in swizzled)
    bytewise = convert("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", "tirx").warnings
    assert any("counted bytes" in line for line in bytewise)
    cropped = convert("zN(100, 100, f16)", "cute").warnings
    assert any("origin (100, 100) is lost" in line for line in cropped)


def test_unknown_notation_and_bad_text():
    with pytest.raises(LayoutError, match="unknown notation"):
        convert("S[8:1]", "fortran")
    with pytest.raises(LayoutError):
        convert("S[8:", "cute")


def run_command(capsys, *arguments):
    import typer.main
    from bankbench.scenarios.cli.convert import convert as command
    from click.exceptions import Exit

    app = typer.Typer()
    app.command()(command)
    try:
        code = typer.main.get_command(app).main([*arguments], standalone_mode=False) or 0
    except Exit as error:
        code = error.exit_code
    return code, capsys.readouterr()


def test_command_prints_the_text_and_the_warning(capsys):
    code, out = run_command(capsys, "S[(8,64):(64,1)]", "--to", "cute", "--swizzle", "128B", "--dtype", "f16")
    assert code == 0
    assert out.out == "Sw<3,3,3> o (8,64):(64,1)\n"
    assert "row-major" in out.err


def test_command_says_why_not(capsys):
    code, out = run_command(capsys, "S[4:1@laneid] + R[2:4@laneid]", "--to", "cute")
    assert code == 3
    assert out.out.startswith("impossible: a replica has no CuTe form")


def test_command_json_of_all_notations(capsys):
    code, out = run_command(capsys, "zN(64, 64, f16)", "--json")
    found = json.loads(out.out)
    assert code == 0
    assert found["notation"] == "tla"
    assert set(found["conversions"]) == {"tirx", "cute", "linear"}
    assert all(answer["text"] for answer in found["conversions"].values())


@pytest.mark.parametrize("text", ["(8,64):(64,1)", "((2,4),64):((1,2),8)", "Sw<3,3,3> o (8,64):(64,1)"])
@pytest.mark.parametrize("shape", [(64, 8), (4, 2, 64), (512,)])
def test_a_cute_layout_is_read_in_another_shape_column_by_column(text, shape):
    source = parse(text)
    for to in ("tirx", "cute", "linear"):
        found = convert(source, to, shape)
        assert found.target is not None, found.reason
        assert found.checked == 512
        tall, first = (
            tile_offsets(found.target, shape)["m"],
            source.apply(*[0] * len(source.logical_shape))["m"],
        )
        assert tall.reshape(-1)[0] == first
        # The first coordinate runs fastest, in both shapes.
        linear = np.transpose(tall).reshape(-1)
        own = np.transpose(tile_offsets(source, source.logical_shape)["m"]).reshape(-1)
        assert np.array_equal(linear, own)


@pytest.mark.parametrize(
    ("size", "says"), [(2, "Sw<3,4,3>"), (0.5, "Sw<3,2,3>"), (None, "2-byte"), (0.75, "no swizzle")]
)
def test_the_swizzle_in_bytes_follows_the_element(size, says):
    found = convert("Sw<3,3,3> o (8,64):(64,1)", "tirx", element_bytes=size)
    assert any(says in note for note in found.warnings), found.warnings
