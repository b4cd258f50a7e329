"""Faults under load: what was acknowledged is kept, nothing is doubled, and the platform heals by itself."""
