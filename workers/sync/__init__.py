"""The pool `sync`: shapes of tables, as each caller may see them, with their changes (docs/sync.md)."""
