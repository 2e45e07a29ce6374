"""How people spell shared-memory instructions: short names, PTX, SASS and CUDA."""

from __future__ import annotations

from functools import lru_cache

from .errors import AccessError
from .ops import OPERATIONS, Operation, find_operation

__all__ = ["parse_op"]

_OTHER = ("and", "dec", "inc", "max", "min", "minmax", "or", "other", "xor")
_INTEGERS = {f"{sign}{bits}": bits // 8 for sign in "bus" for bits in (8, 16, 32, 64, 128)}
_FLOATS = {"f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4, "f32": 4, "f64": 8, "float": 4, "double": 8}
_TYPES = _INTEGERS | _FLOATS
_BITS = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
# Words that change neither the addresses nor the way of being served.
_NOISE = frozenset(
    [
        "shared",
        "shared::cta",
        "sync",
        "aligned",
        "volatile",
        "relaxed",
        "weak",
        "acquire",
        "release",
        "acq_rel",
    ]
    # (of SASS from "u" on)
).union(["cta", "gpu", "cluster", "sys", "m8n8", "m88", "u", "cast", "spin", "popc", "e", "noftz"])


@lru_cache(maxsize=4096)
def parse_op(op: str, width: int | None = None, variant: str | None = None) -> Operation:
    """The operation that a spelling means.

    Read in any case: short names (`lds`, `lds.128`, `ldmatrix.x4`), PTX (`ld.shared.v4.f32`,
    `ldmatrix.sync.aligned.m8n8.x4.shared.b16`, `atom.shared.add.u32`), SASS (`LDS.U8`, `STS.64`,
    `LDSM.16.MT88.4`, `ATOMS.ADD`) and CUDA (`atomicAdd`). `width` (bytes a lane) and `variant` may add what
    the spelling leaves open; a width that contradicts it is an error. What is left open is 4 bytes, and x1.

    Raises AccessError.

    >>> parse_op("ld.shared.v4.b32").name, parse_op("LDSM.16.MT88.4").name, parse_op("lds", 8).name
    ('lds.128', 'ldmatrix.x4.trans', 'lds.64')
    """
    text = f"{op}.{variant}" if variant else op
    words = [word for word in text.strip().lower().replace(" ", ".").split(".") if word]
    head = words[0] if words else ""
    rest = [word for word in words[1:] if word not in _NOISE]
    if head in ("lds", "ld"):
        return _plain(text, "lds", rest, width)
    if head in ("sts", "st"):
        return _plain(text, "sts", rest, width)
    if head in ("ldmatrix", "ldsm", "stmatrix", "stsm"):
        return _matrix(text, head[:2] + "matrix", rest, width)
    if head in ("atoms", "atom", "red"):
        return _atomic(text, rest, width, returns="red" not in words)
    if head.startswith("atomic"):
        name = head.removeprefix("atomic").replace("(", ".").replace(")", "")
        return _atomic(text, [*name.split("."), *rest], width, returns=True)
    raise AccessError(
        f"unknown operation {op!r}: lds, sts, ldmatrix, stmatrix, atoms, or a PTX, SASS or CUDA name of these"
    )


def _plain(text: str, op: str, words: list[str], width: int | None) -> Operation:
    vector, size = 1, None
    for word in words:
        if word in ("v2", "v4"):
            vector = int(word[1])
        elif word in _TYPES or word in _BITS:
            size = _TYPES.get(word) or _BITS[word]
        else:
            raise AccessError(
                f"operation {text!r}: {word!r} is not known in a load or store of shared memory"
            )
    spelled = vector * (size or 4) if size or vector > 1 else None
    return _sized(text, op, spelled, width, None)


def _matrix(text: str, op: str, words: list[str], width: int | None) -> Operation:
    count, trans = "x1", ""
    for word in words:
        if word in ("x1", "x2", "x4", "1", "2", "4"):
            count = f"x{word[-1]}"
        elif word in ("trans", "mt88"):
            trans = ".trans"
        elif word not in ("16", "b16"):
            raise AccessError(
                f"operation {text!r}: {word!r} is not known (x1, x2, x4, trans of 8x8 matrices of b16)"
            )
    return _sized(text, op, 16, width, count + trans)


def _atomic(text: str, words: list[str], width: int | None, returns: bool) -> Operation:
    types = [word for word in words if word in _TYPES or word in _BITS]
    what = ["add" if word == "sub" else word for word in words if word not in (*types, "red", "atom")]
    if len(what) != 1 or what[0] not in ("add", "exch", "cas", *_OTHER):
        raise AccessError(
            f"operation {text!r}: one of add, exch, cas, {', '.join(_OTHER)} has to be named"
            " (for instance op atoms with variant red.add.u32)"
        )
    sizes = [_TYPES.get(word) or _BITS[word] for word in types]
    size = sizes[-1] if sizes else None
    known = size or width or 4
    kind = types[-1] if types and types[-1] in _FLOATS else "bits"
    if known not in (4, 8) or kind in ("f16", "bf16"):
        raise AccessError(
            f"operation {text!r}: atomics of u32, b32, f32, f16x2, bf16x2 and 64 bits are known, not this one"
        )
    if kind != "bits" and what[0] != "add":
        raise AccessError(f"operation {text!r}: of floating-point numbers only add is an instruction")
    if known == 8 and what[0] in ("inc", "dec"):
        raise AccessError(f"operation {text!r}: {what[0]} is an instruction for 32 bits only")
    return _sized(text, "atoms", size, width, _atomic_variant(what[0], known, kind, returns))


def _atomic_variant(what: str, size: int, kind: str, returns: bool) -> str:
    start, bits = "atom" if returns else "red", f"b{8 * size}"
    if what in ("cas", "exch"):
        return f"atom.{what}.{bits}"
    if what == "add":
        integer, floating = ("u32", "f32") if size == 4 else ("u64", "f64")
        if kind == "bits":
            return f"{start}.add.{integer}"
        return f"{start}.add.{kind if kind.endswith('x2') else floating}"
    if size == 8 and what in ("min", "max", "minmax"):
        return f"{start}.minmax.b64"
    return f"{start}.other.{bits}"


def _sized(text: str, op: str, spelled: int | None, width: int | None, variant: str | None) -> Operation:
    if spelled is not None and width is not None and spelled != width:
        raise AccessError(f"operation {text!r} accesses {spelled} bytes a lane, width says {width}")
    size = spelled or width
    if size is None:
        size = 8 if variant is not None and variant.endswith("64") else 4
    found = find_operation(op, size, variant)
    if found is None:
        widths = sorted({kind.width for kind in OPERATIONS if kind.op == op and kind.variant == variant})
        raise AccessError(f"operation {text!r}: a width of {size} bytes a lane is none of {widths}")
    return found
