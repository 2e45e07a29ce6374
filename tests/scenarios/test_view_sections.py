"""What `bankbench view` finds in a scenario: shared memory, registers, tensor memory, Ascend's buffers."""

from __future__ import annotations

from pathlib import Path

import pytest
from bankbench.scenarios.cli.app import build
from bankbench.scenarios.errors import ScenarioError
from bankbench.scenarios.view import view_description
from typer.testing import CliRunner


def test_registers_of_an_access_stand_beside_the_buffers() -> None:
    page = view_description("mma-fragment-store")
    names = {buffer["name"]: buffer for buffer in page["buffers"]}
    assert names["plain"]["memory"] == "shared"
    registers = names["registers of fragment, pitch 64"]
    assert registers["memory"] == "fragment"
    assert registers["variants"]["f32|none"]["layout"]["shape"] == [16, 8]
    assert page["memories"]["fragment"]["threads"]["warpid"] == 32


def test_tensor_memory_has_its_columns_and_copies() -> None:
    page = view_description("tmem-pair-layout-b")
    a = next(buffer for buffer in page["buffers"] if buffer["name"] == "a")
    assert a["memory"] == "tmem"
    layout = a["variants"]["f16|none"]["layout"]
    assert layout["offset"] == {"TCol": 256}  # column 128 in elements of 16 bits
    assert layout["replicas"] == [[2, 64, "TLane"]]


def test_ascend_tiles_lie_in_fractals_or_bank_groups() -> None:
    page = view_description("ascend-matmul-910b")
    assert {buffer["memory"] for buffer in page["buffers"]} == {"fractal"}
    vector = view_description("ascend-vector-add")
    assert vector["buffers"][0]["memory"] == "ub ascend910b"
    assert vector["memories"]["ub ascend910b"]["groups"] == 16


def test_a_fragment_by_the_name_of_its_instruction() -> None:
    (buffer,) = view_description("mma.m16n8k16.C", dtype="f32")["buffers"]
    assert buffer["memory"] == "fragment"
    assert buffer["variants"]["f32|none"]["text"] == "S[(2,8,4,2):(2,4@laneid,1@laneid,1)]"


def test_choices_that_are_not_possible_carry_their_reason() -> None:
    (buffer,) = view_description("S[(9,48):(48,1)]")["buffers"]
    assert "multiple" in buffer["variants"]["f16|128B"]["error"]
    page = view_description("S[(8,64):(64,1)]")
    wide = next(access for access in page["accesses"] if access["name"] == "load rows, 16 bytes a lane")
    assert wide["results"]["f16|128B"]["instructions"][0]["excess"] == 0
    assert "error" in wide["results"]["f32|none"] or wide["results"]["f32|none"]["instructions"]


def test_counts_are_those_of_the_model() -> None:
    page = view_description("ldmatrix-swizzles")
    by_name = {access["name"]: access for access in page["accesses"]}
    plain = by_name["no swizzle"]["results"]["f16|none"]["instructions"][0]
    assert (plain["wavefronts"], plain["ideal"], plain["excess"], plain["status"]) == (32, 4, 28, "measured")
    assert [phase["wavefronts"] for phase in plain["phases"]] == [8, 8, 8, 8]
    assert plain["phases"][0]["conflicts"][0][:2] == [0, 8]
    fixed = by_name["no swizzle"]["results"]["f16|128B"]["instructions"][0]
    assert fixed["excess"] == 0


def test_a_scenario_without_layouts_says_so() -> None:
    with pytest.raises(ScenarioError, match="places no layout"):
        view_description("tmem-allocation")


def test_the_command_writes_one_file(tmp_path: Path) -> None:
    runner, app = CliRunner(), build("view")
    target = tmp_path / "deep" / "page.html"
    done = runner.invoke(app, ["view", "S[(8,64):(64,1)]", "--swizzle", "128B", "--out", str(target)])
    assert done.exit_code == 0
    assert done.stdout.strip() == str(target)
    text = target.read_text(encoding="utf-8")
    assert "bankbench view &#39;S[(8,64):(64,1)]&#39; --swizzle 128B" in text
    assert [path.name for path in target.parent.iterdir()] == ["page.html"]
    (tmp_path / "file").write_text("")
    bad = runner.invoke(app, ["view", "S[(8,64):(64,1)]", "--out", str(tmp_path / "file" / "x.html")])
    assert bad.exit_code == 2
    assert runner.invoke(app, ["view", "S[(8,64:(64,1)]"]).exit_code == 2
