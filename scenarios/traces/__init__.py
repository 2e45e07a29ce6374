"""Recorded accesses as input."""
