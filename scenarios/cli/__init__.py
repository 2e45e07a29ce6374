"""The command line: one file a command; nothing heavy is imported before a command needs it."""

from __future__ import annotations

from .app import main

__all__ = ["main"]
