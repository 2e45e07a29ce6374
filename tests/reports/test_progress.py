"""Progress: late, on standard error, only at a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time

import pytest
from bankbench.reports import progress
from bankbench.reports.progress import Work, working

SCRIPT = """
import time
from bankbench.reports.progress import working
with working("counting <b>[red]") as work:
    time.sleep({seconds})
    work.step(1, 2)
    time.sleep(0.3)
print("answer")
"""


def at_a_terminal(seconds: float) -> tuple[str, str]:
    """(standard output, what the terminal got) of a process whose standard error is a terminal."""
    leader, follower = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(seconds=seconds)],
        stdout=subprocess.PIPE,
        stderr=follower,
        text=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    return done.communicate()[0], shown.decode(errors="replace")


def test_a_long_piece_of_work_is_shown_and_leaves_the_answer_alone() -> None:
    output, shown = at_a_terminal(1.6)
    assert output == "answer\n"
    assert "counting <b>[red]" in shown


def test_a_short_piece_of_work_shows_nothing() -> None:
    output, shown = at_a_terminal(0.0)
    assert output == "answer\n"
    assert shown == ""


def test_nothing_where_nobody_looks(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with working("x") as work:
        time.sleep(0.05)
        work.step(1, 2)
    captured = capfd.readouterr()
    assert captured.err == ""
    assert captured.out == ""


def test_the_bar_goes_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Work] = []

    def close(work: Work) -> None:
        closed.append(work)

    monkeypatch.setattr(Work, "close", close)
    with pytest.raises(ZeroDivisionError), working("x", shown=False):
        _ = 1 // 0
    assert len(closed) == 1
