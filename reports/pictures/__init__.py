"""Pictures: each kind of `Picture` has one function that takes it and returns a matplotlib Figure.

`draw` chooses the function by `picture.kind`; the modules are imported when first used, so that nothing
loads matplotlib before a picture is wanted.
"""

from __future__ import annotations

import re
import warnings
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

__all__ = ["KINDS", "draw", "file_stem", "pictures_of", "save_figure", "svg_text"]


def draw(picture: Picture) -> Figure:
    """The figure of a picture. Raises KeyError with the known kinds when there is no such kind."""
    if picture.kind not in KINDS:
        raise KeyError(f"no picture of kind {picture.kind!r}; kinds: {', '.join(KINDS)}")
    module, function = KINDS[picture.kind]
    return getattr(import_module(f"{__package__}.{module}"), function)(picture)


def save_figure(figure: Figure, target: Path | Any) -> None:
    """Saves as PNG or SVG by the suffix (or `format` of a stream); the same figure gives the same bytes."""
    from .style import rc

    with rc(), warnings.catch_warnings():
        suffix = target.suffix.lstrip(".") if isinstance(target, Path) else "svg"
        nothing = ("Date", "Creator", "Format", "Type") if suffix == "svg" else ("Software",)
        metadata = dict.fromkeys(nothing)
        # Signs that the font lacks are drawn as boxes in a PNG; SVG keeps them as text. No reader can act on a warning.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(target, format=suffix, metadata=metadata, dpi=150)


def svg_text(picture: Picture, figure: Figure | None = None) -> str:
    """The picture as SVG text to put into a page (no XML header); `figure` where it is drawn already."""
    import io

    stream = io.StringIO()
    save_figure(draw(picture) if figure is None else figure, stream)
    text = stream.getvalue()
    # Browsers without DejaVu take Verdana, which has the same widths, instead of a narrow serif.
    text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    return text[text.index("<svg") :]


def file_stem(picture: Picture) -> str:
    """A file name from kind and title: letters, digits and dashes."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{picture.kind} {picture.title}".lower()).strip("-")
    return words[:60].strip("-")
