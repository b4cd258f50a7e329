"""Introspection: what a role sees as GraphQL types, and the answers to questions about them."""
