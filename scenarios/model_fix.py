"""The section `fix:` of a scenario: which buffer `bankbench fix` works on, and what its layout has to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from ._strict import Strict

if TYPE_CHECKING:
    from .fix.family import Limits


class Fix(Strict):
    """Constraints on the layouts that `bankbench fix` may propose; the command's options add to them."""

    buffers: list[str] | None = Field(
        default=None, description="buffers to work on; default: all that an access touches by coordinates"
    )
    align: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="bytes, a power of two: rows start at multiples of it, chunks of it stay whole"
    )
    tma: bool = Field(
        default=False, description="only what TMA writes: no padding, and the modes none, 32B, 64B, 128B"
    )
    ldmatrix: bool = Field(default=False, description="rows of 16 bytes stay whole and aligned, as align: 16")
    power_of_two: bool = Field(default=False, description="the pitch of rows stays a power of two")
    padding: bool = Field(default=True, description="whether padding may be proposed")
    swizzle: bool = Field(default=True, description="whether a swizzle may be proposed")
    max_bytes: int | None = Field(default=None, ge=1, description="bytes that the buffer may take")

    @model_validator(mode="after")
    def _power(self) -> Fix:
        if self.align & (self.align - 1):
            raise ValueError(f"align: {self.align} is not a power of two")
        return self

    def limits(self) -> Limits:
        """The constraints as a plain value."""
        from .fix.family import Limits

        return Limits(
            align=max(self.align, 16 if self.ldmatrix else 1),
            tma=self.tma,
            power_of_two=self.power_of_two,
            padding=self.padding,
            swizzle=self.swizzle,
            max_bytes=self.max_bytes,
        )
