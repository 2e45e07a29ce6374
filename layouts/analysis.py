"""Questions that any layout answers, whatever its notation: extent, injectivity, holes, footprint, runs."""

from __future__ import annotations

from .protocol import Layout, tile_offsets


def extent_of_axis(layout: Layout, axis: str) -> int:
    """Largest coordinate on an axis plus 1, replicas counted: the places that the layout needs there.

    >>> from bankbench.layouts import parse
    >>> extent_of_axis(parse("(8,64):(72,1)"), "m")
    568
    """
    values = tile_offsets(layout).get(axis)
    if values is None or not values.size:
        return 0
    copies = layout.replicas().get(axis)
    return int(values.max()) + (int(copies.max()) if copies is not None else 0) + 1
