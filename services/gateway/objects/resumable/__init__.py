"""Resumable uploads (TUS 1.0.0) at the gateway."""
