"""A request to storage: its fields, its identity, and what endpoints work with."""
