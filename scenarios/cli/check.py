"""`bankbench check`: the regression gate for CI and pre-commit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import _complete as complete


def check(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE_OR_FOLDER...",
            autocompletion=complete.scenarios,
            help="Scenario files, folders (searched through), catalogue names.",
        ),
    ],
    chip: Annotated[
        str | None,
        typer.Option(
            "--chip", autocompletion=complete.chips, help="Run on this chip instead of the scenarios' own."
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE.xml", help="Write JUnit XML, a test case a scenario."),
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE.sarif", help="Write a SARIF 2.1.0 log.")
    ] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Print annotations that GitHub shows at the lines.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what does not hold.")] = False,
) -> None:
    """Run every scenario that states what it expects, one line each.

    A scenario states it in `expect:` blocks: exact numbers (wavefronts: 32) or limits (max_excess_wavefronts: 0), of an
    access or of the whole. In folders, scenarios that expect nothing and YAML files of other kinds are left out.

    \b
    bankbench check kernels/
    bankbench check kernels/ --junit report.xml --sarif report.sarif --github
    bankbench check transpose-pitch-33

    Exit code 0 when everything holds, 1 when a limit is broken, 2 when a scenario cannot be run (the others are run all
    the same), 3 when an answer is unknown; the first of 2, 1, 3 that applies.
    """
    from ..check import FAILED, OK, SKIPPED, exit_code, expand
    from ..check import check as check_paths
    from ..check_formats import github as annotations
    from ..check_formats import junit as junit_xml
    from ..check_formats import sarif as sarif_log

    checked = []
    for item in check_paths(expand(paths), chip):
        checked.append(item)
        if not quiet or item.outcome not in (OK, SKIPPED):
            print(item.line(), flush=True)
    if not checked:
        print("bankbench: no scenario with an expect: block here", file=sys.stderr)
    else:
        held = sum(item.outcome == OK for item in checked)
        broken = sum(item.outcome == FAILED for item in checked)
        tail = f", {broken} broken" if broken else ""
        print(f"{held} of {len(checked)} scenarios hold{tail}", file=sys.stderr)
    if junit is not None:
        _write(junit, junit_xml(checked))
    if sarif is not None:
        from importlib.metadata import version
        from json import dumps

        _write(sarif, dumps(sarif_log(checked, version("bankbench")), indent=1) + "\n")
    if github:
        for line in annotations(checked):
            print(line)
    raise typer.Exit(exit_code([item.outcome for item in checked]))


def _write(path: Path, text: str) -> None:
    from ..errors import ScenarioError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written: {error.strerror or error}") from None
