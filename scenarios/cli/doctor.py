"""`bankbench doctor`: is the installation whole, and how well is each chip known?"""

from __future__ import annotations

from typing import Annotated

import typer

from ._errors import BAD_INPUT


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON: parts and chips.")] = False,
) -> None:
    """Check the installation: versions, optional parts, data files, and the chips with their validation state.

    A chip that is held against measurements names the sets (`bankbench validate SET` shows them); for the others the
    table says what most of their figures rest on. Paste the output into bug reports.

    Exit code 2 when a part that is needed is missing or broken; optional parts may be missing.
    """
    from ..health import BROKEN, GOOD, chip_states, parts

    found = parts()
    chips = [] if any(part.name == "chips" and part.state != GOOD for part in found) else chip_states()
    if json:
        from dataclasses import asdict
        from json import dumps

        print(
            dumps(
                {
                    "parts": [asdict(part) for part in found],
                    "chips": [{**asdict(chip), "validation": chip.validation} for chip in chips],
                },
                indent=1,
            )
        )
    else:
        group = ""
        for part in found:
            if part.group != group:
                group = part.group
                print(f"{group}:")
            print(f"  {part.state:<8}{part.name:<16} {part.detail}")
        print("chips:")
        width = max((len(chip.name) for chip in chips), default=1)
        for chip in chips:
            sure = sum(
                chip.by_confidence.get(key, 0) for key in ("measured", "vendor document", "vendor code")
            )
            print(
                f"  {chip.name:<{width}}  {sure:>3} of {chip.constants:>3} figures measured or documented; "
                f"{chip.validation}"
            )
    needed = [part for part in found if part.group != "optional" and part.state != GOOD]
    broken = [part for part in found if part.group == "optional" and part.state == BROKEN]
    if needed or broken:
        raise typer.Exit(BAD_INPUT)
