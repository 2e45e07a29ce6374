"""Lowering: an access of a scenario becomes warp instructions with one byte address a lane."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .buffers import PlacedBuffer
from .errors import ScenarioError
from .fragments import loop_grid
from .instruction import instruction_of
from .lane_rules import check_range
from .lowered import LoweredAccess
from .patterns import from_bytes, from_fragment, from_lanes, from_offsets
from .specs import AccessSpec


def lower(access: AccessSpec, buffers: Mapping[str, PlacedBuffer], folder: Path) -> LoweredAccess:
    """Lowers one access; file names in it start from `folder`.

    Raises `ScenarioError` whose `key` names the wrong field: unknown buffer or instruction, coordinates
    outside the shape (lane and coordinate), misaligned addresses, a mask without lanes.
    """
    try:
        return _lower(access, buffers, folder)
    except ScenarioError as error:
        raise error.at(error.place, _main_field(access)) from None


def _main_field(access: AccessSpec) -> str:
    return next(
        (key for key in ("lanes", "fragment", "bytes", "offsets") if getattr(access, key) is not None), ""
    )


def _lower(access: AccessSpec, buffers: Mapping[str, PlacedBuffer], folder: Path) -> LoweredAccess:
    buffer = _buffer(access, buffers)
    op = instruction_of(access)
    count, loops = loop_grid(_loop_values(access))
    name = access.name or f"{access.op} {access.buffer or 'offsets'}"
    if access.fragment is not None:
        assert buffer is not None
        pattern = from_fragment(access, buffer, op, count, loops)
    elif access.lanes is not None:
        assert buffer is not None
        pattern = from_lanes(access, buffer, op, count, loops)
    elif access.bytes is not None:
        pattern = from_bytes(access, buffer, op, count, loops)
    else:
        pattern = from_offsets(access, buffer, op, folder)
        loops = {}
    # An instruction whose lanes are all off is not executed (a predicated warp, a hole of a fragment).
    executed = pattern.active.any(axis=1)
    if not executed.any():
        raise ScenarioError(
            "no lane is active in any instruction", key="mask" if access.mask is not None else ""
        )
    active, owner = pattern.active[executed], pattern.owner[executed]
    offsets = np.where(active, pattern.offsets[executed], 0)
    check_range(offsets, active, pattern.width, buffer)
    return LoweredAccess(
        name=name,
        buffer=buffer,
        op=op.op,
        width=pattern.width,
        variant=op.variant,
        offsets=offsets,
        active=active,
        warp=pattern.warp[executed],
        loops={key: values[owner] for key, values in loops.items()},
        repeat=access.repeat,
        kernel=access.kernel,
    )


def _buffer(access: AccessSpec, buffers: Mapping[str, PlacedBuffer]) -> PlacedBuffer | None:
    if access.buffer is None:
        return None
    if access.buffer not in buffers:
        raise ScenarioError(
            f"no buffer '{access.buffer}'; there are: {', '.join(buffers) or 'none'}", key="buffer"
        )
    return buffers[access.buffer]


def _loop_values(access: AccessSpec) -> dict[str, list[int]]:
    return {name: list(range(r)) if isinstance(r, int) else list(r) for name, r in access.loops.items()}
