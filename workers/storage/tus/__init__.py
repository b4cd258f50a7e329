"""Resumable uploads: TUS 1.0.0 (reference page "storage", section 9)."""
