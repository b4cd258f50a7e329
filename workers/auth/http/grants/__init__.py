"""What POST /token gives a session for: one module a `grant_type`."""
