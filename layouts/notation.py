"""One reader for all notations: it recognises which one a text is in."""

from __future__ import annotations

import re
from collections.abc import Callable

from .protocol import Layout, LayoutError

NOTATIONS = ("tirx", "tla", "cute", "linear")

_TIRX = re.compile(r"\s*(T\.|TileLayout|ComposeLayout|[SR]\s*\[|-?\d+\s*(@\s*\w+)?\s*\+\s*[SR]\s*\[)")
_LINEAR = re.compile(
    r"\s*(linear\b|#|swizzled_shared|padded_shared|nvmma_shared|blocked\b|nvidia_mma|nv_mma|slice\b|dot_op"
    r"|(vec|perPhase|maxPhase|register|lane|warp|block|offset)\s*=)"
)
_TAG = re.compile(r"\s*[A-Za-z_]\w*\s*\(")
_PAIR = re.compile(r"\s*(\(|-?\d|_-?\d|Sw\b|Swizzle\b|S\s*<)")
_TLA_MARK = re.compile(r"(?<![\w])_-?\d+|\borigin\b")


def notation_of(text: str) -> str:
    """The notation that a text is in: "tirx", "tla", "cute" or "linear".

    A `shape:stride` text is CuTe unless it has compile-time leaves (`_16`), an origin or a tag, which mean
    TLA; with a swizzle or coordinate strides (`_1@0`) it is CuTe all the same.

    >>> notation_of("(8,64):(64,1)"), notation_of("(_8, 64):(64, _1)"), notation_of("zN(100, 100, f16)")
    ('cute', 'tla', 'tla')
    """
    if not text.strip():
        raise LayoutError("an empty text is not a layout", text, 0)
    if _TIRX.match(text):
        return "tirx"
    if _LINEAR.match(text):
        return "linear"
    if _PAIR.match(text):
        only_cute = text.lstrip().startswith("S") or "@" in text  # a swizzle, coordinate strides
        return "tla" if not only_cute and _TLA_MARK.search(text) else "cute"
    if _TAG.match(text):
        return "tla"
    raise LayoutError(
        "no known notation starts like this; expected S[...] (TIRx), shape:stride (CuTe, TLA), a tag such as "
        "zN(rows, cols, f16) (TLA), Sw<B,M,S> o ... (CuTe) or linear(...) (linear layouts)",
        text,
        len(text) - len(text.lstrip()),
    )


def parse(text: str, notation: str | None = None) -> Layout:
    """A layout from its text, in any of the four notations; `notation` forces one.

    LayoutError carries the position, and its `caret()` shows it. `parse(str(layout)) == layout` for every
    layout.

    >>> parse("S[(8, 64) : (64, 1)]").notation, parse("(8,64):(64,1)").notation
    ('tirx', 'cute')
    >>> try:
    ...     _ = parse("S[(8, 64) : (64, 1]")
    ... except LayoutError as error:
    ...     print(error.caret())
    S[(8, 64) : (64, 1]
                      ^ expected ')' after the strides, found ']'
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"parse reads a text, not {text!r}")
    chosen = notation_of(text) if notation is None else notation
    return _reader(chosen)(text)


def _reader(notation: str) -> Callable[[str], Layout]:
    if notation == "tirx":
        from .tirx_text import parse_tirx

        return parse_tirx
    if notation == "tla":
        from .tla import parse_tla

        return parse_tla
    if notation == "cute":
        from .cute_text import parse_cute

        return parse_cute
    if notation == "linear":
        from .linear_text import parse_linear

        return parse_linear
    raise LayoutError(f"unknown notation {notation!r}; known are {', '.join(NOTATIONS)}")
