"""Element types by name and their widths in bits.

Widths follow the vendors' own names: PTX types (`f16`, `bf16`, `e4m3`, `b32`), NumPy and PyTorch spellings
(`float16`, `int8`), C names (`half`, `float`) and the narrow formats of block-scaled products (`e2m1`, `e8m0`).
`tf32` is stored in 32 bits; 6-bit formats are stored packed or in bytes by the instruction, here they count 6.
"""

from __future__ import annotations

from .protocol import LayoutError

_WIDTHS: dict[int, str] = {
    64: "f64 float64 double fp64 int64 i64 s64 uint64 u64 b64 long",
    32: "f32 float32 float fp32 tf32 int32 i32 s32 int uint32 u32 b32 f16x2 float16x2 bf16x2 half2 bfloat16x2",
    16: "f16 float16 half fp16 bf16 bfloat16 int16 i16 s16 short uint16 u16 b16 e4m3x2 e5m2x2",
    8: "fp8 f8 e4m3 e5m2 e8m0 e4m3fn e5m2fnuz e4m3fnuz e8m0fnu ue8m0 ue4m3 fp8_e4m3 fp8_e5m2 fp8_e8m0 "
    "float8_e4m3 float8_e4m3fn float8_e5m2 float8_e8m0 float8_e8m0fnu f8e4m3 f8e5m2 f8e8m0 "
    "int8 i8 s8 char uint8 u8 b8 byte bool",
    6: "fp6 f6 e2m3 e3m2 float6_e2m3 float6_e2m3fn float6_e3m2 float6_e3m2fn fp6_e2m3 fp6_e3m2",
    4: "fp4 f4 e2m1 e1m2 fp4_e2m1 fp4_e1m2 float4_e2m1 float4_e2m1fn float4_e2m1fn_x1 int4 int4b i4 s4 uint4 u4 b4 "
    "nf4",
    2: "int2 i2 s2 uint2 u2 b2",
    1: "b1 u1 int1 uint1",
    128: "b128 f32x4 float4 uint4x32 int128 uint128 u128 s128",
}
_BITS: dict[str, int] = {name: bits for bits, names in _WIDTHS.items() for name in names.split()}


def dtype_bits(name: str) -> int:
    """Width of an element type in bits.

    Raises LayoutError for an unknown name, with the closest known ones. Source: the PTX ISA's table of fundamental
    and alternate types and the C++ names of the vendors' headers.

    >>> dtype_bits("f16"), dtype_bits("e2m1"), dtype_bits("float32"), dtype_bits("e8m0")
    (16, 4, 32, 8)
    """
    key = name.strip().lower().removeprefix(".").removesuffix("_t")
    bits = _BITS.get(key)
    if bits is None:
        from difflib import get_close_matches

        near = get_close_matches(key, _BITS, n=4) or ["f32", "f16", "e4m3", "int8"]
        raise LayoutError(f"unknown dtype {name!r}; known ones are for example {', '.join(near)}")
    return bits


def dtype_bytes(name: str) -> int:
    """Width of an element type in whole bytes; LayoutError for the ones narrower than a byte or not whole.

    >>> dtype_bytes("bf16")
    2
    """
    bits = dtype_bits(name)
    if bits % 8:
        raise LayoutError(f"dtype {name!r} takes {bits} bits, which is not a whole number of bytes")
    return bits // 8


def lane_type(name: str) -> str:
    """The element of a vector type: "float16" of "float16x2"; any other name as it is."""
    head, _, count = name.rpartition("x")
    return head if head and count.isdigit() else name


def dtype_names() -> tuple[str, ...]:
    """All names that `dtype_bits` knows, in order of width and listing."""
    return tuple(_BITS)
