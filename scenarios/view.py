"""`bankbench view`: a layout, or the buffers of a scenario, as the description of an interactive page.

The counts of every access under every choice of the page come from the counting model here; the places of the
elements are the page's own arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..layouts import Layout, LayoutError, dtype_bits, fragment_shape, mma_fragment, parse
from ..layouts.linear_encodings import used_on
from ..sim.chip import Chip, ChipError, load_chip
from .errors import Place, ScenarioError, caret_lines
from .explanation import is_scenario
from .fragments import THREADS
from .load import load
from .run import choose_chip
from .specs import AccessSpec, BufferSpec
from .view_accesses import access_results, usual_accesses
from .view_layout import bare, describe
from .view_sections import ViewBuffer, scenario_buffers

DTYPES = ("f32", "f16", "e4m3", "e2m1")
SWIZZLES = ("none", "32B", "64B", "128B")
MEMORIES = ("shared", "fractal", "ub", "tmem", "fragment", "axes")
_MOST_ELEMENTS = 1 << 20
_REGISTERS = ("m", "register")
_THREAD_AXES = {**THREADS, "lane": 1, "warp": 32}
_ACROSS = (*_REGISTERS, "TCol")


def view_description(
    target: str,
    *,
    dtype: str = "f16",
    shape: tuple[int, ...] | None = None,
    swizzle: str = "none",
    chip: str | None = None,
    memory: str | None = None,
    access: AccessSpec | None = None,
    command: str = "",
) -> dict[str, Any]:
    """The description that `reports.view.render_view` draws.

    `target` is a layout in any notation, or a scenario (all of its buffers and accesses). `memory` is one of
    `MEMORIES`; default: what the layout's axes say. `access` comes before the usual ones of a bare layout.
    Raises `ScenarioError`, `LayoutError` or `ChipError` for bad input.

    >>> page = view_description("S[(8,64):(64,1)]", swizzle="128B")
    >>> page["buffers"][0]["variants"]["f16|128B"]["layout"]["swizzle"]
    {'bits': 3, 'from': 6, 'to': 3}
    """
    if is_scenario(target):
        loaded = load(target)
        machine = choose_chip(loaded, chip, ())
        buffers = scenario_buffers(loaded, machine)
        if not buffers:
            raise ScenarioError("places no layout that could be drawn", place=loaded.place())
        specs = {name: item.spec() for name, item in loaded.scenario.buffers.items()}
        accesses = [(item.spec(), specs) for item in loaded.scenario.accesses]
        title, folder = loaded.scenario.title or loaded.scenario.name, loaded.folder
    else:
        machine = load_chip("h200" if chip is None else chip)
        spec = _bare_spec(target, dtype, shape, swizzle)
        buffers = [ViewBuffer("tile", spec)]
        accesses, title, folder = [], target, Path()
        layout = _parsed(spec)
        if tuple(layout.axes) == ("m",):
            accesses = [(item, {"tile": spec}) for item in usual_accesses(spec, layout, access)]
    memories = _memories(machine)
    return {
        "title": title,
        "command": command,
        "notes": [f"wavefronts counted for {machine.title} ({machine.name})"] if accesses else [],
        "versions": {name: version(name) for name in ("bankbench", "numpy")},
        "chip": machine.name,
        "memories": memories,
        "buffers": [_buffer(item, memories, memory) for item in buffers],
        "accesses": [
            _access(item, specs, machine, folder) for item, specs in accesses if item.buffer in specs
        ],
    }


def _bare_spec(target: str, dtype: str, shape: tuple[int, ...] | None, swizzle: str) -> BufferSpec:
    """A layout by its text, or the fragment of a tensor-core instruction by name (mma.m16n8k16.C)."""
    words = target.split(".")
    if words[0] != "mma" or len(words) != 3:
        return BufferSpec(dtype, shape, target, swizzle)
    return BufferSpec(dtype, fragment_shape(words[1], words[2]), str(mma_fragment(words[1], words[2], dtype)))


def _parsed(spec: BufferSpec) -> Layout:
    assert spec.layout is not None
    layout = used_on(parse(spec.layout), spec.shape)
    elements = math.prod(spec.shape or layout.logical_shape)
    if elements > _MOST_ELEMENTS:
        raise ScenarioError(
            f"{elements:,} elements; the page draws tiles of up to {_MOST_ELEMENTS:,}: name a smaller --shape"
        )
    if not elements:
        raise ScenarioError("a tile without elements cannot be drawn")
    return layout


def _memories(chip: Chip) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    shared = chip if chip.has("shared_memory.banks") and chip["shared_memory.banks"] else load_chip("h200")
    found["shared"] = {
        "kind": "banks",
        "label": f"shared memory ({shared.name}): line x bank",
        "banks": int(shared["shared_memory.banks"]),
        "bank_bytes": int(shared["shared_memory.bank_bytes"]),
    }
    found["fractal"] = {
        "kind": "fractals",
        "label": "L1, L0A, L0B, L0C: fractal x row",
        "fractal_bytes": 512,
        "row_bytes": 32,
    }
    for name in ("ascend910b", "ascend950"):
        try:
            ascend = load_chip(name)
            found[f"ub {name}"] = {
                "kind": "groups",
                "label": f"Unified Buffer ({name}): bank group x row",
                "groups": ascend.integer("ub.groups"),
                "block_bytes": ascend.integer("ub.block_bytes"),
                "bank_shift": ascend.integer("ub.bank_shift"),
            }
        except ChipError:
            continue
    found["tmem"] = {"kind": "tmem", "label": "tensor memory: lane x column"}
    found["fragment"] = {
        "kind": "fragment",
        "label": "registers: warp x lane x register",
        "threads": _THREAD_AXES,
    }
    return found


def _buffer(item: ViewBuffer, memories: dict[str, dict[str, Any]], wanted: str | None) -> dict[str, Any]:
    dtypes = list(dict.fromkeys([item.spec.dtype, *DTYPES]))
    own = _own_swizzle(item.spec)
    swizzles = list(dict.fromkeys([own, *SWIZZLES]))
    variants = {f"{d}|{s}": _variant(item.spec, d, s, own) for d in dtypes for s in swizzles}
    first = variants[f"{item.spec.dtype}|{own}"]
    if "error" in first:
        raise ScenarioError(first["error"], place=Place(item.name))
    axes = first["layout"]["axes"]
    choices = _choices(axes, first["layout"]["notation"], memories, item.name)
    if any(axis not in ("m",) for axis in axes):
        swizzles = [own]
    return {
        "name": item.name,
        "base": item.base,
        "memory": _wanted(wanted or item.memory, choices),
        "memories": choices,
        "dtype": item.spec.dtype,
        "swizzle": own,
        "dtypes": dtypes,
        "swizzles": swizzles,
        "variants": variants,
    }


def _own_swizzle(spec: BufferSpec) -> str:
    """How the page calls the buffer's own swizzle: its named mode, or `as written` for one inside the layout."""
    if spec.swizzle != "none":
        return spec.swizzle
    if spec.layout is None:
        return "none"
    layout = parse(spec.layout)
    return "none" if bare(layout) is layout else "as written"


def variant_spec(spec: BufferSpec, dtype: str, swizzle: str, own: str) -> BufferSpec:
    """The buffer under another dtype and swizzle; a swizzle inside the layout is taken off for another one."""
    if swizzle == own:
        return replace(spec, dtype=dtype)
    layout = spec.layout if spec.layout is None else str(bare(parse(spec.layout)))
    return replace(spec, dtype=dtype, swizzle=swizzle, layout=layout)


def _variant(spec: BufferSpec, dtype: str, swizzle: str, own: str) -> dict[str, Any]:
    try:
        changed = variant_spec(spec, dtype, swizzle, own)
        layout, shape = buffer_layout(changed)
        return {"bits": dtype_bits(dtype), "text": str(layout), "layout": describe(layout, shape)}
    except (LayoutError, ScenarioError) as error:
        return {"error": getattr(error, "message", str(error))}


def buffer_layout(spec: BufferSpec) -> tuple[Layout, tuple[int, ...]]:
    """The layout of a buffer on any axes, with its swizzle, and its logical shape."""
    from .buffers import layout_of, swizzled

    if spec.layout is not None:
        try:
            layout = used_on(parse(spec.layout), spec.shape)
        except LayoutError as error:
            raise ScenarioError(
                error.message, key="layout", caret=caret_lines(error.text, error.position)
            ) from None
        if tuple(layout.axes) != ("m",):
            return layout, tuple(spec.shape or layout.logical_shape)
    layout, shape = layout_of("tile", spec)
    return swizzled("tile", layout, spec), shape


def _choices(axes: Sequence[str], notation: str, memories: dict[str, dict[str, Any]], name: str) -> list[str]:
    """Which memories can hold a layout of these axes, the likeliest first."""
    if tuple(axes) in (("m",), ()):
        linear = [
            key for key, memory in memories.items() if memory["kind"] in ("banks", "fractals", "groups")
        ]
        return sorted(linear, key=lambda key: key != "fractal") if notation == "tla" else linear
    found = []
    if set(axes) <= {"TLane", "TCol"}:
        found.append("tmem")
    if any(axis in _THREAD_AXES for axis in axes) and set(axes) <= {*_THREAD_AXES, *_REGISTERS}:
        found.append("fragment")
    # Any axes at all can be drawn one against the other, storage to the right.
    key = f"axes of {name}"
    ordered = sorted(axes, key=lambda axis: axis in _ACROSS)
    memories[key] = {"kind": "axes", "label": " x ".join(ordered), "axes": ordered}
    return [*found, key]


def _wanted(wanted: str | None, choices: list[str]) -> str:
    if wanted is None:
        return choices[0]
    found = [key for key in choices if key == wanted or key.split(" ")[0] == wanted]
    if not found:
        kinds = list(dict.fromkeys(key.split(" ")[0] for key in choices))
        raise ScenarioError(f"{wanted!r}: this layout can be drawn in {', '.join(kinds)}", key="--memory")
    return found[0]


def _access(item: AccessSpec, specs: Mapping[str, BufferSpec], chip: Chip, folder: Path) -> dict[str, Any]:
    assert item.buffer is not None
    spec = specs[item.buffer]
    own = _own_swizzle(spec)
    keys = {
        f"{d}|{s}": {**specs, item.buffer: variant_spec(spec, d, s, own)}
        for d in dict.fromkeys([spec.dtype, *DTYPES])
        for s in dict.fromkeys([own, *SWIZZLES])
    }
    results = access_results(item, keys, f"{spec.dtype}|{own}", chip, folder)
    return {"name": item.name or f"{item.op} {item.buffer}", "buffer": item.buffer, "results": results}


__all__ = ["MEMORIES", "ViewBuffer", "buffer_layout", "variant_spec", "view_description"]
