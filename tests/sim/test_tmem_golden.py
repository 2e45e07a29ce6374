"""Every row of the golden file about tensor memory: one small function a kind turns the row into (answer, expected)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bankbench.sim import count
from bankbench.sim.tmem import (
    Copy,
    InstructionDescriptor,
    LoadStore,
    MmaShape,
    Shift,
    SmemDescriptor,
    TmaBox,
    TmemError,
    a_operand,
    accumulator,
    base_offset,
    check_alloc_size,
    check_datapath_lane,
    check_reduction,
    check_valid,
    chunk_table,
    datapath,
    decompress,
    encode_field,
    geometry,
    kind_of_types,
    metadata,
    mma_kind,
    registers,
    round_up,
    run_steps,
    scale_columns,
    scale_factors,
    scale_ids,
    scale_ids_k96,
    swizzle_mode,
    swizzle_of_code,
    tile_places,
    tmem_address,
    window_of,
)

Row = dict[str, Any]
Answer = tuple[Any, Any]


def legal(build: Callable[[], object]) -> bool:
    try:
        build()
    except TmemError:
        return False
    return True


def digest(rows: np.ndarray) -> str:
    text = "\n".join(",".join(map(str, row)) for row in rows.tolist())
    return hashlib.sha256(text.encode()).hexdigest()


def compare_map(rows: np.ndarray, expected: Row) -> Answer:
    """Hash of the whole map, and its samples, against a map given as rows of integers."""
    width = 2
    table = {tuple(row[:width]): row for row in rows.tolist()}
    samples = expected.get("map", expected.get("map_samples", []))
    found: dict[str, Any] = {"samples": [table.get(tuple(sample[:width])) for sample in samples]}
    wanted: dict[str, Any] = {"samples": samples}
    if "map_sha256" in expected:
        found["sha"], wanted["sha"] = digest(rows), expected["map_sha256"]
    return found, wanted


def pick(expected: Row, found: Row) -> Answer:
    """The keys of `found` that the row also has."""
    keys = [key for key in found if key in expected]
    assert keys, "nothing to compare"
    return {key: found[key] for key in keys}, {key: expected[key] for key in keys}


def both(*answers: Answer) -> Answer:
    return [a for a, _ in answers], [b for _, b in answers]


def ldst_map(row: Row, want: Row) -> Answer:
    taddr = row["taddr"]
    op = LoadStore(
        row["op"].removeprefix("tcgen05."),
        row["shape"],
        row["num"],
        row["warp_in_warpgroup"],
        taddr >> 16,
        taddr & 0xFFFF,
        packed="qualifier" in row,
        split=row.get("immHalfSplitoff"),
    )
    fragment = op.fragment()
    counted = {
        "registers_per_thread": op.registers,
        "lanes_touched": op.lanes[1] - op.lanes[0] + 1,
        "columns_touched": op.columns,
        "bytes_moved_per_warp": op.bytes_moved,
    }
    answers = [compare_map(fragment.rows(), want)]
    return both(*answers, pick(want, counted)) if "registers_per_thread" in want else answers[0]


def regcount(row: Row, want: Row) -> Answer:
    if not legal(lambda: registers(row["shape"], row["num"])):
        return {"legal": False, "registers": None}, want
    return {"legal": True, "registers": registers(row["shape"], row["num"])}, want


def lane_window(row: Row, want: Row) -> Answer:
    warp = row["warp_id_in_cta"]
    if "taddr_lane" not in row:
        window = window_of(warp)
        return {"lanes": [window.first, window.last], "all_columns": True}, want
    return {"legal": legal(lambda: LoadStore("ld", row["shape"], 1, warp, row["taddr_lane"]))}, want


def ld_red(row: Row, want: Row) -> Answer:
    return {"legal": legal(lambda: check_reduction(row["shape"], row["num"], row["arch"]))}, want


def datapath_map(row: Row, want: Row) -> Answer:
    d = accumulator(
        row["M"], row["N"], row["cta_group"], ws=row["ws"], sparse=row["sparse"], lane=row["d_tmem_lane"]
    ).at(row["d_tmem_col"], row["d_tmem_lane"])
    cells = d.cells()
    m, n = np.indices(d.shape)
    rows = np.stack([m, n, cells.lanes[..., 0], cells.column], axis=-1).reshape(-1, 4)
    counted = {
        "lanes_used": d.lanes_used,
        "columns_used": d.columns,
        "bytes_of_tmem_columns": d.columns * geometry().column_bytes,
    }
    letter = datapath(row["M"], row["cta_group"], row["ws"], row["sparse"])
    return both(compare_map(rows, want), pick(want, counted), (letter, row["layout"]))


def lane_alignment(row: Row, want: Row) -> Answer:
    letter = datapath(row["M"], row["cta_group"], row["ws"], row["sparse"])
    return {"legal": legal(lambda: check_datapath_lane(letter, row["d_tmem_lane"])), "layout": letter}, want


def pair_rows(row: Row, want: Row) -> Answer:
    d = accumulator(row["M"], row["N"], row["cta_group"], sparse=row["sparse"])
    cells = d.cells()
    found = []
    for m, n, *_ in want["map_samples"]:
        rank, own = divmod(m, d.shape[0])
        found.append([m, n, rank, int(cells.lanes[own, n, 0]), int(cells.column[own, n])])
    return found, want["map_samples"]


def tile_placement(row: Row, want: Row) -> Answer:
    places = tile_places(
        row["M"], row["N"], tuple(row["tiles"]), row["cta_group"], interleave=row["mode"] == "Interleaved"
    )
    return [[m, n, *places[m, n].tolist()] for m, n, *_ in want["tiles"]], want["tiles"]


def a_map(row: Row, want: Row) -> Answer:
    a = a_operand(row["M"], row["K"], row["elem_bits"], row["cta_group"])
    cells = a.cells()
    columns = ({"columns_used": a.columns}, {"columns_used": want["columns_used"]})
    if a.replicas > 1:
        found = [
            [m, k, cells.lanes[m, k].tolist(), int(cells.column[m, k]), int(cells.bit[m, k])]
            for m, k, *_ in want["map_samples"]
        ]
        return both((found, want["map_samples"]), columns)
    m, k = np.indices(a.shape)
    rows = np.stack([m, k, cells.lanes[..., 0], cells.column, cells.bit], axis=-1).reshape(-1, 5)
    return both(compare_map(rows, want), columns)


def sf_map(row: Row, want: Row) -> Answer:
    factors = row["sf_per_mma_k"]
    split = row["datapath"].startswith("2x2")
    sf = scale_factors(row["MN"], row["k_steps"], row["scale_vec"], split=split)
    cells = sf.cells()
    found = []
    for mn, s, k, *_ in want["map_samples"]:
        at = k * factors + s
        found.append(
            [mn, s, k, cells.lanes[mn, at].tolist(), int(cells.column[mn, at]), int(cells.bit[mn, at]) // 8]
        )
    return both(
        (found, want["map_samples"]), pick(want, {"columns_used": sf.columns, "replicas": sf.replicas})
    )


def sf_id(row: Row, want: Row) -> Answer:
    if not legal(lambda: scale_ids(row["scale_vec"], row["sf_id"])):
        return {"legal": False, "bytes_in_word": None}, want
    return {"legal": True, "bytes_in_word": list(scale_ids(row["scale_vec"], row["sf_id"]))}, want


def sf_id_k96(row: Row, want: Row) -> Answer:
    block = int(row["block"].removeprefix("block"))
    if not legal(lambda: scale_ids_k96(block, row["MN"], row["sf_id"])):
        return None, want["word_byte"]
    return [list(place) for place in scale_ids_k96(block, row["MN"], row["sf_id"])], want["word_byte"]


def sf_smem(row: Row, want: Row) -> Answer:
    from bankbench.layouts.scale_factors import sf_smem_layout

    shape = (row["rows"], row["sf_k"])
    layout = sf_smem_layout(*shape, row["sf_k"])
    places = [
        [mn, k, int(layout.evaluate(mn, k, shape=shape)["m"]) * row["elem_bits"] // 8]
        for mn, k, _ in want["map_samples"]
    ]
    size = shape[0] * shape[1] * row["elem_bits"] // 8
    return both((places, want["map_samples"]), pick(want, {"bytes": size}))


def sf_copy(row: Row, want: Row) -> Answer:
    from bankbench.layouts.scale_factors import sf_smem_layout

    copy = Copy.parse(row["op"], row["taddr_col"])
    lanes, column, byte = copy.destination()
    layout = sf_smem_layout(128, 4, 4)
    found = []
    for mn, k, *_ in want["map_samples"]:
        at = int(layout.evaluate(mn, k, shape=(128, 4))["m"])
        row_of, byte_of = divmod(at, copy.row_bytes)
        place = [
            [lane, int(column[row_of, byte_of]), int(byte[row_of, byte_of])]
            for lane in lanes[row_of, byte_of].tolist()
        ]
        found.append([mn, k, at, place])
    counted = {
        "smem_bytes_read": copy.source_bytes,
        "tmem_bytes_written": copy.written_bytes,
        "columns": copy.columns,
    }
    return both((found, want["map_samples"]), pick(want, counted))


def cp_map(row: Row, want: Row) -> Answer:
    copy = Copy.parse(row["op"], row["taddr_col"], row["taddr_lane"])
    lanes, column, byte = copy.destination()
    found = [
        [s, b, [[lane, int(column[s, b]), int(byte[s, b])] for lane in lanes[s, b].tolist()]]
        for s, b, _ in want["map_samples"]
    ]
    written = copy.lanes_written()
    shown = written.tolist() if isinstance(want["lanes_written"], list) else len(written)
    counted = {
        "src_bytes": copy.source_bytes,
        "dst_bytes": copy.written_bytes,
        "replicas": copy.replicas,
        "columns": copy.columns,
        "lanes_written": shown,
    }
    return both((found, want["map_samples"]), pick(want, counted))


def cp_source(row: Row, want: Row) -> Answer:
    descriptor = SmemDescriptor(row["start"], row["LBO"], row["SBO"], row["swizzle"])
    found = Copy.parse(row["op"]).source_addresses(descriptor)
    return [[s, j, int(found[s, j])] for s, j, _ in want["map_samples"]], want["map_samples"]


def cp_decompress(row: Row, want: Row) -> Answer:
    return decompress(np.array(row["src_16B_group"], np.uint8), row["fmt"]).tolist(), want["dst_16B"]


def shift(row: Row, want: Row) -> Answer:
    item = Shift(row["taddr_lane"], 0)
    sources = item.sources()
    found = [[lane, int(sources[lane - row["taddr_lane"]])] for lane, _ in want["map_samples"]]
    counted = {"columns_moved": item.columns, "bytes_per_lane": item.bytes_per_lane}
    return both((found, want["map_samples"]), pick(want, counted))


def meta(row: Row, want: Row) -> Answer:
    kind = row["kind"].split("/")[0].removeprefix(".kind::").lstrip(".")
    e = metadata(kind, row["M"])
    group = row["group"]
    cells = e.cells()
    m, k = np.indices(e.shape)
    rows = np.stack([m, k * group, cells.lanes[..., 0], cells.column, cells.bit], axis=-1).reshape(-1, 5)
    counted = {"columns_used": e.columns}
    return both(
        compare_map(rows, want),
        pick(want, counted),
        (e.shape[1] * group, row["K"]),
        (e.bits, row["code_bits_per_group"]),
    )


def tma_swizzle(row: Row, want: Row) -> Answer:
    mode = swizzle_mode(row["mode"])
    found = []
    for logical, *_ in want["map_samples"]:
        at = int(mode.evaluate(np.array(logical)))
        found.append([logical, at, at // 4 % 32])
    return both((found, want["map_samples"]), pick(want, {"period_bytes": mode.period}))


def box(row: Row, want: Row) -> Answer:
    return {"legal": TmaBox(row["swizzle"], row["interleave"], row.get("inner_box_bytes")).legal}, want


def canonical(row: Row, want: Row) -> Answer:
    given = SmemDescriptor.decode(row["desc"])
    built = SmemDescriptor(row["start"], row["LBO"], row["SBO"], row["swizzle"])
    samples = np.array(want["map_samples"])
    at = given.addresses(samples[:, 0], samples[:, 1], element_bytes=row["elem_bytes"], major=row["major"])
    found = np.stack([samples[:, 0], samples[:, 1], at, at // 4 % 32], axis=1).tolist()
    return both(
        (found, want["map_samples"]), (built.encode(), row["desc"]), (hex(built.encode()), row["desc_hex"])
    )


def field_encode(row: Row, want: Row) -> Answer:
    if "value" in row:
        return {"field": encode_field(row["value"])}, want
    return {"lbo_field": encode_field(row["LBO"]), "sbo_field": encode_field(row["SBO"])}, want


def swizzle_field(row: Row, want: Row) -> Answer:
    if not legal(lambda: swizzle_of_code(row["bits_61_63"])):
        return {"mode": None, "legal": False}, want
    return {"mode": swizzle_of_code(row["bits_61_63"]), "legal": True}, want


def validity(row: Row, want: Row) -> Answer:
    return {"legal": legal(lambda: check_valid(row["major"], row["elem_bits"], row["swizzle"]))}, want


def idesc(row: Row, want: Row) -> Answer:
    first, rest = row["name"].split("_", 1)
    scaled = first.startswith(("mx", "nv"))
    types, m, n, majors = re.fullmatch(r"(.+)_M(\d+)_N(\d+)_(.+)", rest if scaled else row["name"]).groups()
    parts = types.split("_")
    major = re.findall("MN|K", majors)
    if scaled:
        a, scale = parts[0], parts[-1]
        b = parts[1] if len(parts) == 3 else a
        kind = (
            "mxf4nvf4"
            if first.startswith("nv")
            else kind_of_types(a, b, scale=scale)
            if first == "mxf4"
            else "mxf8f6f4"
        )
        item = InstructionDescriptor(kind, a, b, "f32", int(m), int(n), *major, scale=scale)
    else:
        a, b, d = parts
        item = InstructionDescriptor(kind_of_types(a, b, d), a, b, d, int(m), int(n), *major)
    assert InstructionDescriptor.decode(item.encode(), item.kind) == item
    return pick(want, {"value": item.encode(), "hex": hex(item.encode()), "fields": item.fields})


def alloc_size(row: Row, want: Row) -> Answer:
    return {"legal": legal(lambda: check_alloc_size(row["nCols"]))}, want


def alloc_round(row: Row, want: Row) -> Answer:
    needed = row["needed_columns"]
    if not legal(lambda: round_up(needed)):
        return {"nCols": None, "wasted": None}, {key: want.get(key) for key in ("nCols", "wasted")}
    return pick(want, {"nCols": round_up(needed), "wasted": round_up(needed) - needed})


def alloc_steps(row: Row, want: Row) -> Answer:
    outcomes = run_steps(row["steps"])
    found, wanted = [], []
    for outcome, text in zip(outcomes, want["outcomes"], strict=True):
        column = re.match(r"col (\d+)", text)
        found.append(outcome.column if column else re.split(r"\W", outcome.text)[0])
        wanted.append(int(column[1]) if column else re.split(r"\W", text)[0])
    return found, wanted


def address(row: Row, want: Row) -> Answer:
    inside = legal(lambda: tmem_address(row["lane"], row["col"]))
    return {"addr": tmem_address(row["lane"], row["col"], checked=False), "in_range": inside}, want


def mma_shape(row: Row, want: Row) -> Answer:
    build = lambda: MmaShape(  # noqa: E731
        row["kind"], row["M"], row["N"], row["cta_group"], row["ws"], row["sparse"], row.get("K"), row["arch"]
    )
    return {"legal": legal(build)}, want


def mma_k(row: Row, want: Row) -> Answer:
    kind = mma_kind(row["kind"])
    size = kind.k * kind.container_bits // 8
    return pick(want, {"K_dense": kind.k, "K_sparse": kind.k_sparse, "K_bytes_dense": size})


def bank_conflict(row: Row, want: Row) -> Answer:
    if "stride_words" in row:
        offsets = np.arange(32) * 4 * row["stride_words"]
        counts = count(offsets, "lds", 4, chip="b200")
        return {"conflict_degree": int(counts.worst_ways[0])}, want
    mode = swizzle_mode(row["swizzle"])
    chunk = mode.evaluate(np.arange(8) * 128)
    counts = count(np.resize(chunk, 32), "lds", 16, mask=0xFF, chip="b200")
    return {
        "distinct_bank_groups_of_4": len(np.unique(chunk // 16 % 8)),
        "conflict_degree_for_16B_x8": int(counts.worst_ways[0]),
    }, want


RULES: dict[str, Callable[[Row, Row], Answer]] = {
    "tmem_ldst_map": ldst_map,
    "tmem_ldst_regcount": regcount,
    "warp_lane_window": lane_window,
    "tmem_ld_red_legality": ld_red,
    "mma_datapath_map": datapath_map,
    "mma_lane_alignment": lane_alignment,
    "cta_pair_row_map": pair_rows,
    "tmem_tile_placement": tile_placement,
    "a_operand_tmem_map": a_map,
    "scale_factor_map": sf_map,
    "scale_factor_id": sf_id,
    "scale_factor_id_k96": sf_id_k96,
    "scale_factor_smem": sf_smem,
    "scale_factor_copy": sf_copy,
    "cp_replica_map": cp_map,
    "cp_legality": lambda row, want: ({"legal": legal(lambda: Copy.parse(row["op"]))}, want),
    "cp_source_address": cp_source,
    "cp_decompress": cp_decompress,
    "tmem_shift": shift,
    "tmem_shift_legality": lambda row, want: ({"legal": legal(lambda: Shift(row["taddr_lane"], 0))}, want),
    "sparse_metadata_map": meta,
    "tma_swizzle": tma_swizzle,
    "tma_swizzle_table": lambda row, want: (
        chunk_table(row["mode"]).tolist(),
        want["chunk16_at_slot_by_line"],
    ),
    "tma_swizzle_base_offset": lambda row, want: (
        {"base_offset": base_offset(row["mode"], row["dst_smem"])},
        want,
    ),
    "tma_box_legality": box,
    "tma_interleave_legality": box,
    "canonical_descriptor": canonical,
    "descriptor_field_encode": field_encode,
    "descriptor_swizzle_field": swizzle_field,
    "descriptor_validity": validity,
    "instruction_descriptor": idesc,
    "alloc_size": alloc_size,
    "alloc_round_up": alloc_round,
    "alloc_sequence": alloc_steps,
    "tmem_address": address,
    "mma_shape": mma_shape,
    "mma_k": mma_k,
    "smem_bank_conflict": bank_conflict,
}
# measured times, compared elsewhere with a tolerance; budgets, compared in test_tmem_plan.py
ELSEWHERE = ("mma_timing_reference", "tmem_time_reference", "tmem_budget")


@pytest.fixture(scope="module")
def rows(find_data, rows_of):
    return [row for path in find_data("tmem*.jsonl*") for row in rows_of(path)]


@pytest.mark.parametrize("kind", RULES)
def test_rules_and_maps(kind, rows, row_report):
    for row in rows:
        if row["kind"] != kind:
            continue
        try:
            found, wanted = RULES[kind](row["input"], row["expected"])
        except TmemError as error:
            row_report.check(False, row["id"], f"refused: {error}")
            continue
        row_report.check(found == wanted, row["id"], f"{str(found)[:300]} instead of {str(wanted)[:300]}")


def test_no_kind_is_left_out(rows):
    kinds = {row["kind"] for row in rows}
    assert kinds <= {*RULES, *ELSEWHERE}, kinds - {*RULES, *ELSEWHERE}


def test_scale_columns_are_those_of_the_copy():
    assert scale_columns(128, 4, "1X") == Copy.parse("tcgen05.cp.32x128b.warpx4").columns
