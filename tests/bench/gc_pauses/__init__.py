"""A module that Python imports at its start: pauses of the garbage collector."""
