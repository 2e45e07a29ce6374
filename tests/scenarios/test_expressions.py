"""Lane expressions: values against Python's own arithmetic, and everything that is refused."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from bankbench.scenarios.errors import ExpressionError
from bankbench.scenarios.expressions import evaluate, evaluate_vector
from hypothesis import given
from hypothesis import strategies as st

LANES = np.arange(32)


@pytest.mark.parametrize(
    "text",
    [
        "lane % 8",
        "8 * step + lane // 4",
        "lane ^ (lane >> 2) & 3",
        "(lane << 4) | 1",
        "-lane + 40",
        "~lane & 31",
        "lane if lane < 16 else 31 - lane",
        "min(lane, 7) + max(step, 2, lane // 2) + abs(lane - 16)",
        "(lane < 8) * 16 + (4 <= lane <= 9)",
        "(lane == 3 or lane == 5) and not step == 0",
    ],
)
def test_expressions_mean_what_python_means(text: str) -> None:
    found = np.broadcast_to(evaluate(text, {"lane": LANES, "step": 3}), 32)
    expected = [int(eval(text, {}, {"lane": lane, "step": 3})) for lane in range(32)]
    assert found.tolist() == expected


OPERATORS = st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^"])
TERMS = st.recursive(
    st.sampled_from(["lane", "step", "3", "17", "64"]),
    lambda inner: st.tuples(inner, OPERATORS, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=6,
)


@given(TERMS)
def test_random_expressions_mean_what_python_means(text: str) -> None:
    names = {"lane": 5, "step": 3}
    try:
        expected = eval(text, {}, names)
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="division by zero"):
            evaluate(text, names)
        return
    assert int(evaluate(text, names)) == expected


def test_a_list_has_one_item_a_coordinate() -> None:
    row, column = evaluate_vector("[lane % 8, 8 * step]", {"lane": LANES, "step": 2})
    assert row.tolist() == [lane % 8 for lane in range(32)]
    assert column == 16


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("lane % ban", "name 'ban' is not allowed here", 7),
        ("__import__('os').system('x')", "a call of this function", 0),
        ("lane.real", "an attribute", 0),
        ("lane / 2", "write // for a whole quotient", 0),
        ("lane ** 2", "is not allowed", 0),
        ("'text'", "this literal", 0),
        ("lane % 0", "division by zero", 0),
        ("lane << 60", "a shift by", 0),
        ("lane % (8", "not an expression", 7),
        ("1 << 47 << 47", "beyond 2\\*\\*48", 0),
        ("[1, [2]]", "a list", 4),
        ("", "not an expression", 0),
        ("lambda: 1", "a lambda", 0),
    ],
)
def test_what_is_refused_says_where(text: str, message: str, position: int) -> None:
    with pytest.raises(ExpressionError, match=message) as caught:
        evaluate_vector(text, {"lane": LANES})
    assert caught.value.position == position
    if text:
        assert caught.value.caret.splitlines()[1].index("^") == position + 2


@given(st.text(max_size=40))
def test_any_text_is_a_value_or_an_error(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        evaluate_vector(text, {"lane": LANES})
