"""Questions of the section `tmem:` that need no instruction: elements, descriptors, TMA boxes."""

from __future__ import annotations

from collections.abc import Sequence

from ..layouts import LayoutError, dtype_bytes, parse, with_swizzle
from ..sim.results import Column, Table
from ..sim.tmem import SmemDescriptor, TmaBox, TmemError, TmemUnknown, base_offset, check_layout
from .errors import ScenarioError
from .load import LoadedScenario
from .row_table import row_table
from .tmem_buffers import PlacedTmem
from .tmem_model import BoxOf, TmemDescriptor, TmemElement


def evaluate_elements(
    loaded: LoadedScenario, elements: Sequence[TmemElement], placed: PlacedTmem
) -> tuple[Table, list[str]]:
    """Where each element lies, and the expectations that do not hold."""
    columns = (
        Column("buffer", "", "name in the scenario"),
        Column("element", "", "logical coordinates"),
        Column("lanes", "", "all copies"),
        Column("column", "", "32-bit column"),
        Column("byte", "", "first byte within the column"),
    )
    rows: list[tuple[str, list[int], list[int], int, int]] = []
    broken: list[str] = []
    for index, item in enumerate(elements):
        place = loaded.place("tmem", "elements", index)
        try:
            operand = placed.placement(item.buffer, f"tmem.elements[{index}].buffer").operand
        except ScenarioError as error:
            raise error.at(place) from None
        if operand is None:
            raise ScenarioError(f"{item.buffer} is plain columns and has no elements", place=place)
        if len(item.at) != len(operand.shape) or any(
            not 0 <= n < size for n, size in zip(item.at, operand.shape, strict=False)
        ):
            shape = list(operand.shape)
            raise ScenarioError(f"{item.buffer} has the shape {shape}, not an element {item.at}", place=place)
        cells = operand.cells()
        at = tuple(item.at)
        found = {
            "lanes": [int(lane) for lane in cells.lanes[at]],
            "column": int(cells.column[at]),
            "byte": int(cells.bit[at]) // 8,
        }
        rows.append((item.buffer, item.at, found["lanes"], found["column"], found["byte"]))
        for key in ("lanes", "column", "byte"):
            wanted = getattr(item, key)
            if wanted is not None and wanted != found[key]:
                broken.append(f"{place}: {item.buffer} {item.at}: {key} {found[key]}, expected {wanted}")
    return row_table("tmem_elements", "Where elements lie", columns, rows), broken


def evaluate_descriptors(
    loaded: LoadedScenario, items: Sequence[TmemDescriptor]
) -> tuple[Table, list[str], list[str], list[str]]:
    """(table, sentences, broken expectations, unknowns) of tiles against descriptors."""
    columns = (
        Column("tile", "", "name in the scenario"),
        Column("descriptor", "", "64 bits"),
        Column(
            "matches", "", "whether every element lies where the descriptor expects it; empty where unknown"
        ),
        Column("difference", "", "the first element that does not"),
    )
    rows: list[tuple[str, str, bool | None, str]] = []
    sentences: list[str] = []
    broken: list[str] = []
    unknowns: list[str] = []
    for index, item in enumerate(items):
        place = loaded.place("tmem", "descriptors", index)
        try:
            layout = with_swizzle(parse(item.layout), item.swizzle, item.dtype)
            given = item.descriptor
            descriptor = (
                SmemDescriptor.decode(given.bits)
                if given.bits is not None
                else SmemDescriptor(given.start, given.lbo, given.sbo, given.swizzle)
            )
            name = item.name or item.layout
            difference = check_layout(
                layout,
                descriptor,
                element_bytes=dtype_bytes(item.dtype),
                major=item.major,
                shape=item.shape,
                base=item.address,
            )
        except TmemUnknown as error:
            name = item.name or item.layout
            unknowns.append(f"{name}: {error}")
            rows.append((name, hex(item.descriptor.bits or 0), None, ""))
            if item.matches is not None:
                broken.append(f"{place}: {name}: {error}")
            continue
        except (TmemError, LayoutError) as error:
            raise ScenarioError(str(error), place=place, key=f"tmem.descriptors[{index}]") from None
        what = f"{descriptor.swizzle} {item.major}-major with LBO {descriptor.lbo} and SBO {descriptor.sbo}"
        text = str(difference) if difference is not None else ""
        verdict = "is what" if difference is None else "is not what"
        sentences.append(f"{name} {verdict} {what} expects{': ' + text if text else '.'}")
        rows.append((name, hex(descriptor.encode()), difference is None, text))
        if item.matches is not None and item.matches != (difference is None):
            broken.append(f"{place}: {sentences[-1]}")
    return (
        row_table("tmem_descriptors", "Tiles against descriptors", columns, rows),
        sentences,
        broken,
        unknowns,
    )


def evaluate_boxes(loaded: LoadedScenario, items: Sequence[BoxOf]) -> tuple[Table, list[str], list[str]]:
    """(table, sentences, broken expectations) of TMA boxes."""
    columns = (
        Column("box", "", "name in the scenario"),
        Column("swizzle", "", "mode"),
        Column("legal", "", "whether the driver accepts it"),
        Column("base_offset", "", "line of the pattern at which the destination begins"),
        Column("problem", "", "the rules that it breaks"),
    )
    rows: list[tuple[str, str, bool, int | None, str]] = []
    broken: list[str] = []
    for index, item in enumerate(items):
        place = loaded.place("tmem", "boxes", index)
        try:
            box = TmaBox(
                item.swizzle, item.interleave, item.inner_bytes, item.box, item.strides, item.address
            )
            problems = box.problems
            offset = None if item.destination is None else base_offset(item.swizzle, item.destination)
        except TmemError as error:
            raise ScenarioError(str(error), place=place, key=f"tmem.boxes[{index}]") from None
        name = item.name or f"box {index}"
        rows.append((name, item.swizzle, not problems, offset, "; ".join(problems)))
        if item.legal is None and problems:
            broken.append(f"{place}: {name}: {problems[0]}")
        elif item.legal is not None and item.legal == bool(problems):
            broken.append(f"{place}: {name}: {problems[0] if problems else 'is legal, expected a refusal'}")
    legal = sum(row[2] for row in rows)
    lines = [f"{legal} of {len(rows)} TMA boxes are legal"] if rows else []
    return row_table("tmem_boxes", "TMA boxes", columns, rows), lines, broken
