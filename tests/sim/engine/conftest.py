"""Programs that the engine tests share, as the fixture `make`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from bankbench.scenarios import validation
from bankbench.sim.program import Program, parse_program

SHIPPED = Path(validation.__file__).parent / "data"


class Make:
    """Short ways to write programs, groups, instructions and patterns."""

    branch: ClassVar = {"op": "BRA", "stall": 5}

    @staticmethod
    def program(*groups: dict[str, Any], trips: int = 1, name: str = "p") -> Program:
        return parse_program({"id": name, "trips": trips, "groups": list(groups)})

    @staticmethod
    def group(loop=(), *, pre=(), post=(), warps: int = 1, patterns=None, **more) -> dict[str, Any]:
        code = {"pre": list(pre), "loop": list(loop), "post": list(post)}
        return {"warps": warps, **code, "patterns": patterns or {}, **more}

    @staticmethod
    def ins(op: str, stall: int = 1, **fields: Any) -> dict[str, Any]:
        return {"op": op, "stall": stall, **fields}

    @staticmethod
    def access(op: str, ways: int = 1) -> dict[str, Any]:
        """Lanes side by side, or for 4-byte accesses `ways` different words in each bank that is touched."""
        width = int(op.split(".")[1]) // 8 if "matrix" not in op else 16
        if ways == 1:
            return {"op": op, "offsets": [width * lane for lane in range(32)]}
        return {"op": op, "offsets": [width * (lane // ways) + 128 * (lane % ways) for lane in range(32)]}


@pytest.fixture
def make() -> Make:
    return Make()


@pytest.fixture(scope="session")
def shipped() -> Path:
    """The folder of the measurements that come with the package."""
    return SHIPPED
