"""The error of tensor-memory instructions, descriptors and plans that no hardware accepts."""

from __future__ import annotations


class TmemError(ValueError):
    """An instruction, a descriptor or a plan that is not legal: one line, what is wrong and what would be right."""
