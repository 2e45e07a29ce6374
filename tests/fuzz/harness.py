"""Random mutations of real inputs through every reader: nothing but our own one-line errors may come out.

    python tests/fuzz/harness.py --inputs 100000 --seed 1 [--target cute]

prints each input that gives another exception, takes longer than a second, or lets the process grow by 500 MB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
MOST_SECONDS, MOST_MEGABYTES, HARD_SECONDS = 1.0, 500, 10
TOKENS = [
    *"()[]{}<>:,;+-*/%&|^~@#'\"\\ \t\n\r\0=!.",
    *(
        "0",
        "1",
        "-1",
        "2",
        "3",
        "7",
        "8",
        "16",
        "31",
        "32",
        "33",
        "64",
        "65535",
        "4294967296",
        "9" * 20,
        "9" * 400,
    ),
    *("0x", "0xffffffff", "1e9", "nan", "None", "true", "_8", "@laneid", "@m", "S[", "R[", "Sw<3,3,3> o "),
    *(
        "(" * 40,
        "[" * 200,
        "{" * 60,
        "-" * 80,
        "lane",
        "warp",
        "**",
        "//",
        "<<",
        ">>",
        " if ",
        " else ",
        "not ",
    ),
    *(
        "\u00e9",
        "\u2028",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
        "\ufeff",
        "&a ",
        "*a",
        "!!",
    ),
    *("(" * 3000, "[" * 3000, "~" * 3000, "not " * 900, "((1,2),(3,4))" * 9, "\r", "a: &a [*a, *a]\n"),
    *("==PROF==", '"', '""', '","', "n/a", "1,234.5", "1.234,5", "MEMTRACE:", " - ", "ffffffff", "0x0"),
]


@dataclass
class Target:
    """A reader: inputs to start from, and the call."""

    name: str
    seeds: Sequence[str]
    call: Callable[[str], object]
    share: float = 1.0


@dataclass
class Report:
    """What a run found, by target."""

    inputs: dict[str, int] = field(default_factory=dict)
    accepted: dict[str, int] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)


class Hang(BaseException):
    """The hard limit of one input."""


def mutate(text: str, other: str, rnd: random.Random) -> str:
    """One to six random edits; sometimes a splice with another seed."""
    for _ in range(rnd.choice((1, 1, 1, 1, 2, 3, 6))):
        at = rnd.randrange(len(text) + 1)
        end = min(len(text), at + rnd.choice((0, 1, 1, 2, 4, 8, 30)))
        kind = rnd.randrange(7)
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind in (1, 2):
            text = text[:at] + rnd.choice(TOKENS) + text[end:]
        elif kind == 3:
            text = text[:at] + text[at:end] * rnd.choice((2, 2, 3, 20)) + text[end:]
        elif kind == 4:
            start = rnd.randrange(len(other) + 1)
            text = text[:at] + other[start : start + rnd.choice((1, 3, 10, 60))] + text[end:]
        elif kind == 5:
            text = text[:at] + chr(rnd.choice((rnd.randrange(128), rnd.randrange(0x250)))) + text[end:]
        else:
            text = (
                text[:at] + str(rnd.choice((0, 1, -1, rnd.randrange(300), rnd.getrandbits(40)))) + text[end:]
            )
    return text[:20000]


def ours(error: BaseException) -> bool:
    """Whether an exception is one of the package's own input errors."""
    return isinstance(error, ValueError) and type(error).__module__.startswith("bankbench.")


def run(targets: Sequence[Target], inputs: int, seed: int, report: Report | None = None) -> Report:
    """`inputs` mutated inputs in all, shared between the targets."""
    report = report or Report()
    total = sum(target.share for target in targets)
    signal.signal(signal.SIGALRM, _alarm)
    for target in targets:
        rnd = random.Random(f"{seed} {target.name}")
        count = max(1, round(inputs * target.share / total))
        for number in range(count):
            text = (
                mutate(rnd.choice(target.seeds), rnd.choice(target.seeds), rnd) if number else target.seeds[0]
            )
            _one(target, text, report)
        report.inputs[target.name] = report.inputs.get(target.name, 0) + count
    return report


def _alarm(*_: object) -> None:
    raise Hang


def _one(target: Target, text: str, report: Report) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    said = ""
    signal.alarm(HARD_SECONDS)
    try:
        target.call(text)
        report.accepted[target.name] = report.accepted.get(target.name, 0) + 1
    except Hang:
        said = f"no answer within {HARD_SECONDS} s"
    except Exception as error:
        if not ours(error):
            frame = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__}: {str(error)[:150]} at {Path(frame.filename).name}:{frame.lineno}"
        elif "\n" in str(error):
            said = f"an error of several lines: {str(error)[:200]!r}"
    finally:
        signal.alarm(0)
    spent = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    report.slowest[target.name] = max(report.slowest.get(target.name, 0.0), spent)
    if not said and spent > MOST_SECONDS:
        said = f"took {spent:.1f} s"
    if not said and grown > MOST_MEGABYTES:
        said = f"grew by {grown:.0f} MB"
    if said:
        report.bad.append(f"{target.name}: {said}: {text[:600]!r}")


def targets(folder: Path) -> list[Target]:
    """All readers; files are written into `folder`."""
    import numpy as np
    from bankbench.layouts import parse, tile_offsets
    from bankbench.scenarios.expressions import evaluate_vector
    from bankbench.scenarios.load import catalogue, loads
    from bankbench.scenarios.offsets import read_offsets
    from bankbench.scenarios.profiles.counters import shared_memory_counters
    from bankbench.scenarios.profiles.read import parse_profile
    from bankbench.scenarios.traces import replay
    from bankbench.sim import parse_op

    def layout(notation: str | None):
        def call(text: str) -> None:
            found = parse(text, notation)
            again = parse(str(found), found.notation)
            assert again == found, f"{found!r} reads back as {again!r}"
            try:
                shape = found.logical_shape
            except ValueError as error:
                if not ours(error):
                    raise
                return
            if 0 < int(np.prod(shape, dtype=object)) <= 4096 and len(shape) <= 12:
                tile_offsets(found)

        return call

    names = {
        "lane": np.arange(32)[None, None, :],
        "warp": np.arange(4)[None, :, None],
        "step": np.arange(3)[:, None, None],
    }

    def profile(text: str) -> None:
        for launch in parse_profile(text).launches:
            shared_memory_counters(launch)

    def trace(kind: str):
        path = folder / f"trace.{kind}"

        def call(text: str) -> None:
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            replay(path, kind=kind)

        return call

    def offsets(suffix: str):
        path = folder / f"offsets{suffix}"

        def call(text: str) -> None:
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            read_offsets(path.name, folder)

        return call

    odd = [
        _read(path) for path in sorted((DATA / "profiles_odd").glob("*.csv*")) if path.stat().st_size < 20000
    ]
    return [
        Target("tirx", LAYOUTS["tirx"], layout("tirx"), 4),
        Target("tla", LAYOUTS["tla"], layout("tla"), 4),
        Target("cute", LAYOUTS["cute"], layout("cute"), 4),
        Target("linear", LAYOUTS["linear"], layout("linear"), 4),
        Target("any notation", [text for texts in LAYOUTS.values() for text in texts], layout(None), 2),
        Target("expressions", EXPRESSIONS, lambda text: evaluate_vector(text, names), 4),
        Target("operations", OPERATIONS, parse_op, 2),
        Target("scenario", [path.read_text(encoding="utf-8") for path in catalogue()], loads, 0.3),
        Target("profiles", [text for text in odd if text], profile, 1),
        *(Target(kind, [TRACES[kind]], trace(kind), 0.5) for kind in TRACES),
        *(Target(f"offsets{s}", OFFSETS[s], offsets(s), 0.3) for s in OFFSETS),
    ]


def _read(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except EOFError:
            return ""
    return data.decode("utf-8", "replace") if path.suffix in (".csv", ".gz") else ""


LAYOUTS = {
    "tirx": [
        "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid",
        "S[(8, 64) : (64, 1)]",
        "ComposeLayout(3, 3, 3, S[(8,64):(64,1)])",
        "T.TileLayout(T.S[(8, 64):(64, 1)] + T.R[(2,):(1@warpid,)])",
        "5@laneid + S[4:1] + R[2:8]",
    ],
    "tla": [
        "((16,7),(16,7)):((16,256),(1,1792))",
        "(_8, 64):(64, _1)",
        "zN(100, 100, f16)",
        "((_16,7),(_16,7)):((_16,_256),(_1,1792)) origin (100,100)",
        "RowMajor(32, 64)",
    ],
    "cute": [
        "((2,4),8):((1,16),2)",
        "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)",
        "Swizzle<3,3,3> o 8 o ((8,4),64):((64,512),1)",
        "(3,4):(1@1,1@0)",
        "12:3",
    ],
    "linear": [
        "linear(register=[[0,1]], lane=[[0,2],[1,0]], warp=[], block=[])",
        "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
        "swizzled_shared(vec=8, perPhase=1, maxPhase=8, order=[1,0], shape=[64,64])",
        "#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [64, 64]}>",
        "blocked(sizePerThread=[1,4], threadsPerWarp=[8,4], warpsPerCTA=[4,1], order=[1,0], shape=[32,16])",
        "nvmma_shared(swizzlingByteWidth=128, transposed=false, elementBitWidth=16, shape=[64,64])",
        "#ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], "
        "warpsPerCTA = [4, 1], order = [1, 0]}>}>",
        "linear(offset=[[0,1],[0,2],[1,1]], shape=[2,4])",
    ],
}
EXPRESSIONS = [
    "[lane % 8, 8 * step]",
    "addr ^ (((lane % 1024) >> 7) << 4)",
    "[lane if lane < 16 else 31 - lane, min(lane, warp, 3), abs(-step)]",
    "~lane & 3 | (warp << 2) == 4 and not step or lane // 3 > 2",
]
OPERATIONS = [
    "ld.shared.v4.b32",
    "LDSM.16.MT88.4",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
    "atom.shared.add.u32",
    "atomicAdd(float)",
    "LDS.U.128",
    "sts.64",
    "ATOMS.CAST.SPIN.64",
]
_LANES = [4 * lane for lane in range(32)]
TRACES = {
    "csv": "pc,warp,op,mask,width,offsets\n"
    + f"0x10,0,lds,4294967295,4,{' '.join(map(str, _LANES))}\n" * 3
    + "32,1,FFMA,,,\n",
    "jsonl": (json.dumps({"op": "lds", "pc": 16, "mask": 255, "offsets": _LANES}) + "\n") * 3,
    "nvbit": (
        "MEMTRACE: CTX 0x000055d0c0a5e2f0 - grid_launch_id 0 - CTA 0,0,0 - warp 0 - LDS.U.128 - "
        + "0x00007f0675000010 " * 32
        + "\n"
    )
    * 2,
    "accelsim": "-kernel name = k\n-shmem base_addr = 0x00007f0675000000\n-accelsim tracer version = 4\n\n#BEGIN_TB\n\n"
    "thread block = 0,0,0\n\nwarp = 0\ninsts = 4\n0010 ffffffff 1 R4 LDS 1 R2 4 1 0x7f0675000000 4 0\n"
    "0020 0000000f 1 R4 LDS.64 1 R2 8 0 0x7f0675000000 0x7f0675000008 0x7f0675000010 0x7f0675000018 0\n"
    "0030 0000000f 0 STS 2 R2 R4 4 2 0x7f0675000000 4 -4 8 0\n0040 ffffffff 1 R1 IADD3 2 R1 R2 0\n#END_TB\n",
}
OFFSETS = {
    ".csv": ["0,4,8,12\n16,20,24,28\n", "lane,offset\n0,16\n1,32\n"],
    ".json": ["[[0, 4, 8], [16, 20]]", "[0, 128]"],
    ".jsonl": ['{"offsets": [0, 4], "mask": 1}\n[8, 12]\n'],
}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", default=[])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [t for t in targets(Path(folder)) if not given.target or t.name in given.target]
        report = run(chosen, given.inputs, given.seed)
    for name, count in report.inputs.items():
        print(
            f"{name}: {count} inputs, {report.accepted.get(name, 0)} read, slowest {report.slowest[name]:.2f} s"
        )
    print(f"{sum(report.inputs.values())} inputs, {len(report.bad)} bad")
    for line in dict.fromkeys(report.bad):
        print(line)
    return bool(report.bad)


if __name__ == "__main__":
    sys.exit(main())
