"""Passwords: hashed in a bounded thread pool, checked for strength and against leaked ones."""
