"""Functions as people write them, run unchanged."""
