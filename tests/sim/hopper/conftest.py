"""Programs for Hopper's engines that the tests share."""

from __future__ import annotations

from typing import Any

import pytest
from bankbench.sim import load_chip
from bankbench.sim.engine import Simulation, simulate
from bankbench.sim.hopper import Arrive, BulkCopy, GroupWait, HopperSm, PhaseWait, Wgmma
from bankbench.sim.program import Group, Instruction, Program, Segment


def ins(op: str, detail: object = None, stall: int = 2, **more: Any) -> Instruction:
    return Instruction(op, stall=stall, detail=detail, **more)


class Make:
    """Short ways to write groups of warps and to run them on a Hopper SM."""

    chip = load_chip("h200")
    ins = staticmethod(ins)

    @staticmethod
    def group(code, warps: int = 1, trips: int = 1, post=(), name: str = "", patterns=None) -> Group:
        branch = (ins("BRA", stall=5),) if trips > 1 else ()
        segments = (Segment("loop", (*code, *branch), trips), Segment("post", tuple(post)))
        return Group(warps, segments, patterns or {}, name)

    def run(self, *groups: Group, barriers=None, regions=None, **options) -> tuple[Simulation, HopperSm]:
        sm = HopperSm(self.chip, barriers or {}, regions or {})
        program = Program("test", tuple(groups))
        return simulate(program, self.chip, agents=[sm], **options), sm

    @staticmethod
    def wgmma(n: int, count: int = 1, *, registers: bool = False, reads=(), a_at: int = 0, b_at: int = 32768):
        """One committed group."""
        return [
            ins("HGMMA", Wgmma(n, registers, a_at, b_at, number == count - 1, tuple(reads)), 4)
            for number in range(count)
        ]

    @staticmethod
    def wait_wgmma(pending: int = 0) -> Instruction:
        return ins("WARPGROUP.DEPBAR", GroupWait(pending))

    @staticmethod
    def load(size: int, barrier: str, region: str = "", at: int = 0, rows: int = 0) -> Instruction:
        return ins("UTMALDG", BulkCopy(size, at, False, barrier, rows, size // rows if rows else 0, region))

    @staticmethod
    def arrive(barrier: str, expect: int = 0) -> Instruction:
        return ins("SYNCS.ARRIVE", Arrive(barrier, expect))

    @staticmethod
    def wait(barrier: str, parity: int = 0) -> Instruction:
        return ins("SYNCS.PHASECHK", PhaseWait(barrier, parity))

    def gemm(
        self,
        stages: int,
        steps: int,
        *,
        parity: int = 1,
        expect: int | None = None,
        waits: bool = True,
        early: bool = False,
    ) -> tuple[list[Group], dict[str, int]]:
        """Two consumer warpgroups of 64 x 256 x 64 and a producer over a ring of stages."""
        a_size, b_size = 128 * 64 * 2, 256 * 64 * 2
        stage = a_size + b_size
        trips = steps // stages

        def consumer(group: int, s: int) -> list[Instruction]:
            code = [self.wait(f"full[{s}]")] if waits else []
            at = s * stage
            code += self.wgmma(256, 4, reads=(f"A[{s}]", f"B[{s}]"), a_at=at + 8192 * group, b_at=at + a_size)
            code += [] if early else [self.wait_wgmma()]
            return [*code, self.arrive(f"empty[{s}]")]

        def producer(s: int) -> list[Instruction]:
            return [
                self.wait(f"empty[{s}]", parity),
                self.arrive(f"full[{s}]", stage if expect is None else expect),
                self.load(a_size, f"full[{s}]", f"A[{s}]", s * stage, 128),
                self.load(b_size, f"full[{s}]", f"B[{s}]", s * stage + a_size, 256),
            ]

        groups = [
            self.group([item for s in range(stages) for item in consumer(number, s)], 4, trips)
            for number in (0, 1)
        ]
        groups.append(self.group([item for s in range(stages) for item in producer(s)], 1, trips))
        barriers = {f"full[{s}]": 1 for s in range(stages)} | {f"empty[{s}]": 8 for s in range(stages)}
        return groups, barriers


@pytest.fixture
def hopper() -> Make:
    return Make()
