"""Recorded traces: every format gives the same counts as the same accesses counted directly."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from bankbench.scenarios.cli.app import build
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.traces import replay
from bankbench.scenarios.traces.blocks import line_blocks
from bankbench.scenarios.traces.gaps import Gaps
from bankbench.scenarios.traces.hexes import hex_numbers, hex_rows
from bankbench.sim import count
from typer.testing import CliRunner

OPS = (("LDS", 4), ("STS.64", 8), ("LDS.U.128", 16), ("LDSM.16.M88.4", 16), ("ATOMS.ADD", 4), ("LDS.U8", 1))
BASE = 0x7F0675000000
HEADER = """-kernel name = tile
-kernel id = 1
-grid dim = (1,1,1)
-block dim = (64,1,1)
-shmem = 4096
-nregs = 32
-binary version = 80
-cuda stream id = 0
-shmem base_addr = 0x00007f0675000000
-local mem base_addr = 0x00007f0677000000
-nvbit version = 1.5.5
-accelsim tracer version = 4
-enable lineinfo = 0

#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses]

#BEGIN_TB

thread block = 0,0,0
"""


@pytest.fixture(scope="module")
def accesses():
    """(pc, warp, op, width, mask, offsets): strides, random addresses, gaps in the mask; warp by warp."""
    random_ = random.Random(5)
    found = []
    for number in range(400):
        op, width = OPS[number % len(OPS)]
        pattern = random_.randrange(3)
        if pattern == 0:
            stride = random_.choice([0, 1, 2, 8, 32, 33]) * width
            offsets = [width * 3 + stride * lane for lane in range(32)]
        else:
            offsets = [width * random_.randrange(4096 // width) for _ in range(32)]
        mask = random_.choice([0xFFFFFFFF, 0xFFFFFFFF, 0x0000FFFF, 0x00FF00F0, 0x80000001, 0x10])
        if op.startswith("LDSM"):
            mask = 0xFFFFFFFF
        found.append((0x100 + 16 * (number % 7), number // 200, op, width, mask, offsets))
    return found


@pytest.fixture(scope="module")
def truth(accesses):
    """Sums by program counter and operation, counted one by one."""
    sums = defaultdict(lambda: [0, 0, 0, 0])
    for pc, _, op, _, mask, offsets in accesses:
        found = count(offsets, op=op, mask=mask)
        key = (f"{pc:#06x}", op)
        for at, value in enumerate(
            (1, found.wavefronts[0], found.excess_wavefronts[0], found.bank_conflicts[0])
        ):
            sums[key][at] += int(value)
    return sums


def by_place(result, split: bool = True):
    rows = {}
    for row in result.table("places").rows():
        place = row["place"].split(": ")[-1]
        rows[place, row["instruction"]] = [
            row[n] for n in ("count", "wavefronts", "excess", "bank_conflicts")
        ]
    return rows


def check(result, truth) -> None:
    from bankbench.sim import parse_op

    wanted = {(place, parse_op(op).name): sums for (place, op), sums in truth.items()}
    assert by_place(result) == wanted
    excess = [row["excess"] for row in result.table("places").rows()]
    assert excess == sorted(excess, reverse=True)
    assert result.extra["problems"] == []


def csv_text(accesses, wide: bool = False) -> str:
    lanes = ",".join(f"o{lane}" for lane in range(32)) if wide else "offsets"
    lines = [f"warp,pc,op,mask,comment,{lanes}"]
    for pc, warp, op, _, mask, offsets in accesses:
        cells = ",".join(map(str, offsets)) if wide else " ".join(map(str, offsets))
        lines.append(f"{warp},{pc:#x},{op},{mask},,{cells}")
    return "\n".join(lines) + "\n"


def jsonl_text(accesses) -> str:
    return "".join(
        json.dumps({"warp": w, "pc": pc, "op": op, "mask": mask, "offsets": offsets, "note": None}) + "\n"
        for pc, w, op, _, mask, offsets in accesses
    )


def nvbit_text(accesses) -> str:
    lines = ["------------- NVBit (NVidia Binary Instrumentation Tool v1.5.5) Loaded --------------"]
    for _, warp, op, _, mask, offsets in accesses:
        addresses = [BASE + x if mask >> lane & 1 else 0 for lane, x in enumerate(offsets)]
        lines.append(
            f"MEMTRACE: CTX 0x000055d0c0a5e2f0 - grid_launch_id 0 - CTA 0,0,0 - warp {warp} - {op} - "
            + "".join(f"0x{x:016x} " for x in addresses)
        )
        lines.append(
            f"MEMTRACE: CTX 0x000055d0c0a5e2f0 - grid_launch_id 0 - CTA 0,0,0 - warp {warp} - LDG.E - "
            + "0x00007f0000000000 " * 32
        )
    return "\n".join(lines) + "\n"


def traceg_line(pc: int, op: str, width: int, mask: int, offsets, mode: int, base: int = BASE) -> str:
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    used = [base + offsets[lane] for lane in lanes]
    head = f"{pc:04x} {mask:08x} 1 R4 {op} 1 R2 {width} {mode} "
    if mode == 0:
        return head + " ".join(f"0x{x:x}" for x in used) + " 0 "
    if mode == 1:
        return head + f"0x{used[0]:x} {used[1] - used[0] if len(used) > 1 else 0} 0 "
    return head + f"0x{used[0]:x} " + " ".join(str(b - a) for a, b in itertools.pairwise(used)) + " 0 "


def traceg_text(accesses, mode: int | None = None) -> str:
    lines, before = [HEADER], None
    for pc, warp, op, width, mask, offsets in accesses:
        if warp != before:
            lines.append(f"\nwarp = {warp}\ninsts = 400")
            before = warp
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        steps = {offsets[b] - offsets[a] for a, b in itertools.pairwise(lanes)}
        dense = lanes[-1] - lanes[0] + 1 == len(lanes)
        chosen = mode if mode is not None else (1 if len(steps) <= 1 and dense else 2)
        lines.append(f"{pc + 8:04x} {mask:08x} 1 R1 IADD3 2 R1 R2 0 ")
        lines.append(traceg_line(pc, op, width, mask, offsets, chosen))
    return "\n".join(lines) + "\n\n#END_TB\n"


@pytest.mark.parametrize("wide", [False, True])
def test_csv(tmp_path: Path, accesses, truth, wide: bool) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(csv_text(accesses, wide))
    check(replay(path), truth)


def test_json_lines_gzipped(tmp_path: Path, accesses, truth) -> None:
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl_text(accesses).encode()))
    check(replay(path), truth)


def test_parquet(tmp_path: Path, accesses, truth) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ("pc", "warp", "op", "width", "mask", "offsets")
    columns = dict(zip(names, map(list, zip(*accesses, strict=True)), strict=True))
    path = tmp_path / "trace.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=64)
    check(replay(path), truth)
    columns["op"][7] = "LDS.77"
    columns["offsets"][9] = [-4] * 32
    pq.write_table(pa.table(columns), path)
    result = replay(path)
    assert [line.split(":")[1] for line in result.extra["problems"]] == ["8", "10"]
    assert result.extra["totals"]["instructions"] == len(accesses) - 2


def test_nvbit_text(tmp_path: Path, accesses) -> None:
    import pyarrow as pa

    path = tmp_path / "mem_trace.txt.zst"
    path.write_bytes(pa.compress(nvbit_text(accesses).encode(), codec="zstd", asbytes=True))
    result = replay(path)
    sums = defaultdict(lambda: [0, 0, 0, 0])
    for _, _, op, _, mask, offsets in accesses:
        found = count(offsets, op=op, mask=mask)
        for at, value in enumerate(
            (1, found.wavefronts[0], found.excess_wavefronts[0], found.bank_conflicts[0])
        ):
            sums[op][at] += int(value)
    assert {place: sums_ for (place, _), sums_ in by_place(result).items()} == sums
    assert result.extra["totals"]["other_instructions"] == len(accesses)
    assert {row["gap"] for row in result.table("places").rows()} <= {0.98, 0.99, 1.0}


@pytest.mark.parametrize("mode", [0, 2, None])
def test_accel_sim(tmp_path: Path, accesses, truth, mode: int | None) -> None:
    path = tmp_path / "kernel-1.traceg"
    path.write_text(traceg_text(accesses, mode))
    result = replay(path)
    check(result, truth)
    assert list(result.table("others").rows()) == [{"opcode": "IADD3", "count": 400}]
    assert {row["gap"] for row in result.table("places").rows()} == {1.0}


def test_kernel_lists_and_raw_traces(tmp_path: Path, accesses, truth) -> None:
    for number, part in ((1, accesses[:200]), (2, accesses[200:])):
        (tmp_path / f"kernel-{number}.traceg").write_text(traceg_text(part))
    lists = tmp_path / "kernelslist.g"
    lists.write_text("MemcpyHtoD,0x00007f0600000000,4096\nkernel-1.traceg\nkernel-2.traceg\n")
    check(replay(lists), truth)
    lists.write_text("kernel-1.traceg\nkernel/../../secret\n")
    with pytest.raises(ScenarioError, match="beside the list"):
        replay(lists)
    raw = tmp_path / "kernel-1.trace"
    body = [
        line
        for line in traceg_text(accesses).split("\n")
        if "ffff" in line or " 1 R4 " in line or " 1 R1 " in line
    ]
    raw.write_text(
        HEADER.replace("#BEGIN_TB\n\nthread block = 0,0,0\n", "") + "".join(f"0 0 0 1 {x}\n" for x in body)
    )
    check(replay(raw), truth)


def test_what_is_not_counted_is_said(tmp_path: Path) -> None:
    lines = [
        "0010 ffffffff 1 R4 LDS 1 R2 4 1 0x0 4 0",
        "0020 ffffffff 0 LDGSTS.E.BYPASS.128 2 R1 R2 16 1 0x0 16 0",
    ]
    path = tmp_path / "kernel-1.traceg"
    path.write_text(HEADER + "\nwarp = 0\ninsts = 2\n" + "\n".join(lines) + "\n#END_TB\n")
    assert "1 LDGSTS touch shared memory by other ways" in " ".join(replay(path).reasons)
    text = tmp_path / "t.txt"
    text.write_text("MEMTRACE: CTX 0x0 - grid_launch_id 0 - CTA 0,0,0 - warp 0 - LDS - " + "0x0 " * 32 + "\n")
    assert "writes no masks" in " ".join(replay(text).assumptions)


def test_generic_loads_count_inside_the_window_only(tmp_path: Path) -> None:
    inside = traceg_line(0x10, "LD.E.64", 8, 0xFFFFFFFF, [64 * lane for lane in range(32)], 1)
    outside = traceg_line(
        0x20, "LD.E.64", 8, 0xFFFFFFFF, [64 * lane for lane in range(32)], 1, base=0x7F0000000000
    )
    path = tmp_path / "kernel-1.traceg"
    path.write_text(HEADER + f"\nwarp = 0\ninsts = 2\n{inside}\n{outside}\n#END_TB\n")
    result = replay(path)
    (row,) = result.table("places").rows()
    assert (row["place"], row["instruction"], row["count"]) == ("tile: 0x0010", "lds.64", 1)
    assert row["wavefronts"] == int(count([64 * lane for lane in range(32)], "lds.64").wavefronts[0])
    assert list(result.table("others").rows()) == [{"opcode": "LD", "count": 1}]


def test_broken_rows_are_named_and_the_rest_is_counted(tmp_path: Path) -> None:
    good = {"op": "lds", "offsets": [4 * lane for lane in range(32)], "pc": 16}
    lines = [json.dumps(good)] * 9
    lines[1] = '{"op": "lds", "offsets": [1, 2'
    lines[2] = json.dumps({**good, "offsets": [2] * 32})
    lines[3] = json.dumps({**good, "offsets": [0] * 33})
    lines[4] = json.dumps({**good, "op": "lds.b77"})
    lines[5] = json.dumps({**good, "mask": 1 << 40})
    lines[6] = json.dumps([1])
    lines[7] = json.dumps({**good, "op": "FFMA"})
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines))
    answer = CliRunner().invoke(build("replay", "run"), ["replay", str(path), "--json"])
    assert answer.exit_code == 2
    result = json.loads(answer.stdout)
    assert result["tables"]["places"][0]["count"] == 2
    said = [line for line in result["reasons"] if line.startswith("not used")]
    assert [line.split(":")[2] for line in said] == ["2", "3", "4", "5", "6", "7"]
    assert "a multiple of 4 bytes" in said[1]
    assert "33 offsets" in said[2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0010 zzzzzzzz 1 R4 LDS 1 R2 4 1 0x0 4 0", "not an instruction"),
        ("0010 ffffffff 1 R4 LDS 1 R2 4 7 0x0 4 0", "address mode 7"),
        ("0010 00ff00ff 1 R4 LDS 1 R2 4 1 0x0 4 0", "without a gap"),
        ("0010 ffffffff 1 R4 LDS 1 R2 4 0 0x0 0x4", "32 are needed"),
        ("0010 ffffffff 1 R4 LDS 1 R2 4 2 0x0 4 4", "32 are needed|31 are needed"),
        ("0010 ffffffff 1 R4 LDS 1 R2 4 1 0x2 4 0", "a multiple of 4"),
        ("0010 ffffffff", "not an instruction"),
    ],
)
def test_broken_lines_of_accel_sim(tmp_path: Path, line: str, message: str) -> None:
    good = "0010 ffffffff 1 R4 LDS 1 R2 4 1 0x0 4 0"
    path = tmp_path / "kernel-1.traceg"
    path.write_text(HEADER + f"\nwarp = 0\ninsts = 3\n{good}\n{line}\n{good}\n")
    result = replay(path)
    assert result.extra["totals"]["instructions"] == 2
    (problem,) = result.extra["problems"]
    assert int(problem.split(":")[1]) == HEADER.count("\n") + 5
    import re

    assert re.search(message, problem)


def test_a_damaged_end_is_an_error_with_its_line(tmp_path: Path, accesses) -> None:
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl_text(accesses).encode())[:-2000])
    answer = CliRunner().invoke(build("replay", "run"), ["replay", str(path)])
    assert answer.exit_code == 2
    assert "cannot be read further" in answer.stderr


def test_memory_does_not_grow_with_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    line = "16,LDS," + " ".join(str(4 * lane) for lane in range(32)) + "\n"
    path.write_text("pc,op,offsets\n" + line * 3000)
    sizes = [sum(map(len, lines)) for _, lines in line_blocks(path, block_bytes=1 << 14)]
    assert len(sizes) >= 20
    assert max(sizes) <= 1 << 15
    numbers = [first for first, _ in line_blocks(path, block_bytes=1 << 14)]
    assert numbers == sorted(numbers)
    assert sum(len(lines) for _, lines in line_blocks(path, block_bytes=1 << 14)) == 3001


def test_progress_is_told(tmp_path: Path, accesses) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(jsonl_text(accesses))
    seen: list[tuple[int, int]] = []
    replay(path, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_gaps_go_on_from_block_to_block() -> None:
    random_ = np.random.default_rng(3)
    warps, shared = random_.integers(0, 5, 500), random_.random(500) < 0.3
    one = Gaps()
    single = [one.one(int(w), bool(s)) for w, s in zip(warps, shared, strict=True)]
    for size in (1, 7, 100, 500):
        blocks = Gaps()
        found = [blocks.of(warps[i : i + size], shared[i : i + size]) for i in range(0, 500, size)]
        assert np.concatenate(found).tolist() == single


def test_hexadecimal_tables() -> None:
    assert hex_numbers([b"0x0010", b"0x00ff"]).tolist() == [16, 255]
    assert hex_numbers([b"10", b"0xff"]).tolist() == [16, 255]
    table, wrong = hex_rows([b"0x01 0x02 0", b"0x1 0x02", b"0x1 zz", b"0x1"], [2, 2, 2, 2])
    assert table[:2, :2].tolist() == [[1, 2], [1, 2]]
    assert sorted(wrong) == [2, 3]


def test_files_of_no_known_kind(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"nothing of the kind\n")
    with pytest.raises(ScenarioError, match="no trace that is known"):
        replay(path)
    with pytest.raises(ScenarioError, match="no such file"):
        replay(tmp_path / "none.csv")
    (tmp_path / "columns.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ScenarioError, match="needed: op and offsets"):
        replay(tmp_path / "columns.csv")


def _lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _totals(path: Path, text: str, **options) -> dict:
    path.write_text(text)
    return replay(path, **options).extra["totals"]


@pytest.mark.parametrize("broken", ["", "no row\n"], ids=["columns", "rows one by one"])
def test_the_width_is_read_from_either_name(tmp_path: Path, broken: str) -> None:
    """A float4 access of three lanes on one bank takes three wavefronts; read as four bytes it would take one."""
    offsets = [0, 128, 256]
    for width in ({"width": 16}, {"width_bytes": 16}, {"width": None, "width_bytes": 16}):
        row = {"op": "lds", "offsets": offsets} | width
        assert _totals(tmp_path / "t.jsonl", _lines([row]) + broken)["wavefronts"] == 3
        cells = ",".join("" if value is None else str(value) for value in width.values())
        text = f"op,{','.join(width)},offsets\nlds,{cells},0 128 256\n"
        assert _totals(tmp_path / "t.csv", text + broken)["wavefronts"] == 3
    mixed = [
        {"op": "lds", "width": 4, "offsets": [0, 4]},
        {"op": "lds", "width_bytes": 16, "offsets": offsets},
        {"op": "sts", "width_bytes": 1, "offsets": [21, 32]},
    ]
    found = _totals(tmp_path / "t.jsonl", _lines(mixed) + broken)
    assert (found["instructions"], found["wavefronts"], found["rows_not_used"]) == (3, 5, bool(broken))


@pytest.mark.parametrize("broken", ["", "no row\n"], ids=["columns", "rows one by one"])
def test_a_row_is_one_problem_whatever_is_wrong_with_it(tmp_path: Path, broken: str) -> None:
    rows = [
        {"op": "lds", "offsets": []},
        {"op": "lds.foo", "offsets": [0], "mask": -1},
        {"op": "FFMA", "offsets": [], "mask": 1 << 32},
        {"op": "lds", "offsets": [0], "mask": 1 << 32},
        {"op": "lds", "offsets": [0], "pc": 16},
    ]
    (tmp_path / "t.jsonl").write_text(_lines(rows) + broken)
    found = replay(tmp_path / "t.jsonl")
    assert [problem.split(":")[1] for problem in found.extra["problems"]] == ["1", "2", "4"] + ["6"] * bool(
        broken
    )
    assert "no offsets; 1 to 32 are needed" in found.extra["problems"][0]
    assert found.extra["totals"]["other_instructions"] == 1
    assert [row["place"] for row in found.table("places").rows()] == ["0x0010"]


def test_what_is_unknown_is_not_counted_as_nothing(tmp_path: Path) -> None:
    rows = [{"op": "red.shared.min.u64", "offsets": [0, 8]}, {"op": "lds", "offsets": [0, 128]}]
    (tmp_path / "t.jsonl").write_text(_lines(rows))
    found = replay(tmp_path / "t.jsonl")
    assert found.headline == (
        "2 instructions on shared memory: 2 wavefronts, 1 ideal, 1 excess; worst: lds lds.32 with 1 (2-way) on h200 "
        "(1 of 2 unknown)"
    )
    known, unknown = found.table("places").rows()
    assert (known["count"], known["wavefronts"]) == (1, 2)
    assert (unknown["count"], unknown["wavefronts"], unknown["excess"], unknown["share"]) == (
        1,
        None,
        None,
        None,
    )
    assert found.exit_code == 3
    other = replay(tmp_path / "t.jsonl", "gfx942")
    assert other.headline == "2 instructions on shared memory: unknown on gfx942"
    assert other.extra["totals"]["wavefronts"] is None
    assert other.extra["totals"]["instructions"] == other.extra["totals"]["instructions_unknown"] == 2
