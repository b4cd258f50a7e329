"""Tests of writes with an Idempotency-Key."""
