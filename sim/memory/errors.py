"""The error of every access that cannot be counted because it is wrong."""

from __future__ import annotations


class AccessError(ValueError):
    """An access that no hardware executes or nobody can read: the message is one line with the place."""
