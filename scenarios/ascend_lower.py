"""From a schedule to a program: loops are walked in order, every step becomes an instruction that its cases share.

Coordinates of a step are evaluated for all its iterations at once; the walk itself only looks cases up. Flags are
placed by `place_flags` (sync: auto) or stand in the schedule (sync: manual).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..layouts import LayoutError
from ..sim.ascend import (
    AscendError,
    AscendUnknown,
    Core,
    FlagError,
    Op,
    Program,
    VectorOp,
    barrier,
    l2_hit_part,
    place_flags,
    set_flag,
    wait_flag,
)
from ..sim.ascend import Step as Placed
from ..sim.chip import ChipError
from .ascend_model import Ascend, Step
from .ascend_places import IntArray, Places, Reference, read_reference
from .ascend_steps import Emit, Emitters
from .errors import Place, ScenarioError

MOST = 600_000
_FARTHEST = 1 << 40
Loc = tuple[str | int, ...]


@dataclass(slots=True)
class Leaf:
    """One instruction step: `emit(iteration, loop values)`."""

    emit: Emit
    count: int = 0


@dataclass(slots=True)
class Loop:
    """One loop variable with its values and the body."""

    values: Sequence[int]
    body: list[Leaf | Loop]


@dataclass(slots=True)
class Lowered:
    """A program, and the vector instructions in it with how often each runs."""

    program: Program
    vectors: dict[VectorOp, int] = field(default_factory=dict)


def lower(ascend: Ascend, places: Places, core: Core, place: Callable[[Loc], Place]) -> Lowered:
    """Lowers the schedule. Raises ScenarioError or AscendUnknown with the place of the step, FlagError for flags."""
    return _Lowering(ascend, places, core, place).run()


class _Lowering:
    def __init__(self, ascend: Ascend, places: Places, core: Core, place: Callable[[Loc], Place]) -> None:
        self.ascend = ascend
        self.places = places
        self.core = core
        self.place = place
        self.make = Emitters(ascend, places, core)

    def run(self) -> Lowered:
        self.hits()
        tree = [
            self.compile(step, (), [], ("ascend", "schedule", index))
            for index, step in enumerate(self.ascend.schedule)
        ]
        for node in tree:
            self.walk(node, ())
        self.close_units()
        if self.ascend.sync == "auto":
            return Lowered(place_flags(self.make.steps, self.core.event_ids), self.make.vectors)
        program = Program([step.op for step in self.make.steps], [step.where for step in self.make.steps])
        return Lowered(program, self.make.vectors)

    # --- loops -------------------------------------------------------------------------------------------------

    def compile(
        self, step: Step, names: tuple[str, ...], spaces: list[Sequence[int]], loc: Loc
    ) -> Leaf | Loop:
        if step.loop is not None and step.do is not None:
            ranges = [(name, self.range(text, (*loc, "for", name))) for name, text in step.loop.items()]
            for name, _ in ranges:
                if name in names or not name.isidentifier():
                    raise self.error(f"'{name}' cannot be a loop variable here", (*loc, "for"))
            inner = [*spaces, *(values for _, values in ranges)]
            size = int(np.prod([len(values) for values in inner], dtype=np.float64))
            if size > MOST:
                raise self.error(
                    f"{size:,} iterations; at most {MOST:,} are simulated, take a part of them", loc
                )
            known = (*names, *(name for name, _ in ranges))
            body: list[Leaf | Loop] = [
                self.compile(child, known, inner, (*loc, "do", index)) for index, child in enumerate(step.do)
            ]
            for _, values in reversed(ranges[1:]):
                body = [Loop(values, body)]
            return Loop(ranges[0][1], body)
        grid = np.meshgrid(*[np.asarray(values) for values in spaces], indexing="ij") if spaces else []
        arrays = {name: array.ravel() for name, array in zip(names, grid, strict=True)}
        count = len(arrays[names[0]]) if names else 1
        try:
            emit = self.leaf(step, names, arrays, count, loc)
        except ScenarioError as error:
            raise error.at(self.place(loc), _dotted(loc)) from None
        except FlagError as error:
            raise self.error(f"{error}{self.partner(step)}", loc) from None
        except AscendUnknown as error:
            raise self.unknown(error, loc) from None
        except (AscendError, LayoutError, ChipError) as error:
            raise self.error(str(error), loc) from None
        return Leaf(self.guarded(emit, loc))

    def range(self, text: int | str, loc: Loc) -> Sequence[int]:
        parts = str(text).split(":")
        try:
            numbers = [int(part) for part in parts]
        except ValueError:
            numbers = []
        if len(numbers) == 1:
            numbers = [0, numbers[0], 1]
        elif len(numbers) == 2:
            numbers.append(1)
        bounded = all(abs(number) <= _FARTHEST for number in numbers)
        if len(numbers) != 3 or not bounded or numbers[2] < 1 or numbers[1] <= numbers[0]:
            raise self.error(
                f"{text!r} is no range; write a count, or start:stop:step with whole numbers", loc
            )
        return range(*numbers)

    def walk(self, node: Leaf | Loop, values: tuple[int, ...]) -> None:
        if isinstance(node, Leaf):
            index = node.count
            node.count = index + 1
            node.emit(index, values)
            return
        for value in node.values:
            here = (*values, value)
            for child in node.body:
                self.walk(child, here)

    # --- steps -------------------------------------------------------------------------------------------------

    def leaf(
        self, step: Step, names: tuple[str, ...], arrays: dict[str, IntArray], count: int, loc: Loc
    ) -> Emit:
        if step.copy_ is not None:
            source = self.reference(step.copy_.source, arrays, count, (*loc, "copy", "from"))
            target = self.reference(step.copy_.target, arrays, count, (*loc, "copy", "to"))
            return self.make.copy(source, target, names)
        if step.load is not None:
            source = self.reference(step.load.source, arrays, count, (*loc, "load", "from"))
            target = self.reference(step.load.target, arrays, count, (*loc, "load", "to"))
            return self.make.load(source, self.make.tile(target.name), names)
        if step.mmad is not None:
            return self.make.mmad(step.mmad, names, arrays, count)
        if step.fixpipe is not None:
            target = self.reference(step.fixpipe.target, arrays, count, (*loc, "fixpipe", "to"))
            return self.make.fixpipe(step.fixpipe, target, names)
        if step.vector is not None:
            return self.make.vector(step.vector, names)
        if step.set_flag is not None:
            return self.make.flag(step.set_flag, set_flag, names, arrays, count)
        if step.wait_flag is not None:
            return self.make.flag(step.wait_flag, wait_flag, names, arrays, count)
        if step.barrier is not None:
            op = barrier(step.barrier)
        else:
            op = Op(0, 0, f"scalar {step.scalar} cycles", step.scalar or 0)
        return lambda _, values: self.make.steps.append(Placed(op, (names, values)))

    # --- helpers -----------------------------------------------------------------------------------------------

    def hits(self) -> None:
        """`l2_hit: auto`: what is read again hits, as far as the matrices that are read fit into L2."""
        automatic = [name for name, matrix in self.ascend.matrices.items() if matrix.l2_hit == "auto"]
        if not automatic:
            return
        total = self.bytes_copied()
        inputs = sum(self.places.matrices[name].bytes for name, size in total.items() if size)
        for name in automatic:
            matrix = self.places.matrices[name]
            hit = l2_hit_part(
                self.core,
                matrix.bytes,
                total.get(name, 0),
                inputs,
                shared=self.ascend.matrices[name].shared,
                passes=self.ascend.l2_passes,
            )
            self.places.matrices[name] = replace(matrix, l2_hit=round(hit, 6))

    def bytes_copied(self) -> dict[str, int]:
        """Bytes that all cores copy out of every matrix, tails counted as whole tiles."""
        total: dict[str, int] = {}

        def visit(steps: Sequence[Step], times: int, loc: Loc) -> None:
            for index, step in enumerate(steps):
                here = (*loc, index)
                if step.loop is not None and step.do is not None:
                    inner = times
                    for name, text in step.loop.items():
                        inner *= len(self.range(text, (*here, "for", name)))
                    visit(step.do, inner, (*here, "do"))
                elif step.copy_ is not None:
                    name = step.copy_.source.split("[")[0].strip()
                    target = step.copy_.target.split("[")[0].strip()
                    if name in self.places.matrices and target in self.places.tiles:
                        size = self.places.tiles[target].buffer.valid_bytes
                        total[name] = total.get(name, 0) + size * times * self.ascend.cores

        visit(self.ascend.schedule, 1, ("ascend", "schedule"))
        return total

    def close_units(self) -> None:
        """Marks the last Mmad before each fixpipe that hands over by unit flags."""
        made: dict[int, Op] = {}
        last: dict[str, int] = {}
        for index, step in enumerate(self.make.steps):
            op = step.op
            if not op.unit:
                continue
            if op.closes:  # a fixpipe
                at = last.pop(op.unit, None)
                if at is not None:
                    old = self.make.steps[at]
                    closing = made.get(id(old.op))
                    if closing is None:
                        closing = made[id(old.op)] = _closing(old.op)
                    self.make.steps[at] = Placed(
                        closing, old.where, old.fills, old.updates, old.uses, old.guarded, old.settle
                    )
            else:
                last[op.unit] = index

    def reference(self, text: str, arrays: dict[str, IntArray], count: int, loc: Loc) -> Reference:
        try:
            found = read_reference(text, arrays, count)
        except ScenarioError as error:
            raise error.at(self.place(loc), _dotted(loc)) from None
        if found.name not in self.places.tiles and found.name not in self.places.matrices:
            known = ", ".join([*self.places.matrices, *self.places.tiles])
            raise self.error(f"no matrix and no tile '{found.name}'; there are: {known}", loc)
        return found

    def partner(self, step: Step) -> str:
        """Where the other half of a flag stands: the wait of a set, the set of a wait."""
        flag, other = (step.set_flag, "wait_flag") if step.set_flag else (step.wait_flag, "set_flag")
        for loc, candidate in _walk(self.ascend.schedule, ("ascend", "schedule")):
            found = candidate.wait_flag if other == "wait_flag" else candidate.set_flag
            if flag is not None and found == flag:
                return f"; its {other} stands in {_dotted(loc)} ({self.place(loc)})"
        return f"; no {other} of this pair and id stands in the schedule"

    def guarded(self, emit: Emit, loc: Loc) -> Emit:
        def checked(index: int, values: tuple[int, ...]) -> None:
            try:
                emit(index, values)
            except AscendUnknown as error:
                raise self.unknown(error, loc) from None
            except (AscendError, LayoutError, ChipError) as error:
                raise self.error(str(error), loc) from None

        return checked

    def unknown(self, error: AscendUnknown, loc: Loc) -> AscendUnknown:
        return AscendUnknown(f"{self.place(loc)}: {_dotted(loc)}: {error}")

    def error(self, message: str, loc: Loc) -> ScenarioError:
        return ScenarioError(message, place=self.place(loc), key=_dotted(loc))


def _walk(steps: Sequence[Step], loc: Loc) -> Iterator[tuple[Loc, Step]]:
    for index, step in enumerate(steps):
        yield (*loc, index), step
        if step.do is not None:
            yield from _walk(step.do, (*loc, index, "do"))


def _closing(op: Op) -> Op:
    return Op(
        op.pipe, op.kind, op.name, op.busy, op.tail, op.flag, op.reads, op.writes, op.unit, op.opens, True, op.path,
        op.valid, op.moved, op.work,
    )  # fmt: skip


def _dotted(loc: Loc) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text
