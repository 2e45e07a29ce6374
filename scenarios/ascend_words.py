"""Operands of a vector instruction in words, `src 0 dst 0x4020 stride 2 repeat 8`, as a scenario text."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import ScenarioError

_SIDES = {
    "src": "reads",
    "src0": "reads",
    "src1": "reads",
    "read": "reads",
    "dst": "writes",
    "write": "writes",
}
_STRIDES = {"stride": "block_stride", "repeat": "repeat_stride"}


def scenario_of(words: Sequence[str], chip: str, repeats: int = 1, blocks: int = 8) -> str:
    """The scenario of one vector instruction. ScenarioError for words that are not understood.

    >>> print(scenario_of(["dst", "0x1FE00", "stride", "16"], "a2"))
    name: ub
    chip: "a2"
    ascend:
      vectors:
        - name: "dst 0x1FE00 stride 16"
          repeats: 1
          blocks: 8
          writes:
            - {at: 130560, block_stride: 16}
    """
    operands: dict[str, list[dict[str, int]]] = {"reads": [], "writes": []}
    rest = [word for text in words for word in text.replace(",", " ").replace(":", " ").split()]
    last: dict[str, int] | None = None
    position = 0
    while position < len(rest):
        word = rest[position].lower()
        value = _number(rest, position)
        if word in _SIDES:
            last = {"at": value}
            operands[_SIDES[word]].append(last)
        elif word in _STRIDES and last is not None:
            last[_STRIDES[word]] = value
        else:
            known = ", ".join([*_SIDES, *_STRIDES])
            raise ScenarioError(
                f"'{rest[position]}' is not understood; write src or dst and an address ({known})"
            )
        position += 2
    if not last:
        raise ScenarioError("no operand; write for example: dst 0x1FE00 stride 16")
    lines = ["name: ub", f'chip: "{chip}"', "ascend:", "  vectors:", f'    - name: "{" ".join(rest)[:80]}"']
    lines += [f"      repeats: {repeats}", f"      blocks: {blocks}"]
    for side, items in operands.items():
        if items:
            lines.append(f"      {side}:")
            lines += [
                "        - {" + ", ".join(f"{key}: {value}" for key, value in item.items()) + "}"
                for item in items
            ]
    return "\n".join(lines)


def _number(words: Sequence[str], position: int) -> int:
    if position + 1 >= len(words):
        raise ScenarioError(f"a number is missing behind '{words[position]}'")
    text = words[position + 1]
    try:
        return int(text, 0)
    except ValueError:
        raise ScenarioError(
            f"'{text}' behind '{words[position]}' is no number; write 0x1FE00 or 16"
        ) from None
