"""Lane expressions: a small arithmetic language over whole arrays, without `eval`.

`[lane % 8, 8 * step]` says which element every lane of a warp touches. The text is parsed by Python's own
parser and walked by hand: only integer literals, the names that the caller gives, the operators below and
a few functions exist; everything else is refused with a caret at the place.

    + - * // % & | ^ << >> ~    == != < <= > >=    and or not    a if c else b    min max abs

>>> import numpy as np
>>> evaluate("lane % 8 + 2 * step", {"lane": np.arange(4), "step": 5}).tolist()
[10, 11, 12, 13]
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ExpressionError

IntArray = NDArray[np.int64]

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: np.positive,
    ast.USub: np.negative,
    ast.Invert: np.invert,
}
_LIMIT = 1 << 48
_MAX_LENGTH = 2000
_MAX_DEPTH = 60


def evaluate(text: str, names: Mapping[str, Any]) -> IntArray:
    """The value of one expression as an int64 array; the arrays in `names` broadcast against each other.

    Raises `ExpressionError` (text, position) for a forbidden name or construct, a division by zero, a
    negative shift or a value beyond 2**48.

    >>> int(evaluate("addr ^ (((addr % 1024) >> 7) << 4)", {"addr": 130}))
    146
    """
    return _value(_parse(text), text, names, 0)


def evaluate_vector(text: str, names: Mapping[str, Any]) -> tuple[IntArray, ...]:
    """The items of a bracketed list of expressions, such as `[lane % 8, 8 * step]`, one array each.

    A text without brackets is a list of one.
    """
    tree = _parse(text)
    items = tree.elts if isinstance(tree, ast.List | ast.Tuple) else [tree]
    if not items:
        raise ExpressionError("an empty list names no coordinate; write [row, column]", text, 0)
    return tuple(_value(item, text, names, 0) for item in items)


def _parse(text: str) -> ast.expr:
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(
            f"an expression of {len(text)} characters; at most {_MAX_LENGTH}", text[:40] + "...", 0
        )
    try:
        with warnings.catch_warnings():  # the parser's advice to writers of Python is none to the user here
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        position = max((error.offset or 1) - 1, 0)
        raise ExpressionError(f"not an expression: {error.msg}", text.strip(), position) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not an expression: {error}", text.strip(), 0) from None


def _value(node: ast.expr, text: str, names: Mapping[str, Any], depth: int) -> IntArray:
    def refuse(message: str) -> ExpressionError:
        # The parser counts bytes, a caret signs.
        before = text.strip().encode()[: getattr(node, "col_offset", 0)]
        return ExpressionError(message, text.strip(), len(before.decode(errors="ignore")))

    if depth > _MAX_DEPTH:
        raise refuse(f"nested deeper than {_MAX_DEPTH} levels")

    def walk(child: ast.expr) -> IntArray:
        return _value(child, text, names, depth + 1)

    match node:
        case ast.Constant(value=value) if isinstance(value, int):
            if abs(int(value)) > _LIMIT:
                raise refuse("a number beyond 2**48, further than any memory here")
            return np.asarray(int(value), dtype=np.int64)
        case ast.Name(id=name):
            if name not in names:
                raise refuse(f"name '{name}' is not allowed here; known: {', '.join(sorted(names))}")
            return np.asarray(names[name], dtype=np.int64)
        case ast.BinOp(op=op, left=left, right=right):
            return _binary(op, walk(left), walk(right), refuse)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return (walk(operand) == 0).astype(np.int64)
        case ast.UnaryOp(op=op, operand=operand):
            return np.asarray(_UNARY[type(op)](walk(operand)), dtype=np.int64)
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [walk(left), *(walk(other) for other in others)]
            if any(type(op) not in _COMPARE for op in ops):
                raise refuse("only == != < <= > >= compare here")
            tests = (_COMPARE[type(op)](a, b) for op, a, b in zip(ops, values, values[1:], strict=False))
            return np.asarray(reduce(np.logical_and, tests), dtype=np.int64)
        case ast.BoolOp(op=op, values=parts):
            join = np.logical_and if isinstance(op, ast.And) else np.logical_or
            return np.asarray(reduce(join, [walk(part) != 0 for part in parts]), dtype=np.int64)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return np.where(walk(test) != 0, walk(body), walk(orelse)).astype(np.int64)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
            name in ("min", "max") and arguments
        ):
            fold = np.minimum if name == "min" else np.maximum
            return np.asarray(reduce(fold, [walk(argument) for argument in arguments]), dtype=np.int64)
        case ast.Call(func=ast.Name(id="abs"), args=[argument], keywords=[]):
            return np.abs(walk(argument))
        case ast.Call():
            raise refuse(
                "a call of this function is not allowed here; there are min(a, b, ...), max(a, b, ...), abs(a)"
            )
        case _:
            raise refuse(
                f"{_spoken(node)} is not allowed here; use integers, names and + - * // % & | ^ << >>"
            )


def _binary(
    op: ast.operator, left: IntArray, right: IntArray, refuse: Callable[[str], ExpressionError]
) -> IntArray:
    if isinstance(op, ast.Div):
        raise refuse("'/' gives fractions; write // for a whole quotient")
    if type(op) not in _BINARY:
        raise refuse(f"operator {_spoken(op)} is not allowed here; use + - * // % & | ^ << >>")
    if isinstance(op, ast.FloorDiv | ast.Mod) and np.any(right == 0):
        raise refuse("division by zero")
    if isinstance(op, ast.LShift | ast.RShift) and (np.any(right < 0) or np.any(right > 48)):
        raise refuse("a shift by less than 0 or more than 48 bits")
    if isinstance(op, ast.Mult | ast.LShift):
        # Both operands are within 2**48, so a float product tells an overflow before int64 wraps.
        factor = np.exp2(right.astype(np.float64)) if isinstance(op, ast.LShift) else right.astype(np.float64)
        if np.any(np.abs(left.astype(np.float64) * factor) > _LIMIT):
            raise refuse("a value beyond 2**48, further than any memory here")
    value = np.asarray(_BINARY[type(op)](left, right), dtype=np.int64)
    if np.any(np.abs(value) > _LIMIT):
        raise refuse("a value beyond 2**48, further than any memory here")
    return value


def _spoken(node: ast.AST) -> str:
    names = {
        "Attribute": "an attribute ('.')",
        "Subscript": "indexing",
        "Lambda": "a lambda",
        "Pow": "'**'",
        "MatMult": "'@'",
        "Constant": "this literal",
        "List": "a list",
        "Tuple": "a tuple",
    }
    kind = type(node).__name__
    return names.get(kind, f"'{kind}'")
