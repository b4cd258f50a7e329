"""Bring an embedded database to another major version of Postgres: copy, comparison, switch."""
