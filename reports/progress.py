"""Progress on standard error: nothing in the first second, nothing at all where nobody sits at a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DELAY = 1.0
"""Seconds of work before anything is shown."""


class Work:
    """What a piece of work says of itself: `step(done, total)` as often as it likes; without it a spinner turns.

    Reports may come from another thread. Nothing is drawn before `DELAY` seconds, and nothing at all when `shown`
    is False.
    """

    def __init__(self, what: str, shown: bool) -> None:
        self._what = what
        self._shown = shown
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._counts: tuple[int, int | None] = (0, None)
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        if shown:
            self._timer.start()

    def step(self, done: int, total: int | None = None, what: str | None = None) -> None:
        """`done` of `total` pieces are through; `what` renames the work."""
        if not self._shown:
            return
        with self._lock:
            self._counts = (done, total)
            self._what = what or self._what
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=total, description=self._what)

    __call__ = step

    def close(self) -> None:
        """Takes the bar away."""
        self._timer.cancel()
        with self._lock:
            self._shown = False
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if not self._shown:
                return
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(file=sys.stderr),
                transient=True,
            )
            done, total = self._counts
            self._task = self._bar.add_task(self._what, completed=done, total=total)
            self._bar.start()


@contextmanager
def working(what: str, *, shown: bool | None = None) -> Iterator[Work]:
    """A spinner, or a bar once `step` has told how much there is, while the block runs.

    `shown`: whether to draw at all; default: standard error is a terminal.

    >>> with working("counting", shown=False) as work:
    ...     work.step(1, 2)
    """
    work = Work(what, progress_wanted() if shown is None else shown)
    try:
        yield work
    finally:
        work.close()


def progress_wanted() -> bool:
    """Whether progress bars make sense: standard error is a terminal."""
    return sys.stderr.isatty()
