"""A short run of the fuzzing harness in every test run, a longer one among the slow tests, and what fuzzing found."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from bankbench.layouts import LayoutError, parse
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.expressions import evaluate_vector
from bankbench.scenarios.offsets import read_offsets
from bankbench.scenarios.traces import replay
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_SPEC = importlib.util.spec_from_file_location(
    "bankbench_fuzz_harness", Path(__file__).with_name("harness.py")
)
assert _SPEC is not None
assert _SPEC.loader is not None
harness = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = harness
_SPEC.loader.exec_module(harness)


def fuzz(folder: Path, inputs: int, seed: int) -> None:
    report = harness.run(harness.targets(folder), inputs, seed)
    assert sum(report.inputs.values()) >= inputs * 0.99
    assert report.bad == []
    for name, count in report.inputs.items():
        assert report.accepted.get(name, 0) > 0, f"{name}: none of {count} inputs was read"


def test_some_inputs(tmp_path: Path) -> None:
    fuzz(tmp_path, 4000, 0)


@pytest.mark.slow
def test_many_inputs(tmp_path: Path) -> None:
    fuzz(
        tmp_path,
        int(os.environ.get("BANKBENCH_FUZZ_INPUTS", "60000")),
        int(os.environ.get("BANKBENCH_FUZZ_SEED", "1")),
    )


NESTED = st.recursive(
    st.integers(0, 2**40), lambda inner: st.lists(inner, min_size=1, max_size=4).map(tuple), max_leaves=8
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(NESTED)
def test_every_shape_prints_and_reads_back(shape) -> None:
    def show(value) -> str:
        return f"({','.join(map(show, value))})" if isinstance(value, tuple) else str(value)

    text = f"{show(shape)}:{show(shape)}"
    layout = parse(text, "cute")
    assert parse(str(layout), "cute") == layout


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_layout_or_an_error_with_a_place(text: str) -> None:
    found = layout_or_error(text)
    if isinstance(found, LayoutError):
        assert found.message
        assert found.position is None or 0 <= found.position <= len(text)
        assert found.caret().count("\n") <= 2
    else:
        assert parse(str(found), found.notation) == found


def layout_or_error(text: str):
    try:
        return parse(text)
    except LayoutError as error:
        return error


# What fuzzing found, each once a traceback.


@pytest.mark.parametrize(
    "text", ["zN(", "zN(100, ", "RowMajor(32,", "zN(100, 100, f16,", "zN(_\u00b2, 4, f16)"]
)
def test_cut_tags(text: str) -> None:
    with pytest.raises(LayoutError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "12:33333333333333333333",
        "((2,4),8):((99999999999999999999,16),2)",
        "S[(8, 64) : (64, 11111111111111111111)]",
        "S[(8):(4@laneid)] + 55555555555555555555@warpid",
        "(_8, 64):(64, _11111111111111111111)",
        "zN(_11111111111111111111, 4, f16)",
        "12:" + "9" * 5000,
    ],
)
def test_numbers_beyond_64_bits(text: str) -> None:
    with pytest.raises(LayoutError, match="digits; at most 18"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000,
        "Sw<3,3,3> o " + "(" * 3000,
        "(_8," + "(" * 3000,
        "linear(offset=" + "[" * 3000,
        "slice(dim=0,parent=" * 900,
    ],
)
def test_nesting_without_end(text: str) -> None:
    with pytest.raises(LayoutError, match="nested deeper than 64"):
        parse(text)


@pytest.mark.parametrize("numbers", ["vec=8, perPhase=0, maxPhase=8", "vec=8, perPhase=1, maxPhase=0"])
def test_swizzles_without_phases(numbers: str) -> None:
    layout = parse(f"swizzled_shared({numbers}, order=[1,0], shape=[64,64])")
    with pytest.raises(LayoutError, match="all are at least 1"):
        layout.evaluate(0, 0)


def test_expressions_warn_nobody(recwarn: pytest.WarningsRecorder) -> None:
    evaluate_vector("[1if lane else 2]", {"lane": np.arange(4)})
    assert not recwarn.list


def test_stray_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_bytes(b"\r24,28\n")
    with pytest.raises(ScenarioError, match="no CSV"):
        read_offsets("o.csv", tmp_path)
    trace = tmp_path / "t.csv"
    trace.write_bytes(b"op\rx,offsets\nlds,0\n")
    with pytest.raises(ScenarioError, match="no header"):
        replay(trace)


def test_masks_beyond_32_bits(tmp_path: Path) -> None:
    for mask in (11111111111111111111, -1):
        (tmp_path / "o.jsonl").write_text(f'{{"offsets": [0, 4], "mask": {mask}}}\n')
        with pytest.raises(ScenarioError, match="32 bits"):
            read_offsets("o.jsonl", tmp_path)


def test_a_warp_of_twenty_digits(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("op,warp,offsets\nlds,0,0 4\nFFMA,11111111111111111111,\nlds,1,0 4\n")
    result = replay(trace)
    assert result.extra["totals"]["instructions"] == 2
    assert "too large" in result.extra["problems"][0]
