"""Passwords: hashed in a bounded pool of threads, strong enough, not known to be leaked."""
