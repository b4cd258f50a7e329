"""Reflection: from the system catalogs to what a role sees as GraphQL, in a few reads and pure steps."""
