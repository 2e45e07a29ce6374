"""The page's own arithmetic against the Python package, in a real browser, over layouts of every notation."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bankbench.layouts import ComposeLayout, Layout, parse, with_swizzle
from bankbench.reports.view import arithmetic_script, script_json
from bankbench.scenarios.view_layout import bare, describe

PAGE = """<!doctype html><meta charset="utf-8"><pre id="answer"></pre><script>%s</script>
<script type="application/json" id="cases">%s</script><script>
const cases = JSON.parse(document.getElementById("cases").textContent);
document.getElementById("answer").textContent = JSON.stringify(cases.map(c =>
  c.coords.map(coord => { const { places, steps } = Arithmetic.evaluate(c.layout, coord);
    return [places.map(p => c.layout.axes.map(a => p[a])), steps.length]; })));
</script>"""

MOST = 200  # elements of one layout that are compared


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def refactored(rng: random.Random, total: int) -> tuple[int, ...]:
    """A random shape of one to four dimensions with this many elements."""
    shape: list[int] = []
    for _ in range(rng.randint(0, 3)):
        part = rng.choice(divisors(total))
        shape.append(part)
        total //= part
    return (*shape, total)


def tirx_tiles(rng: random.Random, count: int) -> Iterator[tuple[str, tuple[int, ...] | None]]:
    for _ in range(count):
        rank = rng.randint(1, 5)
        extents = [rng.choice((1, 2, 3, 4, 5, 8, 16)) for _ in range(rank)]
        axes = rng.choice((["m"], ["laneid", "warpid", "m"], ["TLane", "TCol"], ["bx", "m"]))
        strides = [f"{rng.randint(-3, 70)}@{rng.choice(axes)}" for _ in range(rank)]
        text = f"S[({','.join(map(str, extents))},):({','.join(strides)},)]"
        copies = [
            (rng.randint(2, 4), f"{rng.randint(1, 64)}@{rng.choice(axes)}") for _ in range(rng.randint(0, 2))
        ]
        if copies:
            text += f" + R[({','.join(str(n) for n, _ in copies)},):({','.join(d for _, d in copies)},)]"
        if rng.random() < 0.5:
            text += f" + {rng.randint(1, 99)}@{rng.choice(axes)}"
        yield text, refactored(rng, math.prod(extents)) if rng.random() < 0.6 else None


def tirx_swizzles(rng: random.Random, count: int) -> Iterator[tuple[str, tuple[int, ...] | None]]:
    for _ in range(count):
        rows, columns = rng.choice((4, 8, 16, 64)), rng.choice((16, 32, 64, 128))
        bits = rng.randint(0, 3)
        shift = rng.randint(bits, 4)
        inner = rng.choice(("", ", False")) if rng.random() < 0.4 else ""
        replica = " + R[2:4096@m]" if rng.random() < 0.3 else ""
        tile = f"S[({rows},{columns}):({columns},1)]{replica}"
        text = f"ComposeLayout({rng.randint(0, 4)}, {bits}, {shift}, {tile}{inner})"
        yield text, rng.choice((None, (rows * columns,), (rows // 2, 2 * columns)))


def tree(rng: random.Random, depth: int) -> tuple[str, str, int]:
    """Shape text, stride text and size of a random CuTe tuple."""
    if depth == 0 or rng.random() < 0.35:
        extent = rng.choice((1, 2, 3, 4, 6, 8, 16))
        return str(extent), str(rng.choice((0, 1, 2, 3, 8, 17, 64, -5))), extent
    parts = [tree(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    shape = ",".join(part[0] for part in parts)
    stride = ",".join(part[1] for part in parts)
    return f"({shape})", f"({stride})", math.prod(part[2] for part in parts)


def cute(rng: random.Random, count: int) -> Iterator[tuple[str, tuple[int, ...] | None]]:
    made = 0
    while made < count:
        shape, stride, size = tree(rng, 3)
        if size > 1 << 14:
            continue
        made += 1
        kind = rng.random()
        if kind < 0.4:
            bits = rng.randint(0, 3)
            shift = rng.choice((1, -1)) * rng.randint(max(bits, 1), 5)
            offset = f"{rng.randint(1, 999)} o " if rng.random() < 0.3 else ""
            plain = stride.replace("-", "")
            yield f"Sw<{bits},{rng.randint(0, 4)},{shift}> o {offset}{shape}:{plain}", None
        else:
            yield f"{shape}:{stride}", refactored(rng, size) if kind > 0.75 else None


NAMED = (
    ("S[(2,128,112):(112@TCol,1@TLane,1@TCol)]", None),
    ("S[(32,16):(1@TLane,1@TCol)] + R[4:32@TLane]", None),
    ("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid", (8, 16)),
    ("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", None),
    ("(3,4):(1@1,1@0)", None),
    ("((2,4),8):((1,16),2)", (64,)),
    ("S[(1048576,):(3,)]", None),
    ("S[(64,):(4294967296,)] + 7@m", None),
)


def tla(rng: random.Random, count: int) -> Iterator[tuple[str, tuple[int, ...] | None]]:
    tags = ("zN", "nZ", "zZ", "RowMajor", "ColumnMajor", "L0C")
    for index in range(count):
        rows, columns = rng.randint(1, 130), rng.randint(1, 130)
        if index % 3:
            yield f"{tags[index % len(tags)]}({rows}, {columns}, {rng.choice(('f16', 'f32', 's8'))})", None
        else:
            a, b, c, d = (rng.choice((2, 3, 4, 16)) for _ in range(4))
            text = f"((_{a}, {b}), (_{c}, {d})):((_{c}, {a * c * d}), (_1, {a * c}))"
            yield (
                f"{text} origin ({a * b - rng.randint(0, a * b - 1)}, {c * d - rng.randint(0, c * d - 1)})",
                None,
            )


def linear(rng: random.Random, count: int) -> Iterator[tuple[str, tuple[int, ...] | None]]:
    """Shared-memory encodings, register encodings, and lists of bases with copies."""
    for index in range(count):
        rows, columns = rng.choice((8, 16, 32)), rng.choice((32, 64, 128))
        shape = f"order=[1,0], shape=[{rows},{columns}]"
        vec, per, most = rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 4)), rng.choice((1, 2, 4, 8))
        yield (
            (
                f"swizzled_shared(vec={vec}, perPhase={per}, maxPhase={most}, {shape})",
                f"#ttg.padded_shared<[{rng.choice((16, 32, 64))}:+{rng.choice((2, 4, 8))}] {{{shape}}}>",
                f"blocked(sizePerThread=[1,{vec}], threadsPerWarp=[8,4], warpsPerCTA=[{per},1], {shape})",
                bases(rng),
            )[index % 4],
            None,
        )


def bases(rng: random.Random) -> str:
    """Coordinates spread over register, lane and warp bits at random, and a copy on a free bit of lane and warp."""
    units = [[1 << bit, 0] for bit in range(3)] + [[0, 1 << bit] for bit in range(4)]
    rng.shuffle(units)
    register, lane, warp = units[:2], [*units[2:5], [0, 0]], [*units[5:], [0, 0]]
    if rng.random() < 0.5:
        lane[1] = [a ^ b for a, b in zip(lane[1], lane[0], strict=True)]
    if rng.random() < 0.5:
        warp[-1] = list(register[0])
    return f"linear(register={register}, lane={lane}, warp={warp}, block=[])"


def layouts() -> list[tuple[str, Layout, tuple[int, ...] | None]]:
    rng = random.Random(20261130)
    texts = [
        *NAMED,
        *tirx_tiles(rng, 80),
        *tirx_swizzles(rng, 40),
        *cute(rng, 90),
        *tla(rng, 45),
        *linear(rng, 40),
    ]
    found: list[tuple[str, Layout, tuple[int, ...] | None]] = []
    for text, shape in texts:
        found.append((text, parse(text), shape))
    for mode in ("32B", "64B", "128B"):
        for dtype in ("f32", "f16", "e4m3"):
            for text in ("S[(16,128):(128,1)]", "(16,128):(128,1)"):
                found.append((f"{text} {mode} {dtype}", with_swizzle(parse(text), mode, dtype), None))
    return found


def places(layout: Layout, coords: np.ndarray, shape: tuple[int, ...]) -> list[list[list[int]]]:
    """element -> copy -> axis, from the Python package."""
    columns = [coords[:, d] for d in range(coords.shape[1])]
    if isinstance(layout, ComposeLayout):
        values = layout.places(*columns, shape=shape)
        found = np.stack([values[axis] for axis in layout.axes], axis=-1)
    else:
        base = layout.evaluate(*columns, shape=shape)
        if layout.notation == "linear":
            return linear_places(layout, coords, base)
        copies = layout.replicas()
        count = next((len(v) for v in copies.values()), 1)
        found = np.stack(
            [base[a][None] + copies.get(a, np.zeros(count, np.int64))[:, None] for a in layout.axes], axis=-1
        )
    return np.moveaxis(found, 0, 1).tolist()


def linear_places(layout: Any, coords: np.ndarray, base: dict[str, np.ndarray]) -> list[list[list[int]]]:
    """All hardware places of each element, found the other way round: every place is asked for its element."""
    plain = layout.linear() if hasattr(layout, "linear") else layout
    if layout.axes == ("m",):
        return np.stack([base["m"]], axis=-1)[:, None, :].tolist()
    sizes = {name: 1 << len(vectors) for name, vectors in plain.bases}
    grid = np.meshgrid(*[np.arange(n) for n in sizes.values()], indexing="ij")
    inputs = {name: values.ravel() for name, values in zip(sizes, grid, strict=True)}
    elements = np.stack(plain.logical(**inputs), axis=-1)
    axis_of = {"register": "m", "lane": "laneid", "warp": "warpid", "block": "cbx"}
    hardware = {axis_of[name]: values for name, values in inputs.items()}
    found = []
    for row, coord in enumerate(coords):
        at = np.flatnonzero((elements == coord).all(axis=1))
        places = [[int(hardware[axis][i]) for axis in layout.axes] for i in at]
        first = [int(base[axis][row]) for axis in layout.axes]
        assert first in places
        found.append(sorted(places))
    return found


def test_every_notation_in_the_browser(browser: Any, tmp_path: Path) -> None:
    cases: list[dict[str, Any]] = []
    expected: list[list[list[list[int]]]] = []
    names: list[str] = []
    rng = np.random.default_rng(8)
    for text, layout, wanted in layouts():
        shape = wanted or tuple(layout.logical_shape)
        total = math.prod(shape)
        flat = np.arange(total) if total <= MOST else rng.choice(total, MOST, replace=False)
        coords = np.stack(np.unravel_index(flat, shape), axis=-1).astype(np.int64)
        cases.append({"layout": describe(layout, shape), "coords": coords.tolist()})
        expected.append(places(layout, coords, shape))
        names.append(text)
    assert len(cases) >= 200
    page = tmp_path / "cases.html"
    page.write_text(PAGE % (arithmetic_script(), script_json(cases)), encoding="utf-8")
    found = browser.answer(browser.dump(page))
    assert len(found) == len(cases)
    differing = [
        f"{name} in {case['layout']['shape']} at {coord}: page {got[0][:3]}, package {want[:3]}"
        for name, case, gots, wants in zip(names, cases, found, expected, strict=True)
        for coord, got, want in zip(case["coords"], gots, wants, strict=True)
        if (sorted(got[0]) if case["layout"]["notation"] == "linear" else got[0]) != want
    ]
    elements = sum(len(case["coords"]) for case in cases)
    notations = sorted({case["layout"]["notation"] for case in cases})
    print(f"{len(cases)} layouts ({', '.join(notations)}), {elements} elements, {len(differing)} differ")
    assert notations == ["cute", "linear", "tirx", "tla"]
    assert not differing, "\n".join(differing[:10])
    assert all(steps > 0 for case in found for _, steps in case)


@pytest.mark.parametrize("text", ["S[(8,64):(64,1)]", "Sw<3,3,3> o (8,64):(64,1)", "zN(33, 17, f16)"])
def test_bit_linear_and_table_forms_agree_with_the_split(text: str) -> None:
    """The fallbacks for unknown layouts: describe by values, and check against evaluate in Python."""
    from bankbench.scenarios.view_layout import _by_values

    layout = parse(text)
    found = _by_values(layout, tuple(layout.logical_shape))
    assert found["kind"] == ("table" if text.startswith("zN") else "xor")
    if found["kind"] == "table":
        flat = layout.evaluate(*np.ogrid[: layout.logical_shape[0], : layout.logical_shape[1]])["m"]
        assert found["table"]["m"] == flat.ravel().tolist()
    else:
        assert [b["m"] for b in found["bases"][1]][:3] == [1, 2, 4]


def test_bare_takes_the_swizzle_off() -> None:
    assert str(bare(parse("Sw<3,3,3> o (8,64):(64,1)"))) == "(8,64):(64,1)"
    assert str(bare(parse("ComposeLayout(3, 3, 3, S[(8,64):(64,1)])"))) == "S[(8,64):(64,1)]"
