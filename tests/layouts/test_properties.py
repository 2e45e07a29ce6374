"""Properties that hold for every layout, tried on random ones."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from bankbench.layouts import (
    AXES,
    Basis,
    ComposeLayout,
    CuteLayout,
    Iter,
    LayoutError,
    LinearLayout,
    Static,
    Swizzle,
    SwizzledLayout,
    TileLayout,
    TlaLayout,
    convert,
    cute_algebra,
    f2,
    from_tag,
    inverse,
    is_injective,
    offsets,
    parse,
    tile_offsets,
    tirx_ops,
    tla_ops,
    to_linear,
)
from hypothesis import given, settings
from hypothesis import strategies as st

quick = settings(deadline=None, max_examples=80)
extents = st.integers(1, 9)
strides = st.integers(-5, 70)
axis_names = st.sampled_from([*AXES, "reg"])
iters = st.builds(Iter, extents, strides, axis_names)
tiles = st.builds(
    TileLayout.from_iters,
    st.lists(iters, max_size=4),
    st.lists(iters, max_size=2),
    st.dictionaries(axis_names, st.integers(-9, 99), max_size=2),
)
memory_iters = st.builds(Iter, extents, strides, st.just("m"))
memory_tiles = st.builds(TileLayout.from_iters, st.lists(memory_iters, min_size=1, max_size=4))


@st.composite
def composes(draw):
    length = draw(st.integers(0, 4))
    distance = length + draw(st.integers(0, 3))
    return ComposeLayout(draw(st.integers(0, 4)), length, distance, draw(memory_tiles), draw(st.booleans()))


@st.composite
def nested(draw, leaf, depth=2):
    if depth == 0 or draw(st.booleans()):
        return draw(leaf)
    return tuple(draw(nested(leaf, depth - 1)) for _ in range(draw(st.integers(1, 3))))


def like(draw, shape, leaf):
    """A tuple of the same form with leaves of its own."""
    return tuple(like(draw, s, leaf) for s in shape) if isinstance(shape, tuple) else draw(leaf)


small_steps = st.integers(0, 40)


@st.composite
def cutes(draw, step=small_steps):
    shape = draw(nested(extents))
    return CuteLayout(shape, like(draw, shape, step))


@st.composite
def swizzles(draw):
    bits = draw(st.integers(0, 4))
    shift = bits + draw(st.integers(0, 3))
    return Swizzle(bits, draw(st.integers(0, 4)), draw(st.sampled_from([shift, -shift])))


leaves = st.one_of(st.integers(1, 9), st.integers(1, 9).map(Static))


@st.composite
def tlas(draw):
    shape = tuple(draw(nested(leaves, 1)) for _ in range(draw(st.integers(1, 3))))
    return TlaLayout(shape, like(draw, shape, leaves), tuple(draw(leaves) for _ in shape))


@st.composite
def linears(draw):
    rank = draw(st.integers(1, 3))
    shape = tuple(1 << draw(st.integers(0, 4)) for _ in range(rank))
    vector = st.tuples(*(st.integers(0, n - 1) for n in shape))
    names = draw(st.sampled_from([("register", "lane", "warp", "block"), ("offset",)]))
    return LinearLayout.from_bases({n: draw(st.lists(vector, max_size=3)) for n in names}, shape)


swizzled = st.builds(
    SwizzledLayout, swizzles(), cutes(st.integers(1, 40)), st.integers(0, 9), st.sampled_from([None, 8])
)
coordinate_layouts = cutes(st.builds(Basis, st.integers(1, 9), st.sampled_from(["0", "1", "0@1"])))


@quick
@given(st.one_of(tiles, composes(), cutes(), coordinate_layouts, swizzled, tlas(), linears()))
def test_printed_text_reads_back(layout):
    again = parse(str(layout))
    assert again == layout
    assert hash(again) == hash(layout)
    assert again.notation == layout.notation


@quick
@given(tiles)
def test_script_form_reads_back(layout):
    if all(axis in AXES for axis in layout.axes):
        assert parse(repr(layout)) == layout


@quick
@given(st.text(alphabet="S[(:)]R+@ ,18laneidwm_zNo<>-", max_size=30))
def test_any_text_is_read_or_refused_with_a_place(text):
    layout, place = None, 0
    try:
        layout = parse(text)
    except LayoutError as error:
        place = error.position or 0
    assert 0 <= place <= len(text)
    assert layout is None or parse(str(layout)) == layout


@quick
@given(swizzles())
def test_swizzle_is_its_own_inverse_and_a_bijection(swizzle):
    period = 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))
    every = np.arange(2 * period)
    moved = swizzle.evaluate(every)
    assert np.array_equal(swizzle.evaluate(moved), every)
    assert np.array_equal(np.sort(moved), every)


@quick
@given(composes())
def test_compose_swizzle_is_its_own_inverse(layout):
    every = np.arange(1 << 12)
    moved = layout.swizzle(every)
    assert np.array_equal(layout.swizzle(moved), every)


@quick
@given(tiles, st.data())
def test_tirx_forms_agree_inside_the_range(layout, data):
    """Flat, component and shape forms give the same places; brute force over the definition."""
    size = layout.size()
    index = np.arange(size)
    flat = layout.evaluate(index)
    parts = np.unravel_index(index, layout.extents) if layout.shard else ()
    expected = {axis: np.full(size, layout.offset.get(axis, 0)) for axis in layout.axes}
    for item, part in zip(layout.shard, parts, strict=True):
        expected[item.axis] = expected[item.axis] + part * item.stride
    factor = data.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    shape = (factor, size // factor)
    shaped = layout.evaluate(*np.unravel_index(index, shape), shape=shape)
    for axis in layout.axes:
        assert np.array_equal(flat[axis], expected[axis])
        assert np.array_equal(shaped[axis], expected[axis])


@quick
@given(tiles)
def test_canonical_form_places_the_same(layout):
    try:
        canonical = tirx_ops.canonicalize(layout)
    except LayoutError:
        return
    index = np.arange(layout.size())
    left, right = layout.evaluate(index), canonical.evaluate(index)
    for axis in {*left, *right}:
        assert np.array_equal(left.get(axis, 0 * index), right.get(axis, 0 * index))
    assert tirx_ops.canonicalize(canonical) == canonical


@quick
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3), st.data())
def test_tile_then_untile(dims, data):
    """inner.tile(outer) has inner at every outer place, and the questions give both back."""
    inner_shape, outer_shape = [d[0] for d in dims], [d[1] for d in dims]
    inner = TileLayout.from_iters(compact(data, inner_shape))
    outer = TileLayout.from_iters(compact(data, outer_shape))
    whole = tirx_ops.tile(inner, outer, outer_shape, inner_shape)
    shape = [a * b for a, b in dims]
    coords = np.indices(shape)
    blocks = [c // n for c, n in zip(coords, inner_shape, strict=True)]
    inside = [c % n for c, n in zip(coords, inner_shape, strict=True)]
    expected = outer.evaluate(*blocks, shape=outer_shape)["m"] * inner.span("m")
    expected = expected + inner.evaluate(*inside, shape=inner_shape)["m"]
    assert np.array_equal(whole.evaluate(*coords, shape=shape)["m"], expected)
    found = tirx_ops.is_tile_inner(inner, whole, shape, inner_shape)
    assert found is not None
    assert np.array_equal(
        found.evaluate(*np.indices(outer_shape), shape=outer_shape)["m"],
        outer.evaluate(*np.indices(outer_shape), shape=outer_shape)["m"],
    )


def compact(data, shape):
    """Iters of a shape with dense strides in a random order of the dimensions."""
    order = data.draw(st.permutations(range(len(shape))))
    steps, step = [0] * len(shape), 1
    for d in order:
        steps[d] = step
        step *= shape[d]
    return [Iter(n, s, "m") for n, s in zip(shape, steps, strict=True)]


@quick
@given(st.lists(st.integers(1, 8), min_size=1, max_size=3), st.data())
def test_slice_is_the_region(shape, data):
    layout = TileLayout.from_iters(compact(data, shape), offset={"m": 3})
    begin = [data.draw(st.integers(0, n - 1)) for n in shape]
    end = [data.draw(st.integers(b + 1, n)) for b, n in zip(begin, shape, strict=True)]
    part = tirx_ops.slice_layout(layout, shape, list(zip(begin, end, strict=True)))
    assert part is not None
    size = [e - b for b, e in zip(begin, end, strict=True)]
    whole = layout.evaluate(*np.indices(shape), shape=shape)["m"]
    region = whole[tuple(slice(b, e) for b, e in zip(begin, end, strict=True))]
    assert np.array_equal(part.evaluate(*np.indices(size), shape=size)["m"], region)


@quick
@given(cutes(), cutes())
def test_cute_compose_against_brute_force(left, right):
    try:
        both = cute_algebra.compose(left, right)
    except LayoutError:
        return
    inner = right.evaluate(np.arange(right.size()))["m"]
    inside = inner < left.size()  # beyond it both extrapolate, each along its own last mode
    found = both.evaluate(np.arange(right.size()))["m"]
    assert np.array_equal(found[inside], left.evaluate(inner)["m"][inside])


@quick
@given(cutes(st.integers(1, 40)))
def test_cute_inverses(layout):
    right = cute_algebra.right_inverse(layout)
    index = np.arange(right.size())
    assert np.array_equal(layout.evaluate(right.evaluate(index)["m"])["m"], index)
    try:
        left = cute_algebra.left_inverse(layout)
    except LayoutError:
        return
    index = np.arange(layout.size())
    assert np.array_equal(left.evaluate(layout.evaluate(index)["m"])["m"], index)


@quick
@given(cutes(), st.integers(1, 200))
def test_cute_complement_is_disjoint(layout, bound):
    try:
        rest = cute_algebra.complement(layout, bound)
    except LayoutError:
        return
    own = np.unique(layout.evaluate(np.arange(layout.size()))["m"])
    other = rest.evaluate(np.arange(rest.size()))["m"]
    sums = (own[:, None] + other).reshape(-1)
    assert len(np.unique(sums)) == len(own) * rest.size()
    assert len(np.unique(other)) == rest.size()
    assert sums.max() >= bound - 1


tags = st.sampled_from(["RowMajor", "ColumnMajor", "zN", "nZ", "zZ", "L0C", "Weight4BitnZ"])
dtypes = st.sampled_from(["int4", "int8", "f16", "f32", "int64"])


@quick
@given(tags, dtypes, st.integers(1, 70), st.integers(1, 70))
def test_tla_tags_are_injective_and_whole(tag, dtype, rows, cols):
    layout = from_tag(tag, rows, cols, dtype)
    assert is_injective(layout)
    assert offsets(layout).max() < layout.cosize()
    assert layout.logical_shape == (rows, cols)


@quick
@given(tags, dtypes, st.integers(1, 70), st.integers(1, 70), st.data())
def test_tla_tile_offset_is_the_parents(tag, dtype, rows, cols, data):
    tensor = tla_ops.TlaTensor(from_tag(tag, rows, cols, dtype))
    coord = (data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1)))
    size = (data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40)))
    tile = tensor.get_tile(coord, size)
    assert tile.layout.origin == tuple(
        min(s, n - c) for s, n, c in zip(size, (rows, cols), coord, strict=True)
    )
    for local in [(0, 0), (tile.layout.origin[0] - 1, tile.layout.origin[1] - 1)]:
        assert tile.index(local) == tensor.index(tuple(a + b for a, b in zip(coord, local, strict=True)))


@quick
@given(linears())
def test_linear_against_brute_force(layout):
    """Every hardware index maps to the xor of its bases; evaluate finds a place of every element."""
    fields = layout.input_fields()
    total = sum(bits for _, bits in fields.values())
    code = np.arange(1 << total)
    inputs = {name: (code >> at) & ((1 << bits) - 1) for name, (at, bits) in fields.items()}
    found = layout.logical(**inputs)
    for number in {0, len(code) - 1, len(code) // 2, len(code) // 3}:
        expected = [0] * len(layout.shape)
        for name, vectors in layout.bases:
            for bit, vector in enumerate(vectors):
                if int(inputs[name][number]) >> bit & 1:
                    expected = [a ^ b for a, b in zip(expected, vector, strict=True)]
        assert [int(np.broadcast_to(c, code.shape)[number]) for c in found] == expected
    reached = {tuple(int(np.broadcast_to(c, code.shape)[n]) for c in found) for n in range(len(code))}
    assert layout.is_surjective() == (len(reached) == prod(layout.shape))
    assert layout.is_injective() == (len(reached) == len(code))
    if layout.is_surjective():
        places = tile_offsets(layout)
        axes = {"register": "m", "lane": "laneid", "warp": "warpid", "block": "cbx", "offset": "m"}
        given_inputs = {name: places[axes[name]] for name in fields if axes[name] in places}
        back = layout.logical(**given_inputs)
        for c, wanted in zip(back, np.indices(layout.shape), strict=True):
            assert np.array_equal(np.broadcast_to(c, layout.shape), wanted)
    else:
        with pytest.raises(LayoutError):
            tile_offsets(layout)


@quick
@given(linears())
def test_linear_conversion_there_and_back(layout):
    if not layout.is_surjective() or not layout.is_injective():
        return
    found = convert(layout, "tirx", shape=layout.shape)
    if found.target is None:
        assert found.reason
        return
    again = to_linear(found.target, layout.shape)
    for axis, values in tile_offsets(layout).items():
        assert np.array_equal(tile_offsets(again).get(axis, 0 * values), values)


@quick
@given(
    st.one_of(memory_tiles, composes(), cutes(), swizzled, tlas()), st.sampled_from(["tirx", "cute", "tla"])
)
def test_conversions_are_exact_or_explained(layout, to):
    """`convert` compares every element itself and would raise on a difference."""
    found = convert(layout, to)
    assert (found.target is None) == (found.reason is not None)
    if found.target is not None:
        assert parse(found.text, to) == found.target
        assert found.checked > 0


@quick
@given(cutes(st.integers(0, 40)))
def test_inverse_table(layout):
    try:
        table = inverse(layout)
    except LayoutError:
        assert not is_injective(layout)
        return
    found = offsets(layout)
    for coord in [(0,) * found.ndim, tuple(n - 1 for n in found.shape)]:
        assert table.element(m=int(found[coord])) == coord


@quick
@given(st.lists(st.integers(0, 255), max_size=8), st.integers(0, 255))
def test_f2_solve(columns, image):
    reduced = f2.eliminate(columns)
    solution = reduced.solve(image)
    if solution is not None:
        assert f2.apply(columns, solution) == image
    assert len({f2.apply(columns, n) for n in range(1 << len(columns))}) == 1 << reduced.rank
    assert all(f2.apply(columns, vector) == 0 for vector in reduced.kernel)
    assert reduced.rank + len(reduced.kernel) == len(columns)
