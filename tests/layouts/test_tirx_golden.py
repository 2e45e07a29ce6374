"""Every row of tirx*.jsonl.gz: what the released TIRx implementation answers, we answer.

Rules: the class of an exception does not matter, only that the case is refused; rows marked `impl_bug` are answered
correctly (EXPECTED_FIXES), not as stored; where the reference crashed or did not return we raise; replicas compare as
multisets; map hashes go over the axes of `value.axes`; `unfolded` is ignored; a missing axis reads as 0; object
identity is not followed, layouts are values.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter

import numpy as np
import pytest
from bankbench.layouts import (
    AXES,
    Axis,
    ComposeLayout,
    Iter,
    LayoutError,
    R,
    S,
    TileLayout,
    dtype_bits,
    parse,
    tirx_ops,
    tirx_spec,
)

# Answers to rows whose stored result is a bug of the reference.
EXPECTED_FIXES = {
    "axis-00679": {"layout": "tile", "shard": [[128, 1, "tx"]], "replica": [], "offset": {"tx": 35}}
}
REFUSALS = (ValueError, TypeError, AttributeError, RuntimeError, NameError)


def tile_of(spec):
    return TileLayout.from_iters(
        [Iter(*item) for item in spec["shard"]], [Iter(*item) for item in spec["replica"]], spec["offset"]
    )


def layout_of(spec):
    if spec["layout"] == "tile":
        return tile_of(spec)
    return ComposeLayout(
        spec["per_element"], spec["swizzle_len"], spec["atom_len"], tile_of(spec), spec["swizzle_inner"]
    )


def spec_of(layout):
    if layout is None:
        return None
    if isinstance(layout, tuple):
        return [spec_of(layout[0]), [list(s) if isinstance(s, tuple) else s for s in layout[1]]]
    if isinstance(layout, ComposeLayout):
        names = ("per_element", "swizzle_len", "atom_len", "swizzle_inner")
        inner = spec_of(layout.tile_layout)
        return inner | {"layout": "compose"} | {name: getattr(layout, name) for name in names}
    return {
        "layout": "tile",
        "shard": [[i.extent, i.stride, i.axis] for i in layout.shard],
        "replica": [[i.extent, i.stride, i.axis] for i in layout.replica],
        "offset": layout.offset,
    }


def normal(value):
    """Replica lists sorted, so that they compare as multisets."""
    if isinstance(value, dict):
        return {k: sorted(v) if k == "replica" else normal(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [normal(item) for item in value]
    return value


def map_value(layout, shape, wanted):
    """The map entry of a layout over a shape, with the fields that the stored one has."""
    grids = np.ogrid[tuple(slice(0, n) for n in shape)]
    found = layout.evaluate(*grids, shape=shape)
    flat = {a: np.broadcast_to(found[a], tuple(shape)).reshape(-1) for a in wanted["axes"]}
    digest = hashlib.sha256()
    for axis in sorted(flat):
        digest.update(f"{axis}:{','.join(map(str, flat[axis].tolist()))}\n".encode())
    value = {
        "n": math.prod(shape),
        "axes": wanted["axes"],
        "sha256": digest.hexdigest(),
        "min": {a: int(v.min()) for a, v in flat.items()},
        "max": {a: int(v.max()) for a, v in flat.items()},
    }
    if "map" in wanted:
        value["map"] = {a: v.tolist() for a, v in flat.items()}
    if "samples" in wanted:
        value["samples"] = [[i, {a: int(v[i]) for a, v in flat.items()}] for i, _ in wanted["samples"]]
    return value


def apply_many(layout, query):
    """All coordinates of an apply row in one call of `evaluate`, and each by `apply` as well."""
    shape = query.get("shape")
    coords = np.array(query["coords"], dtype=np.int64)
    found = layout.evaluate(*coords.T, shape=shape)
    rows = [{a: int(v[i]) for a, v in found.items()} for i in range(len(coords))]
    assert rows[0] == layout.apply(*query["coords"][0], shape=shape)
    return rows


def equal_with_zeros(found, expected):
    """Dictionaries of axes compare with a missing axis read as 0."""
    return {k: v for k, v in found.items() if v} == {k: v for k, v in expected.items() if v}


def run_text(text):
    """A text of the notation evaluated as Python over this package's names."""
    names = {
        **tirx_spec.HANDLES,
        "S": S,
        "R": R,
        "Iter": Iter,
        "Axis": _AxisNames(),
        "from_iters": TileLayout.from_iters,
    }
    value = eval(text, {"__builtins__": {}, "True": True, "None": None}, names)
    return value if isinstance(value, (TileLayout, Iter)) else TileLayout(value)


class _AxisNames:
    """`Axis.laneid` and `Axis.get(name)` of the notation texts."""

    def __getattr__(self, name):
        if name not in AXES:
            raise AttributeError(name)
        return tirx_spec.HANDLES[name]

    @staticmethod
    def get(name):
        return tirx_spec.handle(name)


def axis_entry(name):
    axis = AXES[name]
    return {
        "is_thread": axis.is_thread,
        "is_memory": axis.is_memory,
        "scope": axis.scope,
        "subscope": axis.subscope,
        "module_attr": hasattr(tirx_spec, name),
        "class_attr": name in AXES,
    }


def axis_method(query):
    axis = Axis.get(query["name"])
    method = query["method"]
    if method in ("get_scope", "get_subscope"):
        return axis.scope if method == "get_scope" else axis.subscope
    return getattr(axis, method)


def smem_bank(layout, query):
    found = layout.evaluate(*np.array(query["coords"]).T)["m"]
    return ((found * query["dtype_bytes"] // 4) % 32).tolist()


def error_row(layout, query):
    op = query["op"]
    if op == "apply" and "coord" in query:
        return layout.apply(*query["coord"], shape=query.get("shape"))
    if op in ("Layout()", "SwizzleLayout"):
        return getattr(tirx_ops, op.removesuffix("()"))
    if op == "size" and query["axis"] == "Axis.laneid object":
        return layout.size(AXES["laneid"])
    if op == "ComposeLayout":
        return spec_of(ComposeLayout(query["per_element"], query["swizzle_len"], query["atom_len"], layout))
    return NotImplemented


def answer(row):
    """Our result of a row, in the form of `result.value`."""
    query, spec = row["query"], row["spec"]
    op = query["op"]
    layout = None if spec is None else layout_of(spec)
    target = query.get("target")
    shapes = {k: tuple(v) for k, v in query.items() if k.endswith("_shape")}
    if row["kind"] == "error" and (value := error_row(layout, query)) is not NotImplemented:
        return value
    if op == "apply":
        return apply_many(layout, query)
    if op == "map":
        return map_value(layout, query["shape"], row["result"]["value"])
    if op == "replica_set":
        places = layout.places(*query["coord"], shape=query["shape"])
        count = len(next(iter(places.values())))
        return [{a: int(v[i]) for a, v in places.items()} for i in range(count)]
    if op == "smem_bank":
        return smem_bank(layout, query)
    if op == "describe":
        wanted = row["result"]["value"]
        known = {"repr": repr(layout), "size": layout.size(), "spec": spec_of(layout)}
        return {k: known[k] for k in wanted}
    if op in ("size", "span"):
        axis = query.get("axis")
        return getattr(layout, op)() if axis is None else getattr(layout, op)(axis)
    if op in ("get_scope", "verify_well_formed"):
        value = getattr(layout, op)()
        return list(value) if isinstance(value, tuple) else value
    if op == "predicates":
        return {name: getattr(tirx_ops, name)(layout) for name in ("is_swizzle", "is_trainium", "is_trivial")}
    if op in ("is_trivial", "is_swizzle", "is_trainium"):
        return getattr(tirx_ops, op)(layout)
    if op == "canonicalize":
        return spec_of(tirx_ops.canonicalize(layout, target))
    if op == "group":
        return spec_of(tirx_ops.group(layout, query["shape"]))
    if op == "group_many":
        return spec_of(tirx_ops.group_many(layout, query["shapes"]))
    if op == "apply_to_shape":
        return [int(v) for v in layout.components(*query["coord"], shape=query["shape"])]
    if op == "tile":
        return spec_of(tirx_ops.tile(layout, layout_of(query["outer"]), **shapes))
    if op == "tile_to":
        return spec_of(tirx_ops.tile_to(layout, query["to_shape"], query["current_shape"]))
    if op == "direct_sum":
        return spec_of(tirx_ops.direct_sum(layout, layout_of(query["left"]), **shapes))
    if op in ("is_tile_inner", "is_tile_outer"):
        return spec_of(getattr(tirx_ops, op)(layout, layout_of(query["tiled"]), **shapes, target=target))
    if op in ("is_direct_sum_left", "is_direct_sum_right"):
        return spec_of(getattr(tirx_ops, op)(layout, layout_of(query["sum"]), **shapes))
    if op == "slice":
        return spec_of(tirx_ops.slice_layout(layout, query["shape"], query["region"]))
    if op in ("permute_dims", "permute_by_groups", "pack", "unpack", "broadcast", "storage", "to_psum"):
        arguments = {k: v for k, v in query.items() if k != "op"}
        return spec_of(getattr(tirx_ops, op)(layout, **arguments))
    if op == "ComposeLayout":
        made = ComposeLayout(
            *(query[k] for k in ("per_element", "swizzle_len", "atom_len")),
            tile_of(query["tile"]) if "tile" in query else run_text(query["tile_text"]),
            query["swizzle_inner"],
        )
        if "tile_text" in query:
            return spec_of(made)
        names = row["result"].get("value", {})
        return {k: v() if callable(v := getattr(made, k)) else v for k in names}
    if op in ("TileLayout", "from_iters", "Iter", "str"):
        value = (
            run_text(query["from_text" if op == "str" else "text"])
            if spec is None or ("from_text" in query)
            else layout
        )
        if op == "str":
            return repr(value)
        return spec_of(value) if isinstance(value, TileLayout) else repr(value)
    if op == "str_iter":
        return repr(Iter(*query["iter"]))
    if op == "axis":
        return axis_entry(query["name"])
    if op == "axis_method":
        return axis_method(query)
    if op == "axis_class_attr":
        return getattr(_AxisNames(), query["name"])
    if op == "axis_module_attr":
        return getattr(tirx_spec, query["name"])
    if op == "Axis()":
        return Axis()
    if op == "tmem_columns_32bit":
        assert query["bits"] == dtype_bits(query["dtype"])
        return tirx_ops.tmem_columns(layout, query["dtype"])
    if op in ("TileLayout == TileLayout", "TileLayout same object =="):
        one = parse("S[8:4@laneid]")
        return one == parse("S[8:4@laneid]") if op.startswith("TileLayout ==") else one == one  # noqa: PLR0124
    arguments = {k: v for k, v in query.items() if k != "op"}
    value = getattr(tirx_ops, op)(**arguments)
    return list(value) if isinstance(value, tuple) else spec_of(value)


def same_threads(before, after):
    """Whether two layouts name the same threads and storage, by the relations between thread axes."""
    weights = {"laneid": 1, "tx": 1, "tid_in_wg": 1, "warpid": 32, "wid_in_wg": 32, "wgid": 128}
    index = np.arange(before.size())
    found = []
    for layout in (before, after):
        places = layout.evaluate(index)
        thread = sum((weights[a] * v for a, v in places.items() if a in weights), 0 * index)
        rest = {a: v for a, v in places.items() if a not in weights and v.any()}
        found.append((thread, rest))
    (left, left_rest), (right, right_rest) = found
    return (
        np.array_equal(left, right)
        and set(left_rest) == set(right_rest)
        and all(np.array_equal(v, right_rest[a]) for a, v in left_rest.items())
    )


def compare_bug(row):
    """A row whose stored answer is wrong: ours must be the corrected one, or name the same threads."""
    if row["id"] in EXPECTED_FIXES:
        found = answer(row)
        return normal(found) == normal(EXPECTED_FIXES[row["id"]]), f"{found}"
    if row["query"]["op"] == "canonicalize":
        before = tile_of(row["spec"])
        return same_threads(before, tile_of(answer(row))), f"canonical form {answer(row)} moves elements"
    return False, f"a bug of the reference in {row['query']['op']} has no rule here"


def compare(row):
    """(agrees, detail) for one row."""
    result = row["result"]
    if "impl_bug" in row:
        return compare_bug(row)
    if not result["ok"]:
        try:
            value = answer(row)
        except REFUSALS:
            return True, ""
        return False, f"the reference refuses ({result['error']['type']}), we answer {value}"
    expected = result["value"]
    if row["query"]["op"] == "TileLayout == TileLayout":
        expected = True  # identity in the reference, values here
    try:
        found = answer(row)
    except REFUSALS as error:
        return False, f"we refuse: {type(error).__name__} {error}"
    op = row["query"]["op"]
    if op == "apply":
        if isinstance(expected, dict):
            return equal_with_zeros(found, expected), f"{found} != {expected}"
        ok = len(found) == len(expected) and all(map(equal_with_zeros, found, expected))
        return ok, f"{found} != {expected}"
    if op == "replica_set":
        key = [tuple(sorted((a, n) for a, n in place.items() if n)) for place in found]
        want = [tuple(sorted((a, n) for a, n in place.items() if n)) for place in expected]
        return Counter(key) == Counter(want), f"{found} != {expected}"
    if op == "describe":
        expected = {k: v for k, v in expected.items() if k in found}
    return normal(found) == normal(expected), f"{str(found)[:300]} != {str(expected)[:300]}"


def test_golden_rows(find_data, rows_of, row_report):
    """Every stored answer, and every file of the same name in BANKBENCH_EXTRA_DATA."""
    for path in find_data("tirx*.jsonl*"):
        for row in rows_of(path):
            ok, detail = compare(row)
            row_report.check(ok, row["id"], detail)


def test_texts_are_read_as_python_reads_them(find_data, rows_of, row_report):
    """`parse` gives what the Python notation gives, or refuses with a place what that lets pass loosely."""
    for path in find_data("tirx*.jsonl*"):
        for row in rows_of(path):
            text = row["query"].get("text", row["query"].get("from_text"))
            if text is None or not row["result"]["ok"]:
                continue
            try:
                found = parse(text, "tirx")
            except LayoutError as error:
                row_report.check(error.position is not None, row["id"], f"{text}: no place")
                continue
            row_report.check(found == run_text(text), row["id"], f"{text}: {found}")


@pytest.mark.parametrize(
    "text",
    [
        "S[(2,4):8]",
        "S[(2,4):(1,2,3)]",
        "S[-8:1]",
        "S[8:4:2]",
        "S[8]+S[4]",
        "S[8:4@nosuch]",
        "1@laneid+S[8]",
        "S[8:]",
    ],
)
def test_loose_texts_are_refused_with_a_caret(text):
    """What the Python notation lets pass silently, `parse` refuses with the place."""
    with pytest.raises(LayoutError) as caught:
        parse(text)
    assert caught.value.position is not None
    assert "^" in caught.value.caret()
