"""The named axes of TIRx, their classes, and the scope that a set of thread axes spans.

Eighteen names are registered. A *thread* axis numbers sub-scopes inside one scope (`laneid`: the threads of a
warp); a *memory* axis counts storage units. Any other name may be used for construction and evaluation, as in
the reference implementation, but has no class: whatever asks for one is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .protocol import LayoutError

# Order of the scopes from the widest to the narrowest.
SCOPES = ("cluster", "cta", "warpgroup", "warp", "thread")


@dataclass(frozen=True, slots=True)
class Axis:
    """A named physical axis; `scope` and `subscope` are None on memory axes and on unregistered names.

    `value @ axis` is how a stride or an offset names its axis: `S[8 : 4@laneid]`.

    >>> AXES["laneid"].scope, AXES["laneid"].subscope, AXES["m"].is_memory
    ('warp', 'thread', True)
    """

    name: str
    kind: str = "unknown"
    scope: str | None = None
    subscope: str | None = None

    @property
    def is_thread(self) -> bool:
        """Whether the axis numbers threads, warps, CTAs ...; LayoutError for an unregistered name."""
        return self._class() == "thread"

    @property
    def is_memory(self) -> bool:
        """Whether the axis counts storage; LayoutError for an unregistered name."""
        return self._class() == "memory"

    def _class(self) -> str:
        if self.kind == "unknown":
            raise LayoutError(
                f"axis {self.name!r} is not registered, so it is neither a thread nor a memory axis; "
                f"registered are {', '.join(AXES)}"
            )
        return self.kind

    @staticmethod
    def get(name: str) -> Axis:
        """The axis of a name; an unregistered name gives an axis without class."""
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"an axis is named by a string, not {name!r}")
        return AXES.get(name) or Axis(name)

    def __str__(self) -> str:
        return self.name


def _table() -> dict[str, Axis]:
    threads = {
        "bx": ("thread", "cta"),
        "by": ("thread", "cta"),
        "bz": ("thread", "cta"),
        "cbx": ("cluster", "cta"),
        "cby": ("cluster", "cta"),
        "cbz": ("cluster", "cta"),
        "tx": ("cta", "thread"),
        "warpid": ("cta", "warp"),
        "laneid": ("warp", "thread"),
        "wgid": ("cta", "warpgroup"),
        "tid_in_wg": ("warpgroup", "thread"),
        "wid_in_wg": ("warpgroup", "warp"),
    }
    table = {name: Axis(name, "thread", scope, sub) for name, (scope, sub) in threads.items()}
    table.update({name: Axis(name, "memory") for name in ("m", "P", "F", "Bank", "TLane", "TCol")})
    return table


AXES: dict[str, Axis] = _table()
"""The registered axes by name."""


def is_thread(name: str) -> bool:
    return Axis.get(name).is_thread


def is_memory(name: str) -> bool:
    return Axis.get(name).is_memory


def scope_of(shard: Iterable[str], others: Iterable[str]) -> tuple[str, str] | None:
    """(narrowest subscope, outer scope) that the thread axes of a layout span, None when no shard axis is a thread.

    Args:
        shard: axes of the shard iters; others: axes of replicas and offsets, counted once a shard axis is a
        thread.

    Every thread axis is an edge subscope -> scope; from the narrowest subscope the edges must form one chain
    that uses all of them. LayoutError when they do not, when they run in a circle (the reference
    implementation does not return then: `bx` numbers CTAs under the scope "thread"), or when an axis is
    unregistered.

    >>> scope_of(["laneid", "m"], ["warpid"])
    ('thread', 'cta')
    """
    shard = list(shard)
    if not [name for name in shard if is_thread(name)]:
        return None
    edges: dict[str, str] = {}
    for axis in (Axis.get(name) for name in [*shard, *others]):
        if not axis.is_thread or axis.scope is None or axis.subscope is None:
            continue
        if edges.setdefault(axis.subscope, axis.scope) != axis.scope:
            raise LayoutError(
                f"axes of one layout put {axis.subscope}s under two scopes, {edges[axis.subscope]} and {axis.scope}"
            )
    start = max(edges, key=SCOPES.index)
    at, used = start, 0
    while at in edges:
        at, used = edges[at], used + 1
        if used > len(edges):
            raise LayoutError(
                "the thread axes run in a circle (bx, by, bz number CTAs of a grid and cannot stand beside a "
                "chain from thread up to CTA); leave the grid axes out of the layout"
            )
    if used != len(edges):
        raise LayoutError(
            f"the thread axes do not form one chain from {start}: some scope between them is missing"
        )
    return start, at
