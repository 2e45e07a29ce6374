"""What a gate found, as other tools read it: JUnit XML, SARIF, and annotations of GitHub."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from .check import FAILED, SKIPPED, UNKNOWN, WRONG, Checked

_RULES = {
    FAILED: ("limit-broken", "A number that the scenario expects does not hold.", "error"),
    WRONG: ("bad-input", "The scenario cannot be run.", "error"),
    UNKNOWN: ("unknown-answer", "Nothing that is known answers the question on this chip.", "warning"),
}
# XML has no way to write these characters.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(checked: Sequence[Checked]) -> str:
    """JUnit XML: a test case a scenario; broken limits are failures, bad input and unknown answers errors."""
    count = {
        name: sum(item.outcome == name for item in checked) for name in (FAILED, WRONG, UNKNOWN, SKIPPED)
    }
    suite = ElementTree.Element(
        "testsuite",
        name="bankbench check",
        tests=str(len(checked)),
        failures=str(count[FAILED]),
        errors=str(count[WRONG] + count[UNKNOWN]),
        skipped=str(count[SKIPPED]),
        time=f"{sum(item.seconds for item in checked):.3f}",
    )
    for item in checked:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_plain(Path(item.file).with_suffix("").as_posix().replace("/", ".").strip(".")),
            name=_plain(item.name),
            file=_plain(item.file),
            time=f"{item.seconds:.3f}",
        )
        if item.outcome == SKIPPED:
            ElementTree.SubElement(case, "skipped", message=_plain(item.headline))
        elif item.findings:
            kind = "failure" if item.outcome == FAILED else "error"
            node = ElementTree.SubElement(
                case, kind, type=_RULES[item.outcome][0], message=_plain(item.findings[0].message)
            )
            node.text = _plain("\n".join(f"{f.file}:{f.line}: {f.message}" for f in item.findings))
        else:
            ElementTree.SubElement(case, "system-out").text = _plain(item.headline)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
    )


def sarif(checked: Sequence[Checked], version: str) -> dict[str, Any]:
    """A SARIF 2.1.0 log: one result for everything that does not hold, at its line."""
    results = [
        {
            "ruleId": _RULES[finding.kind][0],
            "level": _RULES[finding.kind][2],
            "message": {"text": f"{item.name}: {finding.message}"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": _uri(finding.file)},
                        "region": {"startLine": max(1, finding.line)},
                    }
                }
            ],
        }
        for item in checked
        for finding in item.findings
    ]
    rules = [
        {"id": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for name, text, level in _RULES.values()
    ]
    driver = {"name": "bankbench", "version": version, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def github(checked: Sequence[Checked]) -> list[str]:
    """Workflow commands that GitHub shows at the lines of a pull request."""
    lines: list[str] = []
    for item in checked:
        for finding in item.findings:
            level = "warning" if finding.kind == UNKNOWN else "error"
            at = f"file={_property(finding.file)}" + (f",line={finding.line}" if finding.line else "")
            lines.append(
                f"::{level} {at},title={_property('bankbench: ' + item.name)}::{_data(finding.message)}"
            )
    return lines


def _plain(text: str) -> str:
    return _NO_XML.sub("?", text)


def _uri(file: str) -> str:
    from urllib.parse import quote

    path = Path(file)
    if path.is_absolute():
        try:
            path = path.relative_to(Path.cwd())
        except ValueError:
            return path.as_uri()
    return quote(os.fsencode(path.as_posix()))  # bytes: a name need not be text


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
