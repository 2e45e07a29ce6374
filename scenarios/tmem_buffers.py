"""Buffers of the section `tmem:`: what the file wants, where the planner puts it, tables and the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..layouts import LayoutError, dtype_bits, parse_tirx
from ..layouts.tirx import TileLayout
from ..sim.chip import Chip
from ..sim.results import Column, Picture, Table
from ..sim.tmem import (
    AccumulatorWant,
    AWant,
    ColumnsWant,
    LayoutWant,
    MetadataWant,
    Placement,
    Plan,
    ScaleWant,
    TileWant,
    TmemError,
    Want,
    geometry,
    mma_kind,
    plan,
    region_of,
    stack_until_fits,
    window_of,
)
from ..sim.tmem.wants import all_pieces
from ..sim.traffic import ReplicaTraffic, replica_axes
from .errors import ScenarioError
from .load import LoadedScenario
from .row_table import row_table
from .tmem_model import AOf, Tmem, TmemBuffer, TmemExpect


@dataclass(frozen=True, slots=True)
class PlacedTmem:
    """The plan of a section, with what its kernel allocates."""

    plan: Plan
    allocation: int | None
    blocks: int

    def placement(self, name: str, place: str) -> Placement:
        """A buffer by name, or by name of a single stage. Raises ScenarioError."""
        try:
            return self.plan.place(name)
        except TmemError as error:
            raise ScenarioError(str(error), key=place) from None


def place_all(loaded: LoadedScenario, section: Tmem, chip: Chip) -> PlacedTmem:
    """Plans the buffers. Raises ScenarioError with the place of the buffer that cannot be."""
    wants: list[Want] = []
    for index, buffer in enumerate(section.buffers):
        try:
            want = want_of(buffer)
            want.pieces()
        except (TmemError, LayoutError) as error:
            key = f"tmem.buffers[{index}]"
            raise ScenarioError(str(error), place=loaded.place("tmem", "buffers", index), key=key) from None
        wants.append(want)
    try:
        found = plan(wants, chip, stack=section.stack)
    except TmemError as error:
        raise ScenarioError(str(error), place=loaded.place("tmem", "buffers"), key="tmem.buffers") from None
    whole = geometry(chip).columns
    allocation = whole if section.allocate == "whole" and found.fits else found.allocation
    return PlacedTmem(found, allocation, section.blocks_per_sm)


def want_of(buffer: TmemBuffer) -> Want:
    """A buffer of the file as a want of the planner."""
    sides: dict[str, Any] = {"lane": buffer.lane, "together": buffer.together}
    common: dict[str, Any] = {
        "name": buffer.name,
        "stages": buffer.stages,
        "at": buffer.at,
        "inside": buffer.inside,
        "offset": buffer.offset,
        "stride": buffer.stride,
    }
    if buffer.accumulator is not None:
        fields = buffer.accumulator.model_dump()
        return AccumulatorWant(**common, **fields, **sides)
    if buffer.operand is not None:
        a = buffer.operand
        bits = _packed_bits(a)
        return AWant(**common, M=a.M, K=a.K, bits=bits, cta_group=a.cta_group, **sides)
    if buffer.scales is not None:
        s = buffer.scales
        return ScaleWant(**common, rows=s.rows, k_steps=s.k_steps, scale_vec=s.vector, split=s.split)
    if buffer.metadata is not None:
        return MetadataWant(**common, kind=buffer.metadata)
    if buffer.tile is not None:
        t = buffer.tile
        return TileWant(
            **common, rows=t.rows, cols=t.cols, bits=dtype_bits(t.dtype), packed=t.packed, **sides
        )
    if buffer.layout is not None:
        layout = parse_tirx(buffer.layout)
        if not isinstance(layout, TileLayout):
            raise TmemError(f"{buffer.name}: tensor memory has no swizzle")
        return LayoutWant(**common, layout=layout, bits=dtype_bits(buffer.dtype))
    assert buffer.columns is not None, "the model allows one kind"
    return ColumnsWant(**common, columns=buffer.columns)


def _packed_bits(a: AOf) -> int:
    """Bits that an element of A takes in tensor memory: 6-bit codes lie in bytes, 4-bit ones as the kind says."""
    bits = dtype_bits(a.dtype)
    if a.kind is not None:
        kind = mma_kind(a.kind)
        if bits > kind.container_bits or (bits < kind.container_bits and kind.container_bits != 8):
            raise TmemError(
                f".kind::{kind.name} takes elements of {kind.container_bits} bits, {a.dtype} has {bits}"
            )
        return kind.container_bits
    if bits == 4:
        raise TmemError(
            f"operand of {a.dtype}: say kind:, f8f6f4 and mxf8f6f4 keep a code in a byte, mxf4 packs two"
        )
    return max(bits, 8)


def check_plan(placed: PlacedTmem, expect: TmemExpect, place: str) -> list[str]:
    """Broken expectations; a plan that does not fit is one unless the file expects it."""
    found = placed.plan
    values: dict[str, Any] = {
        "columns": found.columns,
        "allocation": placed.allocation,
        "fits": found.fits,
        "unstacked": found.unstacked,
        "separate": found.separate,
    }
    broken = [
        f"{place}: {key} {_word(values[key])}, expected {_word(wanted)}"
        for key, wanted in expect.model_dump(exclude={"places"}, exclude_none=True).items()
        if values[key] != wanted
    ]
    for name, column in expect.places.items():
        try:
            at = placed.plan.place(name).column
        except TmemError as error:
            broken.append(f"{place}: {error}")
            continue
        if at != column:
            broken.append(f"{place}: {name} begins at column {at}, expected {column}")
    if not found.fits and expect.fits is None:
        broken.append(f"{place}: {found.advice[0]}")
    if placed.allocation is not None and placed.allocation * placed.blocks > found.capacity:
        broken.append(
            f"{place}: {placed.blocks} blocks of {placed.allocation} columns do not fit an SM at once "
            f"({found.capacity} columns); the later ones wait in tcgen05.alloc"
        )
    return broken


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else f"{value:,}"


def headline(placed: PlacedTmem) -> str:
    """The answer in a line."""
    found = placed.plan
    if not found.fits:
        return f"does not fit: {found.advice[0]}"
    text = f"{found.columns} of {found.capacity} columns"
    if placed.allocation is not None:
        spare = placed.allocation - found.columns
        text += f", allocate {placed.allocation}" + (f" ({spare} unused)" if spare else "")
    return text


def reasons(placed: PlacedTmem, section: Tmem) -> list[str]:
    """Why, and what would be better."""
    if not section.buffers:
        return []
    found = placed.plan
    lines = list(found.advice[1:]) if not found.fits else []
    if not section.stack and any(p.piece.half for p in found.placements) and found.fits:
        stacked = stack_until_fits(all_pieces([want_of(b) for b in section.buffers]), found.columns - 1)
        if stacked is not None:
            lines.append(f"Stacking {' and '.join(stacked[1])} at lane 16 would need {stacked[0]} columns.")
    elif found.unstacked > found.columns:
        lines.append(
            f"Stacking half-lane buffers at lane 16 saves {found.unstacked - found.columns} columns."
        )
    if found.fits and len(found.placements) > 1 and found.separate > found.capacity:
        lines.append(
            f"Allocated one by one the buffers would take {found.separate} columns, more than the {found.capacity} "
            "that exist; one allocation holds them all."
        )
    if placed.allocation is not None and sum(found.steps) < placed.allocation:
        sizes = " + ".join(map(str, found.steps))
        less = sum(found.steps)
        lines.append(
            f"Allocating {sizes} = {less} columns instead of {placed.allocation} leaves more to others."
        )
    return lines


_BUFFERS = (
    Column("buffer", "", "name in the scenario, with its stage"),
    Column("first", "", "column where it begins"),
    Column("columns", "", "32-bit columns"),
    Column("lanes", "", "lanes that hold elements"),
    Column("layout", "", "layout letter of the product that writes or reads it"),
    Column("unique", "", "bytes of the elements, each once"),
    Column("held", "", "bytes with all copies"),
    Column("unused", "", "bytes of its columns that hold no element"),
    Column("inside", "", "shares the place of this buffer at another time"),
)


def buffer_table(placed: PlacedTmem, chip: Chip) -> Table:
    """One row a buffer and stage."""
    shape = geometry(chip)
    rows: list[dict[str, Any]] = []
    for item in placed.plan.placements:
        operand = item.operand
        lanes = shape.lanes // 2 if item.piece.half else shape.lanes
        cells = item.piece.columns * lanes * shape.cell_bytes
        rows.append(
            {
                "buffer": item.name,
                "first": item.column,
                "columns": item.piece.columns,
                "lanes": _lanes(item, shape.lanes),
                "layout": operand.datapath if operand is not None else "",
                "unique": operand.unique_bytes if operand is not None else None,
                "held": operand.written_bytes if operand is not None else None,
                "unused": max(cells - operand.written_bytes, 0) if operand is not None else None,
                "inside": item.piece.inside or "",
            }
        )
    return row_table("tmem_buffers", "Buffers in tensor memory, sizes in bytes", _BUFFERS, rows)


def _lanes(item: Placement, lanes: int) -> str:
    if not item.piece.half:
        return f"0-{lanes - 1}"
    low = item.lane
    return f"{low}-{low + 15} of 32"


def window_table(placed: PlacedTmem, chip: Chip) -> Table:
    """For each of four warps of a warpgroup: its window, and how many columns of each buffer it may touch."""
    columns = (
        Column("warp", "", "number modulo 4"),
        Column("first_lane", "", "of its window"),
        Column("last_lane", "", "of its window"),
        Column("buffers", "", "buffers with elements in the window"),
        Column("readable", "bytes", "cells of these buffers in the window"),
    )
    rows: list[tuple[int, int, int, str, int]] = []
    shape = geometry(chip)
    for warp in range(shape.windows):
        window = window_of(warp, chip)
        touching = [
            p for p in placed.plan.placements if region_of(p, [warp]).slabs and p.piece.inside is None
        ]
        size = sum(
            p.piece.columns * shape.cell_bytes * 16 * region_of(p, [warp]).slabs.bit_count() for p in touching
        )
        rows.append((warp, window.first, window.last, ", ".join(p.name for p in touching), size))
    return row_table("tmem_windows", "Lane windows by warp", columns, rows)


def operand_replicas(placed: PlacedTmem) -> list[ReplicaTraffic]:
    """Buffers whose layout holds every element more than once: what filling them once writes."""
    found: list[ReplicaTraffic] = []
    for item in placed.plan.placements:
        operand = item.operand
        if operand is not None and operand.replicas > 1:
            size = operand.unique_bytes
            axes = replica_axes(operand.layout)
            found.append(ReplicaTraffic(item.name, "TMEM", "fill", size, size, operand.written_bytes, axes))
    return found


def map_picture(placed: PlacedTmem, chip: Chip, title: str) -> Picture:
    """The map of lanes and columns with named buffers, stages and waste."""
    found = placed.plan
    shape = geometry(chip)
    boxes = [
        {
            "name": item.name,
            "group": item.name.split("[")[0],
            "column": item.column,
            "columns": item.piece.columns,
            "slabs": region_of(item).slabs,
            "inside": item.piece.inside or "",
            "copies": item.operand.replicas if item.operand is not None else 1,
        }
        for item in found.placements
    ]
    words = "; ".join(f"{b['name']} columns {b['column']} to {b['column'] + b['columns'] - 1}" for b in boxes)
    return Picture(
        kind="tmem_map",
        title=title,
        alt=f"Tensor memory of {shape.lanes} lanes by {shape.columns} columns: {words}; {headline(placed)}",
        data={
            "lanes": shape.lanes,
            "columns": shape.columns,
            "window": shape.window_lanes,
            "slab": shape.slab_lanes,
            "boxes": boxes,
            "needed": found.columns,
            "allocation": placed.allocation or 0,
        },
    )


def named_sequence(names: Sequence[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
