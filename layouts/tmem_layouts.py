"""Layouts of Blackwell's tensor memory and of the register fragments that move in and out of it.

TMEM is 128 lanes (`TLane`) by columns (`TCol`, counted in buffer elements); a warpgroup's registers are seen
as `tid_in_wg` or (`wid_in_wg`, `laneid`) and `m`. Source: the TIRx constructors of the same names, which
encode the tcgen05 chapter of the PTX ISA.
"""

from __future__ import annotations

from collections.abc import Sequence

from .dtype import dtype_bits, lane_type
from .protocol import LayoutError
from .tirx import Iter, TileLayout
from .tirx_canon import canonicalize

_ROWS = {"A": 128, "D": 128, "B": 64, "E": 64, "C": 64, "F": 64, "G": 32}


def tmem_datapath_layout(datapath: str, rows: int, cols: int, sub_slab: int = 0) -> TileLayout:
    """Where an accumulator of rows x cols lies in TMEM, by the letter of the datapath that wrote it.

    A: M 256 pair, B: M 128 pair dense, C: M 128 pair sparse, D: M 128 single, E: M 64 `.ws`, F: M 64 single,
    G: M 32 `.ws`. C and F use 16 of every 32 lanes, the second half of them with sub_slab 1. Columns are not
    bounded.

    >>> print(tmem_datapath_layout("F", 64, 128))
    S[(4,16,128):(32@TLane,1@TLane,1@TCol)]
    """
    if datapath not in _ROWS:
        raise LayoutError(f"unknown TMEM datapath {datapath!r}; known are {', '.join(sorted(_ROWS))}")
    if rows != _ROWS[datapath]:
        raise LayoutError(f"datapath {datapath} holds {_ROWS[datapath]} rows, not {rows}")
    if sub_slab not in (0, 1) or (sub_slab and datapath not in "CF"):
        raise LayoutError(f"datapath {datapath} has no sub_slab {sub_slab}")
    if datapath in "AD":
        return _iters([(128, 1, "TLane"), (cols, 1, "TCol")])
    if datapath in "BE":
        return _iters([(64, 1, "TLane"), (2, 64, "TLane"), (_part(cols, 2, datapath), 1, "TCol")])
    if datapath == "G":
        return _iters([(32, 1, "TLane"), (4, 32, "TLane"), (_part(cols, 4, datapath), 1, "TCol")])
    shard = [(4, 32, "TLane"), (16, 1, "TLane"), (cols, 1, "TCol")]
    return _iters(shard, offset={"TLane": 16} if sub_slab else None)


def _part(cols: int, by: int, datapath: str) -> int:
    if cols % by:
        raise LayoutError(f"datapath {datapath} needs columns in multiples of {by}, not {cols}")
    return cols // by


def _iters(
    shard: Sequence[tuple[int, int, str]],
    replica: Sequence[tuple[int, int, str]] = (),
    offset: dict[str, int] | None = None,
) -> TileLayout:
    return TileLayout.from_iters([Iter(*item) for item in shard], [Iter(*item) for item in replica], offset)


def mma_datapath(M: int, cta_group: int, ws: bool = False) -> str:
    """The datapath letter of a dense tcgen05.mma: D, F, E (`.ws`), A or B.

    >>> mma_datapath(128, 2)
    'B'
    """
    letter = {(128, 1): "D", (64, 1): "E" if ws else "F", (256, 2): "A", (128, 2): "B"}.get((M, cta_group))
    if letter is None or (ws and (M, cta_group) != (64, 1)):
        raise LayoutError(f"no datapath for M={M}, cta_group={cta_group}{', ws' if ws else ''}")
    return letter


def tmem_mma_operand_layout(
    operand: str,
    shape: Sequence[int],
    dtype: str,
    *,
    M: int,
    cta_group: int,
    ws: bool = False,
    sparse: bool = False,
    group: Sequence[int] | None = None,
) -> TileLayout:
    """Where operand "D" (accumulator) or "A" of a tcgen05.mma lies in TMEM; canonical form.

    Rows are M/cta_group. D is (m, N), for the two-lane-window datapaths B and E also (2, m, n), (m, 2, n),
    (m, s, 2, n) or (m, N) with group=(s, 2, n). A is (m, K), on B copied to both lane windows or given as (2,
    m, K), on E only the latter. `dtype` does not matter (columns count elements).

    >>> print(tmem_mma_operand_layout("A", (64, 32), "f16", M=128, cta_group=2))
    S[(64,32):(1@TLane,1@TCol)] + R[2:64@TLane]
    """
    del dtype
    if sparse:
        raise LayoutError("sparse products have no operand layout here")
    letter = mma_datapath(M, cta_group, ws)
    m = M // cta_group
    sizes = tuple(int(n) for n in shape)
    if operand == "D":
        return canonicalize(_accumulator(letter, m, sizes, group))
    if operand != "A":
        raise LayoutError(f"operand {operand!r} does not lie in TMEM; known are 'D' and 'A'")
    if letter in "BE" and len(sizes) == 3 and sizes[:2] == (2, m):
        return canonicalize(_iters([(2, 64, "TLane"), (m, 1, "TLane"), (sizes[2], 1, "TCol")]))
    if len(sizes) != 2 or sizes[0] != m or letter == "E":
        raise LayoutError(f"operand A of datapath {letter} cannot have shape {sizes}; rows are {m}")
    copies = [(2, 64, "TLane")] if letter == "B" else []
    return canonicalize(_iters([(m, 1, "TLane"), (sizes[1], 1, "TCol")], copies))


def _accumulator(letter: str, m: int, sizes: tuple[int, ...], group: Sequence[int] | None) -> TileLayout:
    if letter in "BE" and group is not None:
        parts = tuple(int(n) for n in group)
        if len(sizes) == 2 and sizes[0] == m and len(parts) == 3 and parts[1] == 2:
            s, _, n = parts
            if s * 2 * n == sizes[1]:
                return _windows(m, s, n)
        raise LayoutError(
            f"group {parts} must be (s, 2, n) with s*2*n columns, for shape {sizes} of {m} rows"
        )
    if letter in "BE" and len(sizes) == 3 and sizes[:2] == (2, m):
        return _iters([(2, 64, "TLane"), (m, 1, "TLane"), (sizes[2], 1, "TCol")])
    if letter in "BE" and len(sizes) == 3 and sizes[:2] == (m, 2):
        return _iters([(m, 1, "TLane"), (2, 64, "TLane"), (sizes[2], 1, "TCol")])
    if letter in "BE" and len(sizes) == 4 and sizes[0] == m and sizes[2] == 2:
        return _windows(m, sizes[1], sizes[3])
    if len(sizes) != 2 or sizes[0] != m or group is not None:
        raise LayoutError(f"the accumulator of datapath {letter} has {m} rows; shape {sizes} does not fit")
    return tmem_datapath_layout(letter, m, sizes[1])


def _windows(m: int, s: int, n: int) -> TileLayout:
    return _iters([(m, 1, "TLane"), (s, n, "TCol"), (2, 64, "TLane"), (n, 1, "TCol")])


def wg_local_layout(cols: int, rows: int = 128) -> TileLayout:
    """A warpgroup's register tile with one row a thread: S[(rows, cols):(1@tid_in_wg, 1)]."""
    return _iters([(rows, 1, "tid_in_wg"), (cols, 1, "m")])


# instruction shape -> (columns a 32-bit register covers per repeat, largest repeat)
_ATOMS = {"32x32b": (1, 128), "16x64b": (2, 128), "16x128b": (4, 64), "16x256b": (8, 32)}


def tcgen05_atom_layout(instr_shape: str, tensor_shape: Sequence[int], dtype: str) -> TileLayout:
    """The register fragment of a `tcgen05.ld`/`st` of a shape such as "16x256b", over the warps of a warpgroup.

    Args:
        instr_shape: "32x32b", "16x64b", "16x128b" or "16x256b".
        tensor_shape: (rows, columns); rows 64 or 128, columns such that the repeat is an allowed power of
        two.
        dtype: any type of 16 or 32 bits; 16-bit types put two neighbouring columns into one register.

    `m` counts elements of the thread's registers.

    >>> print(tcgen05_atom_layout("16x256b", (64, 8), "f32"))
    S[(4,2,8,1,4,2):(1@wid_in_wg,2,4@laneid,4,1@laneid,1)]
    """
    if instr_shape not in _ATOMS:
        raise LayoutError(f"unknown tcgen05 shape {instr_shape!r}; known are {', '.join(_ATOMS)}")
    sizes = tuple(int(n) for n in tensor_shape)
    bits = dtype_bits(lane_type(dtype))
    if len(sizes) != 2 or sizes[0] not in (64, 128):
        raise LayoutError(f"{instr_shape} moves (64 or 128) x columns, not {sizes}")
    if bits not in (16, 32):
        raise LayoutError(f"{instr_shape} moves elements of 16 or 32 bits, {dtype} has {bits}")
    rows, cols = sizes
    factor, largest = _ATOMS[instr_shape]
    narrow = 32 // bits
    unit = factor * narrow
    if instr_shape == "32x32b" and rows == 64:
        if narrow != 1 or cols % 2:
            raise LayoutError("32x32b on 64 rows needs 32-bit elements and an even number of columns")
        _repeat(cols // 2, largest, instr_shape, sizes)
        return _iters([(64, 1, "tid_in_wg"), (2, 64, "tid_in_wg"), (cols // 2, 1, "m")])
    if cols % unit:
        raise LayoutError(f"{instr_shape} of {dtype} needs columns in multiples of {unit}, not {cols}")
    repeat = _repeat(cols // unit, largest, instr_shape, sizes)
    if instr_shape == "32x32b":
        return _iters([(128, 1, "tid_in_wg"), (cols, 1, "m")])
    return _iters(_atom_iters(instr_shape, rows, repeat, narrow))


def _repeat(number: int, largest: int, instr_shape: str, sizes: tuple[int, ...]) -> int:
    if not 1 <= number <= largest or number & (number - 1):
        raise LayoutError(
            f"{instr_shape} repeats 1 to {largest} times, a power of two; {sizes} would need {number}"
        )
    return number


def _atom_iters(instr_shape: str, rows: int, repeat: int, narrow: int) -> list[tuple[int, int, str]]:
    head = [(4, 1, "wid_in_wg")]
    lane = "laneid"
    if instr_shape == "16x64b":
        registers = repeat
        body = [(2, 1, lane), (8, 4, lane), (repeat, 1, "m"), (2, 2, lane)]
    elif instr_shape == "16x128b":
        registers = 2 * repeat
        body = [(2, 1, "m"), (8, 4, lane), (repeat, 2, "m"), (4, 1, lane)]
    else:
        registers = 4 * repeat
        body = [(2, 2, "m"), (8, 4, lane), (repeat, 4, "m"), (4, 1, lane), (2, 1, "m")]
    if rows == 128:
        head.append((2, registers, "m"))
    items = head + body
    if narrow == 1:
        return items
    scaled = [(n, step * narrow if axis == "m" else step, axis) for n, step, axis in items]
    return [*scaled, (narrow, 1, "m")]


def tmem_columns(layout: TileLayout, dtype: str | int) -> int:
    """32-bit hardware columns that a layout takes: span on TCol times element bits over 32, which must be whole.

    >>> tmem_columns(tmem_datapath_layout("D", 128, 256), "f16")
    128
    """
    bits = dtype_bits(dtype) if isinstance(dtype, str) else dtype
    total = layout.span("TCol") * bits
    if total % 32:
        raise LayoutError(f"{layout.span('TCol')} elements of {bits} bits do not fill whole 32-bit columns")
    return total // 32
