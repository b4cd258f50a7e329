"""Log lines sent to other systems (docs/drains.md)."""
