"""Cycles and bytes of every move and of the cube, from the constants of the chip.

cycles = start + bytes / rate is the form that the vendor gives; starts are vendor code, fitted or assumed, as the chip
file says. A copy from or to GM also counts its contiguous runs, and shares the chip's bandwidth with the other cores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...layouts import IntArray, dtype_bits
from .core import Core
from .errors import AscendError, AscendUnknown

__all__ = [
    "Cost",
    "copy_cost",
    "cube_k",
    "cube_type",
    "fixpipe_cost",
    "load_cost",
    "mmad_cost",
    "path_cost",
    "runs_of",
    "scale_bytes",
]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one instruction takes: `busy` cycles until the pipe takes the next, `tail` more until it is complete.

    `valid` bytes were asked for, `moved` bytes went over the path (padding, misaligned granules). `work` is the part
    of the cycles that computes or moves valid data at full rate.
    """

    busy: int
    tail: int
    valid: int
    moved: int
    work: float = 0.0


def runs_of(offsets: IntArray, bits: int) -> tuple[IntArray, IntArray]:
    """Contiguous runs of a tile: (start byte, length in bytes) arrays, in memory order. `offsets` in elements."""
    order = np.sort(offsets.ravel())
    breaks = np.flatnonzero(np.diff(order) != 1)
    starts = order[np.concatenate([[0], breaks + 1])]
    ends = order[np.concatenate([breaks, [len(order) - 1]])]
    return starts * bits // 8, -(-(ends - starts + 1) * bits // 8)


def copy_cost(
    core: Core,
    starts: IntArray,
    lengths: IntArray,
    *,
    pipe: str = "mte2",
    cores: int = 1,
    l2_hit: float = 0.0,
    padded: int | None = None,
) -> Cost:
    """A copy between GM and a buffer of the core: runs by start byte and length.

    The core needs `start + sum(row + bytes / rate)`, its share of the chip's bandwidth `cores * bytes / bandwidth`; the
    longer one counts. `l2_hit` (0..1) is the part of the bytes that L2 has. A run that its alignment stretches over
    more granules than its length needs pays for each of them. `padded`: bytes written at the other side.
    """
    granule = core.number("mte2.granule")
    touched = (starts + lengths - 1) // granule - starts // granule + 1
    extra = float((touched - np.ceil(lengths / granule)).sum()) * granule
    valid = int(lengths.sum())
    moved = valid + extra
    runs = len(starts)
    if pipe == "mte2":
        near = runs * core.number("mte2.row_l2") + moved / core.number("mte2.rate_l2")
        far = runs * core.number("mte2.row") + moved / core.number("mte2.rate")
    else:
        near = far = runs * core.number("mte3.row") + moved / core.number("mte3.rate")
    own = core.number(f"{pipe}.start") + l2_hit * near + (1 - l2_hit) * far
    gigabytes = (1 - l2_hit) / core.number("mte2.gm_gb_s") + l2_hit / core.number("mte2.l2_gb_s")
    shared = cores * moved * gigabytes * core.clock_mhz / 1000
    cycles = math.ceil(max(own, shared))
    return Cost(
        cycles,
        0,
        valid,
        int(moved if padded is None else max(moved, padded)),
        valid / core.number("mte2.rate"),
    )


def load_cost(
    core: Core, side: str, valid: int, padded: int, transposed: bool = False, scales: int = 0
) -> Cost:
    """L1 to L0A or L0B on MTE1: whole fractals at the side's rate, a transposing load at its own.

    `scales` bytes of an MX operand follow one after the other with the data, at the rate of their own buffer.

    >>> from bankbench.sim.chip import load_chip
    >>> from bankbench.sim.ascend import read_core
    >>> load_cost(read_core(load_chip("950")), "L0A", 32768, 32768, scales=2048).busy  # 26 + 128 + 64
    218
    """
    rate = core.number(f"mte1.{side}")
    if transposed:
        rate = min(rate, core.number("mte1.transpose"))
    cycles = core.number("mte1.start") + padded / rate
    if scales:
        cycles += scales / core.number("mte1.MX")
    return Cost(math.ceil(cycles), 0, valid + scales, padded + scales, valid / rate)


_MX_K = 64
_K_NAMES = {
    "f16": "f16", "bf16": "f16", "f32": "f32", "tf32": "hf32", "hf32": "hf32", "s8": "int8", "u8": "int8",
    "int8": "int8", "uint8": "int8", "int4": "int4", "s4": "int4",
    "e4m3": "fp8", "e5m2": "fp8", "fp8": "fp8", "hif8": "fp8",
    "mxfp4": "mx4", "mxfp8": "mx8", "e2m1": "mx4", "fp4": "mx4",
}  # fmt: skip


def path_cost(core: Core, pipe: str, rate: str, valid: int, padded: int) -> Cost:
    """A move inside the core by the vendor's form: the start of the pipe, then `padded` bytes at the rate of the path.

    >>> from bankbench.sim.chip import load_chip
    >>> from bankbench.sim.ascend import read_core
    >>> path_cost(read_core(load_chip("a2")), "MTE1", "mte1.BT", 1000, 1024).busy
    58
    """
    cycles = core.number(f"{pipe.lower()}.start") + padded / core.number(rate)
    return Cost(math.ceil(cycles), 0, valid, padded)


def scale_bytes(rows: int, k: int) -> int:
    """Bytes of the scales of an MX operand of `rows` rows (or columns) by k: one for 32 elements, in pieces of 16 x 2.

    >>> scale_bytes(256, 256), scale_bytes(17, 65)
    (2048, 128)
    """
    return -(-rows // 16) * 16 * -(-k // 64) * 2


def cube_type(dtype: str) -> str:
    """What the cube calls an operand type: `f16`, `int8`, `fp8`, `mx4`, ...; "" for a type that no cube has.

    >>> cube_type("bf16"), cube_type("float16"), cube_type("u8")
    ('f16', 'f16', 'int8')
    """
    return _K_NAMES.get(dtype.lower().replace("float", "f").replace("half", "f16"), "")


def cube_k(core: Core, dtype: str) -> int:
    """How many k the cube takes a cycle for an operand type. AscendError for a type the cube does not have.

    >>> from bankbench.sim.chip import load_chip
    >>> from bankbench.sim.ascend import read_core
    >>> cube_k(read_core(load_chip("a2")), "f16")
    16
    """
    name = cube_type(dtype)
    path = f"cube.k_{name}"
    if not name or not core.chip.has(path) or core.chip[path] is None:
        known = sorted(
            t for t, k in _K_NAMES.items() if core.chip.has(f"cube.k_{k}") and core.chip[f"cube.k_{k}"]
        )
        raise AscendError(f"mmad: {core.chip.title} multiplies no {dtype}; it takes {', '.join(known)}")
    return core.chip.integer(path)


def mmad_cost(core: Core, m: int, n: int, k: int, dtype: str) -> Cost:
    """One Mmad: whole blocks of 16 x 16 x k, `gap` cycles between instructions, `start` cycles until the first result.

    `valid` and `moved` are multiply-accumulates here (asked for, and computed on padding too). AscendError for extents
    outside 0..4095, and for MX types whose k is no multiple of 64; a zero extent does nothing.

    >>> from bankbench.sim.chip import load_chip
    >>> from bankbench.sim.ascend import read_core
    >>> mmad_cost(read_core(load_chip("a2")), 128, 256, 64, "f16").busy  # 8 * 16 * 4 blocks and the gap
    519
    """
    limit = core.chip.integer("cube.max_mnk")
    for name, extent in (("m", m), ("n", n), ("k", k)):
        if not 0 <= extent <= limit:
            raise AscendError(f"mmad: {name} = {extent}; an Mmad takes 0 to {limit}")
    if not m * n * k:
        return Cost(0, 0, 0, 0)
    if cube_type(dtype).startswith("mx") and k % _MX_K:
        raise AscendError(f"mmad: k = {k}; {dtype} takes multiples of {_MX_K}")
    rows, cols, deep = core.chip.integer("cube.m"), core.chip.integer("cube.n"), cube_k(core, dtype)
    blocks = -(-m // rows) * -(-n // cols) * -(-k // deep)
    gap = core.chip.integer("cube.gap")
    tail = core.chip.integer("cube.start") - gap
    macs = rows * cols * deep
    return Cost(blocks + gap, tail, m * n * k, blocks * macs, m * n * k / macs)


def fixpipe_cost(
    core: Core,
    m: int,
    n: int,
    out_dtype: str,
    to: str,
    *,
    cores: int = 1,
    runs: int = 1,
    transposed: bool = False,
) -> Cost:
    """L0C out through FIX to GM, L1 or UB, converting to `out_dtype`: L0C is read as whole 16 x 16 blocks of 4 bytes.

    `transposed` results (nz2dn) leave at a part of the rate. AscendError for a path that the chip does not have,
    AscendUnknown for a type whose rate is not public.

    >>> from bankbench.sim.chip import load_chip
    >>> from bankbench.sim.ascend import read_core
    >>> [fixpipe_cost(read_core(load_chip("950")), 128, 128, t, "L1").busy - 26 for t in ("f32", "f16", "s8")]
    [512, 256, 256]
    """
    read = -(-m // 16) * -(-n // 16) * 1024
    bits = dtype_bits(out_dtype)
    valid = -(-m * n * bits // 8)
    chip, shared = core.chip, 0.0
    if to == "GM":
        out = valid / core.number("fix.out")
        shared = cores * valid / core.number("mte2.l2_gb_s") * core.clock_mhz / 1000
    elif to == "UB":
        if not chip.has("fix.bytes_ub"):
            raise AscendError(f"fixpipe: {chip.title} has no path L0C -> UB; go through GM")
        out = valid / chip.number("fix.bytes_ub")
    else:
        out = m * n / chip.number("fix.elements_l1")
        if chip.has("fix.bytes_l1"):
            out = max(out, valid / chip.number("fix.bytes_l1"))
        elif bits > 16:
            raise AscendUnknown(
                f"fixpipe: {out_dtype} into L1: unknown, {chip.title} documents 16- and 8-bit results"
            )
    if transposed:
        if not chip.has("fix.nz2dn"):
            raise AscendError(
                f"fixpipe: {chip.title} stores rows (nz2nd) or NZ, no columns; those are for 3510"
            )
        out /= chip.number("fix.nz2dn")
    cycles = math.ceil(max(core.number("fix.start") + max(read / core.number("fix.read"), out, runs), shared))
    return Cost(cycles, 0, valid, -(-read * bits // 32), out)
