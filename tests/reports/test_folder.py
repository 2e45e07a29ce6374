"""Where files go: whole or not at all, and no device or link is replaced."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from bankbench.reports.folder import write_page


def test_a_pipe_is_written_into_and_a_link_stays_one(tmp_path):
    pipe, real, link = tmp_path / "pipe", tmp_path / "real.html", tmp_path / "link.html"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_text)
        write_page("<p>\udc80", pipe)
        assert read.result() == "<p>\\udc80"
    assert pipe.is_fifo()
    real.write_text("old")
    link.symlink_to(real)
    write_page("new", link)
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.html", "pipe", "real.html"]
