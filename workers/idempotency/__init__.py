"""Writes that carry an `Idempotency-Key`: carried out once, answered again with the first answer."""
