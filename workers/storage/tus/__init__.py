"""Resumable uploads: TUS 1.0.0 (docs/reference/storage.md, section 9)."""
