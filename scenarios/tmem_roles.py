"""The `roles:` of the section `tmem:`: steps written in a scenario become steps of the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from ..sim.chip import Chip
from ..sim.tmem import (
    Barrier,
    Copy,
    LoadStore,
    MmaShape,
    Program,
    Region,
    Role,
    TmemError,
    accumulator,
    check_alloc_size,
    region_of,
    shared_region,
    window_of,
)
from ..sim.tmem.program import Step
from .errors import ScenarioError
from .load import LoadedScenario
from .tmem_buffers import PlacedTmem
from .tmem_model import Product, RolesProgram
from .tmem_moves import load_store, product_shape

_WORDS = ("wait_ld", "wait_st", "fence_after", "fence_before", "fence_async", "relinquish")
_KEYS = (
    "wait",
    "arrive",
    "expect",
    "tma",
    "cp",
    "mma",
    "shift",
    "commit",
    "ld",
    "st",
    "alloc",
    "dealloc",
    "write",
)
_MORE = ("read", "work", "repeat")
_MOST_STEPS = 2_000_000
_MOST_AMOUNT = 1 << 40


def roles_program(loaded: LoadedScenario, item: RolesProgram, placed: PlacedTmem, chip: Chip) -> Program:
    """The program of the file. Raises ScenarioError with the role and the step that cannot be read."""
    reader = _Reader(placed, chip)
    roles: list[Role] = []
    for index, role in enumerate(item.roles):
        steps: list[Step] = []
        for step in reader.steps(role.steps, role.warp, f"tmem.roles.roles[{index}].steps", loaded, index):
            steps.append(step)
            if len(steps) > _MOST_STEPS:
                raise ScenarioError(
                    f"role {role.name} has more than {_MOST_STEPS:,} steps",
                    place=loaded.place("tmem", "roles"),
                )
        roles.append(Role(role.name, tuple(steps), role.warp))
    barriers = tuple(Barrier(b.name, b.arrivals, b.initial) for b in item.barriers)
    known = {b.name for b in barriers}
    for role in roles:
        for step in role.steps:
            if step.barrier and step.barrier not in known:
                raise ScenarioError(
                    f"role {role.name}: no barrier {step.barrier!r}; barriers: {', '.join(sorted(known)) or 'none'}",
                    place=loaded.place("tmem", "roles"),
                    key="tmem.roles",
                )
    try:
        return Program(item.name, barriers, tuple(roles))
    except TmemError as error:
        raise ScenarioError(str(error), place=loaded.place("tmem", "roles"), key="tmem.roles") from None


class _Reader:
    """Turns one written step into simulator steps; buffers are looked up in the plan."""

    def __init__(self, placed: PlacedTmem, chip: Chip) -> None:
        self.placed = placed
        self.chip = chip

    def steps(
        self, written: list[Any], warp: int, key: str, loaded: LoadedScenario, role: int
    ) -> Iterator[Step]:
        for number, item in enumerate(written):
            here = f"{key}[{number}]"
            place = loaded.place("tmem", "roles", "roles", role, "steps", number)
            if isinstance(item, Mapping) and "repeat" in item:
                times, inner = item["repeat"], item.get("steps")
                whole = isinstance(times, int) and not isinstance(times, bool)
                if not whole or not 0 <= times <= _MOST_STEPS or not isinstance(inner, list):
                    raise ScenarioError(
                        f"repeat needs a whole number up to {_MOST_STEPS:,} and steps: [...]",
                        place=place,
                        key=here,
                    )
                unknown = [key for key in item if key not in ("repeat", "steps")]
                if unknown:
                    raise ScenarioError(
                        f"step repeat: unknown key {unknown[0]!r}; allowed: repeat, steps",
                        place=place,
                        key=here,
                    )
                body = list(self.steps(inner, warp, f"{here}.steps", loaded, role))
                if times * len(body) > _MOST_STEPS:
                    raise ScenarioError(f"more than {_MOST_STEPS:,} steps", place=place, key=here)
                for _ in range(times):
                    yield from body
                continue
            try:
                yield self._step(item, warp)
            except TmemError as error:
                raise ScenarioError(str(error), place=place, key=here) from None
            except ScenarioError as error:
                raise error.at(place, here) from None

    def _step(self, item: Any, warp: int) -> Step:
        if isinstance(item, str) and item in _WORDS:
            return Step(item)
        keys = [key for key in (*_KEYS, *_MORE) if isinstance(item, Mapping) and key in item]
        if not keys:
            raise TmemError(
                f"step {item!r}: {', '.join(_WORDS)}, or a mapping with {', '.join((*_KEYS, *_MORE))}"
            )
        # `mma: ..., commit: x` is not a step; the first key decides and the rest must be its own
        op = keys[0]
        return getattr(self, f"_{op}")(item, warp)

    def _only(self, item: Mapping[str, Any], *allowed: str) -> None:
        wrong = [key for key in item if key not in allowed]
        if wrong:
            raise TmemError(f"step {allowed[0]}: unknown key {wrong[0]!r}; allowed: {', '.join(allowed)}")

    def _number(self, item: Mapping[str, Any], key: str) -> float:
        value = item.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_AMOUNT:
            raise TmemError(f"{key}: a number from 0 to {_MOST_AMOUNT:,} is needed, found {value!r}")
        return value

    def _whole(self, item: Mapping[str, Any], key: str, default: int) -> int:
        value = self._number(item, key) if key in item else default
        if value != int(value):
            raise TmemError(f"{key}: a whole number is needed, found {value!r}")
        return int(value)

    def _names(self, given: Any, what: str) -> list[str]:
        """Names from one word, a list of words, or nothing."""
        listed = [given] if isinstance(given, str) else [] if given is None else given
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise TmemError(f"{what}: a name or a list of names is needed, found {given!r}")
        return listed

    def _region(self, name: str, warps: list[int] | None = None) -> Region:
        return region_of(self.placed.placement(name, "tmem.roles"), warps)

    def _shared(self, names: Any) -> tuple[Region, ...]:
        return tuple(shared_region(name, 0, 1) for name in self._names(names, "shared memory"))

    def _wait(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "wait")
        return Step("wait", str(item["wait"]))

    def _arrive(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "arrive")
        return Step("arrive", str(item["arrive"]))

    def _commit(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "commit")
        return Step("commit", str(item["commit"]))

    def _expect(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "expect", "bytes")
        return Step("expect", str(item["expect"]), self._number(item, "bytes"))

    def _tma(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "tma", "bytes", "barrier")
        name = str(item["tma"])
        size = self._number(item, "bytes")
        if "barrier" not in item:
            raise TmemError("tma: barrier: names the mbarrier that counts its bytes")
        return Step("tma", str(item["barrier"]), size, writes=self._shared(name), text=f"TMA {name}")

    def _mma(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "mma", "d", "reads", "smem")
        try:
            product = Product.model_validate(item["mma"] or {})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise TmemError(f"mma.{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}") from None
        if "d" not in item:
            raise TmemError("mma: d: names the accumulator")
        reads = [self._region(name) for name in self._names(item.get("reads"), "reads")]
        if product.operands == "TS" and not reads:
            raise TmemError("mma: a TS product reads A in tensor memory; name its buffer in reads:")
        shape = product_shape(product, self.chip)
        self._check_accumulator(str(item["d"]), shape)
        return Step(
            "mma",
            reads=(*reads, *self._shared(item.get("smem"))),
            writes=(self._region(str(item["d"])),),
            item=shape,
            operands=product.operands,
            text=f"mma {item['d']}",
        )

    def _check_accumulator(self, name: str, shape: MmaShape) -> None:
        """The buffer holds what the product writes: its rows, columns and layout where they are stated."""
        place = self.placed.placement(name, "tmem.roles")
        d = accumulator(shape.M, shape.N, shape.cta_group, ws=shape.ws, sparse=shape.sparse)
        held = place.operand
        if place.piece.columns < d.columns:
            raise TmemError(f"mma: the product writes {d.columns} columns, {name} has {place.piece.columns}")
        if held is not None and held.datapath and (held.shape, held.datapath) != (d.shape, d.datapath):
            raise TmemError(
                f"mma: {name} is {held.shape[0]} x {held.shape[1]} in layout {held.datapath}; the product writes "
                f"{d.shape[0]} x {d.shape[1]} in layout {d.datapath}"
            )

    def _cp(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "cp", "buffer", "smem", "column")
        at = self._region(str(item.get("buffer", "")))
        name = str(item["cp"])
        column = at.first + self._whole(item, "column", 0)
        copy = Copy.parse(f"tcgen05.cp{name if name.startswith('.') else '.' + name}", column, chip=self.chip)
        region = Region("tmem", column, column + copy.columns)
        return Step(
            "cp",
            reads=self._shared(item.get("smem")),
            writes=(region,),
            item=copy,
            text=f"cp {item['buffer']}",
        )

    def _shift(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "shift")
        region = self._region(str(item["shift"]))
        return Step("shift", reads=(region,), writes=(region,), text=f"shift {item['shift']}")

    def _ldst(self, op: str, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, op, "buffer", "column", "lane")
        if "buffer" not in item:
            raise TmemError(f"{op}: buffer: names what is touched")
        where = self.placed.placement(str(item["buffer"]), "tmem.roles")
        column = where.column + self._whole(item, "column", 0)
        lane = self._whole(item, "lane", window_of(warp, self.chip).first + where.lane)
        found: LoadStore = load_store(op, str(item[op]), warp, lane, column, None, self.chip)
        first, last = found.column_range
        slabs = 0
        for slab in range(found.lanes[0] // 16, found.lanes[1] // 16 + 1):
            slabs |= 1 << slab
        region = (Region("tmem", first, last + 1, slabs),)
        text = f"{op} {item['buffer']}"
        return Step(
            op, reads=region if op == "ld" else (), writes=region if op == "st" else (), item=found, text=text
        )

    def _ld(self, item: Mapping[str, Any], warp: int) -> Step:
        return self._ldst("ld", item, warp)

    def _st(self, item: Mapping[str, Any], warp: int) -> Step:
        return self._ldst("st", item, warp)

    def _alloc(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "alloc")
        return Step("alloc", amount=self._columns(item, "alloc"), text=f"alloc {item['alloc']}")

    def _dealloc(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "dealloc")
        size = self._columns(item, "dealloc")
        return Step("dealloc", amount=size, writes=(Region("tmem", 0, size),), text=f"dealloc {size}")

    def _columns(self, item: Mapping[str, Any], key: str) -> int:
        size = self._whole(item, key, 0)
        check_alloc_size(size, self.chip)
        return size

    def _write(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "write", "cycles")
        cycles = self._number(item, "cycles") if "cycles" in item else 0
        return Step("write", amount=cycles, writes=self._shared(item["write"]), text=f"write {item['write']}")

    def _read(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "read", "cycles")
        cycles = self._number(item, "cycles") if "cycles" in item else 0
        return Step("read", amount=cycles, reads=self._shared(item["read"]), text=f"read {item['read']}")

    def _work(self, item: Mapping[str, Any], warp: int) -> Step:
        self._only(item, "work")
        return Step("work", amount=self._number(item, "work"), text="work")
