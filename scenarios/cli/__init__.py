"""bankbench."""
