"""Webhooks of the platform as administrators see them: rows, and what is checked when one is made."""
