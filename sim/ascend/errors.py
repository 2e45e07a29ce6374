"""Errors of the Ascend model: one line each, with what was asked, what is there and what would be right."""

from __future__ import annotations

__all__ = ["AscendError", "AscendUnknown", "CapacityError", "FlagError"]


class AscendError(ValueError):
    """An Ascend buffer, instruction or layout that the chip does not allow."""


class AscendUnknown(AscendError):
    """What is not public: neither a time nor a refusal can be given."""


class CapacityError(AscendError):
    """A buffer that does not fit, or lies at an address that its memory does not allow; `buffer` is its name."""

    def __init__(self, message: str, buffer: str = "") -> None:
        self.buffer = buffer
        super().__init__(message)


class FlagError(AscendError):
    """A flag that is set twice, waited for but never set, or an event id that does not exist."""
