"""Reflection: build the GraphQL schema of a role from the system catalogs. One read for all roles; the steps after it are pure."""
