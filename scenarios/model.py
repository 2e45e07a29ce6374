"""The config model of a scenario: what may stand in a scenario file, with its units and defaults.

A scenario is a name, a chip, and sections; every section is a model of its own (buffers and accesses here in
`model_access.py`), so that the root stays a table of contents. Unknown keys are refused everywhere.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator

from ._strict import Strict
from .ascend_model import Ascend
from .model_access import Access, Buffer
from .model_fix import Fix
from .model_program import ProgramSection
from .model_sweep import Sweep
from .tmem_model import Tmem

Name = Annotated[str, Field(min_length=1, max_length=200)]


class Expect(Strict):
    """Limits on the sums over all accesses; a run that exceeds one ends with exit code 1."""

    max_wavefronts: int | None = Field(default=None, ge=0, description="wavefronts of all accesses together")
    max_excess_wavefronts: int | None = Field(
        default=None, ge=0, description="wavefronts above the ideal, all together"
    )
    max_bank_conflicts: int | None = Field(
        default=None, ge=0, description="bank conflicts of all accesses together"
    )
    wavefronts: int | None = Field(
        default=None, ge=0, description="exact number of wavefronts of all accesses together"
    )
    excess_wavefronts: int | None = Field(default=None, ge=0, description="exact number of excess wavefronts")
    bank_conflicts: int | None = Field(default=None, ge=0, description="exact number of bank conflicts")
    max_cycles: int | None = Field(default=None, ge=0, description="simulated cycles of the program")


class Scenario(Strict):
    """One question to the tool: a chip, buffers with layouts, and accesses to them."""

    name: Name = Field(description="short name; letters, digits, - and _ make the best file names")
    title: str = Field(default="", max_length=400, description="one line that says what the scenario shows")
    notes: str = Field(
        default="", max_length=20_000, description="anything a reader should know; shown in the report"
    )
    chip: str = Field(
        default="h200", description="a chip by name (bankbench doctor lists them) or the path of a chip file"
    )
    overrides: dict[str, Any] = Field(
        default_factory=dict,
        description="constants of the chip to replace, by dotted path; results then say so",
    )
    buffers: dict[str, Buffer] = Field(default_factory=dict, description="named pieces of memory")
    accesses: list[Access] = Field(default_factory=list, description="instructions that touch the buffers")
    ascend: Ascend | None = Field(
        default=None, description="a kernel, vector instructions or SIMT patterns on an Ascend core"
    )
    program: ProgramSection | None = Field(
        default=None, description="what groups of warps do, step by step: simulated in time"
    )
    tmem: Tmem | None = Field(
        default=None, description="Blackwell's tensor memory: column map, instructions, main loops, roles"
    )
    expect: Expect = Field(default=Expect(), description="limits and exact numbers that the run must meet")
    fix: Fix | None = Field(
        default=None, description="what `bankbench fix` has to keep when it proposes layouts"
    )
    sweep: Sweep | None = Field(
        default=None, description="the design space that `bankbench sweep` walks through"
    )

    @field_validator("buffers")
    @classmethod
    def _names(cls, value: dict[str, Buffer]) -> dict[str, Buffer]:
        for name in value:
            if not name or len(name) > 200:
                raise ValueError("a buffer's name has 1 to 200 characters")
        return value
