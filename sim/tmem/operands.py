"""What a tcgen05.mma keeps in tensor memory: accumulator, A, scale factors, sparsity metadata; cells and bytes of each.

An `Operand` is a layout over logical coordinates with element width, so that every question (which lane, which column,
which bits, how many copies) has one answer for all of them. The layouts come from `layouts/`; the ones that the TIRx
constructors do not have are written in the same notation here. Sources: PTX ISA 9.1, 9.7.16.10; CUTLASS' fragments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...layouts import IntArray, TileLayout
from ...layouts.scale_factors import sf_tmem_layout
from ...layouts.tmem_layouts import tmem_datapath_layout, tmem_mma_operand_layout
from ._tiles import iters, lanes_and_units, replica_lanes
from .errors import TmemError, TmemUnknown
from .mma import KINDS, SCALE_VECTORS, check_datapath_lane, datapath, mma_kind

__all__ = [
    "Cells",
    "Operand",
    "a_operand",
    "accumulator",
    "metadata",
    "scale_factors",
    "scale_ids",
    "tile_places",
]

CELL_BITS = 32
_ROWS = {"A": 128, "D": 128, "B": 64, "E": 64, "C": 64, "F": 64, "G": 32}


@dataclass(frozen=True, slots=True)
class Cells:
    """Places of all elements: `lanes` has one more axis than the others, over the copies of an element.

    `column` is the 32-bit hardware column, `bit` the first bit of the element inside it.
    """

    lanes: IntArray
    column: IntArray
    bit: IntArray


@dataclass(frozen=True, slots=True)
class Operand:
    """Something that lies in tensor memory: a layout, the logical shape, and the bits of an element.

    `layout` gives TLane, TCol in elements of `bits` bits. `lane` and `column` place the whole.
    """

    name: str
    layout: TileLayout
    shape: tuple[int, ...]
    bits: int
    lane: int = 0
    column: int = 0
    datapath: str = ""

    def cells(self) -> Cells:
        """Where every element lies, arrays of the logical shape."""
        lane, unit = lanes_and_units(self.layout, self.shape)
        column, bit = np.divmod(unit * self.bits, CELL_BITS)
        return Cells((lane + self.lane)[..., None] + replica_lanes(self.layout), column + self.column, bit)

    @property
    def replicas(self) -> int:
        """Copies of every element."""
        return len(replica_lanes(self.layout))

    @property
    def columns(self) -> int:
        """32-bit columns from the first to the last that it uses."""
        return -(-(self.layout.span("TCol") * self.bits) // CELL_BITS) if "TCol" in self.layout.axes else 1

    @property
    def lanes_used(self) -> int:
        """Number of lanes with an element in them."""
        return len(np.unique(self.cells().lanes))

    @property
    def elements(self) -> int:
        """Logical elements."""
        return int(np.prod(self.shape))

    @property
    def unique_bytes(self) -> int:
        """Bytes of the logical elements, each once."""
        return self.elements * self.bits // 8

    @property
    def written_bytes(self) -> int:
        """Bytes in tensor memory, every copy counted."""
        return self.unique_bytes * self.replicas

    @property
    def half_lanes(self) -> bool:
        """Whether it uses 16 of every 32 lanes, so that another may lie in the other half."""
        return self.datapath in ("C", "F")

    def at(self, column: int, lane: int = 0) -> Operand:
        """The same at another place."""
        return Operand(self.name, self.layout, self.shape, self.bits, lane, column, self.datapath)


def accumulator(
    M: int,
    N: int,
    cta_group: int = 1,
    *,
    ws: bool = False,
    sparse: bool = False,
    lane: int = 0,
    name: str = "D",
) -> Operand:
    """D of one block: rows M / cta_group by N. Every element takes a whole column, 16-bit ones too.

    >>> accumulator(64, 128, lane=16).cells().lanes[17, 0].tolist(), accumulator(128, 256, cta_group=2).columns
    ([49], 128)
    """
    letter = datapath(M, cta_group, ws, sparse)
    check_datapath_lane(letter, lane)
    rows = _ROWS[letter]
    split = {"B": 2, "E": 2, "G": 4}.get(letter, 1)
    if N < 1 or N % split:
        raise TmemError(f"an accumulator in layout {letter} needs N in multiples of {split}, not {N}")
    layout = tmem_datapath_layout(letter, rows, N)
    return Operand(name, layout, (rows, N), CELL_BITS, lane, 0, letter)


def a_operand(
    M: int, K: int, bits: int, cta_group: int = 1, *, ws: bool = False, lane: int = 0, name: str = "A"
) -> Operand:
    """A of one block in tensor memory: K-major and packed; on layout B every row lies in both lane halves.

    Raises TmemUnknown for .ws with M = 32 or 64, whose arrangement is only in a figure that is not available as text.

    >>> a_operand(128, 16, 16, cta_group=2).cells().lanes[3, 0].tolist()
    [3, 67]
    """
    letter = datapath(M, cta_group, ws)
    if letter in "EG":
        raise TmemUnknown(f"A in tensor memory for .ws with M = {M}: unknown (PTX shows it in a figure only)")
    check_datapath_lane(letter, lane)
    rows = M // cta_group
    if letter == "B":
        layout = tmem_mma_operand_layout("A", (rows, K), "f16", M=M, cta_group=cta_group)
    else:
        layout = tmem_datapath_layout(letter, rows, K)
    return Operand(name, layout, (rows, K), bits, lane, 0, letter)


def _vector(scale_vec: str | int) -> int:
    text = str(scale_vec).upper().removesuffix("X")
    if text not in ("1", "2", "4"):
        raise TmemError(f"scale vector {scale_vec!r}: 1X, 2X or 4X")
    return int(text)


def scale_factors(
    rows: int, k_steps: int, scale_vec: str | int, *, split: bool = False, name: str = "SF"
) -> Operand:
    """Scale factors of `rows` rows or columns for `k_steps` products: 8 bits each, visible to all four windows.

    Logical coordinates are (row, k_step * factors + factor). Four bytes of a row share a column, rows 32 apart lie in
    neighbouring columns, the next four bytes rows/32 columns further. `split` is SFB of a pair with M = 128, whose two
    lane halves need different columns of B: two copies each.

    >>> sf = scale_factors(128, 4, "1X")
    >>> cells = sf.cells()
    >>> sf.columns, cells.lanes[40, 2].tolist(), int(cells.column[40, 2]), int(cells.bit[40, 2])
    (4, [8, 40, 72, 104], 1, 16)
    """
    factors = _vector(scale_vec)
    half = rows // 2 if split else rows
    if rows <= 0 or half % 32:
        raise TmemError(f"scale factors come for multiples of {64 if split else 32} rows, not {rows}")
    if k_steps < 1:
        raise TmemError(f"{k_steps} products along K: one at least")
    words = -(-k_steps * factors // 4)
    if not split:
        layout = sf_tmem_layout(rows, 4 * words, factors)
    else:
        blocks = half // 32
        layout = iters(
            [
                (2, 64, "TLane"),
                (blocks, 4, "TCol"),
                (32, 1, "TLane"),
                (words, 4 * blocks, "TCol"),
                (4, 1, "TCol"),
            ],
            [(2, 32, "TLane")],
        )
    return Operand(name, layout, (rows, 4 * words), 8, datapath="B" if split else "")


def scale_columns(rows: int, k_steps: int, scale_vec: str | int, *, pad: int = 128) -> int:
    """Columns that kernels give scale factors: rows padded to 128, as the copy instruction moves them.

    >>> scale_columns(192, 4, "1X"), scale_columns(128, 4, "4X")
    (8, 16)
    """
    words = -(-k_steps * _vector(scale_vec) // 4)
    return -(-rows // pad) * (pad // 32) * words


def scale_ids(scale_vec: str | int, sf_id: int) -> tuple[int, ...]:
    """Bytes of the word that a product with this scale-factor id reads. Raises TmemError for an id that does not exist.

    >>> scale_ids("2X", 2)
    (2, 3)
    """
    factors = _vector(scale_vec)
    allowed = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}[factors]
    if sf_id not in allowed:
        raise TmemError(f"scale vector {factors}X has the ids {', '.join(map(str, allowed))}, not {sf_id}")
    return tuple(range(sf_id, sf_id + factors))


def scale_ids_k96(block: int, rows: int, sf_id: int) -> tuple[tuple[int, int], ...]:
    """(column offset, byte) of the scales of a product with K = 96: 3 in blocks of 32, 6 in blocks of 16.

    They start at byte `sf_id` and go on in the next word, 4 * ceil(rows / 128) columns further. The stride is known
    from one secondary source only.

    >>> scale_ids_k96(32, 128, 2)
    ((0, 2), (0, 3), (4, 0))
    """
    if block not in (16, 32):
        raise TmemError(f"scale blocks have 16 or 32 elements, not {block}")
    if not 0 <= sf_id <= 3:
        raise TmemError(f"scale-factor id {sf_id}: 0 to 3")
    if block == 16 and sf_id % 2:
        raise TmemError(f"blocks of 16 have the scale-factor ids 0 and 2, not {sf_id}")
    step = 4 * -(-rows // 128)
    places = range(sf_id, sf_id + 96 // block)
    return tuple((place // 4 * step, place % 4) for place in places)


_CODE_GROUP = {"f16": 4, "tf32": 2, "f8f6f4": 4, "i8": 4, "mxf8f6f4": 4, "mxf4": 8, "mxf4nvf4": 8}


def metadata(kind: str, M: int = 128, name: str = "E") -> Operand:
    """Sparsity metadata of one product for 128 rows a block: logical (row, group of K), a 4-bit code each.

    A group is 4 elements of K (2 for tf32, 8 for 4-bit kinds). Raises TmemUnknown for M = 64, which PTX shows in a
    figure only.

    >>> e = metadata("f16").cells()
    >>> e.lanes[17, 4].tolist(), int(e.bit[17, 4])
    ([25], 0)
    """
    item = mma_kind(kind)
    if M != 128:
        raise TmemUnknown(f"metadata for {M} rows a block: unknown (PTX shows it in a figure only)")
    groups = item.k_sparse // _CODE_GROUP[item.name]
    if item.container_bits >= 16:
        # 16 rows share 16 lanes: rows 8 to 15 in the upper half of the cells, the second half of K in lanes 8 to 15
        layout = iters(
            [(8, 16, "TLane"), (2, 4, "TCol"), (8, 1, "TLane"), (2, 8, "TLane"), (groups // 2, 1, "TCol")]
        )
    else:
        layout = iters([(128, 1, "TLane"), (groups, 1, "TCol")])
    return Operand(name, layout, (128, groups), 4)


def code_group(kind: str) -> int:
    """Elements of K that one 4-bit metadata code stands for."""
    return _CODE_GROUP[mma_kind(kind).name]


def tile_places(
    M: int, N: int, tiles: tuple[int, int], cta_group: int = 1, *, interleave: bool = True
) -> IntArray:
    """(lane, column) of each of tiles[0] x tiles[1] accumulators, shape (*tiles, 2).

    Half-lane tiles stack two and two at lane offset 16 along M when `interleave` is set; then tiles advance by their
    columns, along M first and along N after that, as CUTLASS' fragments do.

    >>> tile_places(64, 64, (2, 2)).tolist()
    [[[0, 0], [0, 64]], [[16, 0], [16, 64]]]
    """
    tile = accumulator(M, N, cta_group)
    rows, columns = np.ogrid[: tiles[0], : tiles[1]]
    stack = 2 if tile.half_lanes and interleave else 1
    lane = 16 * (rows % stack) + 0 * columns
    depth = -(-tiles[0] // stack)
    column = tile.columns * (rows // stack + depth * columns)
    return np.stack(np.broadcast_arrays(lane, column), axis=-1)


def valid_scale_vectors(kind: str) -> tuple[str, ...]:
    """Scale vectors of a block-scaled kind; () for the others."""
    return SCALE_VECTORS.get(mma_kind(kind).name, ())


assert set(_CODE_GROUP) == set(KINDS)
