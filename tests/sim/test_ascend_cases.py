"""Public questions about Ascend: every row of the cases file whose architecture is one of Huawei's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bankbench.layouts import parse
from bankbench.layouts.tla_ops import from_tag
from bankbench.sim.ascend import (
    CapacityError,
    Operand,
    VectorOp,
    count_cycles,
    count_lanes,
    count_vector,
    place_buffers,
    ub_geometry,
    usable_bytes,
)
from bankbench.sim.chip import load_chip


def addresses(items: list[str]) -> np.ndarray:
    return np.array([[int(item, 16) for item in items]], np.int64).reshape(1, len(items))


def chip_of(row: dict[str, Any]) -> str:
    return "ascend950" if "3510" in row["arch"] else "ascend910b"


def answer(row: dict[str, Any]) -> dict[str, Any]:
    """The product's answer to one row, under the keys of its `expected`."""
    spec, query, op = row.get("spec") or {}, row.get("query") or {}, row["op"]
    if op == "layout":
        if "tag" in query:
            layout = from_tag(query["tag"], query["rows"], query["cols"], query["dtype_bits"])
            shape, stride = layout.pair().replace(" ", "").replace("_", "").split(":")
            valid = query["rows"] * query["cols"]
            return {
                "shape": shape,
                "stride": stride,
                "offset_99_99": layout.offset(tuple(query["coord"])),
                "padded_elements": layout.size(),
                "waste_ratio": round(layout.size() / valid - 1, 4),
            }
        layout = parse(row["layout"], "tla")
        offset = int(layout.evaluate(*query["coord"])["m"])
        return {"offset": offset, "cosize": layout.cosize()}
    if op == "alloc":
        chip = load_chip(chip_of(row))
        if "buffers" in spec:
            return {name: usable_bytes(chip, name)[0] for name in spec["buffers"]}
        wanted = spec["required_bits"] // 8
        available = usable_bytes(chip, "UB")[0]
        tile = [("x", "UB", (wanted // 2,), "f16", None, 1, None)]
        fits = wanted <= available
        if not fits:
            with pytest.raises(CapacityError, match=f"{wanted:,} bytes"):
                place_buffers(tile, chip)
        return {"required_bytes": wanted, "available_bytes": available, "fits": fits}
    if op == "warp UB load f32":
        found = count_lanes(np.array([row["offsets"]]), load_chip(chip_of(row)), row["width_bytes"])
        return {"ways": int(found.ways[0])}
    if "base" in spec:
        base, stride = int(spec["base"], 16), spec["block_stride"]
        vector = VectorOp((), (Operand(base, stride),), blocks=spec["blocks"])
        return {"cycles": count_vector(vector, load_chip(chip_of(row))).cycles}
    reads, writes = addresses(spec["src"]), addresses(spec["dst"])
    if " and " in row["arch"]:
        names = {"dav-2201": "ascend910b", "dav-3510": "ascend950"}
        return {
            arch: bool(count_cycles(reads, writes, load_chip(name)).conflict[0])
            for arch, name in names.items()
        }
    chip = load_chip(chip_of(row))
    found = count_cycles(reads, writes, chip, operands=reads.shape[1])
    geometry = ub_geometry(chip)
    touched = np.concatenate([reads, writes], axis=1)[0]
    return {
        "conflict": bool(found.conflict[0]),
        "banks": geometry.bank(touched).tolist(),
        "bank_group": int(geometry.group(touched)[0]),
        "reads_after_merge": int(found.reads[0]),
    }


def test_every_ascend_case_is_answered(find_data, rows_of, row_report) -> None:
    rows = [row for path in find_data("cases.jsonl*") for row in rows_of(path)]
    mine = [row for row in rows if any(word in row["arch"] for word in ("dav-", "Ascend"))]
    for row in mine:
        found = answer(row)
        for key in row["check"]:
            row_report.check(found[key] == row["expected"][key], f"{row['id']} {key}", found.get(key))
