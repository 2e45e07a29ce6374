"""Notebooks that show bankbench as a library; they are executed in the tests."""
