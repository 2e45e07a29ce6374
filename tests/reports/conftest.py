"""A real browser for the page tests: headless Chromium, driven by --dump-dom."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser() -> str:
    """The browser's path; without one the test is skipped, or fails where BANKBENCH_CI=1 says that it must be there."""
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    reason = f"no browser of the names {', '.join(NAMES)} is installed (Debian: apt install chromium)"
    if os.environ.get("BANKBENCH_CI") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def run_browser(page: Path, fragment: str, *task: str, timeout: float = 90) -> str:
    """What the browser prints to standard output after it has opened a page and done a task."""
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="bankbench-browser-") as profile:
        done = subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                f"--user-data-dir={profile}",
                "--window-size=1280,1000",
                "--virtual-time-budget=20000",
                *task,
                page.resolve().as_uri() + (f"#{fragment}" if fragment else ""),
            ],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def dump_dom(page: Path, fragment: str = "", timeout: float = 90) -> str:
    """The document after its scripts have run."""
    return run_browser(page, fragment, "--dump-dom", timeout=timeout)


def printed_pages(page: Path) -> int:
    """How many sheets of paper a page takes."""
    target = page.with_suffix(".pdf")
    run_browser(page, "", "--no-pdf-header-footer", f"--print-to-pdf={target}")
    return len(re.findall(rb"/Type\s*/Page\b", target.read_bytes()))


def answer(dom: str, identifier: str = "answer") -> Any:
    """The JSON that a page wrote into the element of that id."""
    found = re.search(rf'id="{identifier}"[^>]*>(.*?)</pre>', dom, re.DOTALL)
    assert found, dom[-2000:]
    return json.loads(html.unescape(found.group(1)))


class Browser:
    """What a page test needs: `dump(page, fragment)`, `answer(dom)` and `pages(page)`."""

    dump = staticmethod(dump_dom)
    pages = staticmethod(printed_pages)
    answer = staticmethod(answer)


@pytest.fixture(scope="session")
def browser() -> Browser:
    find_browser()
    return Browser()
