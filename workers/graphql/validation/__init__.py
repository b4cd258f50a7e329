"""Validation of documents and variables by the GraphQL specification, against the schema of a role."""
