"""The interactive layout page: one HTML file, no network; it does a layout's arithmetic itself, in the browser.

`render_view` takes a plain description (JSON values). Its parts:

- `title`, `command`, `versions` (name -> text), `notes` (lines)
- `memories`: name -> `{kind, label, ...}`; kinds: `banks` (`banks`, `bank_bytes`), `fractals` (`fractal_bytes`,
  `row_bytes`), `groups` (`groups`, `block_bytes`), `tmem`, `fragment` (`threads`: axis -> threads a step), `axes`
- `buffers`: `{name, base, memory, memories, dtype, swizzle, dtypes, swizzles, variants}`; a variant stands under
  `"dtype|swizzle"` and is `{bits, text, layout}` or `{error}`
- `accesses`: `{name, buffer, results}`; a result stands under the same key and is `{error}` or `{instructions}`, each
  `{label, width, offsets, wavefronts, ideal, excess, status, reason, phases}` with phases of
  `{lanes, wavefronts, conflicts: [[bank, ways, [[offset, lanes], ...]], ...]}`; offsets in bytes, null: lane is off

A layout is `{kind, notation, shape, axes, offset, replicas, copies, replicaXor, pads, swizzle}` and, by kind,

- `split`: `order` (row, column) and `groups` of `{from: "flat" or dimension, fast: first or last, leaves:
  [[extent, stride, axis], ...]}`
- `xor`: `origin` and `bases` (dimension -> bit -> axis -> value)
- `table`: `table` (axis -> row-major numbers) and `why`

Copies come from `replicas` ([[extent, stride, axis], ...]) or, where `copies` is not null, from that list of offsets by
axis (added, or xor-ed where `replicaXor`). `pads` is a list of [interval, padding] on `m`.
`swizzle` is null or `{bits, from, to}`: bits [from, from+bits) of `m` are xor-ed into [to, to+bits).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

__all__ = ["arithmetic_script", "render_view", "script_json"]


def render_view(view: Mapping[str, Any]) -> str:
    """The page as text; whatever comes from a scenario is escaped."""
    from jinja2 import Environment
    from markupsafe import Markup

    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _part("page.html.j2")
    )
    scripts = [Markup(_part(name)) for name in ("arithmetic.js", "places.js", "grid.js", "page.js")]
    return page.render(
        view=view, style=Markup(_part("page.css")), scripts=scripts, data=Markup(script_json(view))
    )


def arithmetic_script() -> str:
    """The JavaScript that evaluates layouts, as the page contains it (`Arithmetic.evaluate(layout, coordinate)`)."""
    return _part("arithmetic.js")


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element: no `<`, no line separators of JavaScript.

    >>> script_json("</script>")
    '"\\\\u003c/script>"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


@lru_cache(maxsize=8)
def _part(name: str) -> str:
    return (resources.files("bankbench.reports.view") / name).read_text(encoding="utf-8")
