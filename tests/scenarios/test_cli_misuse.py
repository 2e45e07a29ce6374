"""What new users type by mistake, in one process: one line that says what is wrong, never a wrong answer."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from bankbench.scenarios import ScenarioError, fix, run
from bankbench.scenarios.cli.app import COMMANDS, build
from bankbench.scenarios.testing import assert_conflict_free
from typer.testing import CliRunner, Result

APP = build(*COMMANDS)
TILE = """\
name: tile
buffers:
  tile: {dtype: f16, shape: [8, 64]}
accesses:
  - {buffer: tile, lanes: "[lane, 0]", mask: lane < 8}
expect: {max_wavefronts: 8}
"""


def typed(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(APP, arguments, input=stdin)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tile.yaml").write_text(TILE)


F16 = ("S[(8,64):(64,1)]", "--dtype", "f16")
REFUSED = [
    # an option that would change nothing
    (("count", "0,4", "--swizzle", "128B"), "offsets are bytes already"),
    (("count", "0,4", "--shape", "2"), "offsets are bytes already"),
    (("count", "0,4", "--bytes", "lane * 4"), "offsets are given already"),
    (("count", *F16, "--by", "row", "--lanes", "[0, lane]"), "--lanes says already"),
    (("count", *F16, "--by", "row", "--bytes", "lane"), "--bytes says already"),
    (("count", *F16, "--bytes", "lane * 2", "--swizzle", "128B"), "--bytes are addresses already"),
    (("count", "--file", "rows.jsonl", "--op", "lds.64"), "which --op does not change"),
    (("count", "0,4", "--file", "rows.jsonl"), "which the argument does not change"),
    (("explain", "tile.yaml", "--op", "lds.64"), "which --op does not change"),
    (("explain", *F16, "--by", "row", "--access", "x"), "--access: is for scenarios"),
    (("view", "tile.yaml", "--swizzle", "128B"), "which --swizzle does not change"),
    (("view", *F16, "--op", "lds.64"), "--op is part of an access; --lanes says"),
    # widths that no instruction has
    (("count", "0,4", "--width", "0"), "0 bytes a lane; 1, 2, 4, 8 or 16"),
    (("count", "0,3", "--width", "3"), "3 bytes a lane; 1, 2, 4, 8 or 16"),
    (("count", "0,4", "--vector", "3"), "3 elements of f32 are 12 bytes a lane"),
    (("count", *F16, "--by", "row", "--vector", "128"), "a lane takes 128 elements of a row, which has 64"),
    # layouts and offsets at the edges
    (("count", "(8,0):(1,1)", "--by", "row"), "shape [8, 0] has no elements"),
    (("count", "(1000000,1000000):(1,1000000)", "--by", "row", "--swizzle", "128B"), "more than any shared"),
    (("count", "--", "-4,0"), "offset -4; whole bytes from 0 on"),
    (("count", "9" * 5000), "a number without end"),
    (("count", "S[(4,8,16):(128,16,1)]"), "--lanes '[lane % 8, 0, 0]'"),
    (("count", *F16, "--by", "column", "--mask", "0"), "no lane is active"),
    (("count", *F16, "--lanes", "[lane % 8, 0]", "--mask", "0"), "no lane is active"),
    (("convert", "(8,64):(64,1)", "--shape=-1"), "--shape '-1': whole numbers from 1 on"),
    (("convert", "(8,64):(64,1)", "--shape", "7,9"), "63 elements, but the layout places 512"),
    # constants and chips
    (("run", "tile.yaml", "--set", "shared_memory.banks="), "no value"),
    (("run", "tile.yaml", "--set", "shared_memory.banks=2020-13-45"), "not a number, a word or a list"),
    (("run", "tile.yaml", "--set", "shared_memory.banks=" + "9" * 5000), "not a number, a word or a list"),
    (("run", "tile.yaml", "--set", "shared_memory.banks=!!int x"), "not a number, a word or a list"),
    (("run", "tile.yaml", "--set", "shared_memory.banks=.nan"), "nan is no number to count with"),
    (("run", "tile.yaml", "--set", "shared_memory.banks=-.inf"), "-inf is no number to count with"),
    (("count", "0,4", "--chip", "x" * 3000), "File name too long"),
    (("count", "0,4", "--chip", ""), "unknown chip ''"),
    (("explain", "0,4", "--chip", ""), "unknown chip ''"),
    (("run", "tile.yaml", "--chip", ""), "unknown chip ''"),
    # places that cannot be written
    (("fix", "tile.yaml", "--write", "tile.yaml/fixed.yaml"), "cannot be written"),
    (("fix", "tile.yaml", "--write", "x" * 3000), "File name too long"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[" ".join(a)[:60] for a, _ in REFUSED])
def test_a_mistake_is_one_line_and_exit_code_2(arguments: tuple[str, ...], message: str) -> None:
    found = typed(*arguments)
    assert found.exit_code == 2, found
    assert found.stdout == ""
    assert len(found.stderr.splitlines()) == 1
    assert found.stderr.startswith("bankbench: ")
    assert message in found.stderr


def test_overrides_of_a_file_are_numbers_too() -> None:
    Path("tile.yaml").write_text(TILE + "overrides: {shared_memory.banks: .inf}\n")
    found = typed("run", "tile.yaml")
    assert found.exit_code == 2
    assert found.stderr.startswith("bankbench: tile.yaml:7: overrides: chip h200: shared_memory.banks: inf")


@pytest.mark.parametrize("wide", [("--width", "16"), ("--op", "lds.128"), ("--vector", "8")])
def test_a_width_is_the_same_however_it_is_said(wide: tuple[str, ...]) -> None:
    rows = json.loads(typed("count", *F16, "--by", "row", *wide, "--json").stdout)
    assert (rows["op"], rows["width_bytes"], rows["wavefronts"], rows["excess_wavefronts"]) == (
        "lds",
        16,
        1,
        0,
    )
    columns = json.loads(typed("count", *F16, "--by", "column", *wide, "--json").stdout)
    assert (columns["width_bytes"], columns["wavefronts"], columns["excess_wavefronts"]) == (16, 8, 7)
    assert columns["hint"] == "with --swizzle 128B: 1"


def test_a_mask_of_the_user_is_the_mask() -> None:
    found = json.loads(typed("count", *F16, "--by", "column", "--mask", "0x3", "--json").stdout)
    assert found["wavefronts"] == 2


def test_a_row_of_a_file_has_its_own_reasons_and_assumptions() -> None:
    rows = [
        {"id": 1, "op": "atoms", "variant": "atom.minmax.b64", "offsets": [0]},
        {"id": 2, "op": "atoms", "variant": "atom.add.f32", "offsets": [0]},
        {"id": 3, "op": "lds", "width_bytes": 16, "offsets": [0]},
        {"id": 4, "op": "lds", "width_bytes": 4, "offsets": [0]},
    ]
    stdin = "".join(json.dumps(row) + "\n" for row in rows)
    found = [
        json.loads(line)
        for line in typed("count", "--file", "-", "--chip", "b200", stdin=stdin).stdout.splitlines()
    ]
    alone = [
        json.loads(typed("count", "--file", "-", "--chip", "b200", stdin=json.dumps(row)).stdout)
        for row in rows
    ]
    assert found == alone
    for answer in found:
        assert ("reason" in answer) == (answer["status"] == "unknown")
        assert ("assumptions" in answer) == (answer["status"] == "assumed")
    assert {answer["status"] for answer in found} >= {"unknown", "assumed"}


def test_names_with_blanks_and_signs_are_scenarios() -> None:
    Path("my tile, new (2).yaml").write_text(TILE)
    found = typed("explain", "my tile, new (2).yaml")
    assert found.exit_code == 0
    assert "8 wavefronts" in found.stdout


def test_signs_beyond_16_bits_in_json_and_in_python() -> None:
    title = "\U0001f600 tile \\ \U0001f680"
    access = {"buffer": "tile", "lanes": "[lane % 8, 0]"}
    scenario = {
        "name": "x",
        "title": title,
        "buffers": {"tile": {"dtype": "f16", "shape": [8, 64]}},
        "accesses": [access],
    }
    Path("x.json").write_text(json.dumps(scenario))
    assert "\\ud83d" in Path("x.json").read_text()
    assert run("x.json").title == title
    assert run(scenario).title == title
    with pytest.raises(ScenarioError, match="not YAML"):
        run(scenario | {"title": "\ud800"})
    with pytest.raises(ScenarioError, match="plain values"):
        run(scenario, overrides={"shared_memory.banks": object()})


def test_file_names_that_are_no_text_are_printed_with_escapes() -> None:
    folder = os.fsdecode(b"d\xff")
    try:
        Path(folder).mkdir()
    except OSError:
        pytest.skip("this file system takes no such names")
    Path(folder, "x.yaml").write_text(TILE)
    found = typed("check", folder, "--sarif", "log.sarif", "--junit", "log.xml")
    assert found.exit_code == 0
    assert "d\\udcff/x.yaml: 8 wavefronts" in found.stdout
    assert Path("log.xml").exists()
    assert Path("log.sarif").exists()
    assert typed("run", f"{folder}/x.yaml").exit_code == 0


def test_a_terminal_that_knows_ascii_alone_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("tile.yaml").write_text(TILE.replace("{buffer", "{name: Größe, buffer"), encoding="utf-8")
    found = CliRunner(charset="ascii").invoke(APP, ["run", "tile.yaml"])
    assert found.exit_code == 0
    assert "Gr\\xf6\\xdfe" in found.stdout


def test_a_scenario_comes_from_standard_input() -> None:
    for command in ("run", "explain", "check", "fix"):
        found = typed(command, "-", stdin=TILE)
        assert found.exit_code == 0, found
        assert "8 wavefronts" in found.stdout or "8 with 7 excess before" in found.stdout
    assert "<" not in typed("run", "-", stdin=TILE.replace("f16", "f17")).stderr
    assert typed("run", "-", stdin=TILE.replace("f16", "f17")).stderr.startswith(
        "bankbench: -:3: buffers.tile.dtype"
    )
    pairs = json.dumps({"name": "x", "title": "\U0001f600", "buffers": {}, "accesses": []})
    assert "invalid Unicode" not in typed("run", "-", stdin=pairs).stderr


@pytest.mark.parametrize(("limit", "code"), [(8, 0), (7, 1)])
@pytest.mark.parametrize("form", ["--plain", "--json"])
def test_a_reader_that_goes_away_does_not_change_the_exit_code(limit: int, code: int, form: str) -> None:
    Path("tile.yaml").write_text(TILE.replace("max_wavefronts: 8", f"max_wavefronts: {limit}"))
    reading, writing = os.pipe()
    os.close(reading)  # the reader has gone before anything is written
    script = "from bankbench.scenarios.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", script, "run", "tile.yaml", form],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (found.returncode, found.stderr) == (code, "")


@pytest.mark.parametrize("chip", ["gfx942", "ascend910b"])
def test_an_unknown_answer_is_never_a_number(chip: str) -> None:
    """One chip whose rule is unknown, one that has no such memory: every command says so with exit code 3."""
    for command in (
        ("run", "tile.yaml"),
        ("explain", "tile.yaml"),
        ("fix", "tile.yaml"),
        ("check", "tile.yaml"),
    ):
        found = typed(*command, "--chip", chip)
        assert found.exit_code == 3, (command, found)
        assert "wavefronts 0" not in found.stdout
    for command in (
        ("count", "0,128"),
        ("count", *F16, "--by", "column"),
        ("explain", *F16, "--by", "column"),
    ):
        assert typed(*command, "--chip", chip).exit_code == 3, command
    totals = json.loads(typed("run", "tile.yaml", "--chip", chip, "--json").stdout)["totals"]
    assert set(totals.values()) == {None}
    both = typed("compare", "tile.yaml", "tile.yaml", "--chip", chip, "--plain")
    assert both.exit_code == 3
    assert both.stdout.startswith("unknown before and after: nothing to compare\n")
    assert typed("run", "tile.yaml", "--chip", chip, "--out", "report").exit_code == 3
    one = typed("compare", "report", "tile.yaml", "--plain")
    assert one.stdout.startswith("unknown before: nothing to compare\n")


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    Path("tile.yaml").write_text(
        TILE.replace("expect:", "  - {op: atom.shared.min.u64, offsets: [0, 8]}\nexpect:")
    )
    found = typed("run", "tile.yaml", "--json")
    assert found.exit_code == 3
    result = json.loads(found.stdout)
    assert result["headline"].endswith("(1 of 2 accesses unknown)")
    assert set(result["totals"].values()) == {None}
    assert [row["wavefronts"] for row in result["tables"]["accesses"]] == [8, None]


def test_an_instruction_that_a_chip_does_not_have_is_named_at_its_place() -> None:
    Path("tile.yaml").write_text(
        TILE.replace('lanes: "[lane, 0]", mask: lane < 8', 'op: ldmatrix.x1, lanes: "[lane, 0]"')
    )
    assert typed("run", "tile.yaml").exit_code == 0
    found = typed("run", "tile.yaml", "--chip", "gfx942")
    assert found.exit_code == 2
    assert found.stderr.startswith("bankbench: tile.yaml:5: accesses[0]: ldmatrix.x1: ")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "0,4\n0,,8\n", "a.csv:2: accesses[0].offsets: lane 1 has no offset"),
        ("a.csv", "lane,offset\n0,0\n1,4\n0,8\n", "a.csv:4: accesses[0].offsets: lane 0 stands here twice"),
    ],
)
def test_a_file_of_offsets_moves_no_lane_and_loses_none(name: str, text: str, message: str) -> None:
    Path(name).write_text(text)
    Path("s.yaml").write_text(f"name: s\naccesses:\n  - {{op: lds.32, offsets: {name}}}\n")
    found = typed("run", "s.yaml")
    assert found.exit_code == 2
    assert found.stderr.startswith(f"bankbench: {message}")


def test_empty_cells_at_the_end_of_a_line_are_lanes_that_are_off() -> None:
    Path("a.csv").write_text("0,128,,\n0,128,256,\n")
    Path("s.yaml").write_text("name: s\naccesses:\n  - {op: lds.32, offsets: a.csv}\n")
    assert run("s.yaml").extra["totals"]["wavefronts"] == 2 + 3


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("é + evil", "name 'é' is not allowed", 0),
        ("lane + (3 if lane else é.x)", "an attribute", 23),
        ("min(é, 1) + evil()", "name 'é' is not allowed", 4),
        ("max(lane, abs())", "not allowed here; there are min(a, b, ...)", 10),
        ("1 if 'ü' == lane else open(1)", "this literal is not allowed", 5),
        ("lane * " + "9" * 300, "a number beyond 2**48", 7),
    ],
)
def test_the_caret_of_an_expression_counts_signs(text: str, message: str, caret: int) -> None:
    found = typed("count", "--bytes", text, "--op", "lds.u8")
    assert found.exit_code == 2
    line, shown, below = found.stderr.splitlines()
    assert message in line
    assert len(line) < 200
    assert (shown, below) == (f"  {text}", f"  {' ' * caret}^")


def test_python_takes_arrays_names_and_aliases() -> None:
    offsets = 128 * np.arange(32).reshape(1, 32)
    scenario = {"name": "x", "accesses": [{"op": "lds.32", "offsets": offsets, "repeat": np.int64(2)}]}
    assert run(scenario).extra["totals"]["wavefronts"] == 64
    assert run(scenario, overrides={"shared_memory.banks": np.int64(64)}).extra["totals"]["wavefronts"] == 32
    with pytest.raises(ScenarioError, match="plain values: object is none"):
        run(scenario | {"title": object()})
    assert list(fix("tile.yaml", buffers="tile").extra["fields"]) == ["tile"]
    result = run("tile.yaml")
    assert_conflict_free(result, chip="sm_90", max_excess=7)
    with pytest.raises(ValueError, match="the result is of h200"):
        assert_conflict_free(result, chip="a100")
    typed("run", "tile.yaml", "--out", "report")
    assert typed("compare", "report", "tile.yaml", "--chip", "sm_90").exit_code == 0
    assert typed("compare", "report", "tile.yaml", "--chip", "a100").exit_code == 2


def _damaged(text: str) -> bytes:
    """A gzip file whose beginning is whole and whose middle is not: three bytes of the packed data are others."""
    whole = gzip.compress(text.encode())
    for at in range(len(whole) // 2, len(whole) - 12):
        changed = bytearray(whole)
        changed[at : at + 3] = bytes(255 - byte for byte in changed[at : at + 3])
        try:
            gzip.decompress(bytes(changed))
        except zlib.error:
            return bytes(changed)
        except (OSError, EOFError):
            continue
    raise AssertionError("no change breaks it")


def test_a_compressed_file_with_changed_bytes_is_one_line() -> None:
    generator = np.random.default_rng(5)
    rows = [
        {"op": "lds", "width": 4, "offsets": (4 * generator.integers(0, 999, 32)).tolist()}
        for _ in range(3000)
    ]
    Path("t.jsonl.gz").write_bytes(_damaged("".join(json.dumps(row) + "\n" for row in rows)))
    counted = typed("count", "--file", "t.jsonl.gz")
    assert counted.exit_code == 2
    assert len(counted.stdout.splitlines()) > 500  # what came before it is answered
    assert "cannot be read further: Error -3" in counted.stderr
    replayed = typed("replay", "t.jsonl.gz")
    assert replayed.exit_code == 2
    assert "cannot be read further: Error -3" in replayed.stderr
    Path("o.json.gz").write_bytes(_damaged(json.dumps([row["offsets"] for row in rows])))
    Path("s.yaml").write_text("name: s\naccesses:\n  - {op: lds.32, offsets: o.json.gz}\n")
    read = typed("run", "s.yaml")
    assert (read.exit_code, "cannot be read: Error -3" in read.stderr) == (2, True)
    Path("p.csv.gz").write_bytes(
        _damaged("Kernel Name,x\n" + "".join(f"k{i * 7919},{i}\n" for i in range(9000)))
    )
    assert typed("compare", "tile.yaml", "p.csv.gz").exit_code == 2


def test_what_is_no_json_is_not_repeated_as_json() -> None:
    found = typed("count", "--file", "-", stdin='{"id": NaN, "offsets": [0]}\n{"id": 2, "offsets": [0]}\n')
    assert found.exit_code == 2
    first, second = (json.loads(line, parse_constant=pytest.fail) for line in found.stdout.splitlines())
    assert (first["status"], first["error"]) == ("error", "not JSON: NaN is no value of JSON")
    assert (second["id"], second["wavefronts"]) == (2, 1)
