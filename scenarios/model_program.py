"""The section `program:` of a scenario: what groups of warps do, step by step, for a simulation of time.

A step is a mapping with one key, the kind of step: `- load: {...}`. Accesses say where their lanes go exactly as in the
section `accesses:`; `to` and `from` name the registers that they fill or read.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from ._strict import Strict
from .hopper_model import (
    ArriveStep,
    AwaitStep,
    ClusterCopyStep,
    CpAsyncStep,
    Mbarriers,
    PendingStep,
    StoreWaitStep,
    SyncStep,
    TmaLoadStep,
    TmaStoreStep,
    WgmmaStep,
)
from .model_access import Access

Registers = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$", description="a name for registers of the warp")]
Count = Annotated[int, Field(ge=1, le=4096)]


class _AccessStep(Access):
    """An access as a step; what the group or the loop around it says cannot be said again."""

    @model_validator(mode="after")
    def _no_counts(self) -> _AccessStep:
        for name in ("warps", "repeat", "kernel", "expect"):
            if name in self.model_fields_set:
                raise ValueError(
                    f"{name} is not for a step: the group has the warps, loop: repeats, expect: limits"
                )
        return self


class LoadStep(_AccessStep):
    """Shared memory to registers. `to` names the registers; whoever reads them waits for the data."""

    to: Registers = Field(default="loaded", description="the registers that it fills")


class StoreStep(_AccessStep):
    """Registers to shared memory."""

    op: str = Field(default="store", description="store, or an instruction by its PTX or SASS name")
    source: Registers | None = Field(
        default=None, alias="from", description="the registers that it stores; default: values at hand"
    )


class CopyStep(LoadStep):
    """A tile of a buffer into a register fragment: the instructions follow from the two layouts."""

    @model_validator(mode="after")
    def _has_fragment(self) -> CopyStep:
        if self.fragment is None:
            raise ValueError(
                "copy fills a fragment; say which one with fragment: mma.m16n8k16.A, or use load"
            )
        return self


class MmaStep(Strict):
    """Tensor-core instructions (mma.m16n8k16) that read whole fragments and accumulate."""

    count: Count = Field(default=1, description="instructions, each with an accumulator of its own")
    reads: list[Registers] = Field(default_factory=list, description="fragments that each of them reads")
    acc: Registers = Field(default="acc", description="name of the accumulators")


class AluStep(Strict):
    """Arithmetic of the warp."""

    op: str = Field(default="FFMA", description="SASS opcode: FFMA, IADD3, LOP3, IMAD, MOV, ...")
    count: Count = 1
    reads: list[Registers] = Field(default_factory=list, description="registers that each instruction reads")
    to: Registers = Field(default="value", description="the registers that it writes")
    chained: bool = Field(default=False, description="each instruction needs the result of the one before")


class LoopStep(Strict):
    """Steps that are repeated. With `var` the trip number is a name in accesses, and the loop is unrolled."""

    trips: Annotated[int, Field(ge=1, le=100_000_000)]
    var: str | None = Field(default=None, description="name of the trip number; unrolls the loop")
    steps: list[Step] = Field(min_length=1)


_PLAIN_WORDS = ("barrier", "commit_stores", "commit_copies")


class Step(Strict):
    """One step: exactly one of the keys."""

    load: LoadStep | None = None
    store: StoreStep | None = None
    copy_: CopyStep | None = Field(default=None, alias="copy")
    mma: MmaStep | None = None
    alu: AluStep | None = None
    barrier: bool | None = Field(default=None, description="true: all warps of the block meet")
    wait: Registers | None = Field(default=None, description="until these registers have been filled")
    loop: LoopStep | None = None
    wgmma: WgmmaStep | None = None
    wait_wgmma: PendingStep | None = None
    tma_load: TmaLoadStep | None = None
    tma_store: TmaStoreStep | None = None
    commit_stores: bool | None = Field(default=None, description="true: the TMA stores so far are a group")
    wait_stores: StoreWaitStep | None = None
    arrive: ArriveStep | None = None
    await_: AwaitStep | None = Field(default=None, alias="await")
    cp_async: CpAsyncStep | None = None
    commit_copies: bool | None = Field(default=None, description="true: the cp.async so far are a group")
    wait_copies: PendingStep | None = None
    sync: SyncStep | None = None
    cluster_copy: ClusterCopyStep | None = None
    elect: bool | None = Field(
        default=None, description="beside a step of an engine: only the first warp of the group executes it"
    )

    @model_validator(mode="before")
    @classmethod
    def _plain_word(cls, data: Any) -> Any:
        return {data: True} if isinstance(data, str) and data in _PLAIN_WORDS else data

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """A step that needs nothing more may be its key alone: the schema for editors says so too."""
        return {"anyOf": [{"enum": list(_PLAIN_WORDS)}, handler(core_schema)]}

    @model_validator(mode="after")
    def _one_kind(self) -> Step:
        kinds = self._kinds()
        if len(kinds) != 1:
            fields = type(self).model_fields.items()
            known = ", ".join(field.alias or name for name, field in fields if name != "elect")
            raise ValueError(f"a step has exactly one key, one of: {known}")
        return self

    @property
    def kind(self) -> str:
        """The key that is given, without a trailing underscore."""
        return self._kinds()[0].rstrip("_")

    @property
    def value(self) -> Any:
        """What stands under the key that is given."""
        return getattr(self, self._kinds()[0])

    def _kinds(self) -> list[str]:
        names = (name for name in type(self).model_fields if name != "elect")
        return [name for name in names if getattr(self, name) not in (None, False)]


class WarpGroup(Strict):
    """Warps that execute the same steps; in accesses `warp` counts from 0 within the group."""

    name: str = ""
    warps: Annotated[int, Field(ge=1, le=64)] = 1
    inputs: list[Registers] = Field(default_factory=list, description="registers that hold values before")
    steps: list[Step] = Field(default_factory=list, description="none: warps that only take up numbers")


class ProgramSection(Strict):
    """One thread block on one SM. Warps are numbered group by group; warp w runs on partition w mod 4."""

    groups: list[WarpGroup] = Field(min_length=1)
    mbarriers: dict[str, Mbarriers] = Field(
        default_factory=dict, description="rings of mbarriers by name, with the arrivals of a phase"
    )
    limit: int = Field(default=50_000_000, ge=1, description="cycles after which the simulation gives up")
    fast: bool = Field(default=False, description="extrapolate loops from their steady state (same cycles)")


LoopStep.model_rebuild()
