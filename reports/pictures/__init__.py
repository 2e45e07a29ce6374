"""Pictures: each kind of `Picture` has one function that takes it and returns a matplotlib Figure.

`draw` chooses the function by `picture.kind`; the modules are imported when first used, so that nothing
loads matplotlib before a picture is wanted.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...sim.results import Picture
from .derived import pictures_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# kind -> (module, function). A picture's `data` is documented in its function.
KINDS: dict[str, tuple[str, str]] = {
    "bank_heat": ("bank_heat", "bank_heat"),
    "bank_map": ("bank_map", "bank_map"),
    "occupancy": ("ascend", "occupancy"),
    "pipe_busy": ("ascend", "pipe_busy"),
    "pipe_timeline": ("ascend", "pipe_timeline"),
    "port_use": ("port_use", "port_use"),
    "predicted_measured": ("predicted_measured", "predicted_measured"),
    "replica_traffic": ("replica_traffic", "replica_traffic"),
    "stalls": ("stalls", "stalls"),
    "sweep_maps": ("sweep", "sweep_maps"),
    "sweep_parallel": ("sweep", "sweep_parallel"),
    "sweep_pareto": ("sweep", "sweep_pareto"),
    "timeline": ("timeline", "timeline"),
    "tmem_map": ("tmem_map", "tmem_map"),
    "tmem_timeline": ("tmem_timeline", "tmem_timeline"),
    "ub_groups": ("ascend", "ub_groups"),
    "wavefronts": ("wavefronts", "wavefronts"),
}

_LONGEST_STEM = 60

__all__ = ["KINDS", "described", "draw", "file_stem", "pictures_of", "save_figure", "svg_text"]


def draw(picture: Picture) -> Figure:
    """The figure of a picture. Raises KeyError with the known kinds when there is no such kind."""
    if picture.kind not in KINDS:
        raise KeyError(f"no picture of kind {picture.kind!r}; kinds: {', '.join(KINDS)}")
    module, function = KINDS[picture.kind]
    with _no_font_warnings():
        return getattr(import_module(f"{__package__}.{module}"), function)(picture)


@contextmanager
def _no_font_warnings() -> Iterator[None]:
    """Signs that no installed font has are boxes in a PNG and text in an SVG, a font without a bold face stands in with
    the one that it has: no reader can act on a warning."""
    logger = logging.getLogger("matplotlib.font_manager")
    logger.addFilter(_says_no_weight)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            yield
    finally:
        logger.removeFilter(_says_no_weight)


def _says_no_weight(record: logging.LogRecord) -> bool:
    return "Failed to find font weight" not in record.getMessage()


def save_figure(figure: Figure, target: Path | Any, picture: Picture | None = None) -> None:
    """Saves as PNG or SVG by the suffix (or `format` of a stream); the same figure gives the same bytes.

    With `picture` a PNG holds its title and text alternative, which programs that show it can read.
    """
    from .style import rc

    with rc(), _no_font_warnings():
        suffix = target.suffix.lstrip(".") if isinstance(target, Path) else "svg"
        nothing = ("Date", "Creator", "Format", "Type") if suffix == "svg" else ("Software",)
        metadata: dict[str, str | None] = dict.fromkeys(nothing)
        if picture is not None and suffix == "png":
            metadata |= {"Title": picture.title, "Description": picture.alt}
        figure.savefig(target, format=suffix, metadata=metadata, dpi=150)


def svg_text(picture: Picture, figure: Figure | None = None) -> str:
    """The picture as SVG text to put into a page (no XML header); `figure` where it is drawn already."""
    import io

    stream = io.StringIO()
    save_figure(draw(picture) if figure is None else figure, stream)
    text = stream.getvalue()
    from .style import FONT, font_families

    # Browsers without DejaVu take Verdana, which has the same widths, instead of a narrow serif, and find signs that
    # neither has by themselves; so the text does not depend on the fonts of this machine.
    ours = ", ".join(f"'{name}'" for name in font_families())
    text = text.replace(ours, f"'{FONT}', Verdana, sans-serif")
    return text[text.index("<svg") :]


def described(svg: str, picture: Picture) -> str:
    """The SVG text of a file of its own: with the title and the text alternative of the picture in it.

    >>> described("<svg width='9'><g/></svg>", Picture("k", "A & B", "two of them", {}))
    "<svg width='9' role='img'><title>A &amp; B</title><desc>two of them</desc><g/></svg>"
    """
    opening, rest = svg.split(">", 1)
    title, alt = (escape(text, quote=False) for text in (picture.title, picture.alt))
    return f"{opening} role='img'><title>{title}</title><desc>{alt}</desc>{rest}"


def file_stem(picture: Picture) -> str:
    """A file name from kind and title: letters, digits and dashes, at most 60, whole words.

    The kind is left out where the title says it already.

    >>> file_stem(Picture("predicted_measured", "Predicted against measured: cycles of small programs, all", "", {}))
    'predicted-against-measured-cycles-of-small-programs-all'
    """
    kind, title = (re.findall(r"[a-z0-9]+", text.lower()) for text in (picture.kind, picture.title))
    words = title if set(kind) <= set(title) else kind + title
    stem = words[0][:_LONGEST_STEM]
    for word in words[1:]:
        if len(stem) + 1 + len(word) > _LONGEST_STEM:
            break
        stem += f"-{word}"
    return stem
