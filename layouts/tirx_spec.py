"""The TIRx notation as Python: `S[(8, 64) : (64, 1)] + R[2 : 4@warpid] + 5@warpid`.

`S` and `R` are subscripted with extents, or with extents : strides; `value @ axis` names the axis of a stride
or offset, a bare value means axis `m`. Sums keep the left shard and the right replica, and add offsets axis
by axis. As in the reference, lists that differ in length are cut to the shorter one here; `parse` refuses
such a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from .protocol import LayoutError
from .tirx import Iter
from .tirx_axes import AXES, Axis


@dataclass(frozen=True, slots=True)
class Offset:
    """A sum of `value @ axis` terms, by axis name; `summed` once terms were added: such a sum is no stride."""

    terms: Mapping[str, int]
    summed: bool = False

    def __add__(self, other: object) -> Offset:
        terms = _offset_terms(other)
        if terms is None:
            if isinstance(other, Spec):
                raise LayoutError("write the layout first: S[...] + 1@axis, not 1@axis + S[...]")
            return NotImplemented
        return Offset(add_terms(self.terms, terms), summed=True)

    def __radd__(self, other: object) -> Offset:
        terms = _offset_terms(other)
        return NotImplemented if terms is None else Offset(add_terms(terms, self.terms), summed=True)


@dataclass(frozen=True, slots=True)
class Spec:
    """What `S[...]`, `R[...]` and their sums are: the parts of a layout, not yet a layout."""

    shard: tuple[Iter, ...] | None = None
    replica: tuple[Iter, ...] | None = None
    offset: Mapping[str, int] = field(default_factory=dict[str, int])

    def __add__(self, other: object) -> Spec:
        if isinstance(other, Spec):
            return Spec(
                self.shard if self.shard is not None else other.shard,
                other.replica if other.replica is not None else self.replica,
                add_terms(self.offset, other.offset),
            )
        terms = None if isinstance(other, float) else _offset_terms(other)
        return (
            NotImplemented if terms is None else Spec(self.shard, self.replica, add_terms(self.offset, terms))
        )

    def __radd__(self, other: object) -> Spec:
        return self.__add__(other) if _is_number(other) else NotImplemented


@dataclass(frozen=True, slots=True)
class AxisHandle(Axis):
    """An axis that can stand to the right of `@`.

    >>> 4 @ laneid
    Offset(terms={'laneid': 4}, summed=False)
    """

    def __rmatmul__(self, value: object) -> Offset:
        if not _is_number(value):
            raise LayoutError(f"only a number can stand before @{self.name}, not {value!r}")
        return Offset({self.name: cast("int", value)})


class _Builder:
    """`S` or `R`: subscripting makes a Spec."""

    __slots__ = ("_part",)

    def __init__(self, part: str) -> None:
        self._part = part

    def __getitem__(self, key: object) -> Spec:
        iters = _iters(key)
        return Spec(shard=iters) if self._part == "S" else Spec(replica=iters)

    def __repr__(self) -> str:
        return self._part


def _iters(key: object) -> tuple[Iter, ...]:
    if isinstance(key, slice):
        sides = cast("slice[object, object, object]", key)
        if sides.start is None or sides.stop is None:
            raise LayoutError("both extents and strides are needed around ':'")
        extents, strides = _items(sides.start), _items(sides.stop)
    else:
        extents = _items(key)
        if len(extents) == 1 and isinstance(extents[0], (tuple, list)):
            extents = _items(cast("object", extents[0]))
        if any(isinstance(extent, float) for extent in extents):
            raise LayoutError("strides follow from whole extents only; write extents : strides")
        strides = compact_strides([_number(extent, "an extent") for extent in extents])
    return tuple(
        Iter(_number(extent, "an extent"), *_stride(stride))
        for extent, stride in zip(extents, strides, strict=False)
    )


def compact_strides(extents: Sequence[int]) -> list[int]:
    """Row-major strides, the last one 1."""
    strides: list[int] = []
    step = 1
    for extent in reversed(extents):
        strides.append(step)
        step *= extent
    return strides[::-1]


def _items(value: object) -> list[object]:
    if isinstance(value, (tuple, list)):
        return list(cast("Sequence[object]", value))
    return [value]


def _number(value: object, what: str) -> int:
    if not _is_number(value):
        raise LayoutError(f"{what} must be an integer, not {value!r}; nested shapes have to be written flat")
    return cast("int", value)


def _stride(value: object) -> tuple[int, str]:
    if isinstance(value, str):
        return 1, value
    if isinstance(value, Offset):
        if value.summed:
            raise LayoutError("a stride is one number on one axis; a sum is an offset")
        axis, number = next(iter(value.terms.items()))
        return number, axis
    if isinstance(value, tuple):
        pair = cast("tuple[object, ...]", value)
        if len(pair) == 2 and isinstance(pair[1], (str, Axis)):
            return _number(pair[0], "a stride"), str(pair[1])
        raise LayoutError(f"a tuple among the strides means (stride, axis), {value!r} is not that")
    return _number(value, "a stride"), "m"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer))


def _offset_terms(value: object) -> Mapping[str, int] | None:
    if isinstance(value, Offset):
        return value.terms
    return {"m": cast("int", value)} if _is_number(value) else None


def add_terms(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    """Sums by axis, zeros kept; what stands alone on its axis stays as it was written."""
    found = dict(left)
    for axis, value in right.items():
        found[axis] = found[axis] + value if axis in found else value
    return found


S = _Builder("S")
"""Shard part: `S[extents : strides]`, or `S[extents]` for compact row-major strides on `m`."""
R = _Builder("R")
"""Replica part, the same grammar."""


def handle(name: str) -> AxisHandle:
    """An axis for the notation by its name, registered or not."""
    axis = Axis.get(name)
    return AxisHandle(axis.name, axis.kind, axis.scope, axis.subscope)


HANDLES: dict[str, AxisHandle] = {name: handle(name) for name in AXES}
bx, by, bz = HANDLES["bx"], HANDLES["by"], HANDLES["bz"]
cbx, cby, cbz = HANDLES["cbx"], HANDLES["cby"], HANDLES["cbz"]
tx, warpid, laneid = HANDLES["tx"], HANDLES["warpid"], HANDLES["laneid"]
wgid, tid_in_wg, wid_in_wg = HANDLES["wgid"], HANDLES["tid_in_wg"], HANDLES["wid_in_wg"]
m, P, F, Bank = HANDLES["m"], HANDLES["P"], HANDLES["F"], HANDLES["Bank"]
TLane, TCol = HANDLES["TLane"], HANDLES["TCol"]
