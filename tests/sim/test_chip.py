"""Chip files: every figure with unit, source and confidence, and errors that say where."""

from __future__ import annotations

import pickle

import pytest
from bankbench.sim import ChipError, chip_names, count, load_chip
from bankbench.sim.chip import CONFIDENCES

HEAD = "name: mine\ntitle: Mine\narch: sm_90\n"


@pytest.fixture
def chip_file(tmp_path):
    def write(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("name", chip_names())
def test_every_figure_says_where_it_comes_from(name):
    chip = load_chip(name)
    assert chip.name == name
    assert chip.constants
    for path, constant in chip.constants.items():
        assert constant.path == path
        assert constant.unit, path
        assert constant.source, path
        assert constant.confidence in CONFIDENCES
        assert (constant.value is None) == (constant.confidence == "unknown"), path
        if constant.confidence in ("assumed", "unknown"):
            assert constant.note or constant.value is not None, f"{path}: nobody knows why"


def test_names_and_aliases_are_unique():
    names = list(chip_names())
    for name in chip_names():
        names += [alias.lower() for alias in load_chip(name).aliases]
    assert len(names) == len(set(names))
    assert "_nvidia" not in names


@pytest.mark.parametrize(
    ("alias", "name"),
    [("sm_90", "h200"), ("Hopper", "h200"), ("sm_100", "b200"), ("blackwell", "b200"), ("sm_75", "t4")],
)
def test_aliases(alias, name):
    assert load_chip(alias) is load_chip(alias)
    assert load_chip(alias).name == name


def test_h200():
    chip = load_chip("h200")
    banks = chip.constant("shared_memory.banks")
    assert (banks.value, banks.unit, banks.confidence) == (32, "banks", "measured")
    assert "counters" in banks.source
    assert chip["shared_memory.max_bytes_per_block"] == 227 * 1024
    assert chip["shared_memory.merge_distances"] == (1, 2)
    assert chip.has("sm.count")
    assert not chip.has("sm.counts")
    assert {constant.path for constant in chip.under("shared_memory.matrix")} == {
        "shared_memory.matrix.load",
        "shared_memory.matrix.store",
    }


def test_inherited_figures_lose_their_confidence():
    b200 = load_chip("b200").constant("shared_memory.merge_distances")
    assert b200.confidence == "assumed"
    assert b200.source.startswith("h200: ")
    assert not load_chip("a100").has("shared_memory.latency.chain.load_narrow")


def test_override_says_so():
    chip = load_chip("h200")
    wide = chip.override({"shared_memory.banks": 64})
    assert (chip["shared_memory.banks"], wide["shared_memory.banks"]) == (32, 64)
    assert wide.constant("shared_memory.banks").overridden
    assert wide != chip
    assert wide == chip.override({"shared_memory.banks": 64})
    assert chip.override({}) is chip
    counts = count([128 * lane for lane in range(32)], chip=wide)
    assert int(counts.wavefronts[0]) == 16
    assert counts.status == "assumed"
    assert counts.assumptions == (
        "shared_memory.banks = 64 banks (set by the user; the file of h200 says 32)",
    )


def test_other_banks_say_that_groups_of_lanes_stayed():
    wide = load_chip("h200").override({"shared_memory.banks": 64})
    quads = [16 * lane for lane in range(32)]
    counts = count(quads, "lds.128", chip=wide)
    assert (int(counts.wavefronts[0]), len(counts.assumptions)) == (4, 2)
    assert counts.assumptions[1] == (
        "lds.128 is still served in groups of 8 lanes; set shared_memory.group_lanes.load_16 to change that"
    )
    both = wide.override({"shared_memory.group_lanes.load_16": 16})
    counts = count(quads, "lds.128", chip=both)
    assert int(counts.wavefronts[0]) == 2
    assert "still served" not in " ".join(counts.assumptions)


def test_overriding_an_unknown_figure_makes_it_an_assumption():
    chip = load_chip("gfx942")
    known = chip.override(
        {"shared_memory.group_lanes.narrow": 32, "shared_memory.merge_distances": [1], "sm.warp_lanes": 32}
    )
    assert count([0, 128], chip=known).status == "assumed"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"shared_memory.bank": 64}, "did you mean shared_memory.banks"),
        ({"shared_memory.banks": "many"}, "'many' is text, a number is needed (banks)"),
        ({"shared_memory.matrix.load": 1}, "1 is a number, true or false is needed"),
        ({"shared_memory.merge_distances": 1}, "1 is a number, a list is needed"),
        ({"shared_memory.banks": float("nan")}, "nan is no number to count with"),
    ],
)
def test_wrong_overrides(values, words):
    with pytest.raises(ChipError) as caught:
        load_chip("h200").override(values)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"shared_memory.banks": 0}, "0 banks of 4 bytes"),
        ({"shared_memory.banks": 2.5}, "a whole number is needed"),
        ({"shared_memory.bank_bytes": 3}, "power of two"),
        ({"shared_memory.banks": 2}, "do not hold one access of 16 bytes"),
        ({"shared_memory.group_lanes.load_16": 5}, "5 lanes served together"),
        ({"shared_memory.merge_distances": [40]}, "not within 1 to 31"),
    ],
)
def test_figures_that_cannot_be_counted(values, words):
    with pytest.raises(ChipError) as caught:
        count([0] * 32, "lds.128", chip=load_chip("h200").override(values))
    assert words in str(caught.value)


def test_unknown_chip():
    with pytest.raises(ChipError, match=r"unknown chip 'h20'; did you mean h200\? \(chips: a100, "):
        load_chip("h20")
    with pytest.raises(ChipError, match="no such file"):
        load_chip("nowhere/mine.yaml")


def test_own_file(chip_file):
    path = chip_file(
        HEAD + "extends: h200\ninherited: {confidence: assumed, note: guessed, only: [shared_memory]}\n"
        "constants:\n  shared_memory:\n    banks: {value: 16, unit: banks, source: me, confidence: assumed}\n"
    )
    chip = load_chip(path)
    assert chip["shared_memory.banks"] == 16
    assert not chip.has("sm.count")
    assert count([64 * lane for lane in range(32)], chip=path).wavefronts.tolist() == [32]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a list\n", "not a chip file"),
        ("name: [\n", "line 2, column 1: not valid YAML"),
        (HEAD + "colour: red\n", "unknown key 'colour'"),
        ("name: mine\n", "key 'title' is missing"),
        (HEAD + "aliases: mine2\n", "a list of names is needed"),
        (HEAD + "constants: 5\n", "constants: keys with values are needed, found 5"),
        (HEAD + "constants: {a: {value: 1}}\n", "a: key 'unit' is missing"),
        (HEAD + "constants: {a: {value: 1, unit: x, source: y, confidence: sure}}\n", "a: 'sure' is none of"),
        (HEAD + "constants: {a: {value: 1, unit: x, source: y, confidence: unknown}}\n", "go together"),
        (HEAD + "constants: {a: {value: 1, units: x}}\n", "unknown key 'units'"),
        (HEAD + "extends: nothing\n", "no such file"),
        (HEAD + "extends: mine\n", "goes round in a circle"),
        (
            HEAD + "extends: h200\ninherited: {confidence: assumed, only: [smem]}\n",
            "no constants under 'smem'",
        ),
        (HEAD + "extends: h200\ninherited: {trust: little}\n", "unknown key 'trust'"),
    ],
)
def test_wrong_files(chip_file, text, words):
    with pytest.raises(ChipError) as caught:
        load_chip(chip_file(text))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable_file(tmp_path):
    path = tmp_path / "half.yaml"
    path.write_bytes(b"name: \xff\xfe")
    with pytest.raises(ChipError, match="cannot be read"):
        load_chip(path)


def test_numbers_that_are_none():
    chip = load_chip("gfx942")
    with pytest.raises(ChipError, match="is unknown, a number is needed"):
        chip.number("shared_memory.group_lanes.narrow")
    with pytest.raises(ChipError, match=r"no constant 'sm\.cout'; did you mean sm\.count"):
        chip["sm.cout"]


def test_chips_travel_between_processes():
    chip = load_chip("h200").override({"shared_memory.banks": 64})
    copy = pickle.loads(pickle.dumps(chip))
    assert copy == chip
    assert hash(copy) == hash(chip)
