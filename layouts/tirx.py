"""TIRx layouts: `TileLayout`, an affine placement on named axes, and `ComposeLayout`, a swizzle over one.

A `TileLayout` is a list of shard iters (extent, stride, axis), a list of replica iters and an offset by axis.
A logical index is split over the shard extents, last extent fastest (row-major); every component times its
stride goes to its axis. Replica iters place copies that the index does not select.

Source of the rules: the layout page of the TIRx documentation and the behaviour of the released
implementation (apache-tvm 0.27); where the two differ the implementation is followed and the docstring says
so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ._arrays import (
    add_replicas,
    as_coordinates,
    cartesian_sums,
    flatten_row_major,
    split_row_major,
    sum_terms,
)
from ._checks import as_number, axis_name, check_integral, check_plain_integers
from ._notebook import NotebookRepr
from .protocol import ArrayLike, IntArray, LayoutError
from .tirx_axes import Axis, is_memory, scope_of

if TYPE_CHECKING:
    from .tirx_spec import Spec


@dataclass(frozen=True, slots=True)
class Iter:
    """One loop of a layout: `extent` positions, `stride` units apart, on `axis` (a name).

    Extents and strides are not range-checked (0 and negatives are values, as in the reference).

    >>> Iter(8, 4, "laneid")
    T.Iter(8, 4, "laneid")
    """

    extent: int
    stride: int
    axis: str

    def __post_init__(self) -> None:
        for field in ("extent", "stride"):
            object.__setattr__(self, field, as_number(getattr(self, field), f"the {field} of an iter"))
        axis = self.axis
        if isinstance(axis, Axis):
            object.__setattr__(self, "axis", axis.name)
        elif not isinstance(axis, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"the axis of an iter must be a name, not {axis!r}")

    def __repr__(self) -> str:
        from .tirx_text import print_iter_script

        return print_iter_script(self)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class TileLayout(NotebookRepr):
    """An affine placement of a logical tile on named axes: L(x) = {D(x) + r + O | r in R}.

    Build it from the notation (`TileLayout(S[(8, 64) : (64, 1)] + 5@warpid)`), from text (`parse`), or with
    `from_iters`. Units: elements on memory axes, indices on thread axes.

    >>> from bankbench.layouts import parse
    >>> layout = parse("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid")
    >>> layout.apply(1, 3, shape=(8, 16))
    {'laneid': 5, 'warpid': 5, 'm': 1}
    >>> layout.replicas()["warpid"].tolist()
    [0, 4]
    """

    shard: tuple[Iter, ...]
    replica: tuple[Iter, ...]
    offset_terms: tuple[tuple[str, int], ...]

    def __init__(self, spec: Spec) -> None:
        from .tirx_spec import Spec

        if not isinstance(spec, Spec):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"TileLayout takes S[...] + R[...] + offsets, not {spec!r}")
        self._fill(spec.shard or (), spec.replica or (), dict(spec.offset))

    @classmethod
    def from_iters(
        cls,
        shard: Sequence[Iter] = (),
        replica: Sequence[Iter] = (),
        offset: Mapping[str, int] | Mapping[Axis, int] | None = None,
    ) -> TileLayout:
        """A layout of ready iters; `offset` maps axes (names or Axis) to numbers, which are kept as they are."""
        for name, iters in (("shard", shard), ("replica", replica)):
            if isinstance(iters, str) or not isinstance(iters, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise LayoutError(f"{name} must be a sequence of Iter, not {iters!r}")
            for item in iters:
                if not isinstance(item, Iter):  # pyright: ignore[reportUnnecessaryIsInstance]
                    raise LayoutError(f"{name} must be made of Iter, not {item!r}")
        layout = object.__new__(cls)
        terms = {str(axis): as_number(n, f"the offset on {axis}") for axis, n in (offset or {}).items()}
        layout._fill(tuple(shard), tuple(replica), terms)
        return layout

    def _fill(self, shard: Sequence[Iter], replica: Sequence[Iter], offset: Mapping[str, int]) -> None:
        object.__setattr__(self, "shard", tuple(shard))
        object.__setattr__(self, "replica", tuple(replica))
        object.__setattr__(self, "offset_terms", tuple(sorted(offset.items())))

    @property
    def notation(self) -> str:
        return "tirx"

    @property
    def offset(self) -> dict[str, int]:
        """Offset by axis; a zero that was written is kept."""
        return dict(self.offset_terms)

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(item.extent for item in self.shard)

    @property
    def logical_shape(self) -> tuple[int, ...]:
        """The shard extents: the shape that the layout itself knows of."""
        return self.extents

    @property
    def axes(self) -> tuple[str, ...]:
        """Axes in order of appearance: shard, then offset, then replica."""
        names = [item.axis for item in self.shard]
        names += [axis for axis, _ in self.offset_terms]
        names += [item.axis for item in self.replica]
        return tuple(dict.fromkeys(names))

    def size(self, axis: str | None = None) -> int:
        """Number of logical elements; with an axis, the product of the shard extents on it (1 when absent)."""
        if axis is None:
            return prod(self.extents)
        return prod(item.extent for item in self.shard if item.axis == axis_name(axis))

    def span(self, axis: str | None = None) -> int:
        """1 + the sum of (extent-1)*stride over shard **and** replica iters of an axis + its offset.

        Without an axis: all memory axes together, thread axes left out. Strides are signed.
        """
        if axis is None:
            chosen = {name for name in self.axes if is_memory(name)}
        else:
            chosen = {axis_name(axis)}
        total = 1 + sum(value for name, value in self.offset_terms if name in chosen)
        return total + sum((i.extent - 1) * i.stride for i in self.shard + self.replica if i.axis in chosen)

    def get_scope(self) -> tuple[str, str] | None:
        """(narrowest subscope, outer scope) of the thread axes, None without a shard iter on one; see
        `scope_of`.
        """
        others = [item.axis for item in self.replica] + [axis for axis, _ in self.offset_terms]
        return scope_of([item.axis for item in self.shard], others)

    def verify_well_formed(self) -> bool:
        """True, or the LayoutError of `get_scope` (false is never answered, as in the reference)."""
        self.get_scope()
        return True

    def evaluate(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """Base physical coordinates by axis (replicas not applied), for arrays of coordinates at once.

        Three forms: one coordinate and no `shape` is a flat index, split over the shard extents with the
        first component unbounded; as many coordinates as shard iters are the components; with `shape` (one
        coordinate a dimension) the shard is regrouped by the shape and each coordinate split in its group,
        or, where it cannot be regrouped, the coordinates are flattened row-major and split. Inside the range
        all forms agree; no range is checked. Unlike the reference, an axis fed by unit iters only is always
        in the answer, as 0.
        """
        arrays = as_coordinates(coords)
        if shape is not None:
            if 0 in (sizes := tuple(int(n) for n in shape)):
                raise LayoutError(f"shape {sizes} has an extent of 0 and so no coordinates")
            parts, shard = self._parts_in_shape(arrays, shape)
        elif len(arrays) == 1:
            shard = self.shard
            parts = split_row_major(arrays[0], self._integer_extents())
        elif len(arrays) == len(self.shard):
            parts, shard = arrays, self.shard
        else:
            raise LayoutError(
                f"{len(arrays)} coordinates given to a layout of {len(self.shard)} shard iters "
                f"{self.extents}; give 1 flat index, {len(self.shard)} components, or shape="
            )
        common = np.broadcast_shapes(*(array.shape for array in arrays))
        terms: dict[str, list[IntArray]] = {axis: [] for axis in self.axes}
        for item, part in zip(shard, parts, strict=True):
            check_integral(item.stride)
            terms[item.axis].append(part if item.stride == 1 else part * item.stride)
        for axis, value in self.offset_terms:
            check_integral(value)
            if value:
                terms[axis].append(np.asarray(value, np.int64))
        return {axis: sum_terms(values, common) for axis, values in terms.items()}

    def components(self, *coords: ArrayLike, shape: Sequence[int]) -> list[IntArray]:
        """One component an iter of the *regrouped* layout (the shard's own iters when it cannot be regrouped).

        This is the reference's `apply_to_shape`: S[24] in shape (4, 6) gives two components.
        """
        return self._parts_in_shape(as_coordinates(coords), shape)[0]

    def _parts_in_shape(
        self, arrays: Sequence[IntArray], shape: Sequence[int]
    ) -> tuple[list[IntArray], tuple[Iter, ...]]:
        from .tirx_group import try_group

        sizes = tuple(int(n) for n in shape)
        if len(arrays) != len(sizes):
            raise LayoutError(
                f"{len(arrays)} coordinates given in a shape of {len(sizes)} dimensions {sizes}"
            )
        extents = self._integer_extents()
        grouped = try_group(self.shard, sizes)
        if grouped is None:
            return split_row_major(flatten_row_major(arrays, sizes), extents), self.shard
        shard, bounds = grouped
        parts: list[IntArray] = []
        for array, start, stop in zip(arrays, bounds, bounds[1:], strict=False):
            parts += split_row_major(array, [item.extent for item in shard[start:stop]])
        return parts, shard

    def _integer_extents(self) -> tuple[int, ...]:
        for extent in self.extents:
            check_integral(extent)
        return self.extents

    def apply(self, *coord: int, shape: Sequence[int] | None = None) -> dict[str, int]:
        """`evaluate` of one element, as plain integers."""
        check_plain_integers(coord)
        return {axis: int(value) for axis, value in self.evaluate(*coord, shape=shape).items()}

    def replicas(self) -> dict[str, IntArray]:
        """Offsets of all copies by axis, each of shape (copies,), first replica iter slowest; {} without
        replica.
        """
        if not self.replica:
            return {}
        names = dict.fromkeys(item.axis for item in self.replica)
        return {
            axis: cartesian_sums([(i.extent, i.stride if i.axis == axis else 0) for i in self.replica])
            for axis in names
        }

    def places(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """All physical coordinates of every element: `evaluate` with the copies as a new first dimension.

        >>> from bankbench.layouts import parse
        >>> parse("S[4:1@laneid] + R[2:4@warpid] + 5@warpid").places(3)["warpid"].tolist()
        [5, 9]
        """
        return add_replicas(self.evaluate(*coords, shape=shape), self.replicas())

    def __str__(self) -> str:
        from .tirx_text import print_tile

        return print_tile(self)

    def __repr__(self) -> str:
        from .tirx_text import print_tile_script

        return print_tile_script(self)


@dataclass(frozen=True, slots=True, repr=False)
class ComposeLayout(NotebookRepr):
    """A shared-memory swizzle over a tile that produces only axis `m`.

    `per_element` = M low address bits stay, `swizzle_len` = B bits are changed, by the B bits that stand
    `atom_len` = S higher. With q = address div 2^M: q xor ((q >> S) mod 2^B) when `swizzle_inner`, else the
    low B bits of q are put over bits [S, S+B). Units: elements. Needs M, B >= 0 and S >= B.

    >>> from bankbench.layouts import parse
    >>> layout = parse("ComposeLayout(3, 3, 3, S[(8,64):(64,1)])")
    >>> [layout.apply(i, 0)["m"] for i in range(4)]
    [0, 72, 144, 216]
    """

    per_element: int
    swizzle_len: int
    atom_len: int
    tile_layout: TileLayout
    swizzle_inner: bool = True

    def __post_init__(self) -> None:
        m, b, s = self.per_element, self.swizzle_len, self.atom_len
        if m < 0 or b < 0 or s < b:
            raise LayoutError(
                f"swizzle (per_element={m}, swizzle_len={b}, atom_len={s}) is not possible: the first two must be "
                "0 or more and atom_len at least swizzle_len"
            )
        if not isinstance(self.tile_layout, TileLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"ComposeLayout needs a TileLayout, not {self.tile_layout!r}")
        self.tile_layout.verify_well_formed()

    @property
    def notation(self) -> str:
        return "tirx"

    @property
    def logical_shape(self) -> tuple[int, ...]:
        return self.tile_layout.logical_shape

    @property
    def axes(self) -> tuple[str, ...]:
        return self.tile_layout.axes

    @property
    def inner_mask(self) -> int:
        return (1 << self.swizzle_len) - 1

    @property
    def outer_mask(self) -> int:
        return self.inner_mask << self.atom_len

    def size(self) -> int:
        """Number of logical elements of the tile."""
        return self.tile_layout.size()

    def span(self) -> int:
        """Span of the tile (the swizzle stays inside whole periods)."""
        return self.tile_layout.span()

    def verify_well_formed(self) -> bool:
        return self.tile_layout.verify_well_formed()

    def swizzle(self, address: IntArray) -> IntArray:
        """The swizzle alone, on element addresses: its own inverse, for S >= B."""
        m, s = self.per_element, self.atom_len
        if m + s + self.swizzle_len > 62:
            raise LayoutError(f"a swizzle over bit {m + s + self.swizzle_len} does not fit a 64-bit address")
        if self.swizzle_inner:
            return np.asarray(address ^ ((address & (self.outer_mask << m)) >> s))
        return np.asarray(address ^ ((address & (self.inner_mask << m)) << s))

    def evaluate(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """As `TileLayout.evaluate`, then the swizzle on `m`; LayoutError when the tile places on other axes."""
        values = self.tile_layout.evaluate(*coords, shape=shape)
        return {"m": self.swizzle(self._linear(values, shape))}

    def _linear(self, values: dict[str, IntArray], shape: Sequence[int] | None) -> IntArray:
        from .tirx_group import try_group

        tile = self.tile_layout
        # Regrouping drops unit iters, and with them axes that only they feed; in the reference these may be any.
        found = None if shape is None else try_group(tile.shard, [int(n) for n in shape])
        used = {item.axis for item in (tile.shard if found is None else found[0])} | set(tile.offset)
        if used != {"m"}:
            raise LayoutError(f"a swizzle needs addresses on axis m only, the tile places on {sorted(used)}")
        return values["m"]

    def apply(self, *coord: int, shape: Sequence[int] | None = None) -> dict[str, int]:
        """`evaluate` of one element, as plain integers."""
        check_plain_integers(coord)
        return {axis: int(value) for axis, value in self.evaluate(*coord, shape=shape).items()}

    def replicas(self) -> dict[str, IntArray]:
        """Replica offsets where they are the same for all elements; LayoutError where the swizzle moves them."""
        found = self.tile_layout.replicas()
        period = 1 << (self.per_element + self.atom_len + self.swizzle_len)
        if "m" in found and bool((found["m"] % period).any()):
            raise LayoutError(
                "replicas on m inside a swizzle period lie differently for each element; use places()"
            )
        return found

    def places(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """All physical coordinates of every element, copies as a new first dimension; the swizzle comes last."""
        values = self.tile_layout.evaluate(*coords, shape=shape)
        self._linear(values, shape)
        found = add_replicas(values, self.tile_layout.replicas())
        return found | {"m": self.swizzle(found["m"])}

    def __str__(self) -> str:
        from .tirx_text import print_compose

        return print_compose(self)

    def __repr__(self) -> str:
        from .tirx_text import print_compose_script

        return print_compose_script(self)
