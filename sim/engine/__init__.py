"""Time: a discrete-event model of the shared-memory path of one SM."""
