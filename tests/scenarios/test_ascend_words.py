"""`bankbench ub`: operands in words."""

from __future__ import annotations

import json

import pytest
from bankbench.scenarios.ascend_words import scenario_of
from bankbench.scenarios.cli.app import build
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.load import loads
from typer.testing import CliRunner


def run(*words: str):
    return CliRunner().invoke(build("ub", "run"), ["ub", *words])


@pytest.mark.parametrize(
    ("words", "headline"),
    [
        (("dst", "0x1FE00", "stride", "16"), "8 cycles for 1 repeat + 22 overhead, 7 by conflicts"),
        (("dst", "0x1FE00", "stride", "8"), "4 cycles for 1 repeat + 22 overhead, 3 by conflicts"),
        (
            ("src 0 src 0x10100 dst 0x4020", "-r", "64"),
            "113 cycles for 64 repeats + 22 overhead, 49 by conflicts",
        ),
        (
            ("dst", "0x1FE00", "stride", "16", "--chip", "950"),
            "8 cycles for 1 repeat + 120 overhead, 7 by conflicts",
        ),
    ],
)
def test_the_answer_stands_in_the_first_line(words: tuple[str, ...], headline: str) -> None:
    found = run(*words, "--plain")
    assert found.exit_code == 0
    assert found.output.splitlines()[0].endswith(headline)


def test_one_address_on_two_generations() -> None:
    for chip, extra in (("a2", 0), ("950", 1)):
        found = run("src", "0x0", "dst", "0x10000", "--chip", chip, "--json")
        [row] = json.loads(found.output)["tables"]["vectors"]
        assert row["r-w"] == extra


def test_a_shared_start_bank_is_explained() -> None:
    found = run("src", "0x10020", "dst", "0x10E20", "--plain")
    assert "start in bank 17, but a write reaches it one repeat later" in " ".join(found.output.split())


def test_all_operands_reach_the_scenario() -> None:
    section = loads(
        scenario_of(["src 0 stride 0 repeat 1", "src:0x10100", "dst,0x10100"], "a2", 64)
    ).scenario.ascend
    assert section is not None
    [vector] = section.vectors
    strides = [(item.at, item.block_stride, item.repeat_stride) for item in (*vector.reads, *vector.writes)]
    assert strides == [(0, 0, 1), (0x10100, 1, 8), (0x10100, 1, 8)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dst", "0x1FE00", "strid", "8"], "'strid' is not understood"),
        (["stride", "8"], "'stride' is not understood"),
        (["dst"], "a number is missing behind 'dst'"),
        (["dst", "zero"], "'zero' behind 'dst' is no number"),
        ([], "no operand"),
    ],
)
def test_words_that_are_not_understood(words: list[str], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario_of(words, "a2")
