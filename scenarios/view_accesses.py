"""Accesses for the interactive page: the usual ones of a bare layout, and their counts under every choice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..layouts import Layout, LayoutError, dtype_bits
from ..sim.chip import Chip, ChipError
from ..sim.memory import AccessError, parse_op
from ..sim.memory.witness import Witness, explain
from .buffers import place_buffers
from .counted import CountedAccess, count_access
from .errors import ScenarioError
from .lower import lower
from .specs import AccessSpec, BufferSpec

_MOST_INSTRUCTIONS = 16


def usual_accesses(spec: BufferSpec, layout: Layout, first: AccessSpec | None) -> list[AccessSpec]:
    """What people ask of a tile: rows, columns, wide rows and columns, matrix loads and stores."""
    shape = spec.shape or tuple(layout.logical_shape)
    found = [] if first is None else [first]
    wide = max(128 // dtype_bits(spec.dtype), 1)
    if len(shape) != 2:
        flat = math.prod(shape)
        text = _coordinates("lane", shape)
        found.append(AccessSpec("load consecutive", "tile", lanes=text, mask=f"lane < {min(flat, 32)}"))
        return found
    rows, cols = shape
    inside_rows, inside_cols = f"lane < {min(rows, 32)}", f"lane < {min(cols, 32)}"
    found += [
        AccessSpec("load column 0", "tile", lanes="[lane, 0]", mask=inside_rows),
        AccessSpec("load row 0", "tile", lanes="[0, lane]", mask=inside_cols),
        AccessSpec("store column 0", "tile", op="store", lanes="[lane, 0]", mask=inside_rows),
        AccessSpec("store row 0", "tile", op="store", lanes="[0, lane]", mask=inside_cols),
    ]
    if wide > 1 and cols % wide == 0:
        chunks = cols // wide
        across = min(chunks, 32)
        tall = min(rows * chunks, 32)
        found += [
            AccessSpec(
                "load rows, 16 bytes a lane",
                "tile",
                lanes=f"[lane // {across}, {wide} * (lane % {across})]",
                vector=wide,
                mask=f"lane < {tall}",
            ),
            AccessSpec(
                "load column 0, 16 bytes a lane", "tile", lanes="[lane, 0]", vector=wide, mask=inside_rows
            ),
        ]
    if dtype_bits(spec.dtype) >= 4 and rows >= 8 and cols % wide == 0 and wide > 1:
        tall = 16 if rows >= 16 else 8
        if (32 // tall) * wide <= cols:
            lanes = f"[lane % {tall}, {wide} * (lane // {tall})]"
            found += [
                AccessSpec("ldmatrix.x4", "tile", instruction="ldmatrix.x4", lanes=lanes),
                AccessSpec("stmatrix.x4", "tile", op="store", instruction="stmatrix.x4", lanes=lanes),
            ]
    return found


def _coordinates(index: str, shape: tuple[int, ...]) -> str:
    """Lane expressions of a flat row-major index."""
    parts, inner = [], 1
    for extent in reversed(shape):
        parts.append(f"({index} // {inner}) % {extent}")
        inner *= extent
    return f"[{', '.join(reversed(parts))}]"


def access_results(
    item: AccessSpec, variants: Mapping[str, Mapping[str, BufferSpec]], own: str, chip: Chip, folder: Path
) -> dict[str, Any]:
    """Counts and phases of an access under every variant of its buffer, or why there are none.

    Under the buffer's own dtype and swizzle up to 16 instructions are explained (the worst one among them), under the
    others the worst one.
    """
    found: dict[str, Any] = {}
    for key, specs in variants.items():
        try:
            lowered = lower(item, place_buffers(specs, chip), folder)
            counted = count_access(lowered, chip)
        except (ScenarioError, LayoutError, AccessError, ChipError) as error:
            found[key] = {"error": getattr(error, "message", str(error))}
            continue
        found[key] = {"instructions": _instructions(counted, _MOST_INSTRUCTIONS if key == own else 1, chip)}
    return found


def _instructions(item: CountedAccess, most: int, chip: Chip) -> list[dict[str, Any]]:
    access = item.access
    others = np.unique(np.linspace(0, len(access) - 1, min(most, len(access))).astype(int)).tolist()
    chosen = [item.worst, *(i for i in others if i != item.worst)][:most]
    kind = parse_op(access.op, access.width, access.variant)
    return [
        _instruction(
            item, i, explain(access.offsets[i], op=kind, mask=access.active[i], chip=chip), i == item.worst
        )
        for i in chosen
    ]


def _instruction(item: CountedAccess, index: int, witness: Witness, worst: bool) -> dict[str, Any]:
    access = item.access
    row = next(witness.counts.rows())
    known = witness.status != "unknown"
    many = len(access) > 1
    label = access.label(index)
    return {
        "label": f"{label} (the worst of {len(access):,})" if worst and many else label,
        "width": access.width,
        "offsets": [
            int(offset) if active else None
            for offset, active in zip(access.offsets[index], access.active[index], strict=True)
        ],
        "wavefronts": row["wavefronts"] if known else None,
        "ideal": row["ideal_wavefronts"] if known else None,
        "excess": row["excess_wavefronts"] if known else None,
        "status": witness.status,
        "reason": "; ".join(witness.counts.reasons)
        if not known
        else (witness.merge.reason if witness.merge else ""),
        "phases": [
            {
                "lanes": list(phase.lanes),
                "wavefronts": phase.wavefronts,
                "conflicts": [
                    [use.bank, use.ways, [[word.offset, list(word.lanes)] for word in use.words]]
                    for use in phase.conflicts
                ],
            }
            for phase in witness.phases
        ],
    }


__all__ = ["access_results", "usual_accesses"]
