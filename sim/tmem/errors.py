"""Errors of tensor-memory instructions, descriptors and plans: what no hardware accepts, and what is not known."""

from __future__ import annotations


class TmemError(ValueError):
    """An instruction, a descriptor or a plan that is not legal: one line, what is wrong and what would be right."""


class TmemUnknown(TmemError):
    """What no document says in text and nobody measured: neither legal nor illegal."""
