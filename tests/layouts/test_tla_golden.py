"""Every row of tla*.jsonl.gz: what the compiled CATLASS headers answer, we answer.

`reject` rows ask whether an expression compiles; they are matched by the table EXPRESSIONS, whose entries either
return or raise. An expression that the table does not list is left out and reported; in the file that comes with the
tests every one is listed.
"""

from __future__ import annotations

import numpy as np
import pytest
from bankbench.layouts import LayoutError, Static, TlaLayout, parse, tla_ops

ops = tla_ops
REFUSALS = (LayoutError, TypeError, AttributeError, NotImplementedError)


def leaf(value):
    """A stored value as an integer tuple: lists to tuples, "_4" to Static(4)."""
    if isinstance(value, list):
        return tuple(leaf(item) for item in value)
    if isinstance(value, str) and value.startswith("_") and value[1:].lstrip("-").isdigit():
        return Static(int(value[1:]))
    return value


def stored(value):
    """An integer tuple in the stored form."""
    if isinstance(value, tuple):
        return [stored(item) for item in value]
    return repr(value) if isinstance(value, Static) else value


def describe(layout):
    return {
        "shape": stored(layout.shape),
        "stride": stored(layout.stride),
        "origin": stored(layout.origin),
        "rank": ops.rank(layout.shape),
        "depth": ops.depth(layout.shape),
        "repr": layout.pair(),
    }


def describe_tag(tag, wanted):
    known = {"shape": list(tag.shape), "stride": list(tag.stride), "orgShape": list(tag.origin)}
    return {k: tag.capacity if k == "capacity" else known[k] for k in wanted}


def describe_tensor(tensor):
    return {
        "coord": stored(tensor.coord),
        "data_offset": tensor.data_offset,
        "layout": describe(tensor.layout),
    }


def tag_object(spec):
    ctor, tag = spec["ctor"], spec["tag"]
    if ctor == "Tag::MakeLayout<Element>" or "MakeLayoutFromTag" in ctor:
        return ops.legacy_tag(tag, spec["rows"], spec["cols"], spec["element"], arch=spec.get("arch", 2201))
    if "MakeLayoutInUb" in ctor:
        return ops.in_ub_tag(tag, spec["rows"], spec["cols"], spec["element"])
    if ctor == "zN::MakeLayoutInL0C(shape)":
        return ops.legacy_tag("L0C", spec["rows"], spec["cols"])
    args = spec["args"]
    if "ldm" in ctor:
        return ops.legacy_tag(tag, *args[:2], ldm=args[2])
    if tag == "VectorLayout":
        return ops.vector_tag(args[0])
    if tag.startswith("Padding"):
        return ops.padding_tag(tag, *args)
    return ops.conv_tag(tag, args)


def layout_of(spec):
    ctor = spec["ctor"]
    arch = spec.get("arch", 2201)
    if ctor in ("MakeLayout(shape,stride)", "MakeLayout(int,int)"):
        return TlaLayout(leaf(spec["shape"]), leaf(spec["stride"]))
    if ctor in ("MakeLayout(shape,stride,originShape)", "Layout<Shape,Stride,OriginShape>{}"):
        return TlaLayout(leaf(spec["shape"]), leaf(spec["stride"]), leaf(spec["origin"]))
    if ctor == "MakeLayout(len)":
        return ops.packed_length(leaf(spec["len"]))
    if ctor == "tla::MakeLayout<Element,Tag>":
        return ops.from_tag(spec["tag"], leaf(spec["rows"]), leaf(spec["cols"]), spec["element"], arch)
    if "MakeLayoutL0C" in ctor:
        return ops.from_tag("L0C", leaf(spec["rows"]), leaf(spec["cols"]), 16)
    if ctor.startswith("MakeMxScaleLayout"):
        return ops.mx_scale_layout(
            spec["tag"], leaf(spec["rows"]), leaf(spec["cols"]), spec["isMxScaleB"], arch
        )
    if ctor.startswith("MakeLayoutFmap"):
        return ops.feature_map_layout(spec["element"], *map(leaf, spec["args"]))
    if ctor.startswith("MakeLayoutFilter"):
        return ops.filter_layout(spec["element"], *map(leaf, spec["args"]), position=spec["position"])
    if ctor.startswith("TagToLayout"):
        return ops.tag_type(spec["tag"], spec["element"], arch)
    if ctor.startswith("MakeBatchedLayout_t"):
        tag = "zN" if "zN" in ctor else "RowMajor"
        return ops.prepend_dimension(ops.from_tag(tag, 1, 1, "half"))
    return ops.from_legacy(tag_object(spec))


def tensor_of(spec):
    layout = layout_of(spec["layout"])
    return ops.TlaTensor(layout, leaf(spec.get("coord", [])), element=spec["layout"].get("element"))


def run_tensor(row):
    spec, query = row["spec"], row["query"]
    tensor = tensor_of(spec)
    for number, step in enumerate(query["op"].split("+")):
        second = "2" if number and query["op"].split("+")[0] == step else ""
        if step == "GetTile":
            tensor = tensor.get_tile(leaf(query["coord" + second]), leaf(query["tile" + second]))
        elif step == "TileView":
            tensor = tensor.tile_view(leaf(query["tile_coord" + second]), leaf(query["tile" + second]))
        elif step == "index":
            index = query["index"]
            return tensor.index(leaf(index if isinstance(index, list) else [index]))
        elif step == "slice":
            tensor = tensor.slice(leaf(query["arg" + second]))
        elif step == "slice_and_offset":
            layout, offset = ops.slice_and_offset(leaf(query["arg"]), tensor.layout)
            return {"layout": describe(layout), "offset": offset}
        elif step == "MakeTensorLike":
            arch = spec["layout"].get("arch", 2201)
            fresh = ops.TlaTensor(tensor.layout, tensor.coord)
            tensor = ops.tensor_like(fresh, query["tag"], query["element"], arch)
        elif step == "MakeTensorLike(layoutBase)":
            base = ops.from_tag(
                query["tag"], leaf(query["base_rows"]), leaf(query["base_cols"]), query["element"]
            )
            fresh = ops.TlaTensor(tensor.layout, tensor.coord)
            tensor = ops.tensor_like(fresh, query["tag"], query["element"], base=base)
        else:
            raise AssertionError(f"unknown step {step}")
    return describe_tensor(tensor)


def predicates(layout, query, wanted):
    element = query["element"]
    simple = {"isVector": ops.is_vector, "isRowMajor": ops.is_row_major, "isColumnMajor": ops.is_column_major}
    sized = {"iszN": ops.is_zn, "iszNUnAlign": ops.is_zn_unaligned, "iszZ": ops.is_zz, "isnZ": ops.is_nz}
    found = {}
    for name in wanted:
        if name in simple:
            found[name] = simple[name](layout)
        elif name in sized:
            try:
                found[name] = sized[name](layout, element)
            except LayoutError:
                found[name] = "ill-formed (hard error, not false)"
        else:
            form = name.removeprefix("isMxScaleFor")
            operand = form[-1] if form[-1] in "AB" else ""
            found[name] = ops.is_mx_scale(layout, element, form.removesuffix(operand), operand)
    return found


def full_map(answer, extent):
    """Nested row-major list of offsets over an extent, from one vectorised call where the layout has one."""
    grids = np.ogrid[tuple(slice(0, n) for n in extent)]
    if isinstance(answer, TlaLayout):
        found = answer.evaluate(*grids)["m"]
        return np.broadcast_to(found, tuple(extent)).tolist()
    return [[answer.offset((i, j)) for j in range(extent[1])] for i in range(extent[0])]


def offsets(layout, query, spec):
    coords = [leaf(c) for c in query["coords"]]
    if query.get("coord_type") == "uint32" and spec["ctor"] == "MakeLayout(shape,stride)":
        return [layout.offset(c, unsigned32=True) for c in coords]
    found = [layout.offset(c) for c in coords]
    if isinstance(layout, TlaLayout) and all(isinstance(n, int) for c in coords for n in np.atleast_1d(c)):
        flat = np.array([c if isinstance(c, tuple) else (c,) for c in coords], dtype=np.int64)
        assert layout.evaluate(*flat.T)["m"].tolist() == found
    return found


def flat_coordinates(query):
    return all(isinstance(n, int) for c in query["coords"] for n in (c if isinstance(c, list) else [c]))


def int_tuple_answer(value, query):
    path = query.get("path", [])
    name = query["op"]
    if name in ("rank", "depth"):
        return Static(getattr(ops, name)(value, *path))
    if name == "get":
        return ops.get(value, *path)
    if name == "add":
        other = query["other"]
        return ops.add(value, value if other == "self" else leaf(other))
    return {"product": ops.product, "max": ops.largest}[name](value)


def helper_answer(spec, query):
    a, b = leaf(spec["a"]), leaf(spec["b"])
    operators = {
        "add": lambda x, y: x + y,
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "&": lambda x, y: x & y,
        "|": lambda x, y: x | y,
        "^": lambda x, y: x ^ y,
        "<<": lambda x, y: x << y,
        ">>": lambda x, y: x >> y,
        "/": ops.truncated_quotient,
        "%": ops.truncated_remainder,
        "min": min,
        "max": max,
    }
    rounding = {"CeilDiv": ops.ceil_div, "RoundUp": ops.round_up, "RoundDown": ops.round_down}
    if query["op"] in rounding:
        return rounding[query["op"]](a, b)
    return ops.static_op(operators[query["op"].removeprefix("operator")], a, b)


def accessor(layout, query):
    name, path = query["op"], query.get("path", [])
    if name in ("rank", "depth"):
        return Static(getattr(ops, name)(layout.shape, *path))
    part = {"shape": layout.shape, "stride": layout.stride, "originShape": layout.origin}[name]
    return ops.get(part, *path)


def answer(row):
    spec, query, kind = row["spec"], row["query"], row["kind"]
    op = query["op"]
    if kind == "int_tuple":
        return stored(int_tuple_answer(leaf(spec["tuple"]), query))
    if kind == "helper":
        return stored(helper_answer(spec, query))
    if kind == "tensor":
        return run_tensor(row)
    if op == "tag":
        return describe_tag(tag_object(spec), row["result"])
    if op == "tag.GetTileLayout":
        return describe_tag(tag_object(spec).tile(query["tile"]), row["result"])
    if kind == "legacy_offset":
        made = tag_object(spec)
        if op == "full_map":
            return full_map(made, query["extent"])
        return [made.offset(c) for c in query["coords"]]
    layout = layout_of(spec)
    if kind == "accessor":
        return stored(accessor(layout, query))
    if op == "predicates":
        return predicates(layout, query, row["result"])
    if op == "layout":
        assert parse(str(layout), "tla") == layout
        return describe(layout)
    if op == "GetTileLayout":
        return describe(ops.get_tile_layout(layout, leaf(query["tile"]), leaf(query["coord"])))
    if op == "full_map":
        return full_map(layout, query["extent"])
    if op == "offsets":
        if not flat_coordinates(query):
            return [layout.offset(leaf(c)) for c in query["coords"]]
        return offsets(layout, query, spec)
    if op == "offsets_linear":
        found = [layout.offset(c) for c in query["coords"]]
        assert layout.evaluate(np.array(query["coords"]))["m"].tolist() == found
        return found
    raise AssertionError(f"unknown query {op}")


def absent(*_):
    """A name that the reference does not have, and neither do we."""
    raise NotImplementedError("no such name")


FLAT = TlaLayout((2, 4), (4, 1))
NEST = TlaLayout(((4, 2), (4, 3)), ((4, 16), (1, 32)))
NEST3 = TlaLayout(((4, 2), (4, 3), 2), ((4, 16), (1, 32), 96))
DEEP = TlaLayout((((2, 2), 2), (4, 3)), (((4, 8), 16), (1, 32)))
DEEP_STATIC = TlaLayout(
    (((Static(2), Static(2)), 2), (Static(4), 3)), (((Static(4), Static(8)), 16), (Static(1), 32))
)
HALF = TlaLayout((4, (2, 3)), (6, (1, 2)))
HALF_STATIC = TlaLayout((4, (Static(2), 3)), (6, (Static(1), Static(2))))
TENSOR = ops.TlaTensor(TlaLayout((17, 33), (33, Static(1))), element="half")
TENSOR3 = ops.TlaTensor(TlaLayout((2, 3, 4), (12, 4, 1)))


def tag(name):
    return lambda: ops.from_tag(name, 16, 16, "half")


def from_legacy(made):
    return lambda: ops.from_legacy(made)


def alias(name):
    """The headers predefine only these compile-time integers."""
    return lambda: None if name in ("_0", "_64", "_128", "_256", "_512") else absent()


# The expression of a reject row -> what it is here; it must return where the row compiles and raise where not.
EXPRESSIONS = {
    **{
        f"MakeLayout<half,{n}>(rows,cols)": tag(n)
        for n in ("zZ", "L0C", "Weight4BitnZ", "nN", "PaddingRowMajor")
    },
    **{
        f"MakeLayout<half,{n}>(rows,cols)": tag(n)
        for n in ("PaddingColumnMajor", "NDC1HWC0", "KDC1KHKWN1N0C0", "NC1HWC0", "CI1KHKWCOCI0")
    },
    "MakeLayout<half,zN>(rows) with a single size": lambda: ops.from_tag("zN", 16, dtype="half"),
    "MakeLayout<float,VectorLayout>(len) with a single size": lambda: ops.from_tag(
        "VectorLayout", 16, dtype="float"
    ),
    **{
        f"MakeLayoutFromTag({n})": from_legacy(ops.legacy_tag(n, 16, 16))
        for n in ("zZ", "nN", "Weight4BitnZ", "L0C", "zN", "nZ", "RowMajor", "ColumnMajor")
    },
    **{
        f"MakeLayoutFromTag({n})": from_legacy(ops.padding_tag(n, 16, 16, 4, 4))
        for n in ("PaddingRowMajor", "PaddingColumnMajor")
    },
    "MakeLayoutFromTag(VectorLayout)": from_legacy(ops.vector_tag(16)),
    "MakeLayoutFromTag(NC1HWC0)": from_legacy(ops.conv_tag("NC1HWC0", (1, 1, 2, 2, 16))),
    "MakeLayoutFromTag(CI1KHKWCOCI0)": from_legacy(ops.conv_tag("CI1KHKWCOCI0", (1, 1, 2, 2, 16))),
    "MakeLayoutFromTag(NDC1HWC0)": from_legacy(ops.conv_tag("NDC1HWC0", (1, 1, 1, 2, 2, 16))),
    "MakeLayoutFromTag(KDC1KHKWN1N0C0)": from_legacy(ops.conv_tag("KDC1KHKWN1N0C0", (2, 1, 16, 16))),
    "crd2offset: coord tuple longer than shape": lambda: FLAT.offset((0, 0, 0)),
    "crd2offset: coord tuple shorter than shape": lambda: FLAT.offset((0,)),
    "crd2offset: coord tuple where shape is an integer": lambda: FLAT.offset(((0, 0), 1)),
    "crd2offset: stride rank differs from shape rank": lambda: ops.crd2offset((0, 0), (2, 4), (4, 1, 1)),
    "crd2offset: integer coord, nested shape, stride rank differs": lambda: ops.crd2offset(
        0, ((2, 2), 4), ((4, 1, 1), 1)
    ),
    "crd2offset: nested coord into the same nested shape": lambda: NEST.offset(((1, 0), (1, 1))),
    "crd2offset: nested coord into a flat shape": lambda: FLAT.offset(((1, 0), 1)),
    "crd2offset: integer coord into a nested shape": lambda: NEST.offset(5),
    "crd2offset: stride nested where shape is an integer": lambda: ops.crd2offset(
        (0, 0), (2, 4), ((4, 1), 1)
    ),
    "GetTileLayout: tile is nested": lambda: ops.get_tile_layout(NEST, ((2, 2), 4), (0, 0)),
    "GetTileLayout: coord is nested": lambda: ops.get_tile_layout(NEST, (4, 4), ((0, 0), 0)),
    "GetTileLayout: coord rank differs from tile rank": lambda: ops.get_tile_layout(NEST, (4, 4), (0,)),
    "GetTileLayout: tile rank differs from flat layout rank": lambda: ops.get_tile_layout(FLAT, (4,), (0,)),
    "GetTileLayout: rank-3 tile of a flat rank-3 layout": lambda: TENSOR3.get_tile((0, 0, 0), (1, 2, 3)),
    "GetTileLayout: rank-5 flat conv layout": lambda: ops.get_tile_layout(
        ops.feature_map_layout("half", 1, 1, 3, 5), (1, 1, 2, 2, 16), (0, 0, 0, 0, 0)
    ),
    "GetTileLayout: nested rank-3 layout with rank-3 tile": lambda: ops.get_tile_layout(
        NEST3, (4, 4, 1), (0, 0, 0)
    ),
    "GetTileLayout: nested rank-3 layout with rank-2 tile": lambda: ops.get_tile_layout(
        NEST3, (4, 4), (0, 0)
    ),
    "GetTileLayout: depth-3 layout": lambda: ops.get_tile_layout(DEEP, (4, 4), (0, 0)),
    "GetTileLayout: depth-3 layout with compile-time inner sizes": lambda: ops.get_tile_layout(
        DEEP_STATIC, (4, 4), (0, 0)
    ),
    "GetTileLayout: (rows,(c0,n)) layout with a run-time inner size": lambda: ops.get_tile_layout(
        HALF, (2, 2), (0, 0)
    ),
    "GetTileLayout: (rows,(c0,n)) layout with a compile-time inner size": lambda: ops.get_tile_layout(
        HALF_STATIC, (2, 2), (0, 0)
    ),
    "GetTileLayout: inner parts with three levels": lambda: ops.get_tile_layout(
        TlaLayout(((4, 2, 2), (4, 3)), ((4, 16, 32), (1, 64))), (4, 4), (0, 0)
    ),
    "GetTileLayout: three-part row mode": lambda: ops.get_tile_layout(
        TlaLayout(((4, 2, 2), (4, 3)), ((4, 16, 32), (1, 64))), (4, 4), (0, 0)
    ),
    "... and indexing the result of the previous case": lambda: ops.get_tile_layout(
        TlaLayout(((4, 2, 2), (4, 3)), ((4, 16, 32), (1, 64))), (4, 4), (0, 0)
    ).offset((0, 0)),
    "GetTileLayout of a MakeLayout(int,int) layout": lambda: ops.get_tile_layout(
        TlaLayout(12, 3), (4,), (0,)
    ),
    "get<2> of a rank-2 tuple": lambda: ops.get((1, 2), 2),
    "get<1> of an integer": lambda: ops.get(7, 1),
    "rank<0,0> of a flat tuple": lambda: ops.rank((1, 2), 0, 0),
    "get<0,0> of a flat tuple": lambda: ops.get((1, 2), 0, 0),
    "depth of an empty tuple": lambda: ops.depth(()),
    "rank of an empty tuple": lambda: ops.rank(()),
    "Product of an empty tuple": lambda: ops.product(()),
    "Add of tuples of different rank": lambda: ops.add((1, 2), (1, 2, 3)),
    "Add of a tuple and an integer": lambda: ops.add((1, 2), 3),
    "Add of two integers": lambda: ops.add(1, 3),
    "max of an empty tuple": lambda: ops.largest(()),
    **{f"alias tla::_{n}": alias(f"_{n}") for n in (0, 1, 2, 3, 4, 8, 12, 16, 32, 64, 128, 256, 512)},
    "make_tuple spelled tla::make_tuple": absent,
    "MakeTuple": lambda: (1, 2),
    "get<0>(layout)": absent,
    "print(layout)": absent,
    "rank(layout)": lambda: FLAT.rank,
    "depth(layout)": lambda: FLAT.depth,
    "layout.shape<0>()": lambda: ops.get(FLAT.shape, 0),
    "Layout a0 = GetTileLayout(...) by deduction": lambda: ops.get_tile_layout(NEST, (4, 4), (6, 10)),
    "MakeLayout(shape,stride) with mismatched top ranks": lambda: TlaLayout((2, 4), (4, 1, 1)),
    "... and indexing it": lambda: TlaLayout((2, 4), (4, 1, 1)).offset((0, 0)),
    "MakeLayout(shape) with a tuple and no stride": lambda: ops.packed_length((2, 4)),
    "MakeLayout with nested shape and flat stride": lambda: TlaLayout(((2, 2), 4), (4, 1)),
    "MakeLayout with a double as the shape": lambda: TlaLayout(2.0, 1),
    "tensor index with wrong rank": lambda: TENSOR.index((1, 2, 3)),
    "tensor index with a nested coordinate": lambda: TENSOR.index(((1, 0), 2)),
    "scalar index into a rank-2 tensor": lambda: TENSOR.index((1,)),
    "GetTile with wrong coord rank": lambda: TENSOR.get_tile((0,), (4,)),
    "slice_and_offset without an underscore": lambda: ops.slice_and_offset((0, 0), FLAT),
    "slice with wrong rank": lambda: TENSOR.slice((0, "_", "_")),
    "MakeTensorLike<tag> where the storage element type differs": lambda: ops.tensor_like(
        TENSOR, "zN", "float"
    ),
    "MakeTensorLike<tag> of a rank-1 tensor": lambda: ops.tensor_like(
        ops.TlaTensor(ops.packed_length(8)), "VectorLayout", "half"
    ),
    "MakeTensorLike<tag> of a rank-3 tensor": lambda: ops.tensor_like(TENSOR3, "zN", "half"),
    "MakeTensorLike<nN> (a tag MakeLayout refuses)": lambda: ops.tensor_like(TENSOR, "nN", "half"),
    "Catlass::Arch::PositionL1A (name used in the tensor document)": absent,
    "TileView with compile-time tile shape": lambda: TENSOR.tile_view((0, 1), (Static(4), Static(8))),
    "MakeMxScaleLayout on arch 2201": lambda: ops.mx_scale_layout("zZ", 16, 16, arch=2201),
    "MakeMxScaleLayout<half,zZ>": absent,
    **{
        f"MakeMxScaleLayout<e8m0,{n}>": (lambda n=n: ops.mx_scale_layout(n, 16, 16))
        for n in ("zZ", "nN", "nZ", "zN", "RowMajor", "ColumnMajor")
    },
    "predicate iszZ on a ((2,n),cols) mx layout": lambda: ops.is_zz(
        ops.mx_scale_layout("RowMajor", 16, 16, True), "fp8_e8m0"
    ),
    "legacy zZ::GetTileLayout": lambda: ops.legacy_tag("zZ", 16, 16).tile((4, 4)),
    "legacy nN::GetTileLayout": lambda: ops.legacy_tag("nN", 16, 16).tile((4, 4)),
    "legacy zZ::Capacity": lambda: need(ops.legacy_tag("zZ", 16, 16).capacity),
    "legacy nN::Capacity": lambda: need(ops.legacy_tag("nN", 16, 16).capacity),
    "legacy PaddingRowMajor::Capacity": lambda: need(ops.padding_tag("PaddingRowMajor", 8, 8, 4, 4).capacity),
    "legacy VectorLayout::Capacity": lambda: need(ops.vector_tag(4).capacity),
    "legacy VectorLayout::MakeLayout<half>(n)": lambda: ops.legacy_tag("VectorLayout", 1, 4),
    "legacy PaddingRowMajor::MakeLayout<half>(rows,cols)": lambda: ops.legacy_tag("PaddingRowMajor", 8, 8),
}


def need(value):
    """A capacity that must exist."""
    if value is None:
        raise LayoutError("this tag has no capacity")
    return value


def is_listed(row):
    return row["kind"] != "reject" or row["spec"]["expr"] in EXPRESSIONS


def compare_reject(row):
    expression = row["spec"]["expr"]
    try:
        EXPRESSIONS[expression]()
        compiles = True
    except REFUSALS:
        compiles = False
    return compiles == row["result"]["compiles"], f"{expression}: accepted {compiles}"


def compare(row):
    if row["kind"] == "reject":
        return compare_reject(row)
    try:
        found = answer(row)
    except LayoutError as error:
        return False, f"we refuse: {error}"
    expected = row["result"]
    return found == expected, f"{str(found)[:250]} != {str(expected)[:250]}"


def test_golden_rows(find_data, rows_of, row_report):
    for path in find_data("tla*.jsonl*"):
        for row in rows_of(path):
            if not is_listed(row):
                print(f"{row['id']}: the table does not list the expression {row['spec']['expr']!r}")
                row_report.skip()
                continue
            ok, detail = compare(row)
            row_report.check(ok, row["id"], detail)


def test_own_file_is_listed_completely(find_data, rows_of):
    own = next(path for path in find_data("tla.jsonl.gz"))
    assert all(is_listed(row) for row in rows_of(own))


@pytest.mark.parametrize(
    "text",
    [
        "((_16, 7), (_16, 7)):((_16, _256), (_1))",
        "(_16, 7):(_16, 7) origin ((1, 2), 3)",
        "(_16, -7):(1, 16)",
        "zQ(100, 100, f16)",
        "zN(100, 100)",
        "nN(100, 100, f16)",
        "(_x, 7):(1, 16)",
    ],
)
def test_bad_texts_show_a_caret(text):
    with pytest.raises(LayoutError) as caught:
        parse(text, "tla")
    assert caught.value.position is not None
    assert "^" in caught.value.caret()
