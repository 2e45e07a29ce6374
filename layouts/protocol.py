"""What every layout is, whatever the notation it was written in: one protocol, one error.

A layout is a value: frozen, hashable, equal to another when it is written the same, and printed in the
notation that it came from. It answers one question for whole arrays at once: *where does this logical element
live?* The answer is a mapping from a named physical axis (`m` for linear memory, `laneid`, `warpid`, `TLane`,
`TCol`, ...) to an integer array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
ArrayLike = int | np.integer | Sequence[int] | NDArray[np.integer]


class LayoutError(ValueError):
    """A layout, its text, or a question asked of it is not possible; the message says what would be right.

    Args:
        message: one line, what is wrong and what would be right.
        text: the text that was being read, when there was one.
        position: index into `text` where reading stopped.

    >>> error = LayoutError("expected ':'", "S[(8, 64) (64, 1)]", 10)
    >>> print(error)
    expected ':' (at position 10 of 'S[(8, 64) (64, 1)]')
    >>> print(error.caret())
    S[(8, 64) (64, 1)]
              ^ expected ':'
    """

    def __init__(self, message: str, text: str | None = None, position: int | None = None) -> None:
        self.message = message
        self.text = text
        self.position = position
        where = f" (at position {position} of {text!r})" if text is not None and position is not None else ""
        super().__init__(message + where)

    def __reduce__(self) -> tuple[type[LayoutError], tuple[str, str | None, int | None]]:
        return type(self), (self.message, self.text, self.position)

    def caret(self) -> str:
        """The text with a caret under the place of the error, on two lines; only the message without a text."""
        if self.text is None or self.position is None:
            return self.message
        before = self.text[: self.position]
        start = before.rfind("\n") + 1
        end = self.text.find("\n", self.position)
        line = self.text[start : end if end >= 0 else len(self.text)]
        return f"{line}\n{' ' * (self.position - start)}^ {self.message}"


@runtime_checkable
class Layout(Protocol):
    """The protocol that all notations share.

    Shapes: coordinates are integer arrays that broadcast against each other, one a logical dimension; every
    array of the answer has their common shape. Units: elements on memory axes (`m`, `TCol`), indices on
    thread axes.
    """

    @property
    def notation(self) -> str:
        """`"tirx"`, `"tla"`, `"cute"` or `"linear"`."""
        ...

    @property
    def logical_shape(self) -> tuple[int, ...]:
        """The tile's own logical shape, one entry a coordinate of `evaluate`."""
        ...

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the physical axes, `("m",)` for a layout of linear memory."""
        ...

    def evaluate(self, *coords: ArrayLike, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
        """Physical coordinates of logical elements, axis by axis; `shape=` reads the coordinates in that
        shape.
        """
        ...

    def replicas(self) -> dict[str, IntArray]:
        """Offsets of the copies of every element by axis, each of shape `(copies,)`; `{}` when there is one
        copy.
        """
        ...


def tile_offsets(layout: Layout, shape: Sequence[int] | None = None) -> dict[str, IntArray]:
    """Physical coordinates of every element of a whole tile, in one vectorised call.

    Args:
        layout: any layout.
        shape: the logical shape to walk; the layout's own when left out.

    Returns:
        axis -> array of the tile's shape (read-only views are possible). LayoutError for negative extents.

    >>> from bankbench.layouts import parse
    >>> tile_offsets(parse("(2,3):(3,1)"))["m"].tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    extents = tuple(layout.logical_shape if shape is None else (int(n) for n in shape))
    if any(n < 0 for n in extents):
        raise LayoutError(f"a tile of {extents} has a negative extent and so no elements")
    found = layout.evaluate(*np.ogrid[tuple(slice(0, n) for n in extents)], shape=shape)
    return {axis: np.broadcast_to(values, extents) for axis, values in found.items()}


def linear_axis(values: Mapping[str, IntArray], what: str) -> IntArray:
    """The array of axis `m` of a layout that has this one axis only; LayoutError otherwise."""
    if set(values) != {"m"}:
        raise LayoutError(
            f"{what} needs a layout of linear memory (axis m only), this one has {sorted(values)}"
        )
    return values["m"]
