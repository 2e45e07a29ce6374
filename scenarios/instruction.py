"""The instruction that an access names: an operation of the counting model, and its width where spelled."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..sim.memory.errors import AccessError
from ..sim.memory.spelling import parse_op
from .errors import ScenarioError
from .specs import AccessSpec

_GENERIC = {"load": "lds", "store": "sts"}


@dataclass(frozen=True, slots=True)
class Instruction:
    """`op` and `variant` of the counting model; `width` in bytes a lane, None when the layouts decide."""

    op: str
    variant: str | None
    width: int | None

    @property
    def is_matrix(self) -> bool:
        """Whether lanes supply the addresses of matrix rows (ldmatrix, stmatrix)."""
        return self.op in ("ldmatrix", "stmatrix")

    @property
    def matrices(self) -> int:
        """Number of 8x8 matrices (1, 2 or 4) of a matrix instruction."""
        return int((self.variant or "x1")[1]) if self.is_matrix else 0

    @property
    def transposed(self) -> bool:
        """Whether a matrix instruction has .trans."""
        return self.is_matrix and ".trans" in (self.variant or "")


def instruction_of(access: AccessSpec) -> Instruction:
    """`with:` wins; `op:` is load, store, or an instruction. Raises `ScenarioError` (key op or with)."""
    spelled = access.instruction or _GENERIC.get(access.op, access.op)
    key = "with" if access.instruction else "op"
    try:
        kind = parse_op(spelled)
    except AccessError as error:
        raise ScenarioError(str(error), key=key) from None
    is_store = kind.op in ("sts", "stmatrix")
    if access.op in _GENERIC and (is_store != (access.op == "store") or kind.op == "atoms"):
        raise ScenarioError(f"{spelled} does not {access.op}", key=key)
    # `ld.shared` or `lds` say no size; anything with a digit (lds.64, ld.shared.v4.b32, LDS.U8) does.
    open_width = kind.op in ("lds", "sts") and not re.search(r"\d", spelled)
    return Instruction(kind.op, kind.variant, None if open_width else kind.width)
