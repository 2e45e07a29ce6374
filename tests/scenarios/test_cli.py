"""The command line as a user types it: in a process of its own, with exit codes and both streams."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest


def bankbench(*arguments: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from bankbench.scenarios.cli import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def test_count_a_column_with_and_without_swizzle() -> None:
    plain = bankbench("count", "S[(8,64):(64,1)]", "--dtype", "f16", "--by", "column")
    assert plain.returncode == 0
    assert plain.stdout.startswith(
        "8 wavefronts, 1 ideal, 7 excess (8-way): lanes 0, 1, 2, 3, 4, 5, 6, 7 meet on bank 0"
    )
    assert "with --swizzle 128B: 1" in plain.stdout
    assert len(plain.stdout.splitlines()) == 1
    swizzled = bankbench("count", "S[(8,64):(64,1)]", "--dtype", "f16", "--by", "column", "--swizzle", "128B")
    assert swizzled.stdout.startswith("1 wavefront, 1 ideal, no excess")


def test_count_what_a_kernel_engineer_pastes_first() -> None:
    found = bankbench("count", "Swizzle<3,3,3> o (8,64):(64,1)", "--dtype", "f16", "--op", "ldmatrix.x4")
    assert found.returncode == 0
    assert found.stdout.startswith("4 wavefronts, 4 ideal, no excess; lanes [lane % 8, 8 * (lane // 8)]")


def test_count_says_who_meets_in_a_loop_of_load_and_swap() -> None:
    found = bankbench("count", "0,0,0", "--op", "red.add.f32")
    assert found.returncode == 0
    assert found.stdout.startswith(
        "9 wavefronts, 3 ideal, 6 excess (3-way): lanes 0, 1, 2 meet on bank 0; a loop"
    )
    assert "3 rounds" in found.stdout
    unknown = bankbench("count", "0,0,0", "--op", "atom.shared.min.u64")
    assert unknown.returncode == 3
    assert "depend on the data" in unknown.stdout + unknown.stderr


def test_count_parameters_of_a_triton_swizzle_as_people_paste_them() -> None:
    options = ("--dtype", "f16", "--shape", "64,64", "--by", "column")
    bare = bankbench("count", "vec=8 perPhase=1 maxPhase=8", *options)
    whole = bankbench(
        "count", "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>", *options
    )
    assert bare.returncode == 0
    assert bare.stdout == whole.stdout
    assert bare.stdout.startswith("4 wavefronts, 1 ideal, 3 excess (4-way)")
    shapeless = bankbench("count", "vec=8 perPhase=1 maxPhase=8", "--dtype", "f16")
    assert shapeless.returncode == 2
    assert "give a shape beside it" in shapeless.stderr


def test_count_offsets_and_bytes_in_json() -> None:
    offsets = ",".join(str(128 * lane) for lane in range(32))
    found = json.loads(bankbench("count", offsets, "--op", "lds.32", "--json").stdout)
    assert (found["wavefronts"], found["bank_conflicts"], found["worst_ways"], found["status"]) == (
        32,
        31,
        32,
        "measured",
    )
    found = json.loads(
        bankbench("count", "--bytes", "lane * 16", "--op", "ld.shared.v4.b32", "--json").stdout
    )
    assert (found["wavefronts"], found["ideal_wavefronts"], found["excess_wavefronts"]) == (4, 4, 0)


def test_count_a_file_of_rows_in_order(tmp_path: Path) -> None:
    rows = [
        {
            "id": 7,
            "op": "lds",
            "width_bytes": 4,
            "variant": None,
            "mask": 0xFFFFFFFF,
            "offsets": [128 * i for i in range(32)],
        },
        {
            "id": "x",
            "op": "ldmatrix",
            "width_bytes": 16,
            "variant": "x1",
            "mask": 255,
            "offsets": [128 * i for i in range(8)],
        },
    ]
    path = tmp_path / "rows.jsonl.gz"
    with gzip.open(path, "wt") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    found = bankbench("count", "--file", str(path))
    assert found.returncode == 0
    answers = [json.loads(line) for line in found.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [7, "x"]
    assert [answer["wavefronts"] for answer in answers] == [32, 8]
    keys = (
        "id",
        "wavefronts",
        "bank_conflicts",
        "ideal_wavefronts",
        "excess_wavefronts",
        "worst_ways",
        "status",
    )
    assert all(key in answers[0] for key in keys)


def test_count_a_file_with_wrong_rows_answers_the_others(tmp_path: Path) -> None:
    lines = [
        '{"id": 1, "offsets": [0, 4]}',
        "not json",
        '{"id": 3, "offsets": [0, 3], "width_bytes": 4}',
        '{"id": 4, "offsets": "x"}',
        '{"id": 5, "op": "lds", "width_bytes": 4, "offsets": [0, 128]}',
        '{"id": 6, "offsets": [0, 4]',
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    found = bankbench("count", "--file", str(path))
    answers = [json.loads(line) for line in found.stdout.splitlines()]
    assert [answer["status"] for answer in answers] == [
        "measured",
        "error",
        "error",
        "error",
        "measured",
        "error",
    ]
    assert [answer.get("line") for answer in answers] == [None, 2, 3, 4, None, 6]
    assert answers[4]["wavefronts"] == 2
    assert found.returncode == 2
    assert "4 rows could not be counted" in found.stderr


def test_run_prints_the_answer_first_and_fits_100_columns() -> None:
    found = bankbench("run", "ldmatrix-swizzles")
    lines = found.stdout.splitlines()
    assert found.returncode == 0
    assert lines[0] == (
        "1,920 wavefronts, 512 ideal, 1,408 excess on h200; worst: no swizzle (1,024 instead of 128, 8-way)"
    )
    assert max(map(len, lines)) <= 100
    assert "again with: bankbench run ldmatrix-swizzles" in found.stdout


def test_run_writes_a_folder_and_json(tmp_path: Path) -> None:
    found = bankbench("run", "transpose-pitch-32", "--out", str(tmp_path / "out"), "--json")
    result = json.loads(found.stdout)
    assert [row["wavefronts"] for row in result["tables"]["accesses"]] == [32, 1024]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "bankbench run transpose-pitch-32" in page
    assert (tmp_path / "out" / "report.html").stat().st_size < 2_000_000


SCENARIO = """\
name: mine
chip: h200
buffers:
  tile: {dtype: f16, shape: [8, 64]}
accesses:
  - buffer: tile
    lanes: "[lane, 0]"
    mask: lane < 8
expect: {max_wavefronts: 4}
"""


def write(folder: Path, text: str) -> str:
    (folder / "mine.yaml").write_text(text)
    return "mine.yaml"


def test_a_broken_limit_is_exit_code_1(tmp_path: Path) -> None:
    found = bankbench("run", write(tmp_path, SCENARIO), cwd=tmp_path)
    assert found.returncode == 1
    assert "mine.yaml:9: all accesses: wavefronts 8, at most 4" in found.stdout


def test_an_unknown_answer_is_exit_code_3(tmp_path: Path) -> None:
    found = bankbench("run", write(tmp_path, SCENARIO), "--chip", "gfx942", cwd=tmp_path)
    assert found.returncode == 3
    assert "unknown" in found.stdout
    assert bankbench("count", "0,4", "--op", "lds.32", "--chip", "gfx942").returncode == 3


def test_assumptions_are_said() -> None:
    found = bankbench("run", "float4-rows", "--chip", "b200")
    assert found.returncode == 0
    assert "Rests on" in found.stdout
    assert "status: assumed" in found.stdout


def test_an_override_is_said_and_changes_the_answer() -> None:
    found = bankbench("run", "transpose-pitch-33", "--set", "shared_memory.banks=33", "--json")
    assert found.returncode == 1  # pitch 33 on 33 banks is the conflict again
    assert any("shared_memory.banks" in line for line in json.loads(found.stdout)["assumptions"])


BAD = [
    (("count", "S[(8,64:(64,1)]", "--by", "row"), "expected", "  S[(8,64:(64,1)]"),
    (("count", "(8,64):(64,1"), "expected", "  (8,64):(64,1"),
    (
        ("count", "S[(8,64):(64,1)]", "--lanes", "[lane, 0]"),
        "lane 8 touches element [8, 0], outside the shape",
        None,
    ),
    (
        ("count", "S[(8,20):(20,1)]", "--dtype", "f16", "--by", "row", "--swizzle", "128B"),
        "128B swizzle",
        None,
    ),
    (("count", "0,2", "--op", "lds.32"), "misaligned", None),
    (("count", "0,4", "--op", "lds.33"), "lds.33", None),
    (
        ("count", "S[(4096,64):(64,1)]", "--by", "row"),
        "1048576 bytes from byte 0 on end at 1048576; a block on h200",
        None,
    ),
    (("count", "0,4", "--chip", "h300"), "h300", None),
    (("count", "S[(8,64):(64,1)]", "--dtype", "f17", "--by", "row"), "f17", None),
    (
        ("count", "S[(8,64):(64,1)]", "--lanes", "[lane % 8, evil]"),
        "name 'evil' is not allowed",
        "  [lane % 8, evil]",
    ),
    (("count", "--file", "none.jsonl"), "none.jsonl: no such file", None),
    (("count",), "name a layout", None),
    (("run", "none.yaml"), "none.yaml: cannot be read", None),
    (("run", "float4-rows", "--out", "/proc/none/x"), "/proc/none/x: cannot be written", None),
    (("run", "float4-rows", "--set", "banks"), "write PATH=VALUE", None),
    (("run", "float4-rows", "--set", "shared_memory.bnaks=3"), "shared_memory.bnaks", None),
    (("explain", "float4-rows", "--access", "nothing"), "nothing", None),
]


@pytest.mark.parametrize(("arguments", "message", "caret"), BAD, ids=[" ".join(item[0])[:50] for item in BAD])
def test_bad_input_is_one_line_with_the_place(
    arguments: tuple[str, ...], message: str, caret: str | None
) -> None:
    found = bankbench(*arguments)
    assert found.returncode == 2, found
    assert "Traceback" not in found.stderr
    lines = found.stderr.splitlines()
    assert lines[0].startswith("bankbench: ")
    assert message in lines[0]
    assert found.stdout == ""
    if caret is None:
        assert len(lines) == 1
    else:
        assert lines[1] == caret
        assert lines[2].strip() == "^"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("f16", "f17", "mine.yaml:4: buffers.tile.dtype"),
        ("chip: h200", "chip: h300", "mine.yaml:2: chip"),
        ("[lane, 0]", "[lane, 64]", "mine.yaml:7: accesses[0].lanes: lane 0 touches element [0, 64]"),
        ("[8, 64]", "[8192, 64]", "mine.yaml:4: buffers.tile.shape: 1048576 bytes"),
        ("shape: [8, 64]", "layout: 'S[(8,64:(64,1)]'", "mine.yaml:4: buffers.tile.layout"),
        ("mask: lane < 8", "mask: lane < bank", "mine.yaml:8: accesses[0].mask: name 'bank' is not allowed"),
        ('lanes: "[lane, 0]"', "offsets: rows.csv", "no such file"),
    ],
)
def test_bad_scenarios_name_file_and_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = SCENARIO.replace(old, new, 1)
    assert text != SCENARIO
    found = bankbench("run", write(tmp_path, text), "--out", "out", cwd=tmp_path)
    assert found.returncode == 2
    assert message in found.stderr.splitlines()[0]
    assert "Traceback" not in found.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.yaml"]


def test_schema_is_a_schema_and_accepts_the_catalogue() -> None:
    import jsonschema
    import yaml
    from bankbench.scenarios.load import catalogue

    schema = json.loads(bankbench("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for path in catalogue():
        validator.validate(yaml.load(path.read_text(), yaml.CSafeLoader))


def test_the_catalogue_is_listed_and_shown() -> None:
    listed = bankbench("scenarios").stdout
    assert "ldmatrix-swizzles" in listed
    shown = bankbench("scenarios", "--show", "fp16-column-128B").stdout
    assert shown.startswith("name: fp16-column-128B")


def test_explain_names_phases_lanes_and_words() -> None:
    found = bankbench("explain", "S[(8,64):(64,1)]", "--dtype", "f16", "--by", "column")
    assert found.returncode == 0
    assert "bank 0" in found.stdout
    found = bankbench("explain", "transpose-pitch-32", "--access", "load columns", "--json")
    explained = json.loads(found.stdout)
    assert explained["wavefronts"] == 32


def test_version_and_help() -> None:
    assert bankbench("--version").stdout.startswith("bankbench ")
    assert "Exit codes" in bankbench("--help").stdout


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    code = (
        "import sys; from bankbench.scenarios.cli.app import COMMANDS, build; build(*COMMANDS); "
        "import bankbench.scenarios.ask, bankbench.scenarios.question;"
        "print([m for m in ('pandas', 'matplotlib', 'simpy', 'pydantic', 'pyarrow', 'jinja2') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
