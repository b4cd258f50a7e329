"""Introspection: the types of a role's schema, and the answers to `__schema` and `__type`."""
