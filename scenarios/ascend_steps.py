"""The steps of a schedule: each becomes a function that appends one instruction an iteration.

`emit(iteration, loop values)` looks its case up (which slots, which valid extents, which alignment) and makes the
instruction the first time; everything that can be evaluated for all iterations at once is, before the walk.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..sim.ascend import AscendError, Core, Op, Operand, VectorOp
from ..sim.ascend import Step as Placed
from . import ascend_inside as inside
from . import ascend_moves as moves
from .ascend_model import Ascend, Fixpipe, Flag, Mmad, Vector, VectorOperand
from .ascend_places import IntArray, Places, Reference, TileState
from .errors import ScenarioError
from .expressions import evaluate

Emit = Callable[[int, tuple[int, ...]], None]


class Emitters:
    """Makes emit functions; they append to `steps` and count vector instructions in `vectors`."""

    def __init__(self, ascend: Ascend, places: Places, core: Core) -> None:
        self.ascend = ascend
        self.places = places
        self.core = core
        self.steps: list[Placed] = []
        self.vectors: dict[VectorOp, int] = {}
        self.granule = int(core.number("mte2.granule"))

    def copy(self, source: Reference, target: Reference, names: tuple[str, ...]) -> Emit:
        core, cores = self.core, self.ascend.cores
        if source.name in self.places.matrices:
            matrix, tile = self.places.matrices[source.name], self.tile(target.name)
            cases, case_of = moves.matrix_cases(matrix, tile.shape, source.coords, self.granule)
            made: dict[tuple[int, int], tuple[Op | None, tuple[int, ...]]] = {}

            def fill(index: int, values: tuple[int, ...]) -> None:
                case, slot = case_of[index], tile.rotate()
                if (case, slot) not in made:
                    made[case, slot] = moves.copy_in(
                        core, self.places, matrix, tile, slot, cases[case], cores
                    )
                op, tile.valid = made[case, slot]
                if op is not None:
                    self.steps.append(Placed(op, (names, values), fills=(tile.buffer.name, slot)))

            return fill
        tile = self.tile(source.name)
        if target.name in self.places.matrices:
            matrix = self.places.matrices[target.name]
            cases, case_of = moves.matrix_cases(matrix, tile.shape, target.coords, self.granule)
            stored: dict[tuple[int, int, tuple[int, ...]], Op | None] = {}

            def store(index: int, values: tuple[int, ...]) -> None:
                case, slot = case_of[index], self.filled(tile)
                key = (case, slot, tile.valid)
                if key not in stored:
                    stored[key] = moves.copy_out(core, matrix, tile, slot, tile.valid, cases[case], cores)
                op = stored[key]
                if op is not None:
                    self.steps.append(Placed(op, (names, values), uses=((tile.buffer.name, slot),)))

            return store
        other = self.tile(target.name)

        def across(_: int, values: tuple[int, ...]) -> None:
            slot, to = self.filled(tile), other.rotate()
            op = inside.copy_across(core, tile, other, (slot, to), self.places.arch)
            other.valid = tile.valid
            placed = Placed(
                op, (names, values), fills=(other.buffer.name, to), uses=((tile.buffer.name, slot),)
            )
            self.steps.append(placed)

        return across

    def load(self, source: Reference, target: TileState, names: tuple[str, ...]) -> Emit:
        tile, core, arch = self.tile(source.name), self.core, self.places.arch
        rank = len(tile.shape)
        coords = list(zip(*(c.tolist() for c in source.coords), strict=True)) if source.coords else None
        start = (0,) * rank
        made: dict[object, tuple[Op | None, tuple[int, ...]]] = {}

        def emit(index: int, values: tuple[int, ...]) -> None:
            slot, coord = self.filled(tile), coords[index] if coords else start
            to = target.rotate()
            key = (coord, slot, to, tile.valid)
            if key not in made:
                if not all(tile.valid):
                    made[key] = (None, (0,) * len(target.shape))
                else:
                    made[key] = inside.load(core, tile, target, (slot, to), coord, arch)
            op, target.valid = made[key]
            if op is not None:
                name = target.buffer.name
                placed = Placed(op, (names, values), fills=(name, to), uses=((tile.buffer.name, slot),))
                self.steps.append(placed)

        return emit

    def mmad(self, step: Mmad, names: tuple[str, ...], arrays: dict[str, IntArray], count: int) -> Emit:
        a, b, c = self.tile(step.a), self.tile(step.b), self.tile(step.c)
        init = np.broadcast_to(evaluate(str(step.init), arrays) != 0, (count,)).tolist()
        small = self.core.chip.integer("cube.barrier_below")
        made: dict[object, Op | None] = {}

        def emit(index: int, values: tuple[int, ...]) -> None:
            opens = init[index]
            if not all(a.valid) or not all(b.valid):
                return
            slots = (self.filled(a), self.filled(b), c.rotate() if opens else self.filled(c))
            key = (slots, a.valid, b.valid, opens)
            if key not in made:
                unit = f"{c.buffer.name}[{slots[2]}]" if step.unit_flag else ""
                made[key] = inside.mmad(self.core, (a, b, c), slots, opens, unit, False)
            op = made[key]
            if opens:
                c.valid = (a.valid[0], b.valid[1])
            if op is None:
                return
            out = (c.buffer.name, slots[2])
            blocks = -(-a.valid[0] // 16) * -(-b.valid[1] // 16)
            self.steps.append(
                Placed(
                    op,
                    (names, values),
                    fills=out if opens else None,
                    updates=None if opens else out,
                    uses=((a.buffer.name, slots[0]), (b.buffer.name, slots[1])),
                    guarded=out if step.unit_flag else None,
                    settle=not opens and blocks < small,
                )
            )

        return emit

    def fixpipe(self, step: Fixpipe, target: Reference, names: tuple[str, ...]) -> Emit:
        tile, core, cores = self.tile(step.source), self.core, self.ascend.cores
        matrix = self.places.matrices.get(target.name)
        other = None if matrix else self.tile(target.name)
        made: dict[object, Op | None] = {}
        cases, case_of = (
            moves.matrix_cases(matrix, tile.shape, target.coords, self.granule) if matrix else ([], [])
        )

        def emit(index: int, values: tuple[int, ...]) -> None:
            slot = self.filled(tile)
            unit = f"{tile.buffer.name}[{slot}]" if step.unit_flag else ""
            to = other.rotate() if other else 0
            case = case_of[index] if case_of else 0
            key = (case, slot, to, tile.valid)
            if key not in made:
                if matrix:
                    made[key] = inside.fixpipe(core, tile, slot, matrix, cases[case], unit, cores)
                elif other:
                    made[key] = inside.fixpipe_tile(core, tile, other, (slot, to), unit)
            op = made[key]
            if op is None:
                return
            if other:
                other.valid = tile.valid
            key_c = (tile.buffer.name, slot)
            self.steps.append(
                Placed(
                    op,
                    (names, values),
                    fills=(other.buffer.name, to) if other else None,
                    uses=(key_c,),
                    guarded=key_c if unit else None,
                )
            )

        return emit

    def vector(self, step: Vector, names: tuple[str, ...]) -> Emit:
        name = step.name or "vector"
        made: dict[object, tuple[list[Op], list[VectorOp]]] = {}
        reads = [self.operand(item) for item in step.reads]
        writes = [self.operand(item) for item in step.writes]
        if not writes:
            raise ScenarioError("a vector instruction writes something; name it with writes:")

        def emit(index: int, values: tuple[int, ...]) -> None:
            del index  # every execution is alike
            read_slots = [self.filled(tile) if tile else 0 for tile, _ in reads]
            lead = next((tile for tile, _ in (*reads, *writes) if tile is not None and tile.valid), None)
            sources = {id(tile) for tile, _ in reads if tile is not None}
            write_slots: list[int] = []
            for tile, _ in writes:
                if tile is not None and id(tile) not in sources:
                    tile.rotate()
                    tile.valid = lead.valid if lead else tile.shape
                write_slots.append(tile.slot if tile else 0)
            key = (tuple(read_slots), tuple(write_slots), lead.valid if lead else ())
            if key not in made:
                sides = [
                    [self.at(tile, slot, operand) for (tile, operand), slot in zip(side, slots, strict=True)]
                    for side, slots in ((reads, read_slots), (writes, write_slots))
                ]
                repeats = step.repeats or self.repeats(lead, step.blocks)
                parts = moves.vector_ops(sides[0], sides[1], repeats, step.blocks, name)
                spans = [
                    tuple(moves.span(tile, slot) for (tile, _), slot in zip(side, slots, strict=True) if tile)
                    for side, slots in ((reads, read_slots), (writes, write_slots))
                ]
                made[key] = ([moves.vector_instruction(self.core, part, *spans) for part in parts], parts)
            uses = tuple((t.buffer.name, s) for (t, _), s in zip(reads, read_slots, strict=True) if t)
            fills = [(t.buffer.name, s) for (t, _), s in zip(writes, write_slots, strict=True) if t]
            out = next((key for key in fills if key not in uses), None)
            inout = next((key for key in fills if key in uses), None)
            ops, parts = made[key]
            for _ in range(step.times):
                for op, part in zip(ops, parts, strict=True):
                    self.vectors[part] = self.vectors.get(part, 0) + 1
                    self.steps.append(Placed(op, (names, values), fills=out, updates=inout, uses=uses))

        return emit

    def flag(
        self,
        step: Flag,
        make: Callable[[str, str, int, int], Op],
        names: tuple[str, ...],
        arrays: dict[str, IntArray],
        count: int,
    ) -> Emit:
        if self.ascend.sync == "auto":
            raise ScenarioError(
                "flags are placed by themselves here; write sync: manual to place them yourself"
            )
        ids = np.broadcast_to(evaluate(str(step.id), arrays), (count,)).tolist()
        made = {event: make(step.source, step.target, event, self.core.event_ids) for event in set(ids)}
        return lambda index, values: self.steps.append(Placed(made[ids[index]], (names, values)))

    def filled(self, tile: TileState) -> int:
        if tile.slot < 0:
            raise AscendError(f"{tile.buffer.name} is read before anything fills it")
        return tile.slot

    def tile(self, name: str) -> TileState:
        if name not in self.places.tiles:
            known = ", ".join([*self.places.tiles, *self.places.matrices]) or "none"
            raise ScenarioError(f"no tile '{name}'; there are: {known}")
        return self.places.tiles[name]

    def operand(self, item: VectorOperand | str) -> tuple[TileState | None, VectorOperand]:
        operand = VectorOperand(tile=item) if isinstance(item, str) else item
        tile = self.tile(operand.tile) if operand.tile else None
        if tile is not None and tile.buffer.memory != "UB":
            raise ScenarioError(
                f"{tile.buffer.name} lies in {tile.buffer.memory}; the vector unit works on UB"
            )
        return tile, operand

    def at(self, tile: TileState | None, slot: int, operand: VectorOperand) -> Operand:
        base = tile.buffer.addresses[slot] if tile else operand.at or 0
        name = tile.buffer.name if tile else ""
        return Operand(base + operand.offset, operand.block_stride, operand.repeat_stride, name)

    def repeats(self, tile: TileState | None, blocks: int) -> int:
        if tile is None:
            raise AscendError("how many repeats? give repeats:, or an operand that is a tile")
        valid = moves.tile_bytes(moves.cut_layout(tile, tile.valid, self.places.arch), tile.buffer.dtype)[1]
        return -(-valid // (32 * blocks))
